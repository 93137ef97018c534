"""The trials of a study, for a run: as many as it takes until the study has enough."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from innerloop.errors import InputError, StorageError, StudyError
from innerloop.optimizer.trials import Trial, point_of
from innerloop.run.outcomes import describe, refusal
from innerloop.space.parameters import Plain
from innerloop.space.space import Space
from innerloop.studies.records import Record, trial_of
from innerloop.studies.study import Study
from innerloop.studies.targets import TargetError

_NOT_NEEDED = "not started: other processes had begun enough trials"


class StudyTrials:
    """Trials of a study, as `AskTell` has it; other processes may have some of them.

    Args:
        study: whose they are.
        total: answers that the study shall have.
    """

    unreachable: tuple[type[Exception], ...] = (StorageError,)

    def __init__(self, study: Study, total: int) -> None:
        self.asks, self.ask_seconds = 0, 0.0
        self.none_left = "done"
        self._study, self._total = study, total
        self._of, self._points = study.space, _points(study.space)

    @property
    def space(self) -> Space | None:
        """What trials are points of."""
        return self._study.space

    def available(self, number: int) -> int:
        """One, if there is room and need for it: others may begin some meanwhile."""
        if number <= 0:
            return 0
        records = self._study.records()
        left = self._total - sum(record.counts for record in records)
        if left <= 0:
            self.none_left = "done"
        elif left <= self._study.in_progress():
            self.none_left = "elsewhere"
        elif self._is_exhausted(records):
            self.none_left = "exhausted"
        else:
            return 1
        return 0

    def _is_exhausted(self, records: Sequence[Record]) -> bool:
        """Whether every point of a space that has few of them was tried."""
        if self._of is not self._study.space:  # it was changed meanwhile
            self._of, self._points = self._study.space, _points(self._study.space)
        counting = (r for r in records if not r.lost and r.state != "forgotten")
        return self._points is not None and self._points <= {point_of(r.params) for r in counting}

    def resume(self, number: int) -> list[Trial]:
        """None: what was cut off is made up for by new trials."""
        return []

    def ask(self, number: int) -> list[Trial]:
        """A new trial, unless another process was faster."""
        began = time.perf_counter()
        record = self._study.ask()
        self.ask_seconds += time.perf_counter() - began
        self.asks += 1
        if self._study.is_surplus(record.id, self._total):
            self._study.fail(record.id, _NOT_NEEDED, lost=True)
            return []
        return [trial_of(record)]

    def tell(self, trial: Trial, returned: Any) -> Trial | None:
        """What came of a trial; None if somebody else has told it before."""
        goals = self._study.goals
        try:
            record = self._study.tell(trial.id, returned)
        except InputError as error:
            reason = str(error) if goals.is_plain else refusal(returned, goals)
            return self.fail(trial, reason, lost=False)
        if record.state == "running":  # some outcomes are missing
            return self.fail(trial, refusal(returned, goals), lost=False)
        return trial_of(record)

    def fail(self, trial: Trial, error: BaseException | str, *, lost: bool) -> Trial | None:
        """That a trial has no value; None if somebody else has told it before."""
        text = error if isinstance(error, str) else _described(error)
        try:
            return trial_of(self._study.fail(trial.id, text, lost=lost))
        except InputError:
            return None

    def expired(self, trials: tuple[Trial, ...]) -> list[Trial]:
        """None: those who evaluate trials end those that take too long."""
        return []

    def with_values(self, error: Exception, values: dict[int, Any]) -> Exception:
        """The error with everything that could not be stored."""
        if not values:
            return error
        listed = ", ".join(f"trial {id} = {value!r}" for id, value in values.items())
        return StorageError(f"{error}; not stored: {listed} ('innerloop tell' can store them)")


def _described(error: BaseException) -> str:
    """What targets say themselves needs no traceback."""
    plain = isinstance(error, TargetError | StudyError)
    return str(error) if plain else describe(error)


def _points(space: Space | None) -> set[tuple[Plain, ...]] | None:
    """All points of a space that has few of them."""
    everything = None if space is None else space.everything()
    if space is None or everything is None:
        return None
    return {point_of(space.decode(x)) for x in everything}
