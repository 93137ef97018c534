"""How often the 95% band of a prediction holds the truth: mean plus and minus 1.96 sd.

    python benchmarks/coverage.py

Functions without noise are compared at fresh points of the cube; of noisy ones the function
itself, without the noise, is what the band is about. Hyperparameters are the best ones and not
averaged over, so that bands are too narrow where there is little to learn them from.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

import innerloop as il

Truth = Callable[[np.ndarray], np.ndarray]


def draw(d: int, rng: np.random.Generator) -> Truth:
    scales = np.sqrt(d) / 4.0 * np.exp(0.5 * rng.standard_normal(d))
    gp = il.GaussianProcess(il.Matern52(scales))
    drawn = il.prior_draws(gp, d, features=2**10, seed=int(rng.integers(2**31)))
    return lambda X: drawn(X)[0]


def smooth(d: int, rng: np.random.Generator) -> Truth:
    frequencies, phases = rng.uniform(1.0, 6.0, d), rng.uniform(0.0, 6.0, d)
    return lambda X: np.sin(frequencies * X + phases).sum(axis=1)


def bowl(d: int, rng: np.random.Generator) -> Truth:
    center = rng.random(d)
    return lambda X: ((X - center) ** 2).sum(axis=1)


def step(d: int, rng: np.random.Generator) -> Truth:
    edge = rng.uniform(0.3, 0.7)
    return lambda X: np.where(X[:, 0] > edge, 1.0, 0.0)


KINDS = {
    "draw from a prior": (draw, 0.0),
    "sum of waves": (smooth, 0.0),
    "bowl": (bowl, 0.0),
    "draw, noisy": (draw, 0.3),
    "step, noisy": (step, 0.2),
}


def coverage(kind: str, n: int, d: int, seed: int) -> float:
    """The share of fresh points at which the band holds the truth."""
    rng = np.random.default_rng([seed, n, d])
    make, noise = KINDS[kind]
    truth = make(d, rng)
    space = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(d)})
    optimizer = il.Optimizer(space, seed=0)
    X = rng.random((n, d))
    for x, value in zip(X, truth(X) + noise * rng.standard_normal(n), strict=True):
        optimizer.add(dict(zip(space.names, x.tolist(), strict=True)), value)
    fresh = rng.random((400, d))
    marginals = optimizer.posterior.marginals(fresh)
    mean, sd = optimizer.learned.outputs.moments(*marginals)
    return float((np.abs(truth(fresh) - mean) <= 1.96 * sd).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, nargs="+", default=[15, 40])
    parser.add_argument("-d", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    print("| function | n | mean | worst of single data sets |\n|---|---|---|---|")
    with threadpool_limits(1):
        for kind in KINDS:
            for n in arguments.n:
                shares = [
                    coverage(kind, n, d, seed)
                    for d in arguments.d
                    for seed in range(arguments.seeds)
                ]
                print(f"| {kind} | {n} | {np.mean(shares):.2f} | {min(shares):.2f} |", flush=True)


if __name__ == "__main__":
    main()
