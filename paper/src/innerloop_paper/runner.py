"""Computing jobs on many workers: what is there already is not computed again.

Results are written by this process alone, as they come in, so that workers need no common disk. A
run that is killed is resumed by running it again.
"""

from __future__ import annotations

import queue
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Protocol

from innerloop_paper.cells import Cell
from innerloop_paper.jobs import Job
from innerloop_paper.store import Store
from innerloop_paper.table import Table
from innerloop_paper.threads import one_blas_thread

# A job that so many workers have died of is not given to another one.
_DEATHS = 3


class Promise(Protocol):
    """A table that is being computed, as the futures of executors and of Dask are."""

    def result(self) -> Table:
        """The table, or the error that there was instead."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Have fn called with this promise once it is kept, or never will be."""

    def cancel(self) -> object:
        """Have it not computed, if that has not begun."""


class Workers(Protocol):
    """Where jobs are computed."""

    @property
    def number(self) -> int:
        """How many jobs can be computed at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Promise:
        """Have fn(*args) called."""

    def revive(self) -> None:
        """Make workers that have died, and all with them, anew."""


@dataclass(frozen=True)
class Failure:
    """A job that could not be computed, and why."""

    job: Job
    reason: str


def needed(jobs: Iterable[Job]) -> list[Job]:
    """Jobs, each once, and before them the maxima that they need."""
    once = list(dict.fromkeys(jobs))
    maxima = [job.maximum for job in once if isinstance(job, Cell) and job.maximum]
    return [*dict.fromkeys(maxima), *once]


def missing(jobs: Iterable[Job], store: Store) -> list[Job]:
    """Jobs without a result, and before them the maxima that these need."""
    absent = [job for job in dict.fromkeys(jobs) if not store.has(job)]
    return [job for job in needed(absent) if not store.has(job)]


def run(
    jobs: Sequence[Job], store: Store, workers: Workers, *, done: Callable[[Job], None]
) -> list[Failure]:
    """Compute the jobs that are missing; done: told of each as its result is kept.

    Jobs are started in their order, but for those that wait for a maximum.
    """
    return _Run(store, workers, done).everything(missing(jobs, store))


class _Run:
    def __init__(self, store: Store, workers: Workers, done: Callable[[Job], None]) -> None:
        self._store, self._workers, self._done = store, workers, done
        self._flying: dict[Promise, Job] = {}
        self._landed: queue.SimpleQueue[Promise] = queue.SimpleQueue()
        self._deaths: Counter[Job] = Counter()
        self._failures: list[Failure] = []

    def everything(self, jobs: Sequence[Job]) -> list[Failure]:
        """Compute all jobs, those that others need first."""
        first = [job for job in jobs if not isinstance(job, Cell)]
        for stage in (first, [job for job in jobs if isinstance(job, Cell)]):
            waiting = deque(stage)
            try:
                while waiting or self._flying:
                    self._launch(waiting)
                    self._collect(self._landed.get(), waiting)
            except BaseException:
                for promise in self._flying:
                    promise.cancel()
                raise
        return self._failures

    def _launch(self, waiting: deque[Job]) -> None:
        """Keep every worker busy, and one job ready for each."""
        while waiting and len(self._flying) < 2 * self._workers.number:
            job = waiting.popleft()
            try:
                promise = self._workers.submit(compute, job, *self._needed(job))
            except BrokenProcessPool:
                waiting.appendleft(job)
                if not self._flying:
                    self._workers.revive()
                return
            self._flying[promise] = job
            promise.add_done_callback(self._landed.put)

    def _needed(self, job: Job) -> list[Table]:
        maximum = job.maximum if isinstance(job, Cell) else None
        if maximum is None or not self._store.has(maximum):
            return []
        return [self._store.read(maximum)]

    def _collect(self, promise: Promise, waiting: deque[Job]) -> None:
        job = self._flying.pop(promise)
        try:
            table = promise.result()
        except BrokenProcessPool as error:
            # Whoever of those in flight it was: each of them gets another chance.
            self._deaths[job] += 1
            if self._deaths[job] < _DEATHS:
                waiting.appendleft(job)
            else:
                self._failures.append(Failure(job, str(error)))
            if not self._flying:
                self._workers.revive()
        except Exception as error:
            self._failures.append(Failure(job, f"{type(error).__name__}: {error}"))
        else:
            self._store.write(job, table)
            self._done(job)


def compute(job: Job, *needed: Table) -> Table:
    """The table of a job, by one thread."""
    with one_blas_thread():
        return job.compute(*needed)
