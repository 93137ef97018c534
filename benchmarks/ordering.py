"""The ordering the paper reports, on acquisition values at equal inner budgets.

    python benchmarks/ordering.py

Expected improvement over the best of n = 50 observations of a prior draw, in its joint form.
Every maximizer gets the same seconds for the whole batch, greedily and jointly, and the same seed;
the order in which they run changes from seed to seed. A maximizer that converges may return before
its time is up: the table says what each spent. Batches are graded by the same 2^15 Sobol
draws. Differences are paired by seed, with t intervals, as they are and in percent of the best
value that any method found with that seed, so that every seed weighs the same. By the latter, a
line says "yes" if its interval lies above 0, "no" if below, "open" if it contains 0.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

import innerloop as il
from data import dataset

GRADIENTS = ("bfgs", "adam")
MAXIMIZERS = (*GRADIENTS, "cmaes", "random_search")
WAYS = ("greedy", "joint")
METHODS = tuple(itertools.product(MAXIMIZERS, WAYS))
DRAWS = 2**15

Method = tuple[str, str]


@dataclass(frozen=True)
class Setting:
    """A size of problem and the seconds that every method may spend on it."""

    n: int
    d: int
    q: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What a method found with one seed, and what it spent."""

    value: float
    seconds: float
    evaluations: int


def outcomes(setting: Setting, seed: int) -> dict[Method, Outcome]:
    """Every method on the data of one seed."""
    X, y, gp = dataset(setting.n, setting.d, seed)
    posterior = gp.condition(X, y)
    utility = il.ExpectedImprovement(float(y.max()))
    z = il.sobol_normal(DRAWS, setting.q, seed=seed)
    found = {}
    for index in np.random.default_rng(seed).permutation(len(METHODS)):
        maximizer, way = METHODS[index]
        batch = il.suggest(
            posterior,
            setting.q,
            utility,
            form="joint",
            way=way,
            maximizer=maximizer,
            budget=il.Budget(seconds=setting.seconds),
            seed=seed,
        )
        belief = posterior.belief(batch.X)
        value = float(il.expected_utility(utility, belief.mean, belief.cov, z))
        found[METHODS[index]] = Outcome(value, batch.seconds, batch.evaluations)
    return found


def comparisons() -> Iterator[tuple[Method, Method]]:
    """Pairs of methods, the one expected to be better first."""
    for way in WAYS:
        for gradient in GRADIENTS:
            yield (gradient, way), ("cmaes", way)
        yield ("cmaes", way), ("random_search", way)
    for maximizer in MAXIMIZERS:
        yield (maximizer, "greedy"), (maximizer, "joint")


def interval(differences: np.ndarray, confidence: float) -> tuple[float, float]:
    """Confidence interval of the mean, from Student's t."""
    size = len(differences)
    half = student.ppf(0.5 + confidence / 2, size - 1) * differences.std(ddof=1) / np.sqrt(size)
    return float(differences.mean() - half), float(differences.mean() + half)


def verdict(low: float, high: float) -> str:
    if low > 0.0:
        return "yes"
    return "no" if high < 0.0 else "open"


def report_methods(results: list[dict[Method, Outcome]]) -> None:
    print("| maximizer | way | value | standard error | seconds spent | evaluations |")
    print("|---|---|---|---|---|---|")
    for method in METHODS:
        values, seconds, evaluations = (
            np.array([getattr(found[method], name) for found in results])
            for name in ("value", "seconds", "evaluations")
        )
        error = values.std(ddof=1) / np.sqrt(len(values))
        print(
            f"| {method[0]} | {method[1]} | {values.mean():.4f} | {error:.4f} "
            f"| {seconds.mean():.3f} (at most {seconds.max():.3f}) | {evaluations.mean():.0f} |"
        )


def report_differences(results: list[dict[Method, Outcome]], confidence: float) -> None:
    print(
        f"\n| better? | than | difference | {confidence:.0%} interval | percent "
        f"| {confidence:.0%} interval | seeds ahead | better |"
    )
    print("|---|---|---|---|---|---|---|---|")
    best = np.array([max(each.value for each in found.values()) for found in results])
    for first, second in comparisons():
        gaps = np.array([found[first].value - found[second].value for found in results])
        percent = 100.0 * gaps / best
        low, high = interval(gaps, confidence)
        percent_low, percent_high = interval(percent, confidence)
        print(
            f"| {' '.join(first)} | {' '.join(second)} "
            f"| {gaps.mean():+.4f} | {low:+.4f} to {high:+.4f} "
            f"| {percent.mean():+.2f} | {percent_low:+.2f} to {percent_high:+.2f} "
            f"| {np.sum(gaps > 0)} of {len(gaps)} | {verdict(percent_low, percent_high)} |"
        )
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=50)
    parser.add_argument(
        "--sizes", nargs="+", default=["4x4", "8x8"], metavar="DxQ", help="dimension x batch size"
    )
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.5, 2.0])
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--confidence", type=float, default=0.95)
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds must be at least 2: intervals need several")
    with threadpool_limits(1):
        outcomes(Setting(10, 2, 2, 0.01), seed=0)  # imports and first calls
        for size, seconds in itertools.product(arguments.sizes, arguments.seconds):
            d, q = map(int, size.split("x"))
            setting = Setting(arguments.n, d, q, seconds)
            print(f"n = {setting.n}, d = {d}, q = {q}, {seconds:g} s, {arguments.seeds} seeds\n")
            results = [outcomes(setting, seed) for seed in range(arguments.seeds)]
            report_methods(results)
            report_differences(results, arguments.confidence)


if __name__ == "__main__":
    main()
