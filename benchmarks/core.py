"""Time of one value+gradient and of one fit, against BoTorch and against bare matrix products.

    python benchmarks/core.py            # needs the `bench` extra: torch and botorch

One thread for everything. "products" is the time of just the matrix products that one evaluation
makes, on arrays prepared beforehand.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dtrmm
from threadpoolctl import threadpool_limits

import innerloop as il
import rivals
from data import dataset
from timing import interleaved

D, R, M = 6, 16, 128


def joint_products(n: int, q: int) -> Callable[[], object]:
    """The matrix products of one value+gradient of the joint form."""
    rng = np.random.default_rng(0)
    A, X, r = rng.random((R * q, D)), rng.random((n, D)), rng.random(n)
    W, k = np.asfortranarray(np.tril(rng.random((n, n)))), rng.random((R * q, n))
    V, L = k.reshape(R, q, n), rng.random((R, q, q))
    z, Y = rng.random((M, q)), rng.random((R, q, M))

    def products() -> None:
        A @ X.T
        dtrmm(1.0, W, k.T, lower=1)
        k @ r
        if q > 1:
            V @ V.swapaxes(1, 2)
            L @ V
        L @ z.T
        Y @ z
        dtrmm(1.0, W, k.T, lower=1, trans_a=1)
        k @ X

    return products


def incremental_products(n: int, j: int) -> Callable[[], object]:
    """The matrix products of one value+gradient of the incremental form after j fixed points."""
    size = n + j
    rng = np.random.default_rng(0)
    A, X, r = rng.random((R, D)), rng.random((size, D)), rng.random(size)
    W, k = np.asfortranarray(np.tril(rng.random((size, size)))), rng.random((R, size))
    z, loadings, shift = rng.random((M, j)), rng.random((R, j)), rng.random((R, M))

    def products() -> None:
        A @ X.T
        dtrmm(1.0, W, k.T, lower=1)
        k @ r
        if j:
            loadings @ z.T
            shift @ z
        dtrmm(1.0, W, k.T, lower=1, trans_a=1)
        k @ X

    return products


def evaluations(sizes: list[int], widths: list[int]) -> None:
    print(f"value+gradient, d={D}, R={R}, m={M}; times in ms\n")
    print(
        "| form | n | q | innerloop | BoTorch | products "
        "| BoTorch / innerloop | innerloop / products |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for n in sizes:
        X, y, gp = dataset(n)
        post = gp.condition(X, y)
        utility = il.ExpectedImprovement(float(y.max()))
        model = rivals.fixed_model(X, y, gp)
        for q in widths:
            rng = np.random.default_rng(q)
            sets, fixed = rng.random((R, q, D)), rng.random((q - 1, D))
            z = il.sobol_normal(M, q, seed=0)
            joint = il.Joint(utility, post, z)
            one_more = il.Incremental(utility, post, z)
            one_more = one_more.extend(fixed) if q > 1 else one_more
            for form, ours, theirs, products in (
                (
                    "joint",
                    lambda joint=joint, sets=sets: joint.value_and_grad(sets),
                    rivals.q_expected_improvement(model, utility.threshold, M, sets),
                    joint_products(n, q),
                ),
                (
                    "incremental",
                    lambda one=one_more, sets=sets: one.value_and_grad(sets[:, :1]),
                    rivals.q_expected_improvement(
                        model, utility.threshold, M, sets[:, :1], pending=fixed
                    ),
                    incremental_products(n, q - 1),
                ),
            ):
                best = interleaved({"ours": ours, "theirs": theirs, "products": products})
                print(
                    f"| {form} | {n} | {q} | {1e3 * best['ours']:.3f} | {1e3 * best['theirs']:.3f} "
                    f"| {1e3 * best['products']:.3f} | {best['theirs'] / best['ours']:.1f} "
                    f"| {best['ours'] / best['products']:.2f} |",
                    flush=True,
                )


def log_posterior(
    gp: il.GaussianProcess, X: np.ndarray, y: np.ndarray, priors: il.Priors | None
) -> float:
    """Log likelihood plus the log of the priors' densities, up to their constants."""
    score = gp.condition(X, y).log_likelihood
    if priors is None:
        return score
    center, sd = priors.lengthscale
    logs = np.log(gp.kernel.lengthscales) - center - 0.5 * np.log(X.shape[1])
    score -= 0.5 * float(np.sum((logs / sd) ** 2))
    for value, (center, sd) in (
        (np.log(gp.kernel.variance), priors.variance),
        (np.log(gp.noise), priors.noise),
        (gp.mean, (0.0, priors.mean)),
    ):
        score -= 0.5 * float((value - center) / sd) ** 2
    return score


def fits(sizes: list[int], seeds: int) -> None:
    """Both maximize the same function of the same parameters, over the same range of noise."""
    print(f"\nfit, d={D}, noise at least 1e-4; times in ms; objectives computed by innerloop\n")
    print(
        "| priors | n | seed | innerloop | BoTorch | BoTorch / innerloop | objective | BoTorch's |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for priors in (il.Priors(), None):
        for n in sizes:
            for seed in range(seeds):
                X, y, _ = dataset(n, seed=seed)
                y = (y - y.mean()) / y.std()
                found: dict[str, il.GaussianProcess] = {}

                def ours(X=X, y=y, priors=priors, found=found) -> None:
                    found["ours"] = il.fit(X, y, priors=priors, smallest_noise=1e-4)

                def theirs(X=X, y=y, priors=priors, found=found) -> None:
                    found["theirs"] = rivals.fit(X, y, priors)

                best = interleaved({"ours": ours, "theirs": theirs}, seconds=1.0)
                scores = {name: log_posterior(gp, X, y, priors) for name, gp in found.items()}
                print(
                    f"| {'same' if priors else 'none'} | {n} | {seed} | {1e3 * best['ours']:.1f} "
                    f"| {1e3 * best['theirs']:.1f} | {best['theirs'] / best['ours']:.1f} "
                    f"| {scores['ours']:.4f} | {scores['theirs']:.4f} |",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[50, 200, 1000])
    parser.add_argument("--widths", type=int, nargs="*", default=[1, 4, 16])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fit-sizes", type=int, nargs="*", default=[100, 400])
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    with threadpool_limits(1):
        evaluations(arguments.sizes, arguments.widths)
        fits(arguments.fit_sizes, arguments.seeds)


if __name__ == "__main__":
    main()
