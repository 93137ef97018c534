"""Minimize or maximize a function, here or on any executor of `concurrent.futures`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.run.dask_client import DaskExecutor, is_dask_client
from innerloop.run.interrupts import Interrupts
from innerloop.run.loop import Callback, Loop, Plan
from innerloop.run.outcomes import describe, last_line
from innerloop.run.progress import display
from innerloop.run.workers import Function, Pool, Serial, Submits
from innerloop.space.space import Space


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What came of a run.

    optimizer: with all its trials; it can be run further, asked or saved. stopped: why the run
    ended: "n_trials", "timeout", "interrupted" (Ctrl-C), "exhausted" (no new points), "callback"
    (StopIteration), "failures: ..." with the last error, or "executor: ...", "ask: ..." or
    "callback: ..." with what was raised there. seconds: how long the run took; ask_seconds: how
    long of that it spent choosing points. error: the exception that was raised by an ask or a
    callback, with its traceback.
    """

    optimizer: Optimizer
    stopped: str
    seconds: float
    ask_seconds: float
    error: Exception | None = None

    @property
    def best(self) -> Trial:
        """The best trial; raises InputError if no trial has a value.

        By its value alone if an error ended the run and the model is of no use since.
        """
        try:
            return self.optimizer.best
        except Exception:
            complete = [trial for trial in self.trials if trial.state == "complete"]
            if self.error is None or not complete:
                raise
            better = min if self.optimizer.direction == "minimize" else max
            return better(complete, key=lambda trial: cast(float, trial.value))

    @property
    def params(self) -> dict[str, Any]:
        """The params of the best trial."""
        return self.best.params

    @property
    def value(self) -> float:
        """The value of the best trial."""
        return cast(float, self.best.value)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials of the optimizer, also those from before the run."""
        return self.optimizer.trials

    @property
    def failures(self) -> tuple[Trial, ...]:
        """Trials that failed or expired; those that were cancelled have not failed."""
        return tuple(trial for trial in self.trials if trial.state in ("failed", "expired"))

    def __repr__(self) -> str:
        return f"Result({self._found()}, {self._counts()}, stopped={self.stopped!r})"

    def __str__(self) -> str:
        times = f"{self.seconds:.1f} s, of which {self.ask_seconds:.1f} s to choose points"
        text = f"{self._found()}\n{self._counts()} in {times}\nstopped: {self.stopped}"
        return text if self.error is None else f"{text}\n\n{describe(self.error)}".rstrip()

    def _found(self) -> str:
        try:
            return f"best value {self.value:.6g} at {self.params}"
        except InputError:
            return "no trial has a value"

    def _counts(self) -> str:
        cut_off = sum(trial.state == "cancelled" for trial in self.trials)
        failed = f", {len(self.failures)} of them failed" if self.failures else ""
        cancelled = f", {cut_off} of them cancelled" if cut_off else ""
        return f"{len(self.trials)} trials{failed}{cancelled}"


def minimize(
    f: Function,
    space: Space | Optimizer,
    *,
    n_trials: int,
    batch_size: int = 1,
    executor: Submits | None = None,
    refill: bool = True,
    seed: int | None = None,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    max_failures: int | None = 10,
    fixed: Mapping[str, Any] | None = None,
    resume: bool = True,
    initial: int | None = None,
    acquisition: str | None = None,
    form: str | None = None,
    parallelism: str | None = None,
    maximizer: str | None = None,
    seconds: float | None = None,
    expire: float | None = None,
) -> Result:
    """Find the params at which f is smallest.

    f: takes a dict of params, returns a number, or a tuple of a number and the standard deviation
    of its noise. An exception in f makes a failed trial, and the run goes on. space: what to
    choose from; or an `Optimizer`, which is then run further.

    n_trials: how many trials to run. batch_size: how many of them at the same time. executor:
    where; anything with the `submit` of `concurrent.futures`, such as a ThreadPoolExecutor, a
    ProcessPoolExecutor or an MPIPoolExecutor, or a client of Dask; by default trials are
    evaluated here, one after the other. refill: start a new trial as soon as one has
    finished; otherwise wait until the whole batch has.

    timeout: seconds after which the run ends, without waiting for what is still running.
    max_failures: the run ends when trials have failed at so many different places in a row; None
    for any number. callbacks: each is called as callback(optimizer, trial) when a trial has
    finished, and may raise StopIteration to end the run. Ctrl-C ends it, too. progress: whether to
    show a progress bar; by default if there is a terminal and rich is installed. fixed: values of
    some parameters, for this run only.

    However the run ends, everything known is in the result, and trials that have not finished are
    cancelled: the model learns nothing from them. An exception in a callback, or while points are
    chosen, ends the run with a RuntimeWarning and is in the result. resume: begin with trials that
    nobody evaluates: those that were cancelled, and those that were pending in the file that the
    optimizer was loaded from. They count towards n_trials.

    The other arguments are those of `Optimizer`.
    """
    settings = {
        "seed": seed,
        "initial": initial,
        "acquisition": acquisition,
        "form": form,
        "parallelism": parallelism,
        "maximizer": maximizer,
        "seconds": seconds,
        "expire": expire,
    }
    return _run(
        f,
        _optimizer(space, "minimize", settings),
        Plan(n_trials, batch_size, refill, timeout, max_failures, fixed, resume),
        executor=executor,
        callbacks=callbacks,
        progress=progress,
    )


def maximize(
    f: Function,
    space: Space | Optimizer,
    *,
    n_trials: int,
    batch_size: int = 1,
    executor: Submits | None = None,
    refill: bool = True,
    seed: int | None = None,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    max_failures: int | None = 10,
    fixed: Mapping[str, Any] | None = None,
    resume: bool = True,
    initial: int | None = None,
    acquisition: str | None = None,
    form: str | None = None,
    parallelism: str | None = None,
    maximizer: str | None = None,
    seconds: float | None = None,
    expire: float | None = None,
) -> Result:
    """Find the params at which f is largest; arguments and result as for `minimize`."""
    settings = {
        "seed": seed,
        "initial": initial,
        "acquisition": acquisition,
        "form": form,
        "parallelism": parallelism,
        "maximizer": maximizer,
        "seconds": seconds,
        "expire": expire,
    }
    return _run(
        f,
        _optimizer(space, "maximize", settings),
        Plan(n_trials, batch_size, refill, timeout, max_failures, fixed, resume),
        executor=executor,
        callbacks=callbacks,
        progress=progress,
    )


def _optimizer(space: Space | Optimizer, direction: str, settings: Mapping[str, Any]) -> Optimizer:
    """A new optimizer of a space; or the one that was given, if it fits."""
    given = {name: value for name, value in settings.items() if value is not None}
    if not isinstance(space, Optimizer):
        checks.instance("space", space, Space, "a Space or an Optimizer")
        return Optimizer(space, direction=direction, **given)
    if given:
        raise InputError(f"an Optimizer has its own settings: leave out {', '.join(given)}")
    if space.direction != direction:
        raise InputError(f"{direction} needs an optimizer of that direction, got {space!r}")
    return space


def _run(
    f: Function,
    optimizer: Optimizer,
    plan: Plan,
    *,
    executor: Submits | None,
    callbacks: Sequence[Callback],
    progress: bool | None,
) -> Result:
    """What minimize and maximize share."""
    checks.instance("f", f, Callable, "a function of params")
    if isinstance(callbacks, str) or not isinstance(callbacks, Sequence):
        raise InputError(f"callbacks must be a list of functions, got {callbacks!r}")
    for callback in callbacks:
        checks.instance("a callback", callback, Callable, "a function of optimizer and trial")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise InputError(f"executor must have a method submit, got {executor!r}")
    if is_dask_client(executor):
        executor = DaskExecutor(executor)
    if executor is None:  # nothing runs meanwhile, so that batches lose nothing by being whole
        plan = replace(plan, refill=False)
    began = time.perf_counter()
    with Interrupts() as interrupts, display(progress, optimizer, plan.n_trials) as shown:
        workers = Serial(f, interrupts) if executor is None else Pool(f, interrupts, executor)
        loop = Loop(
            optimizer,
            plan,
            workers=workers,
            interrupts=interrupts,
            callbacks=callbacks,
            display=shown,
        )
        loop.run()
    if loop.error is not None:
        reason = last_line(describe(loop.error))
        warnings.warn(
            f"an error ended the run: {reason}; the result has it, and all there is so far",
            RuntimeWarning,
            stacklevel=3,
        )
    seconds, ask_seconds = time.perf_counter() - began, loop.supply.ask_seconds
    return Result(optimizer, loop.stopped or "", seconds, ask_seconds, loop.error)
