"""One run of a suite: the task here, where the suite's package is; the optimizer in a process.

    DIR/suites/bin/python benchmarks/suites/run.py '{"suite": "bbob-5", "task": "bbob-5-f01", ...}'

Prints the run as a JSON object; `suites.py` calls this, and says which fields it takes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import numpy as np
from scipy.stats import qmc

import bbob
import coco
import tables
import tuning
from catalogue import SUITES
from problem import Problem, Task
from task_parameters import Point

HERE = Path(__file__).parent
MAKERS = {"bbob": bbob, "mixint": coco, "noisy": coco, "tables": tables, "tuning": tuning}
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class OptimizerError(Exception):
    """What went wrong in the optimizer's process."""


class Optimizer:
    """An optimizer in a process of its own, and the time that it has taken."""

    def __init__(self, python: str, source: str | None) -> None:
        environment = {**os.environ, **THREADS}
        environment.pop("PYTHONPATH", None)
        if source is not None:
            environment["PYTHONPATH"] = source
        self.times = {"seconds": 0.0, "cpu_seconds": 0.0}
        self.process = subprocess.Popen(
            [python, HERE / "optimizer_process.py"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, message: dict) -> dict:
        """The answer to one line."""
        try:
            print(json.dumps(message), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise OptimizerError(f"ended with status {self.process.wait()}") from None
        line = self.process.stdout.readline()
        if not line:
            raise OptimizerError(f"ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise OptimizerError(answer["error"])
        return answer

    def call(self, name: str, *arguments: object):
        answer = self.send({"call": name, "arguments": arguments})
        self.times = {key: answer[key] for key in self.times}
        return answer["result"]

    def close(self) -> None:
        # What could not be written to a process that has ended is written in vain once more.
        with contextlib.suppress(BrokenPipeError), self.process:
            pass


def starting_points(problem: Problem, q: int, evaluations: int, seed: int) -> list[Point]:
    """2 (d + 1) scrambled Sobol points, a quarter of all at most, in whole rounds of q."""
    count = q * math.ceil(min(2 * (problem.d + 1), evaluations / 4) / q)
    sobol = qmc.Sobol(problem.d, seed=np.random.default_rng([seed, 0]))
    return [problem.decode(u) for u in sobol.random_base2(math.ceil(math.log2(count)))[:count]]


def run(task: Task, optimizer: Optimizer, first: dict, q: int, evaluations: int) -> dict:
    """An optimization from start to end; a failure ends it early."""
    scores: list[float] = []
    found: dict = {}
    error = recommended = None

    def evaluated(points: list[Point]) -> list[float]:
        results = [task(point) for point in points]
        scores.extend(score for _, score in results)
        return [observed for observed, _ in results]

    points = starting_points(task.problem, q, evaluations, first["seed"])
    starts = len(points)
    values = evaluated(points)
    try:
        found = optimizer.send({"problem": task.problem.to_plain(), **first})
        optimizer.call("add", points, values)
        while len(scores) < evaluations:
            points = optimizer.call("ask", min(q, evaluations - len(scores)))
            values = evaluated(points)
            optimizer.call("tell", points, values)
        if task.problem.noise:
            recommended = task(optimizer.call("recommend"))[1]
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
        traceback.print_exc()
    return {
        "error": error,
        "starts": starts,
        "scores": [float(f"{score:.6g}") for score in scores],
        "recommended": recommended,
        **{key: round(value, 4) for key, value in optimizer.times.items()},
        **found,
    }


def main() -> None:
    asked = json.loads(sys.argv[1])
    suite, name, seed = SUITES[asked["suite"]], asked["task"], asked["seed"]
    os.environ.update(THREADS)
    optimizer = Optimizer(asked["python"], asked["source"])
    try:
        task = MAKERS[name.split("-")[0]].make_task(name, seed)
        first = {"method": asked["method"], "seed": seed, "settings": asked["settings"]}
        record = run(task, optimizer, first, suite.q, asked["evaluations"])
    finally:
        optimizer.close()
    print(json.dumps(record))


if __name__ == "__main__":
    main()
