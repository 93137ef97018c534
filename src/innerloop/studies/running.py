"""Running the trials of a study: ask, have evaluated, tell, until there are enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial, point_of
from innerloop.run.failures import FailuresInARow
from innerloop.run.interrupts import Interrupts
from innerloop.run.outcomes import Outcome, describe, last_line
from innerloop.run.progress import Display, display
from innerloop.run.workers import Finished, Pool, Submits
from innerloop.space.parameters import Plain
from innerloop.studies.errors import StorageError, StudyError
from innerloop.studies.records import Record
from innerloop.studies.study import Study
from innerloop.studies.targets import TargetError

_LONGEST_WAIT = 0.5
_UNFINISHED = "stopped before it finished"
_NOT_NEEDED = "not started: other processes had begun enough trials"


@dataclass(frozen=True)
class Plan:
    """total: answers that the study shall have. parallel: trials at the same time.

    timeout: seconds after which the run ends. max_failures: it ends when trials have failed at so
    many different places in a row.
    """

    total: int
    parallel: int
    timeout: float | None = None
    max_failures: int = 10


class Ran(NamedTuple):
    """Why a run ended: "done", "timeout", "interrupted", "exhausted", "elsewhere" or "failures".

    told: how many trials it told. last_error: that of the last trial that failed.
    """

    stopped: str
    told: int
    last_error: str | None


class _Shown(NamedTuple):
    """What a progress bar has to know."""

    direction: str
    trials: tuple[Trial, ...]


def run(
    study: Study, plan: Plan, *, f: Callable[[dict[str, Any]], float], executor: Submits
) -> Ran:
    """Have trials evaluated by f on an executor until the study has enough of them."""
    study.bury()
    records = study.records()
    left = max(plan.total - sum(record.counts for record in records), 0)
    shown = _Shown(study.direction, tuple(_trial(record) for record in records))
    with Interrupts() as interrupts, display(None, cast(Optimizer, shown), left) as bar:
        loop = _Loop(study, plan, workers=Pool(f, interrupts, executor), bar=bar)
        return loop.run(interrupts)


class _Loop:
    """One run. asks, ask_seconds: how often it asked, and for how long."""

    def __init__(self, study: Study, plan: Plan, *, workers: Pool, bar: Display) -> None:
        self.asks, self.ask_seconds = 0, 0.0
        self._study, self._plan, self._workers, self._bar = study, plan, workers, bar
        self._stopped: str | None = None
        self._unfinished: dict[int, Trial] = {}  # asked here and not told yet
        self._told = 0
        self._failures = None if study.space is None else FailuresInARow(study.space)
        self._last_error: str | None = None
        self._values: dict[int, float] = {}  # found and not told yet
        self._points = _points(study)
        seconds = plan.timeout
        self._deadline = float("inf") if seconds is None else time.monotonic() + seconds

    def run(self, interrupts: Interrupts) -> Ran:
        """Go on until there is a reason to stop; no trial of this run stays running."""
        try:
            while self._stopped is None:
                self._fill(interrupts)
                if self._stopped is None:
                    left = self._deadline - time.monotonic()
                    for finished in self._workers.collect(max(min(left, _LONGEST_WAIT), 0.0)):
                        self._record(finished)
        except KeyboardInterrupt:
            self._stopped = "interrupted"
        except StorageError as error:
            raise self._with_values(error) from error
        except Exception:  # no new point could be chosen: what has finished is not lost by that
            self._give_up()
            raise
        finally:
            interrupts.close()
        try:
            self._give_up()
        except StorageError as error:
            raise self._with_values(error) from error
        stopped = "interrupted" if interrupts.pressed else self._stopped
        return Ran(stopped or "", self._told, self._last_error)

    def _fill(self, interrupts: Interrupts) -> None:
        """Start as many trials as there is room for, or find that it is time to stop."""
        while self._stopped is None:
            if interrupts.pressed:
                raise KeyboardInterrupt
            if time.monotonic() >= self._deadline:
                self._stopped = "timeout"
                return
            flying = len(self._workers.in_flight)
            reason = self._reason_to_wait() if flying < self._plan.parallel else "full"
            if reason is not None:
                self._stopped = None if flying else reason
                return
            self._start()

    def _reason_to_wait(self) -> str | None:
        records = self._study.records()
        left = self._plan.total - sum(record.counts for record in records)
        if left <= 0:
            return "done"
        if left <= self._study.in_progress():
            return "elsewhere"
        if self._points is not None:
            tried = {point_of(record.params) for record in records if not record.lost}
            if self._points <= tried:
                return "exhausted"
        return None

    def _start(self) -> None:
        """Ask for a trial and submit it, unless another process was faster."""
        began = time.perf_counter()
        record = self._study.ask()
        self.ask_seconds += time.perf_counter() - began
        self.asks += 1
        trial = _trial(record)
        if self._study.is_surplus(record.id, self._plan.total):
            self._study.fail(record.id, _NOT_NEEDED, lost=True)
            return
        self._unfinished[record.id] = trial
        self._workers.submit(trial)
        if self.asks == 1:
            self._bar.start()

    def _record(self, finished: Finished) -> None:
        """Tell what came of a trial."""
        outcome, trial = Outcome.of(finished.future), finished.trial
        exception = outcome.exception
        if isinstance(exception, KeyboardInterrupt):
            raise exception
        if exception is None:
            self._values[trial.id] = outcome.returned
        told = self._tell(trial.id, exception)
        self._unfinished.pop(trial.id, None)
        if told is None:
            return
        self._told += 1
        if told.error is not None:
            self._last_error = last_line(told.error)
        if self._failures is not None:
            self._failures.note(told.params, failed=told.state != "complete")
            if len(self._failures) >= self._plan.max_failures:
                self._stopped = self._stopped or "failures"
        self._bar.update(_trial(told), self)

    def _tell(self, trial: int, exception: BaseException | None) -> Record | None:
        """The trial as told; None if somebody else has told it before."""
        try:
            if exception is None:
                told = self._study.tell(trial, self._values[trial])
            else:
                is_plain = isinstance(exception, (TargetError, StudyError))
                told = self._study.fail(trial, str(exception) if is_plain else describe(exception))
        except InputError:
            told = None
        self._values.pop(trial, None)
        return told

    def _give_up(self) -> None:
        """Tell what has finished up to now, and give up the rest."""
        for finished in self._workers.abandon():
            if Outcome.of(finished.future).exception is None:
                self._record(finished)
        reason = _UNFINISHED
        if self._stopped == "timeout":
            reason = f"no value when the {self._plan.timeout:g} seconds of the run were over"
        for trial in list(self._unfinished):
            try:
                self._study.fail(trial, reason, lost=True)
            except InputError:
                continue
        self._unfinished = {}

    def _with_values(self, error: StorageError) -> StorageError:
        """The error with everything that could not be stored."""
        for finished in self._workers.abandon():
            outcome = Outcome.of(finished.future)
            if outcome.exception is None:
                self._values[finished.trial.id] = outcome.returned
        if not self._values:
            return error
        values = ", ".join(f"trial {id} = {value!r}" for id, value in self._values.items())
        return StorageError(f"{error}; not stored: {values} ('innerloop tell' can store them)")


def _trial(record: Record) -> Trial:
    """A record as runners and progress bars know trials."""
    without = "cancelled" if record.lost else "failed"
    state = {"complete": "complete", "running": "pending"}.get(record.state, without)
    asked = time.time()
    return Trial(record.id, record.params, state=state, value=record.value, asked=asked)


def _points(study: Study) -> set[tuple[Plain, ...]] | None:
    """All points of a space that has few of them."""
    space = study.space
    everything = None if space is None else space.everything()
    if space is None or everything is None:
        return None
    return {point_of(space.decode(x)) for x in everything}
