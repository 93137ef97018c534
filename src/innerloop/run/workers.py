"""Trials in flight: on an executor, or waiting for their turn in this thread."""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from innerloop.errors import InputError
from innerloop.optimizer.trials import Trial
from innerloop.run.evaluate import evaluate
from innerloop.run.interrupts import Interrupts

Function = Callable[[dict[str, Any]], Any]


class Submits(Protocol):
    """Anything with the `submit` of `concurrent.futures.Executor`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Have fn(*args) called."""


class Finished(NamedTuple):
    """A trial whose future is done. late: it had been released before."""

    trial: Trial
    future: Future[Any]
    late: bool


class Workers(ABC):
    """Trials in flight, by their futures. KeyboardInterrupt is allowed while it waits."""

    #: Whether trials go on while nobody waits for them.
    elsewhere: bool

    def __init__(self, f: Function, interrupts: Interrupts) -> None:
        self._f, self._interrupts = f, interrupts
        self._flying: dict[Future[Any], Trial] = {}
        self._released: dict[Future[Any], Trial] = {}

    @property
    def in_flight(self) -> tuple[Trial, ...]:
        """Trials that were submitted, and neither collected nor released."""
        return tuple(self._flying.values())

    def submit(self, trial: Trial) -> None:
        """Have the trial evaluated."""
        self._flying[self._start(trial)] = trial

    def collect(self, seconds: float) -> list[Finished]:
        """Trials that have finished, in that order; waits so long for the first one."""
        return [
            Finished(self._flying.pop(future), future, late=False)
            if future in self._flying
            else Finished(self._released.pop(future), future, late=True)
            for future in self._wait(seconds)
            if future in self._flying or future in self._released
        ]

    def release(self, trial: Trial) -> None:
        """Count on the trial no longer; should it finish all the same, it is collected."""
        future = next(future for future, each in self._flying.items() if each.id == trial.id)
        self._released[future] = self._flying.pop(future)
        _cancel(future)

    def abandon(self) -> list[Finished]:
        """Cancel what has not started, and collect what has finished up to now."""
        everything = {**self._released, **self._flying}
        for future in everything:
            _cancel(future)
        return [
            Finished(trial, future, late=future in self._released)
            for future, trial in everything.items()
            if future.done() and not future.cancelled()
        ]

    @abstractmethod
    def _start(self, trial: Trial) -> Future[Any]: ...

    @abstractmethod
    def _wait(self, seconds: float) -> list[Future[Any]]: ...


class Serial(Workers):
    """No workers: trials are evaluated in this thread, one each time somebody waits."""

    elsewhere = False

    def _start(self, trial: Trial) -> Future[Any]:
        return Future()

    def _wait(self, seconds: float) -> list[Future[Any]]:
        future, trial = next(iter(self._flying.items()))
        try:
            with self._interrupts.allowed():
                returned = evaluate(self._f, dict(trial.params), None)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(returned)
        return [future]


class Pool(Workers):
    """Workers of an executor."""

    elsewhere = True

    def __init__(self, f: Function, interrupts: Interrupts, executor: Submits) -> None:
        super().__init__(f, interrupts)
        self._executor = executor
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()

    def _start(self, trial: Trial) -> Future[Any]:
        # Dask takes calls with the same arguments for one and the same call.
        mark = (trial.id, trial.asked)
        future = self._executor.submit(evaluate, self._f, dict(trial.params), mark)
        if not isinstance(future, Future):
            raise InputError(
                "executor.submit must return a concurrent.futures.Future, got a "
                f"{type(future).__module__}.{type(future).__name__}"
            )
        future.add_done_callback(self._done.put)
        return future

    def _wait(self, seconds: float) -> list[Future[Any]]:
        done = []
        with suppress(queue.Empty), self._interrupts.allowed():
            done.append(self._done.get(timeout=max(seconds, 0.0)))
        with suppress(queue.Empty):
            while True:
                done.append(self._done.get_nowait())
        return done


def _cancel(future: Future[Any]) -> None:
    # Some executors ask others to cancel, who may be gone.
    with suppress(Exception):
        future.cancel()
