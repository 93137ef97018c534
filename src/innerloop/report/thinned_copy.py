"""A copy of an optimizer to learn from and to ask, thinned if it holds too much to be modelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from innerloop.optimizer.goals import DIRECTIONS, Goals
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial

# The cost of a model grows with the cube of the number of results.
_MOST = {
    "complete": 600,
    "failed": 200,
    "expired": 200,
    "cancelled": 200,
    "forgotten": 200,
    "pending": 32,
}
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
    needed = {each.trial for each in optimizer.goals.constraints if each.trial is not None}
    kept = _kept(trials, _grade(optimizer), optimizer.seed, needed)
    copied = optimizer.with_trials(trials[k] for k in kept)
    numbers = {number: k for k, number in enumerate(kept)}
    copied.goals = _renumbered(optimizer.goals, numbers)
    return Copy(copied, tuple(kept), sum(trial.state == "complete" for trial in trials))


def _grade(optimizer: Optimizer) -> Callable[[Trial], tuple[float, ...]]:
    """What sorts trials, the best first: by value; with several outcomes, by front and limits."""
    sign, goals, trials = DIRECTIONS[optimizer.direction], optimizer.goals, optimizer.trials
    if goals.is_plain:
        return lambda trial: (-sign * (trial.value or 0.0),)
    front = {trial.id for trial in optimizer.front}
    feasible = {t.id for t in trials if t.state == "complete" and goals.feasible(t, trials)}
    return lambda trial: (
        trial.id not in front,
        trial.id not in feasible,
        -sign * (trial.value or 0.0),
    )


def _renumbered(goals: Goals, numbers: Mapping[int, int]) -> Goals:
    """Goals whose limits are relative to the same trials under their new numbers."""
    constraints = tuple(
        each if each.trial is None else replace(each, trial=numbers.get(each.trial, each.trial))
        for each in goals.constraints
    )
    return replace(goals, constraints=constraints)


def _kept(
    trials: Sequence[Trial],
    grade: Callable[[Trial], tuple[float, ...]],
    seed: int,
    needed: Set[int],
) -> list[int]:
    """Which trials to keep: the best and a random choice of those with values, some of others."""
    generator = np.random.default_rng(seed)
    kept: list[int] = []
    for state, most in _MOST.items():
        ids = [trial.id for trial in trials if trial.state == state]
        if len(ids) > most:
            ids.sort(key=lambda k: grade(trials[k]))
            first = _BEST if state == "complete" else 0
            rest = generator.choice(ids[first:], most - first, replace=False).tolist()
            ids = ids[:first] + rest
        kept += ids
    return sorted({*kept, *(k for k in needed if k < len(trials))})
