"""Closed loop on draws of a Gaussian process that are observed with a little noise.

    python benchmarks/small_noise.py                          # this version, 40 seeds
    python benchmarks/small_noise.py --against ../before/src  # and what another one leaves

As on the paper's synthetic tasks, noise has a thousandth of the variance of the function. The
optimizer is told nothing of it. Shown are log10 regrets without noise, of the best trial and of the
one that is recommended, and with `--against` the difference to the other version, seed by seed,
with two standard errors.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

NOISE = 1e-3
# Lengthscales of the draws are this, times the root of the dimension.
LENGTHSCALE = 0.25
FLOOR = 1e-8
# Where the minimum of a draw is searched for: the best of so many points, by so many searches.
POINTS, SEARCHES = 20_000, 20


class Task(NamedTuple):
    """Dimension, trials at a time and in all."""

    d: int
    q: int
    trials: int


TASKS = (Task(2, 2, 64), Task(4, 4, 80), Task(6, 4, 128))


def drawn(d: int, seed: int):
    """A function of (n, d), and its minimum."""
    from scipy.optimize import minimize

    import innerloop as il

    gp = il.GaussianProcess(il.Matern52(LENGTHSCALE * np.sqrt(d)))
    draw = il.prior_draws(gp, d, features=2**11, seed=seed)
    X = np.random.default_rng([seed, 1]).random((POINTS, d))
    starts = X[np.argsort(draw(X)[0])[:SEARCHES]]

    def value_and_grad(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = draw.value_and_grad(x[None])
        return float(value[0, 0]), grad[0, 0]

    ends = [minimize(value_and_grad, x, jac=True, bounds=[(0.0, 1.0)] * d).fun for x in starts]
    return lambda X: draw(X)[0], min(ends)


def regrets(task: Task, seed: int) -> tuple[float, float]:
    """log10 regrets of the best trial, and of the one that is recommended."""
    import innerloop as il

    function, lowest = drawn(task.d, seed)
    names = [f"x{i}" for i in range(task.d)]
    optimizer = il.Optimizer(il.Space({name: il.Real(0.0, 1.0) for name in names}), seed=seed)
    generator = np.random.default_rng([seed, 2])

    def values(trials) -> np.ndarray:
        return function(np.array([[trial.params[name] for name in names] for trial in trials]))

    while len(optimizer.trials) < task.trials:
        trials = optimizer.ask(task.q)
        noise = np.sqrt(NOISE) * generator.standard_normal(task.q)
        optimizer.tell(trials, (values(trials) + noise).tolist())
    ends = values(optimizer.trials).min(), values([optimizer.best])[0]
    return tuple(float(np.log10(max(end - lowest, FLOOR))) for end in ends)


def measured(source: Path, first: int, seeds: int) -> np.ndarray:
    """Regrets (tasks, seeds, 2) by the innerloop in a folder, in a process of its own."""
    command = [sys.executable, __file__, "--first", str(first), "--seeds", str(seeds), "--measure"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, "PYTHONPATH": str(source)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return np.array(json.loads(run.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="folder that holds the other innerloop")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    if arguments.measure:
        print(json.dumps([[regrets(task, seed) for seed in seeds] for task in TASKS]))
        return
    here = Path(__file__).resolve().parents[1] / "src"
    ours = measured(here, arguments.first, arguments.seeds)
    other = None
    if arguments.against:
        other = measured(arguments.against, arguments.first, arguments.seeds)
    for i, task in enumerate(TASKS):
        for k, which in enumerate(("best", "recommended")):
            mine = ours[i, :, k]
            line = f"d = {task.d}, q = {task.q}, {which:11}  {mine.mean():6.2f}"
            if other is not None:
                its, less = other[i, :, k], mine - other[i, :, k]
                error = 2.0 * less.std(ddof=1) / np.sqrt(len(less))
                line += f", other {its.mean():6.2f}, difference {less.mean():+.2f} ± {error:.2f}"
            print(line)


if __name__ == "__main__":
    main()
