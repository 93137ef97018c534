"""A book whose trials may be corrected or forgotten: a change is a row beside what was told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from innerloop.errors import InputError, StudyError
from innerloop.integrations.optuna_private import set_user_attr_once
from innerloop.integrations.space_changes import space_after, spaces_in, values_of
from innerloop.integrations.trial_changes import name_of
from innerloop.optimizer.changes import Change, corrected, forgotten, remembered, told_of
from innerloop.optimizer.spaces import defaults_for
from innerloop.optimizer.trials import Trial
from innerloop.space.space import Space
from innerloop.studies.book import Book, shortened
from innerloop.studies.records import Record, trial_of
from innerloop.studies.storage import storage_errors
from innerloop.studies.view import ATTRIBUTE, VERSION


class History(Book):
    """The trials of a study, as `Book` has them, and every change of what was told."""

    def correct(self, trial: int, told: Any, *, error: str | None = None) -> Record:
        """Replace what a trial was told: from now on, everything is as if this had been told.

        Args:
            trial: its id; an InputError if there is none, or if it was not told.
            told: the value, or a pair of it and the standard deviation of its noise; or those of
                several outcomes by name, all or some; None if it has failed.
            error: why it has failed.

        Returns:
            The trial as it is now.
        """

        def make(_: tuple[Change, ...]) -> Change | None:
            known = self._trial(trial)
            now = _corrected(known, self, told, None if error is None else shortened(error))
            return None if now is known else self._change("correct", known, now, told)

        self._append(make)
        return self.record(trial)

    def forget(self, trial: int, *, undo: bool = False) -> Record:
        """Keep a trial on record, marked as forgotten, and learn nothing from it.

        Args:
            trial: its id; an InputError if there is none, or if it is not finished.
            undo: whether it is to be as it was before it was forgotten.

        Returns:
            The trial as it is now.
        """

        def make(changes: tuple[Change, ...]) -> Change | None:
            known = self._trial(trial)
            now = remembered(known, changes) if undo else forgotten(known, self.goals)
            return None if now is known else self._change("undo" if undo else "forget", known, now)

        self._append(make)
        return self.record(trial)

    def change_space(
        self,
        space: Space,
        *,
        defaults: Mapping[str, Any] | None = None,
        drop: Collection[str] = (),
    ) -> None:
        """Go on in another space, with all trials there are; see `Optimizer.change_space`.

        Args:
            space: what to choose from now on.
            defaults: of parameters that are new, the values which they had in earlier trials.
            drop: parameters that the new space does not have.
        """

        def make(changes: tuple[Change, ...]) -> Change | None:
            with storage_errors(self.url):
                trials = self.optuna.get_trials(deepcopy=False)
            before = space_after(changes) or self.space
            if before is None:
                raise StudyError(f"study {self.name!r} has no space: it was not made by innerloop")
            values = [values_of(trial, spaces_in(changes)) for trial in trials if trial.params]
            given = defaults_for(before, space, defaults or {}, drop, values)
            if space == before:
                return None
            after = {"space": space.to_dict(), "defaults": given, "trials": len(trials)}
            return Change("space", None, {"space": before.to_dict()}, after)

        self._append(make)
        self.stored_trials()

    def _trial(self, trial: int) -> Trial:
        """A trial as optimizers know it: one that was given up was told to have failed."""
        record = self.record(trial)
        if record.state in ("pruned", "waiting"):
            raise InputError(f"trial {trial} is {record.state}: it stays as it is")
        known = trial_of(record)
        known = replace(known, state="failed") if record.lost else known
        if not self.goals.is_plain:
            return known
        noise = next(iter(record.noise_sds.values()), None)
        return replace(known, outcomes=None, noise_sds=None, noise_sd=noise)

    def _change(self, kind: str, known: Trial, now: Trial, told: Any = None) -> Change:
        """That a trial was one thing and is another, in the names that studies have."""
        before, after = self._told(known), self._told(now)
        if now.state == "pending":  # whoever tells the rest may be doing it now
            named = after["outcomes"].items()
            after["outcomes"] = {name: each for name, each in named if name in told}
        return Change(kind, now.id, before, after)

    def _told(self, trial: Trial) -> dict[str, Any]:
        """What a trial was told, with the noise in all of it by name."""
        first, outcomes = self.goals.names[0], trial.outcomes or {}
        plain = replace(
            trial,
            outcomes={n: outcomes[n] for n in self.goals.names if n in outcomes} or None,
            noise_sds=(trial.noise_sds if trial.noise_sd is None else {first: trial.noise_sd})
            or None,
            noise_sd=None,
            told=None,
        )
        return told_of(plain)

    def _append(self, make: Callable[[tuple[Change, ...]], Change | None]) -> None:
        """Add the change that follows from those there are, if one does.

        Another process may add one at the same moment, from which something else may follow.
        """
        while True:
            changes = self.changes()
            change = make(changes)
            if change is None:
                return
            name, content = name_of(len(changes)), change.to_dict()
            with storage_errors(self.url):
                self._refuse_earlier_versions()
                set_user_attr_once(self._storage, self._id, name, content)
                if self._storage.get_study_user_attrs(self._id)[name] == content:
                    return

    def _refuse_earlier_versions(self) -> None:
        """Have versions of innerloop that know nothing of changes refuse the study."""
        settings = self._storage.get_study_user_attrs(self._id).get(ATTRIBUTE)
        if settings is not None and settings.get("version", 1) < VERSION:
            whole = {**settings, "version": VERSION}
            self._storage.set_study_user_attr(self._id, ATTRIBUTE, whole)


def _corrected(known: Trial, study: Book, told: Any, error: str | None) -> Trial:
    """A trial as if it had been told something else."""
    if told is None:
        return corrected(known, study.goals, None, "failed", None, error)
    if not study.goals.is_plain:
        return corrected(known, study.goals, told, "complete", None, None)
    value = study.goals.unnamed(told)
    value, noise = value if isinstance(value, tuple) else (value, None)
    return corrected(known, study.goals, value, "complete", noise, None)
