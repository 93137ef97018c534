"""Timing shared by the benchmarks: jobs take turns, so that ratios survive a noisy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Timed(Generic[T]):
    """What a job returned, and how long it took by the clock and on the processor."""

    result: T
    seconds: float
    cpu_seconds: float


@dataclass
class Stopwatch:
    """Adds up what the calls made through it take, by the clock and on the processor."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __call__(self, job: Callable[[], T]) -> T:
        start, cpu_start = time.perf_counter(), time.process_time()
        try:
            return job()
        finally:
            self.seconds += time.perf_counter() - start
            self.cpu_seconds += time.process_time() - cpu_start


def timed(job: Callable[[], T]) -> Timed[T]:
    """Do a job once."""
    start, cpu_start = time.perf_counter(), time.process_time()
    result = job()
    return Timed(result, time.perf_counter() - start, time.process_time() - cpu_start)


def fastest(job: Callable[[], T], repetitions: int) -> Timed[T]:
    """Do a job several times and keep the fastest."""
    return min((timed(job) for _ in range(repetitions)), key=lambda each: each.seconds)


def interleaved(jobs: dict[str, Callable[[], object]], seconds: float = 0.5) -> dict[str, float]:
    """Best time of each job in seconds, the jobs taking turns for about `seconds` each."""
    for job in jobs.values():
        job()
    best = dict.fromkeys(jobs, float("inf"))
    spent = dict.fromkeys(jobs, 0.0)
    while min(spent.values()) < seconds:
        for name, job in jobs.items():
            if spent[name] > seconds:
                continue
            turn, calls = 0.0, 0
            while turn < seconds / 10 and calls < 50:
                start = time.perf_counter()
                job()
                elapsed = time.perf_counter() - start
                best[name] = min(best[name], elapsed)
                turn, calls = turn + elapsed, calls + 1
            spent[name] += turn
    return best
