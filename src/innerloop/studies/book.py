"""The trials of a study in a database, and what is told of them: a value, or several outcomes.

An outcome is an attribute of its trial, which is set once. So several processes may tell parts of
one trial at the same moment; it is finished by whoever finds that all of them are there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from innerloop.errors import InputError
from innerloop.integrations.optuna_changes import frozen_as_changed
from innerloop.integrations.optuna_private import set_constraints_once, set_trial_user_attrs_once
from innerloop.integrations.space_changes import space_after
from innerloop.integrations.trial_changes import changes_of
from innerloop.integrations.trial_marks import ERROR, LOST, NOISE_SD, OUTCOME
from innerloop.optimizer.changes import Change
from innerloop.optimizer.trials import as_number, check_names, with_outcomes
from innerloop.studies.records import Record, record_of, trial_of
from innerloop.studies.storage import storage_errors
from innerloop.studies.view import StudyView

#: What to do about something that was told wrongly.
HOW_TO_CORRECT = "'innerloop tell --correct' replaces it"
_LONGEST_ERROR = 2000
# Databases do not look for numbers that their columns cannot hold.
_LARGEST_NUMBER = 2**31 - 1


class Book(StudyView):
    """The trials of a study of Optuna's, with the space that they come from and their goals.

    Args:
        storage: the database.
        name: that of a study which is there; a StudyError if it has several objectives without
            names.
        url: that of the database, for errors.
    """

    def __init__(self, storage: RDBStorage, name: str, url: str) -> None:
        self.optuna, self.url = optuna.load_study(study_name=name, storage=storage), url
        super().__init__(name, directions_of(self.optuna), self.optuna.user_attrs)
        self._storage = storage
        self._keys: dict[int, int] = {}  # ids which the database has for trials

    def stored_trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Trials in the order of their ids.

        Args:
            states: those that are wanted; all, if none is given.

        Returns:
            The trials.
        """
        with storage_errors(self.url):
            trials = self._as_changed(self.optuna.get_trials(deepcopy=False))
        return [trial for trial in trials if not states or trial.state in states]

    def tell(self, trial: int, told: Any, *, noise_sd: float | None = None) -> Record:
        """Tell what came of a trial, which is kept from now on.

        Args:
            trial: its id; an InputError if there is none, or if it was told before.
            told: the value, or outcomes by name, all of them or some; one that is not finite is a
                failure.
            noise_sd: of one outcome alone, the standard deviation of the noise in it.

        Returns:
            The trial as it is now; it is still running if some outcomes have not been told.
        """
        if not self.goals.is_plain:
            return self._tell_outcomes(trial, told)
        if isinstance(told, Mapping):
            check_names(told, self.goals.names)
        value = as_number(f"the value of trial {trial}", self.goals.unnamed(told))
        if not math.isfinite(value):
            return self.fail(trial, f"the value was {value}")
        if noise_sd is not None:
            self._note_noise(trial, noise_sd)
        self._finish(trial, TrialState.COMPLETE, [value])
        return self.record(trial)

    def fail(self, trial: int, error: str, *, lost: bool = False) -> Record:
        """Tell that a trial has no value.

        Args:
            trial: its id; an InputError if there is none, or if it was told before.
            error: why.
            lost: whether that says nothing of its params.

        Returns:
            The trial as it is now.
        """
        key = self._key(trial)
        with storage_errors(self.url):
            try:
                self._storage.set_trial_user_attr(key, ERROR, shortened(error))
                if lost:
                    self._storage.set_trial_system_attr(key, LOST, True)
            except UpdateFinishedTrialError as finished:
                raise self._told_before(trial) from finished
        self._finish(trial, TrialState.FAIL, None)
        return self.record(trial)

    def record(self, trial: int) -> Record:
        """A trial as it is now.

        Args:
            trial: its id; an InputError if there is none.

        Returns:
            The trial.
        """
        with storage_errors(self.url):
            (now,) = self._as_changed([self._storage.get_trial(self._key(trial))])
        return record_of(now, self.space, self.goals)

    def put(self, trial: FrozenTrial) -> int:
        """Put a finished trial on record.

        Args:
            trial: as Optuna makes them.

        Returns:
            Its id.
        """
        with storage_errors(self.url):
            key = self._storage.create_new_trial(self._id, trial)
            number = self._storage.get_trial_number_from_id(key)
        self._keys[number] = key
        if self.goals.constraints and trial.state == TrialState.COMPLETE:
            self._limit(self.record(number))
        return number

    def changes(self) -> tuple[Change, ...]:
        """Every change of what was on record, the first one first."""
        with storage_errors(self.url):
            return changes_of(self._storage.get_study_user_attrs(self._id))

    def _as_changed(self, trials: list[FrozenTrial]) -> list[FrozenTrial]:
        """Trials as they are after all changes."""
        changes = self.changes()
        self.space = space_after(changes) or self.space  # another process may have changed it
        return frozen_as_changed(trials, changes, len(self.goals.objectives))

    def _tell_outcomes(self, trial: int, told: Any) -> Record:
        """The same for several outcomes, each of which is told once, whoever tells it."""
        goals, record = self.goals, self.record(trial)
        if record.state not in ("running", "waiting"):
            raise self._told_before(trial)
        wanted = with_outcomes(trial_of(record), told, goals.names, len(goals.objectives))
        numbers = {f"{OUTCOME}{name}": each for name, each in (wanted.outcomes or {}).items()}
        noise = {f"{NOISE_SD}{name}": each for name, each in (wanted.noise_sds or {}).items()}
        with storage_errors(self.url):
            set_trial_user_attrs_once(self._storage, self._key(trial), numbers | noise)
        kept = self.record(trial).outcomes
        for name, value in (wanted.outcomes or {}).items():
            if kept[name] != value:  # another process was faster
                before = f"{name!r} of trial {trial} was told {kept[name]} before"
                raise InputError(f"{before}, and keeps it: {HOW_TO_CORRECT}")
        if wanted.state == "failed":
            return self.fail(trial, str(wanted.error))
        return self._finish_if_told(trial)

    def _finish_if_told(self, trial: int) -> Record:
        """Finish a trial that has been told all outcomes, by this process or by several."""
        record, goals = self.record(trial), self.goals
        if set(goals.names) <= record.outcomes.keys():
            self._limit(record)
            with suppress(InputError):  # another process was faster
                values = [record.outcomes[name] for name in goals.objectives]
                self._finish(trial, TrialState.COMPLETE, values)
            record = self.record(trial)
            if record.state != "complete":
                raise self._told_before(trial)
            if goals.is_relative:
                self._limit(record)  # the limit may have been told meanwhile
        if trial in [each.trial for each in goals.constraints]:
            self._limit_all()
        return record

    def _finish_told(self) -> None:
        """Finish what processes were about to finish when they ended."""
        names = set(self.goals.names)
        for trial in self.stored_trials(TrialState.RUNNING):
            if names <= record_of(trial, None, self.goals).outcomes.keys():
                with suppress(InputError):  # another process was faster
                    self._finish_if_told(trial.number)
        if self.goals.is_relative:
            self._limit_all()

    def _limit_all(self) -> None:
        """Let Optuna know of all limits that are known by now."""
        names = {each.name for each in self.goals.constraints}
        for trial in self.stored_trials(TrialState.COMPLETE):
            if not names <= trial.constraints.keys():
                self._limit(record_of(trial, None, self.goals))

    def _limit(self, record: Record) -> None:
        """Let Optuna know by how much a trial is beyond its limits, as far as these are known."""
        others = self.records() if self.goals.is_relative else []
        told = [each for each in self.goals.constraints if each.name in record.outcomes]
        found = {each.name: each.excess(record.outcomes[each.name], others) for each in told}
        known = {name: excess for name, excess in found.items() if excess is not None}
        with storage_errors(self.url):
            set_constraints_once(self._storage, self._key(record.id), known)

    def _finish(self, trial: int, state: TrialState, values: list[float] | None) -> None:
        with storage_errors(self.url):
            try:
                self._storage.set_trial_state_values(self._key(trial), state, values)
            except UpdateFinishedTrialError as error:
                raise self._told_before(trial) from error

    def _note_noise(self, trial: int, noise_sd: float) -> None:
        """Keep the noise in the one outcome of a trial that is about to be told."""
        with storage_errors(self.url):
            try:
                name = f"{NOISE_SD}{self.goals.names[0]}"
                self._storage.set_trial_user_attr(self._key(trial), name, noise_sd)
            except UpdateFinishedTrialError as finished:
                raise self._told_before(trial) from finished

    def _told_before(self, trial: int) -> InputError:
        record = self.record(trial)
        if record.state == "forgotten":
            return InputError(f"trial {trial} was forgotten: bring it back first")
        told = record.value if self.goals.is_plain else record.outcomes
        what = f"told {told}" if record.state != "failed" else "told to have failed"
        return InputError(f"trial {trial} was {what} before, and keeps it: {HOW_TO_CORRECT}")

    @cached_property
    def _id(self) -> int:
        """The id which the database has for the study."""
        return self._storage.get_study_id_from_name(self.name)

    def _key(self, trial: int) -> int:
        """The id which the database has for a trial."""
        if trial not in self._keys:
            missing = InputError(f"there is no trial {trial} in study {self.name!r}")
            if not 0 <= trial <= _LARGEST_NUMBER:
                raise missing
            with storage_errors(self.url):
                find = self._storage.get_trial_id_from_study_id_trial_number
                try:
                    self._keys[trial] = find(self._id, trial)
                except KeyError as error:
                    raise missing from error
        return self._keys[trial]


def directions_of(study: optuna.Study) -> list[str]:
    """What is done with each objective.

    Args:
        study: the study.

    Returns:
        "minimize" or "maximize" for each.
    """
    is_max = [each == StudyDirection.MAXIMIZE for each in study.directions]
    return ["maximize" if each else "minimize" for each in is_max]


def shortened(error: str) -> str:
    """An error that fits into any database: its end says most.

    Args:
        error: of any length.

    Returns:
        The error, or its end.
    """
    return error if len(error) <= _LONGEST_ERROR else f"... {error[-_LONGEST_ERROR:]}"
