"""When a run has found enough: a target, no progress, or nothing left that would be worth it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from scipy.special import bdtr

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.goals import DIRECTIONS, Goals
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial

# A first look takes so few draws, and is enough if so large a share of them says no.
_FIRST_DRAWS, _OFTEN = 16, 0.2
# So many draws beyond the gap are to be expected where the chance is just the risk.
_DRAWS = 8
# What results say has to have been so without the latest of them, and without as many again: this
# share of all, and so many at least. Models that have just changed their mind often do so again.
_SHARE, _LATEST, _EARLIER = 0.1, 4, 2
_LEAST_RISK = 0.005


class Stop(ABC):
    """A reason to end a run: trials that are running may finish, and no new ones begin."""

    several_objectives: ClassVar[bool] = False
    """Whether it makes sense with several objectives."""
    outcome_constraints: ClassVar[bool] = True
    """Whether it makes sense where other outcomes have limits."""

    @abstractmethod
    def reached(self, optimizer: Optimizer) -> str | None:
        """Why to end a run now, or None.

        Args:
            optimizer: with all results so far.

        Returns:
            The reason in words.
        """


@dataclass(frozen=True)
class Patience(Stop):
    """Ends a run after so many trials in a row that were no better than the best before them.

    With several objectives: that did not come to the front. Failed trials count, cancelled ones do
    not.

    Args:
        trials: how many.
    """

    trials: int

    several_objectives = True

    def __post_init__(self) -> None:
        checks.count("trials", self.trials)

    def reached(self, optimizer: Optimizer) -> str | None:
        """Why to end a run now, or None."""
        finished = [t for t in optimizer.trials if t.state in ("complete", "failed", "expired")]
        finished.sort(key=lambda trial: trial.told or 0.0, reverse=True)
        best = {trial.id for trial in _best_of(optimizer)}
        since = next((k for k, trial in enumerate(finished) if trial.id in best), 0)
        if since < self.trials:
            return None
        return f"patience: the last {since} trials brought nothing better"


@dataclass(frozen=True)
class Target(Stop):
    """Ends a run when the best trial, as `Optimizer.best` has it, is as good as a value, or better.

    Args:
        value: of the one objective.
    """

    value: float

    def __post_init__(self) -> None:
        checks.scalar("value", self.value)

    def reached(self, optimizer: Optimizer) -> str | None:
        """Why to end a run now, or None."""
        front = optimizer.front
        if not front:
            return None
        sign, value = DIRECTIONS[optimizer.direction], cast(float, front[0].value)
        if sign * value < sign * self.value:
            return None
        return f"target: trial {front[0].id} has {value:.6g}, and {self.value:.6g} was asked for"


@dataclass(frozen=True)
class NearOptimal(Stop):
    """Ends a run when the best trial is near the optimum of the space, in all likelihood.

        P(|max f - f(best)| > gap) <= risk     (Wilson 2024, https://arxiv.org/abs/2402.16811)

    by functions drawn from the models that explain the results, whose maxima are searched for
    (`Optimizer.regrets`). A run ends if so few of them have a maximum beyond the gap that, whatever
    the draws, the chance is below half the risk with a confidence of 1 - risk; and if the same
    could be said without the latest tenth of the results, and without the latest fifth. This is the
    word of the models: where a function is of a kind that none of them expects, nothing is
    promised.

    Args:
        gap: how far from the optimum the best trial may be, in the units of the values.
        risk: the chance that it is farther away, at most; 0.005 or more.
    """

    gap: float
    risk: float = 0.05

    outcome_constraints = False

    def __post_init__(self) -> None:
        checks.positive_scalar("gap", self.gap)
        if not _LEAST_RISK <= checks.scalar("risk", self.risk) < 1.0:
            raise InputError(f"risk must be from {_LEAST_RISK} to below 1, got {self.risk}")

    def reached(self, optimizer: Optimizer) -> str | None:
        """Why to end a run now, or None."""
        if any(each > self.gap for each in _distances(optimizer, self.risk, self.gap)):
            return None
        return (
            f"near optimal: the best trial is within {self.gap:.6g} of the optimum with a chance "
            f"of {1.0 - self.risk:.4g}, as far as the model knows"
        )


def distance_to_optimum(optimizer: Optimizer, risk: float = 0.05) -> float:
    """The least gap for which `NearOptimal(gap, risk)` would end a run now.

    Args:
        optimizer: with all results so far.
        risk: the chance that the best trial is farther from the optimum.

    Returns:
        The gap in the units of the values; infinite with too few results to tell.
    """
    return max(_distances(optimizer, risk))


def _distances(optimizer: Optimizer, risk: float, gap: float = math.inf) -> Iterator[float]:
    """What all results say, and what they said without the latest of them.

    With a gap, a first look that finds it too small is enough.
    """
    results = sum(trial.state == "complete" for trial in optimizer.trials)
    latest = max(_LATEST, math.ceil(_SHARE * results))
    if results <= _EARLIER * latest:
        yield math.inf
        return
    draws = math.ceil(_DRAWS / risk)
    # So many of the draws may be beyond: one more, and the chance might be above half of the risk.
    # The other half is for what the models do not know.
    unlikely = bdtr(np.arange(draws + 1), draws, 0.5 * risk) <= risk
    allowed = int(np.flatnonzero(unlikely).max(initial=0))
    for earlier in range(_EARLIER + 1):
        known = _without_latest(optimizer, earlier * latest) if earlier else optimizer
        if gap < math.inf:
            first = known.regrets(_FIRST_DRAWS)
            if (first > gap).sum() > _FIRST_DRAWS * max(risk, _OFTEN):
                yield math.inf
        yield float(np.sort(known.regrets(draws))[-1 - allowed])


def _without_latest(optimizer: Optimizer, number: int) -> Optimizer:
    """A copy that does not know the last results, so many of them."""
    complete = [trial for trial in optimizer.trials if trial.state == "complete"]
    complete.sort(key=lambda trial: (trial.told or 0.0, trial.id))
    late = {trial.id for trial in complete[-number:]}
    return optimizer.with_trials(trial for trial in optimizer.trials if trial.id not in late)


def _best_of(optimizer: Optimizer) -> Sequence[Trial]:
    """The first trial with the best value; or those within all limits that none beats."""
    if not optimizer.goals.is_plain:
        return optimizer.goals.front(optimizer.trials)
    sign = DIRECTIONS[optimizer.direction]
    complete = [
        (-sign * t.value, t.told or 0.0, t.id) for t in optimizer.trials if t.value is not None
    ]
    return [optimizer.trials[min(complete)[2]]] if complete else []


def first_reached(stop: Sequence[Stop], optimizer: Optimizer) -> str | None:
    """The first reason to end a run now, or None.

    Args:
        stop: what may end it.
        optimizer: with all results so far.

    Returns:
        The reason in words.
    """
    for each in stop:
        why = each.reached(optimizer)
        checks.instance(f"{type(each).__name__}.reached", why, str | None, "a reason or None")
        if why is not None:
            return why
    return None


def checked(stop: object, goals: Goals) -> tuple[Stop, ...]:
    """What may end a run, if it is what it should be.

    Args:
        stop: a list of `Stop`.
        goals: of the run.

    Returns:
        The same.
    """
    if not isinstance(stop, Sequence) or not all(isinstance(each, Stop) for each in stop):
        raise InputError(
            "stop must be a list of Patience, Target, NearOptimal or other Stop objects, "
            f"got {stop!r}"
        )
    for each in stop:
        if len(goals.objectives) > 1 and not each.several_objectives:
            raise InputError(f"{each} is for one objective, got {list(goals.objectives)}")
        if goals.constraints and not each.outcome_constraints:
            raise InputError(f"{each} is for an objective without outcome constraints")
    return tuple(stop)
