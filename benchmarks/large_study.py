"""A study of 10,000 trials in SQLite: what asks of `innerloop run` cost, beside the optimizer's.

    python benchmarks/large_study.py

One thread; times are CPU seconds. Both know the same results, are asked for one trial at a time, as
a run asks for them, and are told its value before the next.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from optuna.trial import create_trial
from threadpoolctl import threadpool_limits

import innerloop as il
from innerloop.integrations.optuna_space import distribution_of
from innerloop.studies.create import create_study
from innerloop.studies.study import open_study
from large_data import NOISE, D, bumps, random_results
from timing import timed
from told import optimizer_with

ASKS = 24


def filled(url: str, X: np.ndarray, y: np.ndarray) -> il.Space:
    """Put results into a new study, whose space is returned."""
    space = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(D)})
    study = create_study(url, "default", space=space, direction="maximize", seed=0)
    distributions = {name: distribution_of(each) for name, each in space.varying.items()}
    study.optuna.add_trials(
        create_trial(params=space.decode(x), distributions=distributions, value=float(value))
        for x, value in zip(X, y, strict=True)
    )
    return space


def value_of(space: il.Space, params: dict) -> float:
    return float(bumps(space.encode_all([params]))[0])


def asks_of_study(url: str, space: il.Space) -> list[float]:
    """CPU seconds of the first ask of a process, which reads the study, and of those after it."""
    study = open_study(url, "default")
    seconds = []
    for _ in range(ASKS):
        asked = timed(study.ask)
        seconds.append(asked.cpu_seconds)
        study.tell(asked.result.id, value_of(space, asked.result.params))
    return seconds


def asks_of_optimizer(X: np.ndarray, y: np.ndarray, space: il.Space) -> list[float]:
    """The same in memory, one trial at a time."""
    optimizer = optimizer_with(X, y, 0)
    seconds = []
    for _ in range(ASKS):
        asked = timed(optimizer.ask)
        seconds.append(asked.cpu_seconds)
        optimizer.tell(asked.result, value_of(space, asked.result.params))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=10_000)
    arguments = parser.parse_args()
    X, y = random_results(bumps, arguments.n, D, noise=NOISE, seed=0)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder)}/study.db"
        space = filled(url, X, y)
        memory, study = asks_of_optimizer(X, y, space), asks_of_study(url, space)
        print(f"{arguments.n} trials, d = {D}\n\n| asks, CPU s | first | median of later ones |")
        print("|---|---|---|")
        for name, seconds in (("of the optimizer", memory), ("of a study in SQLite", study)):
            print(f"| {name} | {seconds[0]:.2f} | {np.median(seconds[1:]):.3f} |")
        best = [sys.executable, "-m", "innerloop.cli.main", "best", "--storage", url]
        print(f"\n`innerloop best`: {cpu_seconds_of(best):.2f} s of CPU")


def cpu_seconds_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
