"""What came of trials: objectives, and constraints that hold up to 0, each an outcome.

Studies of innerloop's own have goals: their outcomes have names, and limits other than 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from innerloop.integrations.trial_marks import NOISE_SD, told_of
from innerloop.optimizer.goals import Goals, OutcomeConstraint

# A constraint that fewer trials have says nothing yet of other places.
_FEWEST_TO_MODEL = 2


class TrialOutcome(NamedTuple):
    """What came of a finished trial, or so far of one that runs.

    Args:
        objectives: all values by name; none if there are none, or one of them is not finite.
        constraints: values by name, but for those that are not finite.
        violated: names of constraints that are not met.
        pruned: whether the value is the last one before the trial was pruned.
        noise_sds: standard deviations of the noise by name, where they are known.
        running: whether more is to come.
    """

    objectives: dict[str, float]
    constraints: dict[str, float]
    violated: frozenset[str]
    pruned: bool
    noise_sds: Mapping[str, float] = MappingProxyType({})
    running: bool = False

    def failed(self, goals: Goals) -> bool:
        """Whether there is no value that counts.

        Args:
            goals: what is modelled. A trial that violates any other constraint is of no use.

        Returns:
            Whether it has failed.
        """
        if not self.violated:
            return not self.objectives and not self.running
        modelled = self.constraints.keys() & set(goals.names)
        return not self.objectives or not self.violated <= modelled

    def told(self, goals: Goals) -> dict[str, float]:
        """The outcomes that models learn from.

        Args:
            goals: what is modelled.

        Returns:
            Values by name; of trials that have failed, those of constraints.
        """
        objectives = {} if self.failed(goals) else self.objectives
        if not self.constraints:
            return objectives
        names = goals.names
        constraints = {n: value for n, value in self.constraints.items() if n in names}
        return {**objectives, **constraints}

    def value_of(self, name: str) -> float:
        """The value of an outcome.

        Args:
            name: that of one that it has.

        Returns:
            The value.
        """
        return self.objectives[name] if name in self.objectives else self.constraints[name]


def outcome_of(trial: FrozenTrial, goals: Goals | None = None) -> TrialOutcome:
    """What came of a trial.

    Args:
        trial: a trial that is complete, pruned or failed, or one that runs where there are goals.
        goals: those of its study, if it has some.

    Returns:
        Its outcomes. Where there are goals, all that are not objectives of a complete trial are
        `constraints`, with limits of their own.
    """
    if goals is not None:
        told = {n: each for n, each in told_of(trial, goals).items() if math.isfinite(each)}
        complete = trial.state == TrialState.COMPLETE and set(goals.objectives) <= told.keys()
        objectives = {name: told.pop(name) for name in goals.objectives if complete}
        return TrialOutcome(
            objectives,
            told,
            violated=frozenset(),
            pruned=False,
            noise_sds=told_of(trial, goals, NOISE_SD),
            running=not trial.state.is_finished(),
        )
    values = [] if trial.state == TrialState.FAIL else list(trial.values or [])
    if not all(math.isfinite(value) for value in values):
        values = []
    # Constraints may have names of objectives, which are numbered.
    limited = {f"constraint {name}": float(value) for name, value in trial.constraints.items()}
    return TrialOutcome(
        objectives={str(i): float(value) for i, value in enumerate(values)},
        constraints={n: value for n, value in limited.items() if math.isfinite(value)},
        violated=frozenset(name for name, value in limited.items() if not value <= 0.0),
        pruned=trial.state == TrialState.PRUNED,
        noise_sds=_noise_of(trial) if len(values) == 1 else {},
    )


def _noise_of(trial: FrozenTrial) -> dict[str, float]:
    """The noise in the one value of a trial, where innerloop knows it, by its number."""
    noise = [each for name, each in trial.user_attrs.items() if name.startswith(NOISE_SD)]
    return {"0": float(noise[0])} if len(noise) == 1 else {}


def goals_of(
    directions: Sequence[StudyDirection],
    outcomes: Iterable[TrialOutcome],
    *,
    with_constraints: bool = True,
) -> Goals:
    """What is wanted, as far as trials tell enough of it to be modelled.

    Args:
        directions: those of a study.
        outcomes: what came of its trials.
        with_constraints: whether constraints are modelled at all.

    Returns:
        Objectives with the names "0", "1" and so on, and constraints.
    """
    objectives = {
        str(i): "maximize" if each == StudyDirection.MAXIMIZE else "minimize"
        for i, each in enumerate(directions)
    }
    counts = Counter(name for each in outcomes for name in each.constraints)
    names = sorted(name for name, count in counts.items() if count >= _FEWEST_TO_MODEL)
    limits = [OutcomeConstraint(name, 1.0, 0.0, None, f"{name} <= 0") for name in names]
    return Goals(objectives, tuple(limits) if with_constraints else ())
