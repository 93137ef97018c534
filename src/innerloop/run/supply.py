"""Where the trials of a run come from: first those that others have left, then new ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from innerloop.domain.domain import Domain
from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial, point_of, tried
from innerloop.space.space import Space


class Supply:
    """Trials of an optimizer. asks, ask_seconds: how often it was asked, and for how long.

    fixed: values that some parameters have in all trials. resume: whether to take up trials that
    nobody evaluates.
    """

    def __init__(
        self, optimizer: Optimizer, *, fixed: Mapping[str, Any] | None, resume: bool
    ) -> None:
        self.asks, self.ask_seconds = 0, 0.0
        self._optimizer, self._fixed = optimizer, fixed
        domain = optimizer.space.domain(fixed)
        self._points = _points(optimizer.space, fixed)
        self._left = deque(_abandoned(optimizer, domain) if resume else ())

    def at_most(self, number: int) -> int:
        """How many trials there may be, up to a number."""
        return min(number, len(self._left) + self._untried(number))

    def resume(self, number: int) -> list[Trial]:
        """Trials that others have left, up to a number."""
        trials: list[Trial] = []
        while self._left and len(trials) < number:
            with suppress(InputError):  # another thread was faster
                trials.append(self._optimizer.resume(self._left.popleft().id))
        return trials

    def ask(self, number: int) -> list[Trial]:
        """New trials, up to a number; fewer if the space has no more points."""
        number = self._untried(number)
        if number == 0:
            return []
        began = time.perf_counter()
        try:
            return self._optimizer.ask(number, fixed=self._fixed)
        finally:
            self.ask_seconds += time.perf_counter() - began
            self.asks += 1

    def _untried(self, number: int) -> int:
        """How many points there are that no trial has had, up to a number."""
        if self._points is None:
            return number
        return min(number, len(self._points - tried(self._optimizer.trials)))


def _abandoned(optimizer: Optimizer, domain: Domain) -> list[Trial]:
    """Trials of the domain that nobody evaluates."""
    trials = optimizer.abandoned
    inside = domain.contains(optimizer.space.encode_all([trial.params for trial in trials]))
    return [trial for trial, contained in zip(trials, inside, strict=True) if contained]


def _points(space: Space, fixed: Mapping[str, Any] | None) -> set[tuple[Any, ...]] | None:
    """All points of a space that has few of them, with some values held."""
    everything = space.everything(fixed=fixed)
    return None if everything is None else {point_of(space.decode(x)) for x in everything}
