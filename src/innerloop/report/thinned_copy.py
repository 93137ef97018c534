"""A copy of an optimizer to learn from and to ask, thinned if it holds too much to be modelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from innerloop.optimizer.goals import DIRECTIONS
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial

# The cost of a model grows with the cube of the number of results.
_MOST = {"complete": 600, "failed": 200, "expired": 200, "cancelled": 200, "pending": 32}
_BEST = 150


@dataclass(frozen=True, eq=False)
class Copy:
    """An optimizer that may be asked without consequences.

    kept: the ids which its trials have in the optimizer that was copied. results: how many values
    that one has been told, of which the copy may know a part.
    """

    optimizer: Optimizer
    kept: tuple[int, ...]
    results: int

    @property
    def used(self) -> int:
        """How many values the copy knows."""
        return sum(trial.state == "complete" for trial in self.optimizer.trials)


def copy_of(optimizer: Optimizer) -> Copy:
    """A copy that goes on as the optimizer would, or one of a part of it if there is too much."""
    trials = optimizer.trials
    kept = _kept(trials, DIRECTIONS[optimizer.direction], optimizer.seed)
    copied = optimizer.with_trials(trials[k] for k in kept)
    return Copy(copied, tuple(kept), sum(trial.state == "complete" for trial in trials))


def _kept(trials: Sequence[Trial], sign: float, seed: int) -> list[int]:
    """Which trials to keep: the best and a random choice of those with values, some of others."""
    generator = np.random.default_rng(seed)
    kept: list[int] = []
    for state, most in _MOST.items():
        ids = [trial.id for trial in trials if trial.state == state]
        if len(ids) > most:
            ids.sort(key=lambda k: -sign * (trials[k].value or 0.0))
            first = _BEST if state == "complete" else 0
            rest = generator.choice(ids[first:], most - first, replace=False).tolist()
            ids = ids[:first] + rest
        kept += ids
    return sorted(kept)
