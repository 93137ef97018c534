"""A study in a database: its trials asked, and shared by processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import optuna
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from innerloop.errors import InputError, StudyError
from innerloop.integrations.optuna_private import begin_trial, trial_id_of
from innerloop.integrations.optuna_space import fitting_names, take
from innerloop.integrations.space_changes import space_after, spaces_in
from innerloop.integrations.trial_marks import PARAMS
from innerloop.space.space import Space
from innerloop.studies.any_study import AnyStudy
from innerloop.studies.history import History
from innerloop.studies.owners import is_dead, this_process
from innerloop.studies.records import OWNER, Record, record_of
from innerloop.studies.storage import open_storage, storage_errors
from innerloop.studies.view import ATTRIBUTE

if TYPE_CHECKING:
    from innerloop.integrations.optuna import InnerLoopSampler

#: Told trials whose owner is gone.
DIED = "its worker died"


class Study(History):
    """A study, as `History` has it, whose trials are chosen.

    Args:
        storage: the database.
        name: that of a study which is there.
        url: that of the database, for errors.
    """

    def __init__(self, storage: RDBStorage, name: str, url: str) -> None:
        super().__init__(storage, name, url)
        self._sampler: InnerLoopSampler | None = None
        self._spaces = spaces_in(self.changes())

    def ask(self) -> Record:
        """A new trial that this process runs."""
        space, self.optuna.sampler = self._chooser()
        fitting = fitting_names(space, self._spaces)
        with storage_errors(self.url):
            # With its owner from the first moment on, so that it is never stuck.
            trial = begin_trial(self.optuna, {OWNER: this_process()})
            self._keys[trial.number] = trial_id_of(trial)
            chosen = trial.relative_params
            for name in fitting:
                if name in chosen:
                    take(trial, name, space.varying[name])
            rest = {n: each for n, each in chosen.items() if n not in fitting}
            if rest:
                key = self._keys[trial.number]
                self._storage.set_trial_system_attr(key, PARAMS, rest)
        return self.record(trial.number)

    def hand_out(self, trial: int) -> None:
        """Let a trial stay running until it is told, whatever becomes of this process.

        Args:
            trial: its id.
        """
        with storage_errors(self.url):
            self._storage.set_trial_system_attr(self._key(trial), OWNER, None)

    def bury(self) -> list[int]:
        """Tell trials to have failed whose processes have ended on this host.

        What these had told, and not finished telling, is finished.

        Returns:
            Their ids.
        """
        if not self.goals.is_plain:
            self._finish_told()
        buried = []
        for trial in self.stored_trials():
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
        return sum(_is_run(trial) for trial in self.stored_trials(TrialState.RUNNING))

    def is_surplus(self, trial: int, total: int) -> bool:
        """Whether enough trials have begun before one.

        Args:
            trial: its id.
            total: how many are enough.

        Returns:
            Whether it need not be run.
        """
        ahead = 0
        for each in self.stored_trials():
            counts = record_of(each, None, self.goals).counts
            begun = each.number < trial and _is_run(each)
            ahead += counts or begun
        return ahead >= total

    def _chooser(self) -> tuple[Space, InnerLoopSampler]:
        """The space, and what chooses its points from the first ask on."""
        changes = self.changes()
        spaces = spaces_in(changes)
        if len(spaces) != len(self._spaces):
            self.space, self._spaces, self._sampler = space_after(changes), spaces, None
        if self.space is None or self.seed is None:
            raise StudyError(
                f"study {self.name!r} has no space yet: give --space with the path of a space.toml"
            )
        goals = None if self.goals.is_plain else self.goals
        if self.goals.is_relative:
            goals = self.goals.resolved(self.records())
        if self._sampler is None or self._sampler.goals != goals:
            from innerloop.integrations.optuna import InnerLoopSampler  # slow to import

            self._sampler = InnerLoopSampler(space=self.space, seed=self.seed, goals=goals)
        return self.space, self._sampler


def open_study(url: str, name: str, *, writing: bool = True) -> Study:
    """A study that is there.

    Args:
        url: that of the database.
        name: that of the study; a StudyError if there is none.
        writing: whether trials are to be asked or told.

    Returns:
        The study.
    """
    storage = _holding(url, name, writing=writing)
    with storage_errors(url):
        return Study(storage, name, url)


def any_study(url: str, name: str) -> AnyStudy:
    """A study to look at, whatever has made it.

    Args:
        url: that of the database.
        name: that of the study; a StudyError if there is none.

    Returns:
        The study as it is now.
    """
    storage = _holding(url, name, writing=False)
    with storage_errors(url):
        return AnyStudy(optuna.load_study(study_name=name, storage=storage))


def studies_in(url: str) -> list[Study]:
    """The studies in a database that have one objective, or names for several.

    Args:
        url: that of the database.

    Returns:
        The studies, in the order of the database.
    """
    storage = open_storage(url, writing=False)
    with storage_errors(url):
        summaries = optuna.get_all_study_summaries(storage, include_best_trial=False)
        known = [s for s in summaries if len(s.directions) == 1 or ATTRIBUTE in s.user_attrs]
        return [Study(storage, each.study_name, url) for each in known]


def _holding(url: str, name: str, *, writing: bool) -> RDBStorage:
    """The database, if it has the study."""
    storage = open_storage(url, writing=writing, creating=False)
    with storage_errors(url):
        names = optuna.get_all_study_names(storage)
    if name not in names:
        have = f"--study may be {', '.join(map(repr, names))}" if names else "it has none yet"
        raise StudyError(f"there is no study {name!r} in the database: {have}")
    return storage


def _is_run(trial: FrozenTrial) -> bool:
    """Whether some process that is not known to have ended runs a trial."""
    owner = trial.system_attrs.get(OWNER)
    return trial.state == TrialState.RUNNING and bool(owner) and not is_dead(owner or {})
