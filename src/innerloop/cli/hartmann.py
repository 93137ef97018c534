"""Hartmann's function of six parameters in [0, 1], a common test of optimizers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from innerloop.experiments.functions import MAXIMA, hartmann

MINIMUM = -MAXIMA["hartmann-6"]


def hartmann6(params: Mapping[str, float]) -> float:
    """The value at params x1 to x6."""
    return -float(hartmann(np.array([params[f"x{k}"] for k in range(1, 7)])))
