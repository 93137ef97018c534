"""Do fits of hyperparameters find the mode of the posterior, and at what cost?

    python benchmarks/fits.py --seed 0
    python benchmarks/fits.py --seed 1 --against ../other-tree/src

Every data set is fitted from cold and compared with the best of many runs of SciPy's L-BFGS-B, on
the same log posterior with the same gradient and all observations, from starts drawn from the
prior and from wide ranges around it. Counted are fits that end short of it, in nats.

With --against the fits of another source tree are run too, in turns with those of this one and in
a process of their own, and CPU times are compared: ratio of the totals, median of the ratios.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import innerloop as il
from fit_data import DataSet, data_sets
from fit_server import NOISE, scale_of
from innerloop.surrogate.log_posterior import LogPosterior


class Fit(NamedTuple):
    """theta = (log lengthscales, log variance, log noise), for standardized values."""

    theta: np.ndarray
    cpu_seconds: float


class Fitter:
    """A process that fits with the package of a source tree."""

    def __init__(self, source: str) -> None:
        environment = os.environ | {"PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fit_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def __call__(self, data: DataSet, repetitions: int) -> Fit:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump((data.X, data.y, repetitions), self._process.stdin)
        self._process.stdin.flush()
        return Fit(*pickle.load(self._process.stdout))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def objective_of(data: DataSet) -> LogPosterior:
    values = (data.y - data.y.mean()) / scale_of(data.y)
    return LogPosterior(data.X - data.X.mean(axis=0), values, il.Matern52, None, il.Priors(), NOISE)


def reference(objective: LogPosterior, starts: int, rng: np.random.Generator) -> float:
    """The smallest negative log posterior that many runs of L-BFGS-B end in."""
    low, high = objective.bounds.T
    d = objective.points.shape[1]
    best = np.inf
    for number in range(starts):
        theta = objective.prior_center + rng.standard_normal(d + 2) / np.sqrt(
            objective.prior_precision
        )
        if number % 3 == 1:  # anything within reason
            theta[:d] = np.log(np.sqrt(d)) + rng.uniform(np.log(0.02), np.log(5.0), d)
            theta[d:] = rng.uniform(np.log(0.1), np.log(10.0)), rng.uniform(np.log(NOISE), 0.0)
        if number % 3 == 2:  # one dimension that matters, the others hardly
            theta[:d] = np.log(np.sqrt(d)) + rng.uniform(0.0, 1.5, d)
            theta[rng.integers(d)] = rng.uniform(np.log(0.03), np.log(0.5))
        found = minimize(
            lambda t: tuple(part[0] for part in objective.evaluate(t[None])[:2]),
            np.clip(theta, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=objective.bounds,
        )
        best = min(best, float(found.fun))
    return best


def references(seed: int, sets: list[DataSet], starts: int, cache: Path | None) -> np.ndarray:
    """The reference of each data set, from a file if it is there."""
    if cache is not None and cache.exists():
        return np.asarray(np.load(cache))
    values = []
    for index, data in enumerate(sets):
        rng = np.random.default_rng([seed, index, 1])
        values.append(reference(objective_of(data), starts, rng))
    if cache is not None:
        np.save(cache, values)
    return np.array(values)


def shortfalls(sets: list[DataSet], fits: list[Fit], best: np.ndarray) -> np.ndarray:
    """By how many nats each fit is short of its reference."""
    ours = [
        objective_of(data).evaluate(fit.theta[None])[0][0]
        for data, fit in zip(sets, fits, strict=True)
    ]
    return np.array(ours) - best


def describe(name: str, sets: list[DataSet], short: np.ndarray, *, verbose: bool) -> None:
    worst = int(np.argmax(short))
    n, d = sets[worst].X.shape
    print(
        f"{name}: {len(sets)} data sets, {(short > 0.1).sum()} more than 0.1 nats short, "
        f"{(short > 5.0).sum()} more than 5; worst {short[worst]:.2f} "
        f"({sets[worst].kind}, n = {n}, d = {d}); {(short < -0.1).sum()} beyond the reference"
    )
    if verbose:
        for index in np.flatnonzero(short > 0.1):
            n, d = sets[index].X.shape
            print(f"    {index:4d} {sets[index].kind}: n = {n}, d = {d}: {short[index]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="other data sets with another seed")
    parser.add_argument("--sets", type=int, default=336)
    parser.add_argument("--starts", type=int, default=42, help="runs of the reference")
    parser.add_argument("--repetitions", type=int, default=3, help="the fastest fit counts")
    parser.add_argument("--against", help="the src folder of another source tree")
    parser.add_argument("--cache", type=Path, help="where references are kept (.npy)")
    parser.add_argument("--verbose", action="store_true", help="list what is short")
    arguments = parser.parse_args()

    sets = list(data_sets(arguments.seed, arguments.sets))
    sources = {"this tree": str(Path(il.__file__).parent.parent)}
    if arguments.against:
        sources["the other"] = arguments.against
    fitters = {name: Fitter(source) for name, source in sources.items()}
    for fitter in fitters.values():
        fitter(sets[0], 1)  # imports and first calls
    fits: dict[str, list[Fit]] = {name: [] for name in fitters}
    for data in sets:
        for name, fitter in fitters.items():
            fits[name].append(fitter(data, arguments.repetitions))
    for fitter in fitters.values():
        fitter.close()
    with threadpool_limits(1), np.errstate(all="ignore"):
        best = references(arguments.seed, sets, arguments.starts, arguments.cache)
        for name in fitters:
            short = shortfalls(sets, fits[name], best)
            describe(name, sets, short, verbose=arguments.verbose)
    times = {name: np.array([fit.cpu_seconds for fit in fits[name]]) for name in fitters}
    for name in fitters:
        print(f"CPU seconds, {name}: {times[name].sum():.2f} in total")
    if arguments.against:
        ours, theirs = times.values()
        ratios = ours / theirs
        print(
            f"time of this tree to the other: {ours.sum() / theirs.sum():.2f} in total, "
            f"{np.median(ratios):.2f} in median, {np.quantile(ratios, 0.9):.2f} at the 90th centile"
        )


if __name__ == "__main__":
    main()
