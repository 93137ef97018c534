"""Several objectives and limits on outcomes: innerloop beside BoTorch, Optuna and random search.

    python benchmarks/outcomes.py                         # everything that is missing; hours
    python benchmarks/outcomes.py --methods innerloop --fresh innerloop
    python benchmarks/outcomes.py --report                # tables of what was measured so far

This runs where innerloop is installed, with moocore and `paper/` beside it. Each rival has an
environment of its own, in which innerloop need not be:

    python -m venv .venv-botorch
    .venv-botorch/bin/pip install torch==2.13.0           # first: its CPU build
    .venv-botorch/bin/pip install "botorch>=0.18" scipy
    python -m venv .venv-optuna
    .venv-optuna/bin/pip install torch==2.13.0
    .venv-optuna/bin/pip install "optuna>=5" scipy greenlet   # without greenlet, it is slower

`--botorch-python` and `--optuna-python` say where else they are; `outcome_check.py` compares the
tasks with BoTorch's own, in its environment.

BoTorch and innerloop are told the reference point that hypervolumes are measured from; samplers of
Optuna cannot be told, and `innerloop-alone` is not.

All methods begin with the same 2 (d + 1) Sobol points and go on 4 at a time to 64 evaluations,
each on one thread. A score is the hypervolume of the feasible outcomes over the reference point,
and with one objective the best feasible value; one function computes it for all. Times are those
of the optimizer alone: everything but the task. Results are lines of two files, one of rivals and
one of innerloop; what is there is not run again, and a failed run is, by the next call.

Times in `results/` were measured while the machine was busy with other runs; scores are not
affected by that.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import moocore
import numpy as np

from outcome_report import ALONE, OURS, report
from outcome_rivals import METHODS
from outcome_tasks import EVALUATIONS, TASKS, Outcomes, Task
from results_file import Cells, Key, append, load

HERE = Path(__file__).parent


def score(task: Task, outcomes: list[Outcomes]) -> float:
    """Hypervolume of the feasible outcomes, or the best feasible value of a single objective."""
    signs = np.array([-1.0 if way == "maximize" else 1.0 for way in task.objectives.values()])
    reference = signs * [task.reference[name] for name in task.objectives]
    feasible = [
        [each[name] for name in task.objectives]
        for each in outcomes
        if all(each[name] <= limit for name, limit in task.limits.items())
    ]
    values = signs * np.array(feasible).reshape(-1, len(signs))
    if len(signs) == 1:
        return float(signs[0] * min([*values[:, 0], reference[0]]))
    inside = values[(values < reference).all(axis=1)]
    return float(moocore.hypervolume(inside, ref=reference)) if len(inside) else 0.0


def run(key: Key, python: str, evaluations: int) -> dict:
    """One optimization in a process of its own, as a line of the results."""
    task_name, method, seed = key
    task = TASKS[task_name]
    command = [python, HERE / "outcome_run.py", task_name, method, str(seed), str(evaluations)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{method} does not run with {python}:\n{done.stderr}")
    record = json.loads(done.stdout)
    outcomes = record.pop("outcomes")
    record["scores"] = [score(task, outcomes[:count]) for count in record["counts"]]
    return {"task": task_name, "method": method, "seed": seed, **record}


def measure(missing: list[Key], pythons: dict[str, str], evaluations: int, jobs: int) -> Iterator:
    """Runs in the order in which they finish."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            runs = [pool.submit(run, key, pythons[key[1]], evaluations) for key in missing]
            for finished in as_completed(runs):
                yield finished.result()
        finally:
            pool.shutdown(cancel_futures=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", type=int, default=8, help="how many, from 0")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--python", default=sys.executable, help="that of innerloop")
    parser.add_argument("--botorch-python", default=".venv-botorch/bin/python")
    parser.add_argument("--optuna-python", default=".venv-optuna/bin/python")
    parser.add_argument("--ours", type=Path, default=HERE / "results" / "outcomes.jsonl")
    parser.add_argument("--rivals", type=Path, default=HERE / "results" / "outcomes_rivals.jsonl")
    parser.add_argument("--fresh", nargs="+", default=[], choices=METHODS, help="run these again")
    parser.add_argument("--report", action="store_true", help="only print the tables")
    arguments = parser.parse_args()

    def file_of(method: str) -> Path:
        return arguments.ours if method in (OURS, ALONE) else arguments.rivals

    def results() -> Cells:
        cells = {**load(arguments.rivals), **load(arguments.ours)}
        length = arguments.evaluations
        return {k: c for k, c in cells.items() if c["error"] or c["counts"][-1] == length}

    # Task by task, so that a table is complete as early as it can be.
    seeds = range(arguments.seeds)
    grid = [
        (task, method, seed)
        for task in arguments.tasks
        for method in arguments.methods
        if method != ALONE or len(TASKS[task].objectives) > 1
        for seed in seeds
    ]
    if not arguments.report:
        pythons = dict.fromkeys(METHODS, arguments.python)
        pythons["botorch"] = arguments.botorch_python
        pythons["optuna-gp"] = pythons["optuna-nsga2"] = arguments.optuna_python
        for method in arguments.fresh:
            append(file_of(method), {"forget": [key for key in grid if key[1] == method]})
        done = {key for key, cell in results().items() if cell["error"] is None}
        missing = [key for key in grid if key not in done]
        for record in measure(missing, pythons, arguments.evaluations, arguments.jobs):
            append(file_of(record["method"]), record)
            print(
                f"{record['task']} {record['method']} seed {record['seed']}: "
                f"{record['scores'][-1]:.6g}, {record['cpu_seconds']:.1f} s "
                f"{record['error'] or ''}",
                flush=True,
            )
    report(results(), grid)


if __name__ == "__main__":
    main()
