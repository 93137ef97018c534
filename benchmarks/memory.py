"""Memory of an optimizer over 1000 asks and tells: does it grow beyond the data?

    python benchmarks/memory.py [--trials 1000] [-d 6]

Every `step` trials: the size of what Python holds (tracemalloc, after a collection), the resident
memory of the process, the size of the saved file, and the time of an ask. The results alone are
the points, values and trials, a few hundred bytes each; a posterior of n results is n^2 numbers,
held only during an ask.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import innerloop as il


def resident() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def value(params: dict[str, float]) -> float:
    x = np.array(list(params.values()))
    return float(((x - 0.4) ** 2).sum() + 0.1 * np.sin(12 * x).sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("-d", type=int, default=6)
    parser.add_argument("--step", type=int, default=100)
    arguments = parser.parse_args()
    space = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(arguments.d)})
    optimizer = il.Optimizer(space, seed=0)
    print("| trials | held by Python, MB | resident, MB | saved file, MB | ms per ask |")
    print("|---|---|---|---|---|")
    tracemalloc.start()
    started = time.perf_counter()
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "optimizer.json"
        for number in range(1, arguments.trials + 1):
            trial = optimizer.ask()
            optimizer.tell(trial, value(trial.params))
            if number % arguments.step == 0:
                ask = (time.perf_counter() - started) / arguments.step
                gc.collect()
                held = tracemalloc.get_traced_memory()[0] / 1e6
                optimizer.save(path)
                size = path.stat().st_size / 1e6
                print(
                    f"| {number} | {held:.2f} | {resident():.0f} | {size:.3f} | {1e3 * ask:.1f} |",
                    flush=True,
                )
                started = time.perf_counter()


if __name__ == "__main__":
    main()
