"""The loop of a run: ask, have evaluated, tell, until there is a reason to stop."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.reasons import last_line
from innerloop.optimizer.trials import Trial
from innerloop.run.ask_tell import AskTell
from innerloop.run.failures import FailuresInARow
from innerloop.run.interrupts import Interrupts
from innerloop.run.outcomes import Outcome, describe
from innerloop.run.progress import Display
from innerloop.run.workers import Finished, Workers

# Where waiting cannot be interrupted, Ctrl-C has to wait no longer than this.
_LONGEST_WAIT = 0.5
_UNFINISHED = "stopped before it finished"


@dataclass(frozen=True)
class Pace:
    """How many trials at a time, and when to end a run that is not done.

    Args:
        batch_size: trials at the same time.
        refill: whether to start a new trial as soon as one has finished.
        timeout: seconds after which the run ends.
        max_failures: at so many different places in a row trials may fail.
    """

    batch_size: int = 1
    refill: bool = True
    timeout: float | None = None
    max_failures: int | None = 10

    def __post_init__(self) -> None:
        checks.count("batch_size", self.batch_size)
        checks.instance("refill", self.refill, bool, "True or False")
        if self.timeout is not None:
            checks.positive_scalar("timeout", self.timeout)
        if self.max_failures is not None:
            checks.count("max_failures", self.max_failures)


class Loop:
    """One run.

    stopped: why it ended. told: how many trials it told to have a value or to have failed.
    last_failure: the last one that had none. error: the exception that ended it, if one did.

    Args:
        trials: who gives trials and is told what came of them.
        pace: how many at a time, and for how long.
        workers: who evaluates them.
        interrupts: when Ctrl-C may come.
        callbacks: called with each trial that has an outcome; StopIteration ends the run.
        display: shows how far it has come.
        enough: why what is known now is enough, if it is: then nothing new is begun.
    """

    def __init__(
        self,
        trials: AskTell,
        pace: Pace,
        *,
        workers: Workers,
        interrupts: Interrupts,
        callbacks: Sequence[Callable[[Trial], Any]] = (),
        display: Display,
        enough: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.stopped: str | None = None
        self.told = 0
        self.last_failure: Trial | None = None
        self.error: Exception | None = None
        self._trials, self._pace, self._workers = trials, pace, workers
        self._interrupts, self._callbacks, self._display = interrupts, callbacks, display
        self._enough = enough
        self._unfinished: dict[int, Trial] = {}  # begun here and not told yet
        self._arrived: deque[Finished] = deque()  # finished and not told yet
        self._failures = None if trials.space is None else FailuresInARow(trials.space)
        self._broken: str | None = None  # why nothing can be begun any more
        self._deadline = math.inf if pace.timeout is None else time.monotonic() + pace.timeout

    def run(self) -> None:
        """Go on until there is a reason to stop; no trial of this run stays pending."""
        with self._ending():
            while self.stopped is None:
                if self._interrupts.pressed:
                    raise KeyboardInterrupt
                room = self._room()
                if room <= 0 and not self._workers.in_flight:
                    self.stopped = self._broken or self._trials.none_left
                elif time.monotonic() >= self._deadline:
                    self.stopped = "timeout"
                elif room > 0:
                    self._consider()
                    if self._broken is None:
                        self._start(room)
                else:
                    self._collect()
        if self._interrupts.pressed:
            self.stopped = "interrupted"

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """However a run ends, what has finished is told, and the rest is cancelled."""
        unreachable = self._trials.unreachable
        try:
            try:
                yield
            except KeyboardInterrupt:
                self.stopped = "interrupted"
            except unreachable:
                raise
            except BaseException:
                self._give_up()
                raise
            finally:
                self._interrupts.close()
            self._give_up()
        except unreachable as error:
            raise self._trials.with_values(error, self._untold()) from error

    def _room(self) -> int:
        """How many trials may begin now."""
        flying = len(self._workers.in_flight)
        if self._broken is not None or (flying and not self._pace.refill):
            return 0
        return self._trials.available(self._pace.batch_size - flying)

    def _start(self, number: int) -> None:
        """Take up trials that others have left, ask for new ones, and have them evaluated."""
        resumed = self._trials.resume(number)
        self._begin(resumed)
        # Whole batches are those that would have been, had nothing been cut off.
        whole = resumed and not self._pace.refill
        if self._broken is None and not whole and len(resumed) < number:
            try:
                asked = self._trials.ask(number - len(resumed))
            except self._trials.unreachable:
                raise
            except Exception as error:
                self._broken = self._blame("ask", error)  # what is running may finish
            else:
                self._begin(asked)
        # Not before: processes that an executor forks must not inherit a bar being drawn.
        self._display.start()

    def _begin(self, trials: Sequence[Trial]) -> None:
        """Submit trials."""
        self._unfinished.update((trial.id, trial) for trial in trials)
        for trial in trials:
            if self._broken is None:
                self._submit(trial)
            else:
                self._settle(trial, self._cancelled(trial, f"not started: {self._broken}"))

    def _submit(self, trial: Trial) -> None:
        try:
            self._workers.submit(trial)
        except Exception as error:
            outcome = Outcome(None, error)
            if self.told == 0:
                if isinstance(error, InputError):
                    raise
                outcome.check_travelling()
            self._broken = f"executor: {last_line(describe(error))}"
            self._settle(trial, self._cancelled(trial, describe(error)))

    def _collect(self) -> None:
        """Wait for trials to finish and tell what came of them."""
        left = self._deadline - time.monotonic()
        self._arrived.extend(self._workers.collect(min(left, _LONGEST_WAIT)))
        while self._arrived:
            self._record(self._arrived[0])
        if self._workers.elsewhere:
            for trial in self._trials.expired(self._workers.in_flight):
                self._workers.release(trial)
                self._settle(trial, trial)

    def _record(self, finished: Finished) -> None:
        """Tell what came of the first trial that has arrived."""
        outcome = Outcome.of(finished.future)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if self.told == 0:
            outcome.check_travelling()
        # With nothing else running, it was this trial that broke the executor.
        alone = self._broken is None and len(self._unfinished) == 1
        if outcome.broken and outcome.exception is not None:
            self._broken = f"executor: {last_line(describe(outcome.exception))}"
        if finished.late:
            self._tell_late(finished.trial, outcome)
            self._arrived.popleft()
        else:
            told = self._tell(finished.trial, outcome, alone=alone)
            self._arrived.popleft()
            self._settle(finished.trial, told)

    def _tell(self, trial: Trial, outcome: Outcome, *, alone: bool = False) -> Trial | None:
        """The trial with its outcome; alone: it broke the executor, if that is broken."""
        if outcome.exception is None:
            told = self._trials.tell(trial, outcome.returned)
        else:
            lost = outcome.cut_off and not (alone and outcome.broken)
            told = self._trials.fail(trial, outcome.exception, lost=lost)
        if told is not None and told.state != "cancelled":
            self.told += 1
        return told

    def _tell_late(self, trial: Trial, outcome: Outcome) -> None:
        """A value is welcome, even after the trial was given up."""
        if outcome.exception is None:
            told = self._trials.tell(trial, outcome.returned)
            if told is not None:
                self._display.update(told, self._trials)

    def _settle(self, trial: Trial, told: Trial | None) -> None:
        """What follows when a trial has an outcome; None if that is of somebody else's making."""
        self._unfinished.pop(trial.id, None)
        if told is None:
            return
        if told.state != "cancelled":
            self._count_failures(told)
        self._display.update(told, self._trials)
        for callback in self._callbacks:
            try:
                with self._interrupts.allowed():
                    callback(told)
            except StopIteration:
                self.stopped = self.stopped or "callback"
            except Exception as error:
                reason = self._blame("callback", error)
                self.stopped = self.stopped or reason

    def _consider(self) -> None:
        """Begin nothing new once what is known is enough."""
        try:
            self._broken = self._enough()
        except Exception as error:
            self._broken = self._blame("stop", error)

    def _count_failures(self, told: Trial) -> None:
        """Stop if trials have failed at too many different places in a row."""
        failed = told.state != "complete"
        if failed:
            self.last_failure = told
        if self._failures is None:
            return
        self._failures.note(told.params, failed=failed)
        if len(self._failures) == self._pace.max_failures and self._broken is None:
            self.stopped = self.stopped or "failures"

    def _blame(self, where: str, error: Exception) -> str:
        """The exception as a reason to stop; of several, the first one is kept."""
        self.error = self.error or error
        return f"{where}: {last_line(describe(error))}"

    def _cancelled(self, trial: Trial, reason: str) -> Trial | None:
        return self._trials.fail(trial, reason, lost=True)

    def _give_up(self) -> None:
        """Tell what has finished up to now, and cancel the rest."""
        self._arrived.extend(self._workers.abandon())
        while self._arrived:
            finished = self._arrived[0]
            outcome = Outcome.of(finished.future)
            if finished.late:
                self._tell_late(finished.trial, outcome)
            elif not outcome.cut_off:
                told = self._tell(finished.trial, outcome)
                self._unfinished.pop(finished.trial.id, None)
                if told is not None and told.state != "complete":
                    self.last_failure = told
            self._arrived.popleft()
        reason = _UNFINISHED
        if self.stopped == "timeout":
            reason = f"no result when the {self._pace.timeout:g} seconds of the run were over"
        for trial in self._unfinished.values():
            self._cancelled(trial, reason)
        self._unfinished = {}

    def _untold(self) -> dict[int, Any]:
        """Values that were found and not told, by the ids of their trials."""
        self._arrived.extend(self._workers.abandon())
        outcomes = {each.trial.id: Outcome.of(each.future) for each in self._arrived}
        return {id: each.returned for id, each in outcomes.items() if each.exception is None}
