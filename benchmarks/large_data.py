"""Random results of a smooth function, for large.py and its rivals: needs NumPy alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

D, Q, NOISE = 10, 4, 0.02


def bumps(X: np.ndarray) -> np.ndarray:
    """A maximum inside, and waves along one coordinate."""
    return -((X - 0.4) ** 2).sum(axis=1) + 0.3 * np.sin(5.0 * X[:, 0])


def random_results(
    f: Callable[[np.ndarray], np.ndarray], n: int, d: int, *, noise: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random points (n, d) and their values (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, f(X) + noise * rng.standard_normal(n)
