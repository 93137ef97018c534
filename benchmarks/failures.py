"""How often trials fail, and what is found all the same, where some of the space does not work.

    python benchmarks/failures.py                                    # this version, 8 seeds
    python benchmarks/failures.py --against ../before/src --optuna ../optuna/bin/python

Each task is run for 40 trials with every seed, `q` at a time:

    edge         6 reals; beyond 0.9 of the first all fail, and values get better towards there
    disc         4 reals; a disc in two of them fails, next to the optimum
    combination  two choices of three and 2 reals; one combination fails, and would be the best
    accidents    Hartmann-6; every tenth trial fails, wherever it is; its regret is shown

A line shows the failures (median, range) and the best value (median, range) by version: `ours`,
`other`, the innerloop in another folder, and `tpe`, Optuna's, in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

TRIALS = 40
Params = dict[str, Any]


class Task(NamedTuple):
    """What is minimized: ranges and choices by name, and a function that is NaN where it fails."""

    reals: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]
    function: Callable[[Params, int], float]


def edge(params: Params, number: int) -> float:
    """At best -1.8."""
    if params["a"] > 0.9:
        return math.nan
    return sum((params[name] - 0.4) ** 2 for name in "bcdef") - 2.0 * params["a"]


def disc(params: Params, number: int) -> float:
    """At best 0.0118, on the rim of the disc; without it 0."""
    if math.hypot(params["a"] - 0.6, params["b"] - 0.5) < 0.25:
        return math.nan
    return sum(
        (params[name] - x) ** 2 for name, x in zip("abcd", (0.7, 0.6, 0.3, 0.4), strict=True)
    )


def combination(params: Params, number: int) -> float:
    """At best -1; the combination that fails would be at -2."""
    if params["kind"] == "x" and params["mode"] == "u":
        return math.nan
    value = (params["a"] - 0.3) ** 2 + (params["b"] - 0.7) ** 2
    return value - (params["kind"] == "x") - (params["mode"] == "u")


def accidents(params: Params, number: int) -> float:
    """Regret of Hartmann-6, or NaN by the number of the trial alone."""
    if (number * 0.6180339887498949) % 1.0 < 0.1:
        return math.nan
    total = 0.0
    for height, rates, center in zip(_HEIGHTS, _RATES, _CENTERS, strict=True):
        pairs = zip(rates, "abcdef", center, strict=True)
        total += height * math.exp(-sum(r * (params[k] - 1e-4 * c) ** 2 for r, k, c in pairs))
    return 3.32237 - total


_HEIGHTS = (1.0, 1.2, 3.0, 3.2)
_RATES = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
_CENTERS = (
    (1312, 1696, 5569, 124, 8283, 5886),
    (2329, 4135, 8307, 3736, 1004, 9991),
    (2348, 1451, 3522, 2883, 3047, 6650),
    (4047, 8828, 8732, 5743, 1091, 381),
)
TASKS = {
    "edge": Task(tuple("abcdef"), {}, edge),
    "disc": Task(tuple("abcd"), {}, disc),
    "combination": Task(tuple("ab"), {"kind": tuple("xyz"), "mode": tuple("uvw")}, combination),
    "accidents": Task(tuple("abcdef"), {}, accidents),
}


def by_innerloop(task: Task, q: int, seed: int) -> list[float]:
    """Values in the order of the trials."""
    import innerloop as il

    reals = {name: il.Real(0.0, 1.0) for name in task.reals}
    choices = {name: il.Choice(list(values)) for name, values in task.choices.items()}
    optimizer = il.Optimizer(il.Space({**reals, **choices}), seed=seed)
    for _ in range(TRIALS // q):
        for trial in optimizer.ask(q):
            optimizer.tell(trial, task.function(trial.params, trial.id + 1000 * seed))
    return [math.nan if trial.value is None else trial.value for trial in optimizer.trials]


def by_tpe(task: Task, q: int, seed: int) -> list[float]:
    """Values in the order of the trials, by Optuna's TPE, which is told of all q at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    values = []
    for _ in range(TRIALS // q):
        trials = [study.ask() for _ in range(q)]
        params: list[Params] = [
            {
                **{name: trial.suggest_float(name, 0.0, 1.0) for name in task.reals},
                **{name: trial.suggest_categorical(name, v) for name, v in task.choices.items()},
            }
            for trial in trials
        ]
        for trial, each in zip(trials, params, strict=True):
            values.append(task.function(each, trial.number + 1000 * seed))
            failed = math.isnan(values[-1])
            state = optuna.trial.TrialState.FAIL if failed else optuna.trial.TrialState.COMPLETE
            study.tell(trial, None if failed else values[-1], state=state)
    return values


def solve(arguments: argparse.Namespace) -> None:
    """Print failures and the best value of every run as lines of JSON."""
    run = by_tpe if arguments.solve == "tpe" else by_innerloop
    for name in arguments.tasks:
        for q in arguments.q:
            for seed in range(arguments.seeds):
                values = run(TASKS[name], q, seed)
                works = [value for value in values if not math.isnan(value)]
                print(json.dumps([name, q, len(values) - len(works), min(works)]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="folder that holds the other innerloop")
    parser.add_argument("--optuna", type=Path, help="a Python that has Optuna")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--q", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--solve", choices=("innerloop", "tpe"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.solve:
        solve(arguments)
        return
    here = str(Path(__file__).resolve().parents[1] / "src")
    versions = {"ours": (sys.executable, "innerloop", here)}
    if arguments.against:
        versions["other"] = (sys.executable, "innerloop", str(arguments.against))
    if arguments.optuna:
        versions["tpe"] = (str(arguments.optuna), "tpe", here)
    found = {name: _solved(arguments, *version) for name, version in versions.items()}
    print("task         q  version  failures          best value")
    for task in arguments.tasks:
        for q in arguments.q:
            for name, rows in found.items():
                runs = [row for row in rows if row[:2] == [task, q]]
                failures, best = sorted(row[2] for row in runs), sorted(row[3] for row in runs)
                print(
                    f"{task:11} {q:2d}  {name:7}  {median(failures):4.1f} "
                    f"({failures[0]:2d} to {failures[-1]:2d})  {median(best):10.5f} "
                    f"({best[0]:.5f} to {best[-1]:.5f})"
                )


def _solved(arguments: argparse.Namespace, python: str, kind: str, source: str) -> list[Any]:
    """Failures and best values of all runs, by a version in a process of its own."""
    command = [python, __file__, "--solve", kind, "--seeds", str(arguments.seeds)]
    command += ["--tasks", *arguments.tasks, "--q", *map(str, arguments.q)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, "PYTHONPATH": source}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


if __name__ == "__main__":
    main()
