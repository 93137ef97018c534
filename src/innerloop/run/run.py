"""Minimize or maximize a function, here or on any executor of `concurrent.futures`."""

from __future__ import annotations

import time
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
from innerloop.run.progress import display
from innerloop.run.workers import Function, Pool, Serial, Submits
from innerloop.space.space import Space


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What came of a run.

    optimizer: with all its trials; it can be run further, asked or saved. stopped: why the run
    ended: "n_trials", "timeout", "interrupted" (Ctrl-C), "exhausted" (no new points), "callback",
    "failures: <the last error>" or "executor: <its error>". seconds: how long the run took;
    ask_seconds: how long of that it spent choosing points.
    """

    optimizer: Optimizer
    stopped: str
    seconds: float
    ask_seconds: float

    @property
    def best(self) -> Trial:
        """The best trial; raises InputError if no trial has a value."""
        return self.optimizer.best

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
        """Trials that failed or expired."""
        return tuple(trial for trial in self.trials if trial.state in ("failed", "expired"))

    def __repr__(self) -> str:
        return f"Result({self._found()}, {self._counts()}, stopped={self.stopped!r})"

    def __str__(self) -> str:
        times = f"{self.seconds:.1f} s, of which {self.ask_seconds:.1f} s to choose points"
        return f"{self._found()}\n{self._counts()} in {times}\nstopped: {self.stopped}"

    def _found(self) -> str:
        try:
            return f"best value {self.value:.6g} at {self.params}"
        except InputError:
            return "no trial has a value"

    def _counts(self) -> str:
        failed = f", {len(self.failures)} of them failed" if self.failures else ""
        return f"{len(self.trials)} trials{failed}"


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
    max_failures: failures in a row that end the run; None for any number. callbacks: each is
    called as callback(optimizer, trial) when a trial has finished, and may raise StopIteration to
    end the run. Ctrl-C ends it, too. However it ends, trials that have not finished are told to
    have failed, and everything known is in the result. progress: whether to show a progress bar;
    by default if there is a terminal and rich is installed. fixed: values of some parameters, for
    this run only.

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
        Plan(n_trials, batch_size, refill, timeout, max_failures, fixed),
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
        Plan(n_trials, batch_size, refill, timeout, max_failures, fixed),
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
    return Result(optimizer, loop.stopped or "", time.perf_counter() - began, loop.ask_seconds)
