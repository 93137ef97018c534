"""Known limits: innerloop beside BoTorch, Ax and random points on tasks whose optimum is known.

    python benchmarks/known_limits.py --environments DIR        # everything that is missing; hours
    python benchmarks/known_limits.py --methods innerloop random --fresh innerloop
    python benchmarks/known_limits.py --report                  # tables of what was measured so far
    python benchmarks/known_limits.py --check                   # optima, searched for anew

Limits on the parameters are known and cost nothing; the objective is the black box. All methods
begin with the same random points within the limits, and go on 4 at a time to 48 evaluations, each
on one thread, in an environment of its own (`suites/environments.py DIR botorch ax` makes those of
the rivals). Suggestions beyond a limit by more than 1e-6 do not count. Regrets below a millionth of
the spread of the function count as that. Times are those of the optimizer alone. Every finished run
is a line of the results and is not run again; a failed one is, by the next call.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from known_limits_rivals import METHODS, takes
from known_limits_tasks import TASKS, best_found
from results_file import Cells, Key, append, load

HERE = Path(__file__).parent
OURS = "innerloop"
_FLOOR = 1e-6


def run(key: Key, python: str | Path) -> dict:
    """One optimization in a process of its own, as a line of the results."""
    task, method, seed = key
    environment = dict(os.environ)
    if method not in (OURS, "random"):
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, HERE / "known_limits_run.py", task, method, str(seed)],
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode:
        raise SystemExit(f"{method} does not run with {python}:\n{done.stderr}")
    return {"task": task, "method": method, "seed": seed, **json.loads(done.stdout)}


def log_regret(cell: dict) -> float:
    """log10 of the regret at the end."""
    floor = _FLOOR * TASKS[cell["task"]].spread
    return float(np.log10(max(cell["trace"][-1], floor)))


def report(cells: Cells) -> None:
    """Tables of regret and time over the seeds that a rival and innerloop have in common."""
    methods = [m for m in METHODS if any(key[1] == m for key in cells)]
    tasks = [t for t in TASKS if any(key[0] == t for key in cells)]

    def found(task: str, method: str) -> dict[int, dict]:
        return {s: c for (t, m, s), c in cells.items() if (t, m) == (task, method)}

    def line(task: str, entry: Callable[[list[dict]], str]) -> None:
        row = [list(found(task, method).values()) for method in methods]
        print(f"| {task} | " + " | ".join(entry(each) if each else "" for each in row) + " |")

    for title, entry in (
        ("Median log10 regret", lambda e: f"{np.median([log_regret(c) for c in e]):.2f}"),
        ("Mean log10 regret", lambda e: f"{np.mean([log_regret(c) for c in e]):.2f}"),
        ("Seconds of the processor", lambda e: f"{np.median([c['cpu_seconds'] for c in e]):.2f}"),
        ("Runs", lambda e: str(len(e))),
        ("Suggestions beyond a limit", lambda e: str(sum(c["outside"] for c in e))),
    ):
        print(f"\n{title}\n\n| task | {' | '.join(methods)} |\n|---{'|---' * len(methods)}|")
        for task in tasks:
            line(task, entry)
    if OURS in methods:
        for rival in methods:
            if rival != OURS:
                _compare(rival, {t: (found(t, OURS), found(t, rival)) for t in tasks})
    for (task, method, seed), cell in cells.items():
        if cell["error"]:
            print(f"failed: {task} {method} seed {seed}: {cell['error']}")


def _compare(rival: str, both: dict[str, tuple[dict, dict]]) -> None:
    """One line on innerloop and a rival, over the seeds that both have."""
    medians = means = count = 0
    ratios = []
    for ours, theirs in both.values():
        common = sorted(ours.keys() & theirs.keys())
        if not common:
            continue
        count += 1
        a, b = ([log_regret(runs[seed]) for seed in common] for runs in (ours, theirs))
        medians += np.median(a) <= np.median(b) + 1e-9
        means += np.mean(a) <= np.mean(b) + 1e-9
        times = ([runs[seed]["cpu_seconds"] for seed in common] for runs in (theirs, ours))
        ratios.append(float(np.median(np.divide(*times))))
    print(
        f"\n{rival}: innerloop's median is at or below on {medians} of {count} tasks, its mean on "
        f"{means}; {rival}'s time / innerloop's: median of tasks {np.median(ratios or [0]):.1f}, "
        f"{min(ratios, default=0):.1f} to {max(ratios, default=0):.1f}"
    )


def measure(path: Path, keys: Iterable[Key], pythons: dict[str, str | Path]) -> None:
    """Run what is missing."""
    for key in keys:
        if key in load(path) and load(path)[key]["error"] is None:
            continue
        record = run(key, pythons[key[1]])
        append(path, record)
        print(
            f"{' '.join(map(str, key))}: {log_regret(record):.2f}, "
            f"{record['cpu_seconds']:.1f} s {record['error'] or ''}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", type=int, default=8, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--environments", type=Path, default=Path(".environments"))
    parser.add_argument("--results", type=Path, default=HERE / "results" / "known_limits.jsonl")
    parser.add_argument("--fresh", nargs="+", default=[], choices=METHODS, help="run these again")
    parser.add_argument("--report", action="store_true", help="only print the tables")
    parser.add_argument("--check", action="store_true", help="only search for the optima")
    arguments = parser.parse_args()
    if arguments.check:
        for name in arguments.tasks:
            value, where = best_found(TASKS[name])
            print(f"{name}: {value!r} at {where.round(6).tolist()}, given {TASKS[name].optimum!r}")
        return
    # By seed first, so that every task is seen early.
    grid = [
        (task, method, seed)
        for seed in range(arguments.first, arguments.first + arguments.seeds)
        for task in arguments.tasks
        for method in arguments.methods
        if takes(method, TASKS[task])
    ]
    if not arguments.report:
        pythons: dict[str, str | Path] = dict.fromkeys(METHODS, sys.executable)
        for name in ("botorch", "ax"):
            pythons[name] = arguments.environments / name / "bin" / "python"
        if arguments.fresh:
            forget = [key for key in grid if key[1] in arguments.fresh]
            append(arguments.results, {"forget": forget})
        measure(arguments.results, grid, pythons)
    cells = load(arguments.results)
    report({key: cells[key] for key in grid if key in cells})


if __name__ == "__main__":
    main()
