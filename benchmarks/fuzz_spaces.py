"""Random spaces with equations, few of many, curved limits and all of these, through `Optimizer`.

    python benchmarks/fuzz_spaces.py --spaces 2000
    python benchmarks/fuzz_spaces.py --first 500 --spaces 20 --again
    python benchmarks/fuzz_spaces.py --report

Each space is asked, told, asked with trials pending and with a value held, saved, loaded and asked
again, with the default settings. All suggestions have to meet the limits to 1e-9 of the sizes of
their terms, as `checked_spaces.py` computes them with Python's own arithmetic; come back from their
encoding as they are; and differ, as long as there are others. A copy that was loaded has to go on
in the same way. Where it is said that there is nothing to search, all values are listed if they can
be; linear limits are given to integer programming; others to random search and minimization. Every
space is one line of the results, and those that are there are not run again.
"""

from __future__ import annotations

import os

# Libraries read these once, when they are imported.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import json
import pickle
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp, minimize

import innerloop as il
from checked_spaces import Case, Few, Params, Stated
from random_spaces import KINDS, case, value_of

HERE = Path(__file__).parent
_SEARCHED, _CLIMBED = 20_000, 30


def value(given: Case, params: Params) -> float:
    """Something to minimize."""
    total = 0.0
    for k, (name, kind) in enumerate(given.parameters.items()):
        if isinstance(kind, il.Choice):
            total += 0.2 * kind.values.index(params[name])
        elif isinstance(kind, (il.Real, il.Integer)):
            share = (params[name] - kind.low) / (kind.high - kind.low)
            total += (share - 0.2 * (k % 5)) ** 2
    return total


class Checked:
    """Trials that were asked of a space, and what is wrong with them."""

    def __init__(self, given: Case, space: il.Space) -> None:
        self.given, self.space = given, space
        self.faults: list[str] = []
        self.count = 0
        self.seen: set[tuple] = set()
        every = given.everything()
        self.points = None if every is None else len(every)

    def __call__(self, trials: list[il.Trial], *, held: bool = False) -> list[il.Trial]:
        for trial in trials:
            self.count += 1
            self.faults += self.given.faults(trial.params)
            again = self.space.decode(self.space.encode(trial.params))
            if again != trial.params and not held:
                self.faults.append(f"{trial.params} comes back as {again}")
            key = tuple(trial.params.values())
            if key in self.seen and not held and self._has_others():
                self.faults.append(f"{trial.params} is asked again")
            self.seen.add(key)
        return trials

    def _has_others(self) -> bool:
        """Whether there are points that were not asked yet."""
        if self.points is not None:
            return len(self.seen) < self.points
        drawn = self.space.sample(200, np.random.default_rng(1))
        found = {tuple(self.space.decode(x).values()) for x in drawn}
        return len(found - self.seen) > 0


def asked_and_told(given: Case, space: il.Space, number: int) -> Checked:
    """All that is done with a space that has points."""
    checked = Checked(given, space)
    optimizer = il.Optimizer(space, seed=number, initial=4)

    def tell(trials: list[il.Trial]) -> None:
        for trial in trials:
            optimizer.tell(trial, value(given, trial.params))

    tell(checked(optimizer.ask(3)))
    tell(checked(optimizer.ask(2)))
    pending = checked(optimizer.ask(3))
    checked(optimizer.ask(2))
    tell(pending[:2])
    copy = copied(optimizer, given)
    first, second = optimizer.ask(2), copy.ask(2)
    checked(first)
    if [trial.params for trial in first] != [trial.params for trial in second]:
        checked.faults.append(f"a copy goes on with {second[0].params}, not {first[0].params}")
    if number % 3 == 0 and not given.faults(given.point):
        name = list(given.parameters)[number // 3 % len(given.parameters)]
        if isinstance(given.parameters[name], (il.Real, il.Integer, il.Choice)):
            held = optimizer.ask(1, fixed={name: given.point[name]})
            checked(held, held=True)
            if held[0].params[name] != given.point[name]:
                checked.faults.append(f"{name} was to be {given.point[name]}: {held[0].params}")
    return checked


def copied(optimizer: il.Optimizer, given: Case) -> il.Optimizer:
    """The optimizer after saving and loading; after pickling, where functions cannot be saved."""
    if not given.can_be_saved:
        return pickle.loads(pickle.dumps(optimizer))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.json"
        optimizer.save(path)
        return il.Optimizer.load(path)


def refutation(given: Case) -> tuple[str, Params | None]:
    """How it was looked for points of a space that is said to have none, and one of them."""
    every = given.everything()
    if every is not None:
        return "listed", every[0] if every else None
    if not given.faults(given.point):
        return "drawn around a point", given.point
    if all(isinstance(x, Few) or (isinstance(x, Stated) and x.coefficients) for x in given.limits):
        found = programmed(given)
        return "programmed", found if found is not None and not given.faults(found) else None
    return "searched", searched(given)


def programmed(given: Case) -> Params | None:
    """A point that meets linear limits, by integer programming; None if there is none.

    Variables are values, or numbers of steps, followed by switches of what may be left out.
    """
    names = [n for n, kind in given.parameters.items() if not isinstance(kind, il.Choice)]
    place, n = {name: k for k, name in enumerate(names)}, len(names)
    rows, low, high = [], [], []
    scale, start = np.ones(n), np.zeros(n)
    bounds, whole = np.zeros((2 * n, 2)), np.zeros(2 * n)
    bounds[n:, 1], whole[n:] = 1.0, 1.0
    for name, k in place.items():
        kind = given.parameters[name]
        if not isinstance(kind, (il.Real, il.Integer)):
            bounds[k] = kind
            continue
        bounds[k] = kind.low, kind.high
        if kind.count is not None:
            whole[k], start[k], bounds[k] = 1.0, kind.low, (0, kind.count - 1)
            scale[k] = (kind.high - kind.low) / (kind.count - 1)
        elif kind.low <= 0.0:
            least = getattr(kind, "at_least", None) or kind.low
            for side, limit in ((1.0, kind.high), (-1.0, -least)):
                row = np.zeros(2 * n)
                row[k], row[n + k] = side, -side * limit * side
                rows.append(row), low.append(-np.inf), high.append(0.0)
    for limit in given.limits:
        row = np.zeros(2 * n)
        if isinstance(limit, Few):
            row[[n + place[name] for name in limit.names]] = 1.0
            rows.append(row), low.append(-np.inf), high.append(limit.number)
            continue
        for name, c in limit.coefficients.items():
            row[place[name]] += c * scale[place[name]]
        value = limit.value - sum(c * start[place[m]] for m, c in limit.coefficients.items())
        rows.append(row)
        low.append(-np.inf if limit.sign == "<=" else value)
        high.append(np.inf if limit.sign == ">=" else value)
    result = milp(
        np.zeros(2 * n),
        constraints=LinearConstraint(np.array(rows), low, high),
        bounds=Bounds(*bounds.T),
        integrality=whole,
    )
    if result.x is None:
        return None
    found = {}
    for name, kind in given.parameters.items():
        if name not in place:
            found[name] = kind.values[0]
        else:
            x = result.x[place[name]] * scale[place[name]] + start[place[name]]
            found[name] = round(x) if isinstance(kind, il.Integer) else float(x)
    return found


def searched(given: Case) -> Params | None:
    """A point that meets all limits, if random search and minimization find one."""
    rng = np.random.default_rng(0)

    def total(params: Params) -> float:
        return sum(min(limit.excess(params), 1e3) for limit in given.limits)

    drawn = [
        {name: value_of(kind, rng) for name, kind in given.parameters.items()}
        for _ in range(_SEARCHED)
    ]
    drawn.sort(key=total)
    free = [n for n, k in given.parameters.items() if isinstance(k, il.Real) and k.count is None]
    for params in drawn[:_CLIMBED]:
        box = [(given.parameters[name].low, given.parameters[name].high) for name in free]
        found = minimize(
            lambda x, params=params: total({**params, **dict(zip(free, x.tolist(), strict=True))}),
            [params[name] for name in free],
            method="Powell",
            bounds=box,
            options={"maxfev": 2000},
        )
        near = {**params, **dict(zip(free, found.x.tolist(), strict=True))}
        for each in (params, near):
            if not given.faults(each):
                return each
    return None


def outcome(number: int) -> dict:
    """What came of a space, as a line of the results."""
    given, began = case(number), time.process_time()
    record = {"number": number, "kind": given.kind, "suggestions": 0, "faults": []}
    try:
        record.update(searched_or_refused(given, number))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        record["error"] = f"{type(error).__name__}: {error} ({where.name})"
    return {**record, "seconds": round(time.process_time() - began, 3)}


def searched_or_refused(given: Case, number: int) -> dict:
    """What is wrong with suggestions, or with the claim that there can be none."""
    try:
        space = given.space()
    except il.InputError as error:
        if "leave nothing to search" not in str(error):
            raise
        way, found = refutation(given)
        missed = [] if found is None else [f"{found} meets all limits: {error}"]
        return {"empty": way, "faults": missed}
    checked = asked_and_told(given, space, number)
    return {"suggestions": checked.count, "faults": checked.faults}


def report(records: list[dict]) -> None:
    """A table by kind, and all that is wrong."""
    columns = ("spaces", "with points", "none", "suggestions", "faults", "errors", "seconds each")
    print(f"| kind | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for kind in (*KINDS, "all"):
        some = [each for each in records if kind in ("all", each["kind"])]
        if some:
            empty = sum("empty" in each for each in some)
            errors = sum("error" in each for each in some)
            print(
                f"| {kind} | {len(some)} | {len(some) - empty - errors} | {empty} "
                f"| {sum(each['suggestions'] for each in some)} "
                f"| {sum(len(each['faults']) for each in some)} | {errors} "
                f"| {np.mean([each['seconds'] for each in some]):.2f} |"
            )
    ways = [each["empty"] for each in records if "empty" in each]
    print("\nnothing to search:", {way: ways.count(way) for way in dict.fromkeys(ways)})
    for each in records:
        for wrong in [*each["faults"], *([each["error"]] if "error" in each else [])]:
            print(f"{each['number']} ({each['kind']}): {wrong}")


def read(path: Path) -> Iterator[dict]:
    """The records that are there."""
    return map(json.loads, path.read_text().splitlines() if path.exists() else ())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--spaces", type=int, default=2000)
    parser.add_argument("--results", type=Path, default=Path("fuzz_spaces.jsonl"))
    parser.add_argument("--again", action="store_true", help="run what was not right again")
    parser.add_argument("--report", action="store_true", help="only print the table")
    arguments = parser.parse_args()
    known = {each["number"]: each for each in read(arguments.results)}
    for number in range(arguments.first, arguments.first + arguments.spaces):
        before = known.get(number)
        wrong = before is not None and (before["faults"] or "error" in before)
        if not arguments.report and (before is None or (arguments.again and wrong)):
            known[number] = outcome(number)
            with arguments.results.open("a") as file:
                file.write(json.dumps(known[number]) + "\n")
    report([known[number] for number in sorted(known)])


if __name__ == "__main__":
    main()
