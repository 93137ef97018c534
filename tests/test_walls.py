"""Limits that are known so well that they are walls: searches end where SLSQP ends, or higher."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from innerloop.acquisition.outcomes import FeasibleImprovement
from innerloop.batches.problem import Problem
from innerloop.batches.states import Incremental, States
from innerloop.batches.suggest import suggest
from innerloop.domain.domain import make_domain
from innerloop.maximizers.budget import Budget, Meter
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import SquaredExponential
from innerloop.types import Array


def vessel(X: Array) -> Array:
    """Cost of a vessel, to be maximized as its negative, and three limits: (n, 4) -> (n, 4).

    Thicknesses of shell and heads, radius and length; walls must be thick enough for the radius,
    and the volume large enough. The best one is where all three limits meet.
    """
    shell, heads, radius, length = 0.2 + 3.0 * X[:, 0], 0.2 + 3.0 * X[:, 1], *(0.2 + X[:, 2:]).T
    cost = shell * radius * length + 2.0 * heads * radius**2 + 0.3 * shell**2 * length
    volume = radius**2 * length + radius**3 / 3.0
    return np.stack([-cost, radius - shell, 0.5 * radius - heads, 0.25 - volume], axis=1)


def beliefs(seed: int) -> tuple[Posterior, ...]:
    """What 60 designs, and 20 more around the best of them, teach of the four outcomes."""
    generator = np.random.default_rng(seed)
    X = generator.random((60, 4))
    Y = vessel(X)
    feasible = (Y[:, 1:] <= 0.0).all(axis=1)
    best = X[feasible][np.argmax(Y[feasible, 0])]
    X = np.concatenate([X, np.clip(best + 0.05 * generator.standard_normal((20, 4)), 0.0, 1.0)])
    gp = GaussianProcess(SquaredExponential([2.5] * 4, 50.0), mean=0.0, noise=1e-7)
    return tuple(gp.condition(X, y) for y in vessel(X).T)


def best_by_slsqp(posteriors: tuple[Posterior, ...], generator: np.random.Generator) -> Array:
    """The largest mean of the objective where means of all limits are met, from 8 starts: (d,)."""

    def mean(k: int, x: Array) -> float:
        return float(posteriors[k].marginals(x[None])[0][0])

    limits = [{"type": "ineq", "fun": lambda x, k=k: -mean(k, x) - 1e-5} for k in (1, 2, 3)]
    ends = [
        minimize(
            lambda x: -mean(0, x), start, method="SLSQP", bounds=[(0, 1)] * 4, constraints=limits
        )
        for start in generator.random((8, 4))
    ]
    return min((end for end in ends if end.success), key=lambda end: end.fun).x


def best_log_gain(
    posteriors: tuple[Posterior, ...], utility: FeasibleImprovement, corner: Array
) -> float:
    """The largest logarithm of the gain near the corner (d,), by L-BFGS-B."""
    states = States.start(utility, posteriors, np.zeros((1, 1, len(posteriors))))
    gain = Incremental.of(states, log=True)

    def loss(x: Array) -> tuple[float, Array]:
        value, grad = gain.value_and_grad(x[None, None])
        return -float(value[0]), -grad[0, 0]

    inwards = 1e-3 * np.array([1.0, 1.0, 0.0, 0.3])
    starts = [np.clip(corner + k * inwards, 0.0, 1.0) for k in range(-3, 6)]
    return max(-minimize(loss, x, jac=True, bounds=[(0, 1)] * 4).fun for x in starts)


@pytest.mark.parametrize("seed", range(6))
def test_searches_come_around_corners(seed):
    posteriors = beliefs(seed)
    corner = best_by_slsqp(posteriors, np.random.default_rng(seed))
    nearly = float(posteriors[0].marginals(corner[None])[0][0]) - 0.01
    utility = FeasibleImprovement(nearly, 3)
    best = np.exp(best_log_gain(posteriors, utility, corner))
    single = suggest(posteriors, 1, utility, seed=seed)
    assert single.value >= best * (1.0 - 1e-3)
    assert single.upper_bound >= best
    batch = suggest(posteriors, 3, utility, seed=seed)
    assert batch.value >= best * (1.0 - 1e-2)
    assert batch.upper_bound >= best


@pytest.mark.parametrize("objectives", [1, 2])
def test_centers_are_the_best_within_all_limits(objectives):
    posteriors = beliefs(0)
    wanted = posteriors if objectives == 1 else (posteriors[0], *posteriors)
    problem = Problem(
        wanted,
        q=1,
        pending=np.zeros((0, 4)),
        domain=make_domain(4),
        meter=Meter(Budget()),
        generator=np.random.default_rng(0),
        draws=1,
        objectives=objectives,
    )
    X, Y = posteriors[0].X, vessel(posteriors[0].X)
    feasible = np.flatnonzero((Y[:, 1:] <= 0.0).all(axis=1))
    best = feasible[np.argsort(-Y[feasible, 0])[:4]]
    rows = {tuple(x) for x in problem.centers}
    assert {tuple(x) for x in X[best]} <= rows
    assert rows <= {tuple(x) for x in X[feasible]}
