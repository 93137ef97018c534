"""A study in a database: its space, direction and seed, and the trials asked and told."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from innerloop.errors import InputError, StudyError
from innerloop.integrations.optuna_private import begin_trial, set_user_attr_once, trial_id_of
from innerloop.integrations.optuna_space import take
from innerloop.integrations.optuna_trials import LOST
from innerloop.space.space import Space
from innerloop.studies.owners import is_dead, this_process
from innerloop.studies.records import ERROR, OWNER, Record, record_of
from innerloop.studies.storage import open_storage, storage_errors

if TYPE_CHECKING:
    from innerloop.integrations.optuna import InnerLoopSampler

_ATTRIBUTE, _VERSION = "innerloop", 1
_LONGEST_ERROR = 2000
# Databases do not look for numbers that their columns cannot hold.
_LARGEST_NUMBER = 2**31 - 1
#: Told trials whose owner is gone.
DIED = "its worker died"


class Study:
    """A study of Optuna's with the space that its trials come from.

    Its `space` and `seed` are None if it was made by something else and has no space yet.

    Args:
        storage: the database.
        name: that of a study which is there; a StudyError if it has several objectives.
        url: that of the database, for errors.
    """

    def __init__(self, storage: RDBStorage, name: str, url: str) -> None:
        self.optuna, self.url = _loaded(storage, name), url
        self._storage = storage
        self._keys: dict[int, int] = {}  # ids which the database has for trials
        settings = self.optuna.user_attrs.get(_ATTRIBUTE) or {}
        if settings.get("version", _VERSION) != _VERSION:
            raise StudyError(f"study {self.name!r} was written by a newer innerloop")
        table = settings.get("space")
        self.space = None if table is None else Space.from_dict(table)
        self.seed: int | None = settings.get("seed")
        self._sampler: InnerLoopSampler | None = None

    @property
    def name(self) -> str:
        """Its name in the database."""
        return self.optuna.study_name

    @property
    def direction(self) -> str:
        """ "minimize" or "maximize"."""
        is_max = self.optuna.direction == StudyDirection.MAXIMIZE
        return "maximize" if is_max else "minimize"

    def records(self) -> list[Record]:
        """All trials, in the order of their ids."""
        return [record_of(trial, self.space) for trial in self._trials()]

    def best(self) -> Record:
        """The complete trial with the best value, the first one of several."""
        complete = [r for r in self.records() if r.state == "complete" and r.value is not None]
        if not complete:
            raise StudyError(f"study {self.name!r} has no trial with a value yet")
        sign = -1.0 if self.direction == "maximize" else 1.0
        return min(complete, key=lambda record: sign * (record.value or 0.0))

    def ask(self) -> Record:
        """A new trial that this process runs."""
        space, self.optuna.sampler = self._chooser()
        with storage_errors(self.url):
            # With its owner from the first moment on, so that it is never stuck.
            trial = begin_trial(self.optuna, {OWNER: this_process()})
            self._keys[trial.number] = trial_id_of(trial)
            for name, parameter in space.varying.items():
                take(trial, name, parameter)
        return self.record(trial.number)

    def hand_out(self, trial: int) -> None:
        """Let a trial stay running until it is told, whatever becomes of this process.

        Args:
            trial: its id.
        """
        with storage_errors(self.url):
            self._storage.set_trial_system_attr(self._key(trial), OWNER, None)

    def tell(self, trial: int, value: float) -> Record:
        """Tell the value of a trial, which is kept from now on.

        Args:
            trial: its id; an InputError if there is none, or if it was told before.
            value: one that is not finite is a failure.

        Returns:
            The trial as it is now.
        """
        if not math.isfinite(value):
            return self.fail(trial, f"the value was {value}")
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
                self._storage.set_trial_user_attr(key, ERROR, _shortened(error))
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
            return record_of(self._storage.get_trial(self._key(trial)), self.space)

    def bury(self) -> list[int]:
        """Tell trials to have failed whose processes have ended on this host.

        Returns:
            Their ids.
        """
        buried = []
        for trial in self._trials():
            owner = trial.system_attrs.get(OWNER)
            if trial.state == TrialState.RUNNING and owner and is_dead(owner):
                try:
                    self.fail(trial.number, DIED, lost=True)
                except InputError:
                    continue  # another process was faster
                buried.append(trial.number)
        return buried

    def in_progress(self) -> int:
        """How many trials are run by some process that is not known to have ended."""
        return sum(_is_run(trial) for trial in self._trials(TrialState.RUNNING))

    def is_surplus(self, trial: int, total: int) -> bool:
        """Whether enough trials have begun before one.

        Args:
            trial: its id.
            total: how many are enough.

        Returns:
            Whether it need not be run.
        """
        ahead = 0
        for each in self._trials():
            counts = record_of(each, None).counts
            begun = each.number < trial and _is_run(each)
            ahead += counts or begun
        return ahead >= total

    def _chooser(self) -> tuple[Space, InnerLoopSampler]:
        """The space, and what chooses its points from the first ask on."""
        if self.space is None or self.seed is None:
            raise StudyError(
                f"study {self.name!r} has no space yet: give --space with the path of a space.toml"
            )
        if self._sampler is None:
            from innerloop.integrations.optuna import InnerLoopSampler  # slow to import

            self._sampler = InnerLoopSampler(space=self.space, seed=self.seed)
        return self.space, self._sampler

    def _finish(self, trial: int, state: TrialState, values: list[float] | None) -> None:
        with storage_errors(self.url):
            try:
                self._storage.set_trial_state_values(self._key(trial), state, values)
            except UpdateFinishedTrialError as error:
                raise self._told_before(trial) from error

    def _told_before(self, trial: int) -> InputError:
        record = self.record(trial)
        what = "told to have failed" if record.value is None else f"told {record.value}"
        return InputError(f"trial {trial} was {what} before, and keeps it")

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

    def _trials(self, *states: TrialState) -> list[FrozenTrial]:
        with storage_errors(self.url):
            return self.optuna.get_trials(deepcopy=False, states=states or None)


def open_study(url: str, name: str, *, writing: bool = True) -> Study:
    """A study that is there.

    Args:
        url: that of the database.
        name: that of the study; a StudyError if there is none.
        writing: whether trials are to be asked or told.

    Returns:
        The study.
    """
    storage = open_storage(url, writing=writing)
    with storage_errors(url):
        names = optuna.get_all_study_names(storage)
        if name not in names:
            have = f"--study may be {', '.join(map(repr, names))}" if names else "it has none yet"
            raise StudyError(f"there is no study {name!r} in the database: {have}")
        return Study(storage, name, url)


def create_study(
    url: str,
    name: str,
    *,
    space: Space | None,
    direction: str | None = None,
    seed: int | None = None,
) -> Study:
    """A study that is there and agrees with what is given, or a new one.

    Args:
        url: that of the database.
        name: that of the study.
        space: what to choose from; None for a study that is there.
        direction: "minimize" or "maximize"; None for that which it has, or else the former.
        seed: None for that which it has, or else a random one.

    Returns:
        The study; a StudyError if it is there and differs from what is given.
    """
    if space is None:
        study = open_study(url, name)
    else:
        storage = open_storage(url, writing=True)
        with storage_errors(url):
            way = StudyDirection.MAXIMIZE if direction == "maximize" else StudyDirection.MINIMIZE
            with suppress(optuna.exceptions.DuplicatedStudyError):
                optuna.create_study(storage=storage, study_name=name, direction=way)
            study = Study(storage, name, url)
            if study.space is None:
                settings = {
                    "version": _VERSION,
                    "space": space.to_dict(),
                    "seed": secrets.randbits(32) if seed is None else seed,
                }
                number = storage.get_study_id_from_name(name)
                set_user_attr_once(storage, number, _ATTRIBUTE, settings)
                study = Study(storage, name, url)
    _refuse_difference(study, space, direction, seed)
    return study


def studies_in(url: str) -> list[Study]:
    """The studies in a database that have one objective.

    Args:
        url: that of the database.

    Returns:
        The studies, in the order of the database.
    """
    storage = open_storage(url, writing=False)
    with storage_errors(url):
        summaries = optuna.get_all_study_summaries(storage, include_best_trial=False)
        names = [each.study_name for each in summaries if len(each.directions) == 1]
        return [Study(storage, name, url) for name in names]


def _loaded(storage: RDBStorage, name: str) -> optuna.Study:
    study = optuna.load_study(study_name=name, storage=storage)
    if len(study.directions) > 1:
        raise StudyError(
            f"study {name!r} has {len(study.directions)} objectives; innerloop optimizes one"
        )
    return study


def _is_run(trial: FrozenTrial) -> bool:
    """Whether some process that is not known to have ended runs a trial."""
    owner = trial.system_attrs.get(OWNER)
    return trial.state == TrialState.RUNNING and bool(owner) and not is_dead(owner or {})


def _refuse_difference(
    study: Study, space: Space | None, direction: str | None, seed: int | None
) -> None:
    """What a study was created with stays as it is."""
    about = f"study {study.name!r} is there already"
    if space is not None and study.space is not None:
        different = list(_differences(study.space.to_dict(), space.to_dict()))
        if different:
            advice = "give another --study or leave out --space"
            raise StudyError(f"{about} with another space: {'; '.join(different)}: {advice}")
    if direction not in (None, study.direction):
        raise StudyError(f"{about}, to {study.direction}, not to {direction}")
    if seed not in (None, study.seed):
        raise StudyError(f"{about} with seed {study.seed}, not {seed}")


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterable[str]:
    """In what a given space differs from that of the study."""
    here, there = ours["parameters"], theirs["parameters"]
    for name in {**here, **there}:
        if name not in there:
            yield f"{name!r} is missing"
        elif name not in here:
            yield f"{name!r} is new"
        elif here[name] != there[name]:
            yield f"{name!r} was {here[name]} and is now {there[name]}"
    if list(ours["constraints"]) != list(theirs["constraints"]):
        yield f"constraints were {ours['constraints']} and are now {theirs['constraints']}"


def _shortened(error: str) -> str:
    """An error that fits into any database: its end says most."""
    return error if len(error) <= _LONGEST_ERROR else f"... {error[-_LONGEST_ERROR:]}"
