"""One optimization within known limits, in the environment of its method.

    python benchmarks/known_limits_run.py TASK METHOD SEED

Prints one JSON object; `known_limits.py` calls this.
"""

from __future__ import annotations

import os

# Libraries read these once, when they are imported.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import contextlib
import json
import logging
import sys
import traceback
import warnings

import numpy as np

from known_limits_rivals import METHODS, versions
from known_limits_tasks import ALLOWED, EVALUATIONS, TASKS, Q, Task
from timing import Stopwatch


def run(task: Task, name: str, seed: int, evaluations: int) -> dict:
    """A method on a task from start to end; a failure ends it early.

    A point beyond the limits is no design: it is evaluated, and does not count as found.
    """
    watch, error = Stopwatch(), None
    regrets: list[float] = []
    outside: list[float] = []

    def evaluated(points) -> list[float]:
        values = [task.value(x) for x in points]
        over = [float(task.excess(x)) for x in points]
        outside.extend(over)
        regrets.extend(
            value - task.optimum if excess <= ALLOWED else np.inf
            for value, excess in zip(values, over, strict=True)
        )
        return values

    points = task.points(task.starts, np.random.default_rng([seed, 0]))
    values = evaluated(points)
    try:
        method = watch(lambda: METHODS[name](task, seed))
        watch(lambda: method.add(points, values))
        while len(regrets) < evaluations:
            q = min(Q, evaluations - len(regrets))
            points = watch(lambda q=q: method.ask(q))
            values = evaluated(points)
            watch(lambda points=points, values=values: method.tell(points, values))
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
        traceback.print_exc()
    return {
        "trace": [float(f"{each:.6g}") for each in np.minimum.accumulate(regrets)],
        "outside": int(sum(over > ALLOWED for over in outside)),
        "most_outside": float(f"{max(outside):.2g}"),
        "seconds": round(watch.seconds, 4),
        "cpu_seconds": round(watch.cpu_seconds, 4),
        "error": error,
    }


def main() -> None:
    task_name, name, seed = sys.argv[1:]
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    # The answer is all that standard output holds, whatever libraries print.
    with contextlib.redirect_stdout(sys.stderr):
        # Imports and first calls, before anything is timed.
        with contextlib.redirect_stderr(None):
            task = TASKS[task_name]
            run(task if name == "ax" else TASKS["process"], name, 0, evaluations=16)
        record = run(task, name, int(seed), EVALUATIONS)
        record["versions"] = versions(name)
    print(json.dumps(record))


if __name__ == "__main__":
    main()
