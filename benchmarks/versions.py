"""Two versions of innerloop, cell by cell: what each job takes in one, relative to the other.

    python benchmarks/versions.py --against ../before/src
    python benchmarks/versions.py --against ../before/src --only suggest --rounds 40

The cells are those of suggest.py (whole batches), of core.py (values with gradients, fits) and of
ask.py (asks for four points, cold and warm), without rivals. Each version has a process of its own,
with one thread, and the two take turns: in every round each does every job for a moment, in an
order that changes from round to round. Times are those of the processor, the fastest call of all
rounds. Cells in which this version takes more than 5% longer are marked, and make the script end
with status 1; in those it is measured as long again, since a single slow moment of the machine
tells nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import innerloop as il
from data import dataset
from told import asked_before, optimizer_with

SLOWER = 1.05
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# How long a job is repeated in one turn, in seconds of the processor, and how often at most.
TURN, CALLS = 0.02, 200
R, M, D = 16, 128, 6


def cells(only: str | None) -> list[dict[str, Any]]:
    """All jobs by their settings."""
    found: list[dict[str, Any]] = [
        {"job": "suggest", "n": n, "d": d, "q": q}
        for n, d, q in itertools.product((50, 100, 200, 500), (2, 6, 16), (1, 4, 8, 16))
    ]
    for n, q in itertools.product((50, 200, 1000), (1, 4, 16)):
        found += [{"job": form, "n": n, "d": D, "q": q} for form in ("joint", "incremental")]
    found += [{"job": "fit", "n": n, "d": D, "seed": s} for n in (100, 400) for s in range(5)]
    for n, d in itertools.product((30, 100, 300), (2, 6, 16)):
        found += [{"job": f"ask, {kind}", "n": n, "d": d, "q": 4} for kind in ("cold", "warm")]
    return [cell for cell in found if only in (None, cell["job"].split(",")[0])]


def job_of(cell: dict[str, Any]) -> Callable[[], object]:
    """What is timed."""
    n, d, q = cell["n"], cell["d"], cell.get("q", 1)
    X, y, gp = dataset(n, d, cell.get("seed", 0))
    if cell["job"].startswith("ask"):
        made = optimizer_with if cell["job"] == "ask, cold" else asked_before
        told = made(X, y, seed=0)
        return lambda: told.with_trials(told.trials).ask(q)
    if cell["job"] == "fit":
        y = (y - y.mean()) / y.std()
        return lambda: il.fit(X, y, smallest_noise=1e-4)
    posterior, utility = gp.condition(X, y), il.ExpectedImprovement(float(y.max()))
    if cell["job"] == "suggest":
        return lambda: il.suggest(posterior, q, utility, seed=0)
    rng = np.random.default_rng(q)
    sets, fixed, z = rng.random((R, q, d)), rng.random((q - 1, d)), il.sobol_normal(M, q, seed=0)
    if cell["job"] == "joint":
        joint = il.Joint(utility, posterior, z)
        return lambda: joint.value_and_grad(sets)
    one_more = il.Incremental(utility, posterior, z)
    one_more = one_more.extend(fixed) if q > 1 else one_more
    return lambda: one_more.value_and_grad(sets[:, :1])


def serve() -> None:
    """Do the jobs that lines of the input number, and print what the fastest call took."""
    jobs: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        if line not in jobs:
            jobs[line] = job_of(json.loads(line))
            jobs[line]()
        best, spent, calls = np.inf, 0.0, 0
        while spent < TURN and calls < CALLS:
            began = time.process_time()
            jobs[line]()
            took = time.process_time() - began
            best, spent, calls = min(best, took), spent + took, calls + 1
        print(best, flush=True)


class Version:
    """A process with the innerloop of a folder."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, **THREADS, "PYTHONPATH": str(source)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def time(self, cell: dict[str, Any]) -> float:
        """Seconds of one call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(cell) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def measured(
    versions: list[Version], some: list[dict[str, Any]], rounds: int, best: dict[str, list[float]]
) -> None:
    """Fastest times of both versions by cell, which are kept if they were faster before."""
    for turn in range(rounds):
        for cell in some:
            key = json.dumps(cell)
            times = best.setdefault(key, [np.inf, np.inf])
            for i in (0, 1) if turn % 2 else (1, 0):
                times[i] = min(times[i], versions[i].time(cell))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="folder that holds the other innerloop")
    parser.add_argument("--only", choices=["suggest", "joint", "incremental", "fit", "ask"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    versions = [Version(Path(il.__file__).parents[1]), Version(arguments.against)]
    some, best = cells(arguments.only), {}
    measured(versions, some, arguments.rounds, best)
    again = [cell for cell in some if np.divide(*best[json.dumps(cell)]) > SLOWER]
    measured(versions, again, arguments.rounds, best)
    ratios: dict[str, list[float]] = {}
    print(
        "| job | n | d | q or seed | this, ms | other, ms | this / other |\n"
        "|---|---|---|---|---|---|---|"
    )
    for cell in some:
        ours, theirs = best[json.dumps(cell)]
        ratios.setdefault(cell["job"], []).append(ours / theirs)
        last = cell.get("q", cell.get("seed"))
        mark = " slower" if ours > SLOWER * theirs else ""
        print(
            f"| {cell['job']} | {cell['n']} | {cell['d']} | {last} | {1e3 * ours:.3f} "
            f"| {1e3 * theirs:.3f} | {ours / theirs:.3f}{mark} |"
        )
    for job, each in ratios.items():
        mean = np.exp(np.mean(np.log(each)))
        print(f"{job}: mean {mean:.3f}, from {min(each):.3f} to {max(each):.3f}")
    slower = sum(ratio > SLOWER for each in ratios.values() for ratio in each)
    print(f"{slower} of {len(some)} cells take more than 5% longer")
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
