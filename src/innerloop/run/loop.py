"""The loop of a run: ask, have evaluated, tell, until there is a reason to stop."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.run.interrupts import Interrupts
from innerloop.run.outcomes import Outcome, check_travelling, describe, fail, last_line, tell
from innerloop.run.progress import Display
from innerloop.run.workers import Finished, Workers

Callback = Callable[[Optimizer, Trial], Any]

# Where waiting cannot be interrupted, Ctrl-C has to wait no longer than this.
_LONGEST_WAIT = 0.5
_UNFINISHED = "stopped before it finished"
_NOT_FINISHED = (KeyboardInterrupt, BrokenExecutor, CancelledError)


@dataclass(frozen=True)
class Plan:
    """How long to go on, and how many trials at a time; see `minimize`."""

    n_trials: int
    batch_size: int
    refill: bool
    timeout: float | None
    max_failures: int | None
    fixed: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        checks.count("n_trials", self.n_trials)
        checks.count("batch_size", self.batch_size)
        checks.instance("refill", self.refill, bool, "True or False")
        if self.timeout is not None:
            checks.positive_scalar("timeout", self.timeout)
        if self.max_failures is not None:
            checks.count("max_failures", self.max_failures)


class Loop:
    """One run. stopped: why it ended; asks, ask_seconds: how often it asked, and for how long."""

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
        self.asks, self.ask_seconds = 0, 0.0
        self._optimizer, self._plan, self._workers = optimizer, plan, workers
        self._interrupts, self._callbacks, self._display = interrupts, callbacks, display
        self._points = _points(optimizer, plan.fixed)
        self._unfinished: dict[int, Trial] = {}  # asked here and not told yet
        self._arrived: deque[Finished] = deque()  # finished and not told yet
        self._started = self._told = self._failures_in_a_row = 0
        self._broken: str | None = None  # why nothing can be submitted any more
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
            room = min(plan.batch_size - flying, plan.n_trials - self._started, self._untried())
        if not flying and room <= 0:
            full = self._started == plan.n_trials
            self.stopped = self._broken or ("n_trials" if full else "exhausted")
        elif time.monotonic() >= self._deadline:
            self.stopped = "timeout"
        elif room > 0:
            self._start(room)

    def _untried(self) -> int:
        """How many points there are that no trial has had; at least, if there is no end to them."""
        if self._points is None:
            return self._plan.n_trials
        return len(self._points - {_key(trial.params) for trial in self._optimizer.trials})

    def _start(self, number: int) -> None:
        """Ask for trials and submit them."""
        began = time.perf_counter()
        trials = self._optimizer.ask(number, fixed=self._plan.fixed)
        self.ask_seconds += time.perf_counter() - began
        self.asks += 1
        self._started += len(trials)
        self._unfinished.update((trial.id, trial) for trial in trials)
        for trial in trials:
            if self._broken is None:
                self._submit(trial)
            else:
                self._settle(fail(self._optimizer, trial, f"not started: {self._broken}"))
        if self.asks == 1:
            # Not before: processes that an executor forks must not inherit a bar being drawn.
            self._display.start()

    def _submit(self, trial: Trial) -> None:
        try:
            self._workers.submit(trial)
        except InputError:
            raise
        except Exception as error:
            if self._told == 0:
                check_travelling(error)
            self._broken = f"executor: {last_line(describe(error))}"
            self._settle(tell(self._optimizer, trial, Outcome(None, error)))

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
        if isinstance(outcome.exception, KeyboardInterrupt):  # Ctrl-C reaches workers, too
            raise KeyboardInterrupt
        if self._told == 0:
            check_travelling(outcome.exception)
        if isinstance(outcome.exception, BrokenExecutor):
            self._broken = f"executor: {last_line(describe(outcome.exception))}"
        if finished.late:
            self._tell_late(finished.trial, outcome)
            self._arrived.popleft()
        else:
            told = tell(self._optimizer, finished.trial, outcome)
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
            self._display.update(tell(self._optimizer, trial, outcome), self)

    def _settle(self, told: Trial) -> None:
        """What follows when a trial has an outcome."""
        del self._unfinished[told.id]
        self._told += 1
        self._failures_in_a_row = 0 if told.state == "complete" else self._failures_in_a_row + 1
        if self._failures_in_a_row == self._plan.max_failures and self._broken is None:
            self._stop(f"failures: {last_line(told.error)}")
        self._display.update(told, self)
        for callback in self._callbacks:
            try:
                with self._interrupts.allowed():
                    callback(self._optimizer, told)
            except StopIteration:
                self._stop("callback")

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason

    def _give_up(self) -> None:
        """Tell what has finished up to now, and give up the rest."""
        for finished in (*self._arrived, *self._workers.abandon()):
            outcome = Outcome.of(finished.future)
            if finished.late:
                self._tell_late(finished.trial, outcome)
            elif not isinstance(outcome.exception, _NOT_FINISHED):
                tell(self._optimizer, finished.trial, outcome)
                self._unfinished.pop(finished.trial.id, None)
        reason = _UNFINISHED
        if self.stopped == "timeout":
            reason = f"no result when the {self._plan.timeout} seconds of the run were over"
        for trial in self._unfinished.values():
            fail(self._optimizer, trial, reason)
        self._unfinished = {}


def _points(optimizer: Optimizer, fixed: Mapping[str, Any] | None) -> set[tuple[Any, ...]] | None:
    """All points of a space that has few of them."""
    space = optimizer.space
    everything = space.everything(fixed=fixed)
    if everything is None:
        return None
    return {_key(space.decode(x)) for x in everything[space.domain(fixed).contains(everything)]}


def _key(params: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(params.values())
