"""innerloop and its rivals on suites that others wrote.

    python benchmarks/suites/environments.py DIR            # once
    python benchmarks/suites/suites.py --environments DIR --suites bbob-5
    python benchmarks/suites/suites.py --environments DIR --suites bbob-5 --methods innerloop \
        --label wider --source ../wider/src
    python benchmarks/suites/suites.py --suites bbob-5 --compare wider innerloop
    python benchmarks/suites/suites.py --suites bbob-5 --report
    python benchmarks/suites/suites.py --suites bbob-5 --part page --report --page docs/suites.md

Whatever is missing is run, then reported. This runs wherever NumPy and SciPy are; tasks are
evaluated in the environment `suites`, and each optimizer has a process in an environment of its
own, with one thread. Runs of a task and seed begin with the same points. Times are those of the
optimizer alone, measured in its process.

A label names a variant of innerloop: another source tree (`--source`), other settings of its
optimizer (`--settings`), or another Python (`--python`). Results are lines of a file for each
suite and label or rival; what is there is not run again, and a failed run is, by the next call.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from catalogue import PARTS, SUITES, Suite
from comparison import compare, summary
from environments import advice, python_of
from methods import METHODS
from page import put
from report import report
from results_file import Cells, append, load
from scores import MissingError, Scores
from tuning import CACHE

OURS = "innerloop"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Run:
    """One optimization: label is what it is called, method what it is done with."""

    suite: str
    task: str
    method: str
    label: str
    seed: int


def planned(arguments: argparse.Namespace) -> list[Run]:
    """All runs that are asked for, by seed first, so that every task is seen early."""
    runs = []
    for name in arguments.suites:
        suite = SUITES[name]
        for k in range(arguments.seeds):
            for task in suite.tasks:
                if arguments.tasks and not any(task.endswith(f"-{t}") for t in arguments.tasks):
                    continue
                for method in arguments.methods:
                    if task in suite.with_choices and not METHODS[method].takes_choices:
                        continue
                    label = arguments.label if method == OURS else method
                    runs.append(Run(name, task, method, label, PARTS[arguments.part] + k))
    return runs


def file_of(results: Path, suite: str, label: str) -> Path:
    return results / suite / f"{label}.jsonl"


def loaded(results: Path, suite: str) -> Cells:
    """Every run of a suite that there is."""
    cells: Cells = {}
    for path in sorted((results / suite).glob("*.jsonl")):
        cells.update(load(path))
    return cells


def is_done(run: Run, cells: Cells, evaluations: int) -> bool:
    cell = cells.get((run.task, run.label, run.seed))
    return cell is not None and cell["error"] is None and len(cell["scores"]) >= evaluations


def measured(run: Run, arguments: argparse.Namespace, evaluations: int) -> dict:
    """A line of the results."""
    ours = run.method == OURS
    python = python_of(arguments.environments, METHODS[run.method].environment)
    asked = {
        **{"suite": run.suite, "task": run.task, "method": run.method, "seed": run.seed},
        "python": str(arguments.python or python) if ours else str(python),
        "source": str(arguments.source.resolve()) if ours else None,
        "settings": arguments.settings if ours else {},
        "evaluations": evaluations,
    }
    command = [python_of(arguments.environments, "suites"), HERE / "run.py", json.dumps(asked)]
    environment = {**os.environ, CACHE: str(arguments.cache)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{run.suite} does not run with {command[0]}:\n{done.stderr}")
    record = json.loads(done.stdout)
    if ours and "versions" in record:
        record["versions"] = {OURS: commit(arguments.source), **record["versions"]}
    if record["error"] and arguments.verbose:
        print(done.stderr, file=sys.stderr)
    return {"task": run.task, "method": run.label, "seed": run.seed, **record}


def commit(source: Path) -> str:
    """The commit of a source tree, and whether the tree was changed since."""

    def git(*command: str) -> str:
        done = subprocess.run(["git", "-C", source, *command], capture_output=True, text=True)
        return done.stdout.strip()

    changed = " with changes" if git("status", "--porcelain", ".") else ""
    return (git("rev-parse", "--short", "HEAD") or "of no commit") + changed


def measure(runs: list[Run], arguments: argparse.Namespace) -> Iterator[tuple[Run, dict]]:
    """Runs in the order in which they finish."""
    with ThreadPoolExecutor(arguments.jobs) as pool:
        try:
            pending = {
                pool.submit(measured, run, arguments, length(arguments, SUITES[run.suite])): run
                for run in runs
            }
            for finished in as_completed(pending):
                yield pending[finished], finished.result()
        finally:
            pool.shutdown(cancel_futures=True)


def length(arguments: argparse.Namespace, suite: Suite) -> int:
    return arguments.evaluations or suite.evaluations


def run_missing(arguments: argparse.Namespace) -> None:
    runs = planned(arguments)
    for path, keys in _forgotten(runs, arguments).items():
        append(path, {"forget": keys})
    cells = {name: loaded(arguments.results, name) for name in arguments.suites}
    missing = [
        run
        for run in runs
        if not is_done(run, cells[run.suite], length(arguments, SUITES[run.suite]))
    ]
    environments = {METHODS[run.method].environment for run in missing} | {"suites"}
    for name in sorted(environments) if missing else ():
        if not python_of(arguments.environments, name).exists():
            raise SystemExit(advice(arguments.environments, name))
    for count, (run, record) in enumerate(measure(missing, arguments), 1):
        append(file_of(arguments.results, run.suite, run.label), record)
        print(
            f"{count}/{len(missing)} {run.task} {run.label} seed {run.seed}: "
            f"{min(record['scores']):.4g}, {record['cpu_seconds']:.2f} s {record['error'] or ''}",
            flush=True,
        )


def _forgotten(runs: list[Run], arguments: argparse.Namespace) -> dict[Path, list]:
    """The runs to do again, by file."""
    found: dict[Path, list] = {}
    for run in runs if arguments.fresh else ():
        path = file_of(arguments.results, run.suite, run.label)
        if path.exists():
            found.setdefault(path, []).append([run.task, run.label, run.seed])
    return found


def scores_of(arguments: argparse.Namespace, name: str) -> Scores:
    """The runs of one part, no more than the seeds asked for."""
    first = PARTS[arguments.part]
    wanted = range(first, first + arguments.seeds)
    ends = tuple(f"-{task}" for task in arguments.tasks)
    cells = {
        key: cell
        for key, cell in loaded(arguments.results, name).items()
        if key[2] in wanted and (not ends or key[0].endswith(ends))
    }
    return Scores(SUITES[name], cells)


def report_all(arguments: argparse.Namespace) -> None:
    found = []
    for name in arguments.suites:
        scores, at = scores_of(arguments, name), arguments.at or length(arguments, SUITES[name])
        try:
            if arguments.compare:
                lines = compare(scores, *arguments.compare, at)
                found.append((scores, at))
            else:
                rivals = [method for method in arguments.methods if method != OURS]
                lines = report(scores, arguments.label, rivals, arguments.part, at)
        except MissingError as missing:
            lines = [str(missing)]
        print("\n".join(lines))
        if arguments.page:
            put(arguments.page, name, lines)
    if len(found) > 1:
        print("\n".join(summary(found, *arguments.compare)))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--suites", nargs="+", default=list(SUITES), choices=SUITES)
    add("--part", default="development", choices=PARTS)
    add("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    add("--tasks", nargs="+", default=[], help="ends of names, such as f08 or car")
    add("--seeds", type=int, default=5, help="how many of the part")
    add("--evaluations", type=int, help="another length of runs")
    add("--jobs", type=int, default=2, help="runs at a time")
    add("--environments", type=Path, default=ROOT / ".environments", help="see environments.py")
    add("--label", default=OURS, help="what to call this innerloop")
    add("--python", type=Path, help="that of innerloop, if not the one of the suites")
    add("--source", type=Path, default=ROOT / "src", help="folder that holds innerloop")
    add("--settings", type=json.loads, default={}, help="JSON: arguments of Optimizer")
    add("--results", type=Path, default=HERE.parent / "results" / "suites")
    add("--cache", type=Path, default=HERE / ".cache", help="losses of tuned models")
    add("--fresh", action="store_true", help="run again what is there")
    add("--verbose", action="store_true", help="show where runs failed")
    add("--report", action="store_true", help="run nothing")
    add("--compare", nargs=2, metavar="LABEL", help="run nothing: the first less the second")
    add("--at", type=int, help="how many evaluations count in the report")
    add("--page", type=Path, help="put the report there as well")
    arguments = parser.parse_args()
    if arguments.page and (arguments.compare or arguments.part != "page"):
        parser.error("--page takes the report of --part page")
    if arguments.label != OURS and arguments.label in METHODS:
        parser.error(f"--label {arguments.label} is the name of a rival")
    return arguments


def main() -> None:
    arguments = parsed()
    if not (arguments.report or arguments.compare):
        run_missing(arguments)
    report_all(arguments)


if __name__ == "__main__":
    main()
