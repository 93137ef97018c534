"""Whether the maxima of synthetic tasks are ever below the best of 2^18 random points.

    python paper/benchmarks/synthetic_maxima.py --results paper-results      # minutes

Maxima that are not among the results are searched for. Random points are valued in single
precision, and the best of them once more in double precision.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from innerloop_paper.store import Store
from innerloop_paper.synthetic import Maximum, SingleDraw, draw
from innerloop_paper.threads import one_blas_thread

CHECKED = 64


def best_of_random(d: int, trial: int, points: int) -> float:
    """The largest value at random points, other ones than the search starts from."""
    X = np.random.default_rng([d, trial, 99]).random((points, 1, d))
    function = draw(d, trial)
    rough = SingleDraw(function, np.float32).value(X)
    candidates = X[np.argsort(-rough)[:CHECKED], 0]
    return float(function(candidates)[0].max())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-d", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--points", type=int, default=2**18)
    parser.add_argument("--results", type=Path, default=Path("paper-results"))
    arguments = parser.parse_args()
    store = Store(arguments.results)
    print("| d | draws | maxima below | smallest lead | median lead | seconds of a search |")
    print("|---|---|---|---|---|---|", flush=True)
    with one_blas_thread():
        for d in arguments.d:
            leads, seconds = [], []
            for trial in range(arguments.trials):
                job = Maximum(d, trial)
                started = time.process_time()
                table = store.read(job) if store.has(job) else job.compute()
                seconds.append(time.process_time() - started)
                leads.append(table["value"][0] - best_of_random(d, trial, arguments.points))
            searched = f"{np.median(seconds):.1f}" if max(seconds) > 0.1 else "known before"
            print(
                f"| {d} | {len(leads)} | {sum(lead < 0 for lead in leads)} | {min(leads):.4f} "
                f"| {np.median(leads):.4f} | {searched} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
