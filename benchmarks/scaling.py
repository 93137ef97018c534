"""How time and memory of `suggest` grow with the observations n and the batch size q.

    python benchmarks/scaling.py                 # needs Matplotlib for the plot

Defaults of `suggest`, one thread, d = 6. Time is the best of a few calls with the same seed,
median over the seeds. Memory is the peak of what `suggest` allocates beyond the posterior that it
is given, by tracemalloc, in a call of its own, since tracing slows Python down. NumPy reports its
arrays to tracemalloc; what is left out is the fixed workspace of BLAS. The resident size of the
process would drown small calls in the size of the imports.

How many evaluations a search takes depends on the data, so the time per evaluation is given too.
Exponents are slopes of straight lines through the larger half of the sizes, on log-log axes.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import innerloop as il
from data import dataset
from timing import fastest

PLOT = Path(__file__).resolve().parent.parent / "docs" / "images" / "scaling.svg"
INK, FAINT, TIME, MEMORY = "#222222", "#9a9a9a", "#1f5fa8", "#c2571a"


@dataclass(frozen=True)
class Cost:
    """What one call costs: medians over the seeds."""

    n: int
    q: int
    seconds: float
    evaluations: float
    bytes: float

    @property
    def seconds_per_evaluation(self) -> float:
        return self.seconds / self.evaluations


def cost(n: int, d: int, q: int, seeds: int, repetitions: int) -> Cost:
    """Time and memory of suggest(q) after n observations."""
    rows = []
    for seed in range(seeds):
        X, y, gp = dataset(n, d, seed)
        posterior = gp.condition(X, y)
        utility = il.ExpectedImprovement(float(y.max()))

        def suggest(posterior=posterior, utility=utility, seed=seed) -> il.Batch:
            return il.suggest(posterior, q, utility, seed=seed)

        run = fastest(suggest, repetitions)
        rows.append((run.seconds, run.result.evaluations, peak_bytes(suggest)))
    return Cost(n, q, *np.median(rows, axis=0).tolist())


def peak_bytes(job: Callable[[], object]) -> int:
    """The most memory that a job holds at any one time."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def slope(sizes: list[int], amounts: list[float]) -> float:
    """Exponent of growth over the larger half of the sizes."""
    start = min(len(sizes) // 2, len(sizes) - 2)
    return float(np.polyfit(np.log(sizes[start:]), np.log(amounts[start:]), 1)[0])


QUANTITIES: dict[str, Callable[[Cost], float]] = {
    "time": lambda cost: cost.seconds,
    "time per evaluation": lambda cost: cost.seconds_per_evaluation,
    "memory": lambda cost: cost.bytes,
}


def sweep(name: str, sizes: list[int], measure: Callable[[int], Cost]) -> list[Cost]:
    """Measure and print the cost of every size, then the exponents."""
    print(f"| {name} | time (ms) | evaluations | time per evaluation (us) | memory (MB) |")
    print("|---|---|---|---|---|", flush=True)
    costs = []
    for size in sizes:
        costs.append(measure(size))
        print(
            f"| {size} | {1e3 * costs[-1].seconds:.1f} | {costs[-1].evaluations:.0f} "
            f"| {1e6 * costs[-1].seconds_per_evaluation:.2f} | {costs[-1].bytes / 2**20:.1f} |",
            flush=True,
        )
    if len(sizes) > 1:
        exponents = ", ".join(
            f"{quantity} {slope(sizes, [amount(cost) for cost in costs]):.2f}"
            for quantity, amount in QUANTITIES.items()
        )
        print(f"\nexponents in {name} over the larger half of the sizes: {exponents}\n")
    return costs


def plot(path: Path, by_n: list[Cost], by_q: list[Cost], fixed: dict[str, int]) -> None:
    """Time above, memory below; against n on the left, against q on the right."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "innerloop", "font.size": 10, "axes.edgecolor": INK})
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 6.0), sharex="col", layout="constrained")
    for column, (symbol, costs, power) in enumerate((("n", by_n, 2), ("q", by_q, 1))):
        sizes = np.array([getattr(cost, symbol) for cost in costs], dtype=float)
        milliseconds = np.array([1e3 * cost.seconds for cost in costs])
        megabytes = np.array([cost.bytes / 2**20 for cost in costs])
        draw(axes[0, column], sizes, milliseconds, TIME, symbol, power)
        draw(axes[1, column], sizes, megabytes, MEMORY, symbol, power)
    axes[0, 0].set(ylabel="time (ms)", title=f"q = {fixed['q']}, d = {fixed['d']}")
    axes[0, 1].set(title=f"n = {fixed['n']}, d = {fixed['d']}")
    axes[1, 0].set(ylabel="memory (MB)", xlabel="observations n")
    axes[1, 1].set(xlabel="batch size q")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def draw(axis, x: np.ndarray, amounts: np.ndarray, color: str, symbol: str, power: int) -> None:
    """Measured points and, below the larger half of them, a line of the given slope."""
    from matplotlib.ticker import LogLocator, NullLocator

    larger = x[len(x) // 2 :]
    line = (larger / larger[-1]) ** power
    # As high as it can be without touching the measurements.
    line *= 0.7 * (amounts[len(x) // 2 :] / line).min()
    axis.plot(larger, line, color=FAINT, linestyle="--", linewidth=1.2)
    label = f"∝ {symbol}²" if power == 2 else f"∝ {symbol}"
    place = {"textcoords": "offset points", "ha": "right", "va": "center", "color": INK}
    axis.annotate(label, (larger[0], line[0]), (-5, 0), **place)
    axis.plot(x, amounts, "o-", color=color, markersize=4.5, linewidth=1.6)
    axis.set(xscale="log", yscale="log")
    axis.set_xticks(x, labels=[f"{size:.0f}" for size in x])
    axis.set_xticks([], minor=True)
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(True, which="major", color="#e6e6e6", linewidth=0.7)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_axisbelow(True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, nargs="+", default=[100, 200, 400, 700, 1000, 1400, 2000])
    parser.add_argument("-q", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("-d", type=int, default=6)
    parser.add_argument("--fixed-n", type=int, default=200, help="n while q grows")
    parser.add_argument("--fixed-q", type=int, default=4, help="q while n grows")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--plot", type=Path, default=PLOT, help="where the picture goes")
    parser.add_argument("--no-plot", action="store_true")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        run(arguments)


def run(arguments: argparse.Namespace) -> None:
    d, effort = arguments.d, (arguments.seeds, arguments.repetitions)
    cost(20, d, 2, 1, 1)  # imports and first calls
    print(f"q = {arguments.fixed_q}, d = {d}\n")
    by_n = sweep("n", arguments.n, lambda n: cost(n, d, arguments.fixed_q, *effort))
    print(f"n = {arguments.fixed_n}, d = {d}\n")
    by_q = sweep("q", arguments.q, lambda q: cost(arguments.fixed_n, d, q, *effort))
    if not arguments.no_plot:
        fixed = {"n": arguments.fixed_n, "q": arguments.fixed_q, "d": d}
        plot(arguments.plot, by_n, by_q, fixed)


if __name__ == "__main__":
    main()
