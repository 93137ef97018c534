"""Optimize a function, here or on any executor of `concurrent.futures`."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from innerloop.domain.domain import Domain
from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.reasons import last_line
from innerloop.optimizer.trials import Trial, point_of, tried
from innerloop.run.interrupts import Interrupts
from innerloop.run.loop import Loop, Pace
from innerloop.run.outcomes import describe, refusal, split
from innerloop.run.progress import display
from innerloop.run.result import Result
from innerloop.run.settings import (
    Callback,
    OptimizerSettings,
    RunSettings,
    Share,
    the_executor,
    the_optimizer,
)
from innerloop.run.stopping import Stop, checked, first_reached
from innerloop.run.workers import Function, Pool, Serial, Submits
from innerloop.space.space import Space


def minimize(f: Function, space: Space | Optimizer, **settings: Unpack[RunSettings]) -> Result:
    """Find the params at which f is smallest: `optimize` with one objective.

    Args:
        f: takes a dict of params, returns a number; see `optimize`.
        space: what to choose from, or an `Optimizer` of that direction.
        settings: all other arguments of `optimize`, such as n_trials, batch_size and executor.

    Returns:
        The best that was found, with all trials.
    """
    return optimize(f, space, objectives={"value": "minimize"}, **settings)


def maximize(f: Function, space: Space | Optimizer, **settings: Unpack[RunSettings]) -> Result:
    """Find the params at which f is largest: `optimize` with one objective.

    Args:
        f: takes a dict of params, returns a number; see `optimize`.
        space: what to choose from, or an `Optimizer` of that direction.
        settings: all other arguments of `optimize`, such as n_trials, batch_size and executor.

    Returns:
        The best that was found, with all trials.
    """
    return optimize(f, space, objectives={"value": "maximize"}, **settings)


def optimize(
    f: Function,
    space: Space | Optimizer,
    objectives: Mapping[str, str],
    *,
    n_trials: int,
    batch_size: int = 1,
    executor: Submits | str | None = None,
    refill: bool = True,
    timeout: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    max_failures: int | None = 10,
    fixed: Mapping[str, Any] | None = None,
    resume: bool = True,
    stop: Sequence[Stop] = (),
    **settings: Unpack[OptimizerSettings],
) -> Result:
    """Find the params at which a function is best, with several trials at a time.

    However the run ends, everything known is in the result, and trials that have not finished are
    cancelled: the model learns nothing from them. An exception in a callback, or while points are
    chosen, ends the run with a RuntimeWarning and is in the result. Ctrl-C ends it, too.

    Args:
        f: takes a dict of params, returns a number, or a tuple of a number and the standard
            deviation of its noise, or a mapping from the names of all outcomes to one of these. An
            exception in f makes a failed trial, and the run goes on.
        space: what to choose from; or an `Optimizer`, which is then run further.
        objectives: names of what is optimized, with "minimize" or "maximize".
        n_trials: how many trials to run.
        batch_size: how many of them at the same time.
        executor: where; anything with the `submit` of `concurrent.futures`, such as a
            ThreadPoolExecutor, a ProcessPoolExecutor or an MPIPoolExecutor, or a client of Dask, or
            where its scheduler is: "dask://HOST:PORT", "tcp://HOST:PORT" or the path of its file;
            by default trials are evaluated here, one after the other.
        refill: start a new trial as soon as one has finished; otherwise wait until the whole batch
            has.
        timeout: seconds after which the run ends, without waiting for what is still running.
        callbacks: each is called as callback(optimizer, trial) when a trial has finished, and may
            raise StopIteration to end the run.
        progress: whether to show a progress bar; by default where somebody may be looking: in a
            notebook, and on a terminal if rich is installed.
        max_failures: the run ends when trials have failed at so many different places in a row;
            None for any number.
        fixed: values of some parameters, for this run only.
        resume: begin with trials that nobody evaluates: those that were cancelled, and those that
            were pending in the file that the optimizer was loaded from. They count towards
            n_trials.
        stop: what ends the run before that: `Patience`, `Target`, `NearOptimal` or a `Stop` of your
            own. Trials that are running then may finish.
        settings: all other arguments are those of `Optimizer`, such as seed, acquisition and
            outcome_constraints.

    Returns:
        The best that was found, with all trials, and why the run ended.
    """
    optimizer = the_optimizer(space, objectives, settings)
    pace, stop = Pace(batch_size, refill, timeout, max_failures), checked(stop, optimizer.goals)
    if executor is None:  # nothing runs meanwhile, so that batches lose nothing by being whole
        pace = replace(pace, refill=False)
    trials = OptimizerTrials(optimizer, Share(n_trials, fixed, resume))
    began = time.perf_counter()
    with (
        the_executor(f, executor, callbacks) as where,
        Interrupts() as interrupts,
        display(progress, optimizer.direction, optimizer.trials, n_trials) as bar,
    ):
        loop = Loop(
            trials,
            pace,
            workers=Serial(f, interrupts) if where is None else Pool(f, interrupts, where),
            interrupts=interrupts,
            callbacks=[partial(callback, optimizer) for callback in callbacks],
            display=bar,
            enough=partial(first_reached, stop, optimizer),
        )
        loop.run()
    if loop.error is not None:
        reason = last_line(describe(loop.error))
        warnings.warn(
            f"an error ended the run: {reason}; the result has it, and all there is so far",
            RuntimeWarning,
            stacklevel=3,
        )
    seconds = time.perf_counter() - began
    return Result(optimizer, _reason(loop, pace), seconds, trials.ask_seconds, loop.error)


def _reason(loop: Loop, pace: Pace) -> str:
    """Why a run ended, in words."""
    if loop.stopped != "failures" or loop.last_failure is None:
        return loop.stopped or ""
    return (
        f"failures: trials failed at {pace.max_failures} different places in a row, the last with: "
        f"{last_line(loop.last_failure.error)}; mend the function, or go on with a larger "
        "max_failures, or None for any number"
    )


class OptimizerTrials:
    """Trials of an optimizer, as `AskTell` has it.

    Args:
        optimizer: whose they are.
        share: which of them a run has.
    """

    unreachable: tuple[type[Exception], ...] = ()

    def __init__(self, optimizer: Optimizer, share: Share) -> None:
        self.asks, self.ask_seconds = 0, 0.0
        self._optimizer, self._share = optimizer, share
        domain = optimizer.space.domain(share.fixed)
        self._points = _points(optimizer.space, share.fixed)
        self._left = deque(_abandoned(optimizer, domain) if share.resume else ())
        self._begun = 0

    @property
    def space(self) -> Space:
        """What trials are points of."""
        return self._optimizer.space

    def available(self, number: int) -> int:
        """How many trials may begin now, up to a number."""
        number = min(number, self._share.n_trials - self._begun)
        return min(number, len(self._left) + self._untried(number))

    @property
    def none_left(self) -> str:
        """ "n_trials", or "exhausted" if all points have been tried."""
        return "n_trials" if self._begun == self._share.n_trials else "exhausted"

    def resume(self, number: int) -> list[Trial]:
        """Trials that others have left, up to a number."""
        trials: list[Trial] = []
        while self._left and len(trials) < number:
            with suppress(InputError):  # another thread was faster
                trials.append(self._optimizer.resume(self._left.popleft().id))
        self._begun += len(trials)
        return trials

    def ask(self, number: int) -> list[Trial]:
        """New trials, up to a number; fewer if the space has no more points."""
        number = self._untried(number)
        if number == 0:
            return []
        began = time.perf_counter()
        try:
            trials = self._optimizer.ask(number, fixed=self._share.fixed)
        finally:
            self.ask_seconds += time.perf_counter() - began
            self.asks += 1
        self._begun += len(trials)
        return trials

    def tell(self, trial: Trial, returned: Any) -> Trial:
        """What f returned; whatever is not a number is a failure."""
        value, noise_sd = split(returned, self._optimizer.goals)
        try:
            self._optimizer.tell(trial.id, value, noise_sd=noise_sd)
            if self._optimizer.trials[trial.id].state == "pending":
                raise InputError("some outcomes are missing")
        except Exception:  # conversion of strange objects may raise anything
            return self.fail(trial, refusal(returned, self._optimizer.goals), lost=False)
        return self._optimizer.trials[trial.id]

    def fail(self, trial: Trial, error: BaseException | str, *, lost: bool) -> Trial:
        """That a trial has no value, unless somebody else has told it one."""
        text = error if isinstance(error, str) else describe(error)
        with suppress(InputError):
            self._optimizer.tell(trial.id, state="cancelled" if lost else "failed", error=text)
        return self._optimizer.trials[trial.id]

    def expired(self, trials: tuple[Trial, ...]) -> list[Trial]:
        """Those that have taken too long."""
        self._optimizer.expire()
        now = self._optimizer.trials
        return [now[trial.id] for trial in trials if now[trial.id].state == "expired"]

    def with_values(self, error: Exception, values: dict[int, Any]) -> Exception:
        """The error: an optimizer in memory is always there to be told."""
        return error

    def _untried(self, number: int) -> int:
        """How many points there are that no trial has had, up to a number."""
        if self._points is None:
            return number
        return min(number, len(self._points - tried(self._optimizer.trials)))


def _abandoned(optimizer: Optimizer, domain: Domain) -> list[Trial]:
    """Trials of the domain that nobody evaluates."""
    trials = [trial for trial in optimizer.abandoned if trial.outside is None]
    inside = domain.contains(optimizer.space.encode_all([trial.params for trial in trials]))
    return [trial for trial, contained in zip(trials, inside, strict=True) if contained]


def _points(space: Space, fixed: Mapping[str, Any] | None) -> set[tuple[Any, ...]] | None:
    """All points of a space that has few of them, with some values held."""
    everything = space.everything(fixed=fixed)
    return None if everything is None else {point_of(space.decode(x)) for x in everything}
