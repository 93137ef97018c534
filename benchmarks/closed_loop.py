"""Closed loop: innerloop against BoTorch, Optuna and random search from the same initial points.

    python benchmarks/closed_loop.py                      # needs the `bench` extra; hours
    python benchmarks/closed_loop.py --methods innerloop --fresh innerloop
    python benchmarks/closed_loop.py --report             # tables of what was measured so far

Rounds of 4 until 64 evaluations (128 with 8 parameters or more), the initial ones included. One
thread for everything. Each finished run is a line of the results file and is not run again; a
failed one is recorded with its error, and tried again by the next call. The time is that of the
optimizer itself: everything but the function. Regret is that of the best point evaluated, by its
noise-free value; on the noisy task it is that of the point recommended at the end.

Only "botorch-told" is told how noisy the observations are; everything else has to find out.
"""

from __future__ import annotations

import os

# Libraries read these once, when they are imported.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import logging
import traceback
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np

import optuna_setup
from closed_loop_report import log_regret, report
from closed_loop_rivals import METHODS
from closed_loop_tasks import NAMES, Point, Task, make_task
from results_file import Key, append, load
from timing import Stopwatch

T = TypeVar("T")
Q = 4
PACKAGES = {
    "botorch-told": "botorch",
    "optuna-gp": "optuna",
    "optuna-tpe": "optuna",
    "random": "numpy",
}


@dataclass
class Evaluator:
    """Evaluates points; the noise of the n-th evaluation is the same for every method."""

    task: Task
    seed: int
    regrets: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng([self.seed, 1])

    def __call__(self, points: list[Point]) -> list[float]:
        """The observed values, whose regrets without noise are kept."""
        regrets = [self.task.regret(point) for point in points]
        self.regrets += regrets
        noise = self.task.noise * self.generator.standard_normal(len(points))
        return [float(r + self.task.optimum + e) for r, e in zip(regrets, noise, strict=True)]


def run(task: Task, name: str, seed: int, evaluations: int) -> dict:
    """One optimization from start to end, as a line of the results."""
    watch, evaluate = Stopwatch(), Evaluator(task, seed)
    recommended = error = None
    points = task.initial_points(seed, Q)
    values = evaluate(points)
    try:
        method = watch(lambda: METHODS[name](task, seed))
        watch(lambda: method.add(points, values))
        while len(evaluate.regrets) < evaluations:
            points = watch(lambda: method.ask(Q))
            values = evaluate(points)
            watch(lambda points=points, values=values: method.tell(points, values))
        if task.noise:
            recommended = task.regret(watch(method.recommend))
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
        traceback.print_exc()
    trace = np.minimum.accumulate(evaluate.regrets).tolist()
    return {
        "task": task.name,
        "method": name,
        "seed": seed,
        "regret": trace[-1] if recommended is None else recommended,
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "error": error,
        "version": version(PACKAGES.get(name, name)),
        "trace": trace,
    }


def measure(path: Path, grid: list[Key]) -> None:
    """Run those cells of the grid that are missing."""
    done = {key for key, cell in load(path).items() if cell["error"] is None}
    missing = [key for key in grid if key not in done]
    for name in dict.fromkeys(name for _, name, _ in missing):
        # Imports and first calls, before anything is timed.
        trial = run(make_task("branin", 0), name, seed=0, evaluations=4 * Q)
        if trial["error"]:
            raise SystemExit(f"{name} does not run here: {trial['error']}")
    for task_name, name, seed in missing:
        task = make_task(task_name, seed)
        record = run(task, name, seed, task.evaluations)
        append(path, record)
        print(
            f"{task_name} {name} seed {seed}: log10 regret {log_regret(record):.2f}, "
            f"{record['seconds']:.1f} s {record['error'] or ''}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", type=int, default=8, help="how many, from 0")
    default = Path(__file__).parent / "results" / "closed_loop.jsonl"
    parser.add_argument("--results", type=Path, default=default)
    parser.add_argument(
        "--fresh", nargs="+", default=[], choices=METHODS, help="run these again, as in: innerloop"
    )
    parser.add_argument("--report", action="store_true", help="only print the tables")
    arguments = parser.parse_args()
    # By seed first, so that every task is seen early.
    seeds = range(arguments.seeds)
    grid = [(t, m, s) for s in seeds for t in arguments.tasks for m in arguments.methods]
    if not arguments.report:
        optuna_setup.prepare(parser)
        logging.disable(logging.WARNING)
        if arguments.fresh:
            append(arguments.results, {"forget": [k for k in grid if k[1] in arguments.fresh]})
        measure(arguments.results, grid)
    report(load(arguments.results), grid)


if __name__ == "__main__":
    main()
