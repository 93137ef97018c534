"""Data shared by the benchmarks: noisy observations of a draw from a known prior."""

from __future__ import annotations

import numpy as np

import innerloop as il


def dataset(n: int, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, il.GaussianProcess]:
    """n observations of a prior draw in the unit cube, and the surrogate it was drawn from."""
    gp = il.GaussianProcess(il.Matern52(np.full(d, np.sqrt(d) / 4)), noise=1e-3)
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = il.prior_draws(gp, d, seed=seed)(X)[0] + np.sqrt(1e-3) * rng.standard_normal(n)
    return X, y, gp
