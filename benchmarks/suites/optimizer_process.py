"""An optimizer in a process of its own, in its own environment: asked and told over pipes.

The first line of the input is a problem, a method, its seed and its settings; every other line is
a call. Each is answered by one line, in JSON. `run.py` is at the other end.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import numpy as np

from methods import METHODS, versions
from problem import Problem
from task_parameters import Range
from timing import Stopwatch


def warm_up(name: str) -> None:
    """Imports and first calls, before anything is timed."""
    problem = Problem({"a": Range(0.0, 1.0), "b": Range(0.0, 1.0)})
    method = METHODS[name].make(problem, 0)
    points = [problem.decode(u) for u in np.random.default_rng(0).random((6, 2))]
    method.add(points, [point["a"] for point in points])
    points = method.ask(2)
    method.tell(points, [point["a"] for point in points])


def answers(calls):
    """What comes of each call; the first one starts the method."""
    first = next(calls)
    name, watch = first["method"], Stopwatch()
    if name == "optuna-gp" and versions(name)["greenlet"] == "missing":
        raise RuntimeError("install greenlet: without it Optuna falls back to a slower search")
    warm_up(name)
    problem = Problem.from_plain(first["problem"])
    method = watch(lambda: METHODS[name].make(problem, first["seed"], **first["settings"]))
    yield {"versions": versions(name)}
    for call in calls:
        result = watch(lambda call=call: getattr(method, call["call"])(*call["arguments"]))
        yield {"result": result, "seconds": watch.seconds, "cpu_seconds": watch.cpu_seconds}


def main() -> None:
    # Answers are all that the other end reads, whatever libraries print.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    try:
        for answer in answers(map(json.loads, sys.stdin)):
            print(json.dumps(answer), file=output, flush=True)
    except Exception as failure:
        traceback.print_exc()
        error = f"{type(failure).__name__}: {failure}"
        print(json.dumps({"error": error}), file=output, flush=True)


if __name__ == "__main__":
    main()
