"""Failures in a row: a function that never works is worth stopping for, a bad corner is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from innerloop.space.space import Space
from innerloop.types import Array

# Failures no farther apart than this are at the same place: in the unit cube, times sqrt(d).
_SAME_PLACE = 0.05


class FailuresInARow:
    """At how many different places trials have failed since the last one that had a value."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._places: list[Array] = []

    def __len__(self) -> int:
        return len(self._places)

    def note(self, params: Mapping[str, Any], *, failed: bool) -> None:
        """What came of the next trial."""
        if not failed:
            self._places = []
            return
        x = self._space.encode(params)
        reach = _SAME_PLACE * np.sqrt(len(x))
        if all(np.linalg.norm(x - place) > reach for place in self._places):
            self._places.append(x)
