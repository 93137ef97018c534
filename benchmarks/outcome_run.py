"""One optimization of several outcomes, in the environment of its method.

    python benchmarks/outcome_run.py TASK METHOD SEED EVALUATIONS

Prints one JSON object: the outcomes of all evaluations, the number of evaluations after each
batch, the optimizer's seconds, versions, and the error if there was one. `outcomes.py` calls this.
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
from typing import TypeVar

from outcome_rivals import METHODS, versions
from outcome_tasks import TASKS, Outcomes, Point, Q, Task
from timing import Stopwatch

T = TypeVar("T")


def run(task: Task, name: str, seed: int, evaluations: int) -> dict:
    """A method on a task from start to end; a failure ends it early."""
    watch = Stopwatch()
    error = None
    points: list[Point] = task.initial_points(seed)
    outcomes: list[Outcomes] = [task.function(point) for point in points]
    counts = [len(outcomes)]
    try:
        method = watch(lambda: METHODS[name](task, seed))
        watch(lambda: method.add(points, outcomes.copy()))
        while len(outcomes) < evaluations:
            q = min(Q, evaluations - len(outcomes))
            points = watch(lambda q=q: method.ask(q))
            batch = [task.function(point) for point in points]
            watch(lambda points=points, batch=batch: method.tell(points, batch))
            outcomes += batch
            counts.append(len(outcomes))
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
        traceback.print_exc()
    return {
        "outcomes": outcomes,
        "counts": counts,
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "error": error,
    }


def main() -> None:
    task_name, name, seed, evaluations = sys.argv[1:]
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    # The answer is all that standard output holds, whatever libraries print.
    with contextlib.redirect_stdout(sys.stderr):
        # Imports and first calls, before anything is timed.
        with contextlib.redirect_stderr(None):
            run(TASKS["branin-currin"], name, seed=0, evaluations=7)
        record = run(TASKS[task_name], name, int(seed), int(evaluations))
        record["versions"] = versions(name)
    print(json.dumps(record))


if __name__ == "__main__":
    main()
