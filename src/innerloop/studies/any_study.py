"""Any study of Optuna's to look at, whichever sampler has made it and whatever holds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from innerloop.integrations.optuna_changes import frozen_as_changed
from innerloop.integrations.optuna_tables import State, TableTrial
from innerloop.integrations.trial_changes import changes_of
from innerloop.integrations.trial_marks import ERROR, OUTCOME, StoredTrial
from innerloop.optimizer.changes import Change
from innerloop.optimizer.goals import VALUE, Goals, OutcomeConstraint
from innerloop.space.quotes import quoted
from innerloop.space.space import Space
from innerloop.studies.book import directions_of
from innerloop.studies.inferred import inferred_space, values_in
from innerloop.studies.view import StudyView


class AnyStudy(StudyView):
    """A study as it was when it was looked at.

    One that was not made by innerloop has the space of its trials, objectives with the names of its
    metrics, and a limit of 0 for each constraint.

    Args:
        study: of any sampler, in any storage.
    """

    def __init__(self, study: optuna.Study) -> None:
        attributes, directions = study.user_attrs, directions_of(study)
        super().__init__(study.study_name, directions, attributes, _names_of(study))
        trials, self._changes = study.get_trials(deepcopy=False), changes_of(attributes)
        self._trials: Sequence[StoredTrial]
        self.is_inferred = self.space is None
        if not self.is_inferred:
            self._trials = frozen_as_changed(trials, self._changes, len(directions))
            return
        self.space, self.seed = inferred_space(trials), 0
        limits = sorted({_limited(name) for trial in trials for name in trial.constraints})
        self.goals = Goals(self.goals.objectives, tuple(map(_limit, limits)))
        self._trials = [_plain(trial, self.space) for trial in trials]

    def stored_trials(self) -> Sequence[StoredTrial]:
        """All trials, in the order of their ids."""
        return self._trials

    def changes(self) -> tuple[Change, ...]:
        """Every change of what was on record, the first one first."""
        return self._changes


def _names_of(study: optuna.Study) -> list[str]:
    """Names of the objectives: those of its metrics, or numbers."""
    number, names = len(study.directions), study.metric_names or []
    if len(set(names)) == number:
        return names
    return [VALUE] if number == 1 else [f"{VALUE} {k}" for k in range(number)]


def _limited(name: str) -> str:
    """What a constraint is called among outcomes."""
    return f"constraint {name}"


def _limit(name: str) -> OutcomeConstraint:
    return OutcomeConstraint(name, 1.0, 0.0, None, f"{quoted(name)} <= 0")


def _plain(trial: FrozenTrial, space: Space | None) -> TableTrial:
    """A trial with plain values, and constraints among its outcomes; what is not finite failed."""
    values = [float(each) for each in trial.values or ()]
    usable = all(map(math.isfinite, values))
    state = State[trial.state.name]
    told: dict[str, Any] = {
        f"{OUTCOME}{_limited(name)}": float(each)
        for name, each in trial.constraints.items()
        if math.isfinite(each)
    }
    reason = trial.user_attrs.get(ERROR)
    if trial.state == TrialState.COMPLETE and not usable:
        state, reason = State.FAIL, f"the value was {', '.join(map(str, values))}"
    return TableTrial(
        trial.number,
        state,
        values if values and usable else None,
        values_in(space, trial.params),
        told if reason is None else {**told, ERROR: str(reason)},
        trial.system_attrs,
        trial.datetime_start,
        trial.datetime_complete,
    )
