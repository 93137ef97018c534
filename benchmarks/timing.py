"""Timing shared by the benchmarks: jobs take turns, so that ratios survive a noisy machine."""

from __future__ import annotations

import time
from collections.abc import Callable


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
