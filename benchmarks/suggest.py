"""Whole batches: innerloop and BoTorch choose q points from the same posterior, side by side.

    python benchmarks/suggest.py --out suggest.csv        # needs the `bench` extra
    python benchmarks/suggest.py --quick                  # four small cells

One thread for everything. The data are a draw of the GP prior, and both know its hyperparameters.
BoTorch runs `optimize_acqf` sequentially and jointly, with qEI and with qLogEI. Every batch is
graded by the same 2^15 Sobol draws under the belief that BoTorch's own model gives. Other draws, or
the same points in another order, change a grade by up to about 0.02%: smaller differences mean
nothing. Conditioning on the data is done before the clock starts, for both.

BoTorch runs once per seed; innerloop's time is the best of three repetitions with the same seed.
"The best of BoTorch" is, in each cell, the variant with the highest mean value. With --out, every
measurement becomes a row of a CSV file, and measurements already in that file are not made again.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import innerloop as il
import rivals
from data import dataset
from timing import Timed, fastest, timed

OURS = "innerloop"
REPETITIONS = 3
DRAWS = 2**15
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Cell:
    """One size of problem."""

    n: int
    d: int
    q: int


@dataclass(frozen=True)
class Key:
    """What identifies a measurement."""

    n: int
    d: int
    q: int
    seed: int
    method: str


@dataclass(frozen=True)
class Measurement:
    """Time taken to choose a batch, and what that batch is worth."""

    seconds: float
    cpu_seconds: float
    value: float


class Record:
    """All measurements, kept in a CSV file if there is one; later rows replace earlier ones."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[Key, Measurement] = {}
        if path is not None and path.exists():
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    self.rows[_parse(Key, row)] = _parse(Measurement, row)

    def add(self, key: Key, measurement: Measurement) -> None:
        self.rows[key] = measurement
        if self.path is None:
            return
        row = asdict(key) | asdict(measurement)
        is_new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, row)
            if is_new:
                writer.writeheader()
            writer.writerow(row)


def _parse(kind: type, row: dict[str, str]) -> object:
    types = {"int": int, "float": float, "str": str}
    return kind(**{field.name: types[field.type](row[field.name]) for field in fields(kind)})


class Problem:
    """One posterior, held by innerloop and by BoTorch, and the grading of batches under it."""

    def __init__(self, n: int, d: int, seed: int) -> None:
        X, y, gp = dataset(n, d, seed)
        self.seed = seed
        self.utility = il.ExpectedImprovement(float(y.max()))
        self.posterior = gp.condition(X, y)
        self.model = rivals.fixed_model(X, y, gp)
        rivals.belief(self.model, X[:1])  # BoTorch factors at the first prediction

    def methods(self, q: int) -> dict[str, Callable[[], Timed[np.ndarray]]]:
        """All ways to choose q points, each with its own manner of timing."""
        jobs = {OURS: lambda: fastest(lambda: self._ours(q), REPETITIONS)}
        for name, (acquisition, sequential) in variants(q).items():
            jobs[name] = lambda a=acquisition, s=sequential: timed(lambda: self._theirs(q, a, s))
        return jobs

    def _ours(self, q: int) -> np.ndarray:
        return il.suggest(self.posterior, q, self.utility, seed=self.seed).X

    def _theirs(self, q: int, acquisition: str, sequential: bool) -> np.ndarray:
        threshold = self.utility.threshold
        return rivals.optimized_batch(
            self.model, threshold, q, acquisition, sequential, seed=self.seed
        )

    def grade(self, X: np.ndarray) -> float:
        """Expected improvement of a batch (q, d)."""
        z = il.sobol_normal(DRAWS, len(X), seed=self.seed)
        return float(il.expected_utility(self.utility, *rivals.belief(self.model, X), z))


def variants(q: int) -> dict[str, tuple[str, bool]]:
    """BoTorch's variants by name: the acquisition function, and whether points come one by one."""
    if q == 1:
        return {name: (name, False) for name in rivals.ACQUISITIONS}
    ways = {"sequential": True, "joint": False}
    return {
        f"{way} {name}": (name, ways[way])
        for way, name in itertools.product(ways, rivals.ACQUISITIONS)
    }


def measure(cell: Cell, seeds: int, record: Record, redo: list[str]) -> None:
    """Make the measurements of a cell that are not on record."""
    for seed in range(seeds):
        problem = None
        for method in (OURS, *variants(cell.q)):
            key = Key(cell.n, cell.d, cell.q, seed, method)
            if key in record.rows and method not in redo:
                continue
            problem = problem or Problem(cell.n, cell.d, seed)
            run = problem.methods(cell.q)[method]()
            value = problem.grade(run.result)
            record.add(key, Measurement(run.seconds, run.cpu_seconds, value))


@dataclass(frozen=True)
class Score:
    """A method in a cell: its name, median time and mean value over the seeds."""

    method: str
    seconds: float
    value: float


@dataclass(frozen=True)
class Comparison:
    """innerloop in a cell, beside the best and the fastest of BoTorch's variants."""

    cell: Cell
    ours: Score
    best: Score
    fastest: Score

    @property
    def value_ratio(self) -> float:
        if self.best.value == 0.0:
            return 1.0 if self.ours.value == 0.0 else float("inf")
        return self.ours.value / self.best.value

    @property
    def time_ratio(self) -> float:
        return self.best.seconds / self.ours.seconds

    @property
    def smallest_time_ratio(self) -> float:
        return self.fastest.seconds / self.ours.seconds

    def row(self) -> str:
        cell, ours, best = self.cell, self.ours, self.best
        return (
            f"| {cell.n} | {cell.d} | {cell.q} | {1e3 * ours.seconds:.1f} | {ours.value:.5g} "
            f"| {best.method} | {1e3 * best.seconds:.0f} | {best.value:.5g} "
            f"| {self.time_ratio:.0f} | {self.value_ratio:.4f} |"
        )


def compare(cell: Cell, seeds: int, record: Record) -> Comparison:
    """Bring the measurements of a cell together."""

    def score(method: str) -> Score:
        rows = [record.rows[Key(cell.n, cell.d, cell.q, s, method)] for s in range(seeds)]
        seconds = float(np.median([row.seconds for row in rows]))
        return Score(method, seconds, float(np.mean([row.value for row in rows])))

    theirs = [score(method) for method in variants(cell.q)]
    best = max(theirs, key=lambda each: each.value)
    return Comparison(cell, score(OURS), best, min(theirs, key=lambda each: each.seconds))


def summarize(comparisons: list[Comparison]) -> None:
    values = np.array([each.value_ratio for each in comparisons])
    print(f"\n{len(values)} cells. innerloop against the best of BoTorch's variants in each:\n")
    print(f"- value at least as high in {np.mean(values >= 1.0):.1%} of the cells")
    print(f"- value at least as high, with a tolerance of {TOLERANCE:.1%}, in", end=" ")
    print(f"{np.mean(values >= 1.0 - TOLERANCE):.1%} of the cells")
    print(f"- value ratio: median {np.median(values):.4f}, worst {values.min():.4f}")
    batches = [each for each in comparisons if each.cell.q >= 4]
    for name, group in (("all cells", comparisons), ("cells with q >= 4", batches)):
        if group:
            print(f"- time ratio, {name}: {_spread(each.time_ratio for each in group)}")
    smallest = _spread(each.smallest_time_ratio for each in comparisons)
    print(f"- time ratio to the fastest variant, whatever its value, all cells: {smallest}")


def _spread(ratios: Iterable[float]) -> str:
    ratios = list(ratios)
    return f"median {np.median(ratios):.0f}, worst {min(ratios):.0f}"


def warm_up() -> None:
    """Imports and first calls, of both, before anything is timed."""
    problem = Problem(10, 2, seed=0)
    for job in problem.methods(2).values():
        problem.grade(job().result)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, nargs="+", default=[50, 100, 200, 500])
    parser.add_argument("-d", type=int, nargs="+", default=[2, 6, 16])
    parser.add_argument("-q", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="n=50, d=2 and 6, q=1 and 4, one seed")
    parser.add_argument("--out", type=Path, help="CSV file to append to and to resume from")
    parser.add_argument(
        "--redo", nargs="+", default=[], metavar="METHOD", help="measure again, as in: innerloop"
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.n, arguments.d, arguments.q, arguments.seeds = [50], [2, 6], [1, 4], 1
    warnings.filterwarnings("ignore")
    with threadpool_limits(1):
        run(arguments)


def run(arguments: argparse.Namespace) -> None:
    record = Record(arguments.out)
    warm_up()
    print(f"times in ms, median of {arguments.seeds} seeds; values: mean of {DRAWS}-draw qEI\n")
    print(
        "| n | d | q | innerloop | value | BoTorch's best variant | its time | its value "
        "| time ratio | value ratio |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    comparisons = []
    for cell in itertools.starmap(Cell, itertools.product(arguments.n, arguments.d, arguments.q)):
        measure(cell, arguments.seeds, record, arguments.redo)
        comparisons.append(compare(cell, arguments.seeds, record))
        print(comparisons[-1].row(), flush=True)
    summarize(comparisons)


if __name__ == "__main__":
    main()
