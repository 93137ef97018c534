"""Random problems and numerical differentiation, shared by the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import innerloop as il
from innerloop.types import Array

KERNELS = (il.Matern52, il.Matern32, il.SquaredExponential)


class TickingClock:
    """A clock that moves on by a thousandth every time it is read, whatever the machine does."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-3
        return self.now


def utilities(threshold: float = 0.3, temperature: float = 0.2) -> list[il.Utility]:
    return [
        il.ExpectedImprovement(threshold),
        il.ProbabilityOfImprovement(threshold, temperature=temperature),
        il.SimpleRegret(),
        il.UpperConfidenceBound(beta=1.7),
    ]


@dataclass(frozen=True)
class Problem:
    """A posterior, R query sets and some pending points."""

    posterior: il.Posterior
    X: Array
    pending: Array
    seed: int


def make_problem(
    kernel: type[il.Kernel] = il.Matern52,
    *,
    n: int = 6,
    d: int = 2,
    q: int = 2,
    R: int = 2,
    p: int = 2,
    seed: int = 0,
    noise: float = 1e-2,
) -> Problem:
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, d)), rng.standard_normal(n)
    gp = il.GaussianProcess(
        kernel(rng.uniform(0.2, 0.8, d), rng.uniform(0.5, 2.0)), mean=rng.normal(), noise=noise
    )
    return Problem(gp.condition(X, y), rng.random((R, q, d)), rng.random((p, d)), seed)


def problem_sizes(max_q: int = 3) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries(
        {
            "n": st.integers(1, 12),
            "d": st.integers(1, 4),
            "q": st.integers(1, max_q),
            "R": st.integers(1, 3),
            "p": st.integers(1, 3),
            "seed": st.integers(0, 2**20),
        }
    )


def numerical_gradient(value: Callable[[Array], Array], X: Array) -> tuple[Array, Array]:
    """Fourth-order central differences of `value` (R, q, d) -> (R,), and where they can be trusted.

    Monte Carlo utilities have kinks. A difference across one depends on its step, so two steps
    are compared: where they disagree, there is no derivative to compare with.
    """
    R, size = X.shape[0], X[0].size
    eye = np.eye(size).reshape(size, *X.shape[1:])

    def estimate(h: float) -> Array:
        def shifted(k: float) -> Array:
            moved = X[:, None] + k * h * eye
            return value(moved.reshape(-1, *X.shape[1:])).reshape(R, size)

        near, far = shifted(1.0) - shifted(-1.0), shifted(2.0) - shifted(-2.0)
        return ((8.0 * near - far) / (12.0 * h)).reshape(X.shape)

    coarse, fine = estimate(4e-5), estimate(2e-5)
    scale = np.abs(fine).max() + 1e-3 * np.abs(value(X)).max()
    return fine, np.abs(coarse - fine) <= 1e-6 * scale


def assert_gradient(
    value_and_grad: Callable[[Array], tuple[Array, Array]],
    value: Callable[[Array], Array],
    X: Array,
) -> None:
    """The gradient agrees with central differences to a relative error of 1e-6."""
    values, grad = value_and_grad(X)
    np.testing.assert_allclose(values, value(X), rtol=1e-12, atol=1e-14)
    expected, smooth = numerical_gradient(value, X)
    assume(smooth.mean() > 0.5)  # hypothesis complains should this reject too many problems
    error = np.abs(grad - expected)[smooth].max()
    # What differences cannot resolve: the rounding error of the values over their step.
    resolution = 1e-10 * (1.0 + np.abs(values).max())
    assert error <= 1e-6 * np.abs(expected[smooth]).max() + resolution
