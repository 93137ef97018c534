"""The loop of a run: ask, have evaluated, tell, until there is a reason to stop."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.run.failures import FailuresInARow
from innerloop.run.interrupts import Interrupts
from innerloop.run.outcomes import Outcome, describe, give_up, last_line, tell
from innerloop.run.progress import Display
from innerloop.run.supply import Supply
from innerloop.run.workers import Finished, Workers

Callback = Callable[[Optimizer, Trial], Any]

# Where waiting cannot be interrupted, Ctrl-C has to wait no longer than this.
_LONGEST_WAIT = 0.5
_UNFINISHED = "stopped before it finished"


@dataclass(frozen=True)
class Plan:
    """How long to go on, and how many trials at a time; see `minimize`."""

    n_trials: int
    batch_size: int
    refill: bool
    timeout: float | None
    max_failures: int | None
    fixed: Mapping[str, Any] | None
    resume: bool

    def __post_init__(self) -> None:
        checks.count("n_trials", self.n_trials)
        checks.count("batch_size", self.batch_size)
        checks.instance("refill", self.refill, bool, "True or False")
        checks.instance("resume", self.resume, bool, "True or False")
        if self.timeout is not None:
            checks.positive_scalar("timeout", self.timeout)
        if self.max_failures is not None:
            checks.count("max_failures", self.max_failures)


class Loop:
    """One run. stopped: why it ended; error: the exception that ended it, if one did."""

    def __init__(
        self,
        optimizer: Optimizer,
        plan: Plan,
        *,
        workers: Workers,
        interrupts: Interrupts,
        callbacks: Sequence[Callback],
        display: Display,
    ) -> None:
        self.stopped: str | None = None
        self.error: Exception | None = None
        self._optimizer, self._plan, self._workers = optimizer, plan, workers
        self._interrupts, self._callbacks, self._display = interrupts, callbacks, display
        self.supply = Supply(optimizer, fixed=plan.fixed, resume=plan.resume)
        self._unfinished: dict[int, Trial] = {}  # begun here and not told yet
        self._arrived: deque[Finished] = deque()  # finished and not told yet
        self._started = self._told = 0
        self._failures = FailuresInARow(optimizer.space)
        self._broken: str | None = None  # why nothing can be begun any more
        self._deadline = math.inf if plan.timeout is None else time.monotonic() + plan.timeout

    def run(self) -> None:
        """Go on until there is a reason to stop; no trial of this run stays pending."""
        try:
            while self.stopped is None:
                self._fill()
                if self._workers.in_flight and self.stopped is None:
                    self._collect()
        except KeyboardInterrupt:
            self.stopped = "interrupted"
        finally:
            self._interrupts.close()
            self._give_up()
        if self._interrupts.pressed:
            self.stopped = "interrupted"

    def _fill(self) -> None:
        """Start as many trials as there is room for, or find that it is time to stop."""
        if self._interrupts.pressed:
            raise KeyboardInterrupt
        flying, plan = len(self._workers.in_flight), self._plan
        room = 0
        if self._broken is None and (plan.refill or not flying):
            left = min(plan.batch_size - flying, plan.n_trials - self._started)
            room = self.supply.at_most(left)
        if not flying and room <= 0:
            full = self._started == plan.n_trials
            self.stopped = self._broken or ("n_trials" if full else "exhausted")
        elif time.monotonic() >= self._deadline:
            self.stopped = "timeout"
        elif room > 0:
            self._start(room)

    def _start(self, number: int) -> None:
        """Take up trials that others have left, ask for new ones, and have them evaluated."""
        resumed = self.supply.resume(number)
        self._begin(resumed)
        # Whole batches are those that would have been, had nothing been cut off.
        whole = resumed and not self._plan.refill
        if self._broken is None and not whole and len(resumed) < number:
            try:
                asked = self.supply.ask(number - len(resumed))
            except Exception as error:
                self._broken = self._blame("ask", error)  # what is running may finish
            else:
                self._begin(asked)
        # Not before: processes that an executor forks must not inherit a bar being drawn.
        self._display.start()

    def _begin(self, trials: Sequence[Trial]) -> None:
        """Submit trials."""
        self._started += len(trials)
        self._unfinished.update((trial.id, trial) for trial in trials)
        for trial in trials:
            if self._broken is None:
                self._submit(trial)
            else:
                self._settle(self._cancel(trial, f"not started: {self._broken}"))

    def _submit(self, trial: Trial) -> None:
        try:
            self._workers.submit(trial)
        except Exception as error:
            outcome = Outcome(None, error)
            if self._told == 0:
                if isinstance(error, InputError):
                    raise
                outcome.check_travelling()
            self._broken = f"executor: {last_line(describe(error))}"
            self._settle(self._cancel(trial, describe(error)))

    def _collect(self) -> None:
        """Wait for trials to finish and tell what came of them."""
        left = self._deadline - time.monotonic()
        self._arrived.extend(self._workers.collect(min(left, _LONGEST_WAIT)))
        while self._arrived:
            self._record(self._arrived[0])
        if self._workers.elsewhere:
            self._release_expired()

    def _record(self, finished: Finished) -> None:
        outcome = Outcome.of(finished.future)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if self._told == 0:
            outcome.check_travelling()
        # With nothing else running, it was this trial that broke the executor.
        alone = self._broken is None and len(self._unfinished) == 1
        if outcome.broken and outcome.exception is not None:
            self._broken = f"executor: {last_line(describe(outcome.exception))}"
        if finished.late:
            self._tell_late(finished.trial, outcome)
            self._arrived.popleft()
        else:
            told = tell(self._optimizer, finished.trial, outcome, alone=alone)
            self._arrived.popleft()
            self._settle(told)

    def _release_expired(self) -> None:
        """Free the places of trials that have taken too long."""
        self._optimizer.expire()
        trials = self._optimizer.trials
        for trial in self._workers.in_flight:
            if trials[trial.id].state == "expired":
                self._workers.release(trial)
                self._settle(trials[trial.id])

    def _tell_late(self, trial: Trial, outcome: Outcome) -> None:
        """A value is welcome, even after the trial was given up."""
        if outcome.exception is None:
            self._display.update(tell(self._optimizer, trial, outcome), self.supply)

    def _settle(self, told: Trial) -> None:
        """What follows when a trial has an outcome."""
        self._unfinished.pop(told.id, None)
        self._told += 1
        if told.state != "cancelled":
            self._failures.note(told.params, failed=told.state != "complete")
        if len(self._failures) == self._plan.max_failures and self._broken is None:
            self.stopped = self.stopped or _too_many(len(self._failures), told)
        self._display.update(told, self.supply)
        for callback in self._callbacks:
            try:
                with self._interrupts.allowed():
                    callback(self._optimizer, told)
            except StopIteration:
                self.stopped = self.stopped or "callback"
            except Exception as error:
                reason = self._blame("callback", error)
                self.stopped = self.stopped or reason

    def _blame(self, where: str, error: Exception) -> str:
        """The exception as a reason to stop; of several, the first one is kept."""
        self.error = self.error or error
        return f"{where}: {last_line(describe(error))}"

    def _cancel(self, trial: Trial, reason: str) -> Trial:
        return give_up(self._optimizer, trial, "cancelled", reason)

    def _give_up(self) -> None:
        """Tell what has finished up to now, and cancel the rest."""
        for finished in (*self._arrived, *self._workers.abandon()):
            outcome = Outcome.of(finished.future)
            if finished.late:
                self._tell_late(finished.trial, outcome)
            elif not outcome.cut_off:
                tell(self._optimizer, finished.trial, outcome)
                self._unfinished.pop(finished.trial.id, None)
        reason = _UNFINISHED
        if self.stopped == "timeout":
            reason = f"no result when the {self._plan.timeout} seconds of the run were over"
        for trial in self._unfinished.values():
            self._cancel(trial, reason)
        self._unfinished = {}


def _too_many(places: int, told: Trial) -> str:
    return (
        f"failures: trials failed at {places} different places in a row, the last with: "
        f"{last_line(told.error)}; mend the function, or go on with a larger max_failures, or "
        "None for any number"
    )
