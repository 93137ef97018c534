"""What of a gradient can be followed at limits: least squares says the same."""

import numpy as np
from scipy.optimize import minimize, nnls

from innerloop import Real, Space
from innerloop.domain.tangent import Limits, along
from innerloop.maximizers import BFGS
from innerloop.maximizers.budget import Allowance


def nearest_way(g, outwards):
    """The nearest direction to g that none of some rows leads along: g less their cone's part."""
    return g - outwards.T @ nnls(outwards.T, g)[0] if len(outwards) else g


def test_gradients_are_projected_onto_the_directions_that_are_left():
    rng, same = np.random.default_rng(0), []
    for _ in range(300):
        d = int(rng.integers(2, 7))
        x, g = rng.choice([0.0, 1.0, 0.4], d), rng.standard_normal(d)
        slopes, at = rng.standard_normal((int(rng.integers(0, 4)), d)), rng.random(3) < 0.7
        at = at[: len(slopes)]
        planes = np.linalg.qr(rng.standard_normal((d, int(rng.integers(0, min(3, d))))))[0].T
        limits = Limits(np.where(at, -1e-10, -0.1)[None], slopes[None])
        found = along(g[None], x[None], np.zeros(d), np.ones(d), limits, planes)[0]
        sides = np.vstack([-np.eye(d)[x == 0.0], np.eye(d)[x == 1.0]])
        expected = nearest_way(g, np.vstack([slopes[at], sides, planes, -planes]))
        same.append(np.allclose(found, expected, atol=1e-6))
    # A few steps do not find out which of many limits hold at every corner.
    assert np.mean(same) > 0.97


def test_points_beyond_a_curve_come_to_its_nearest_point_in_a_mixture():
    names = "abcd"
    space = Space(
        {name: Real(0, 1) for name in names},
        constraints=["a + b + c + d == 1", "a**2 + b**2 <= 0.1", "exp(2*c) - 3*a <= 2"],
    )
    domain, rng = space.domain(), np.random.default_rng(0)
    X = rng.dirichlet(np.ones(4), 30)
    moved, curves = (
        domain.project(X),
        [
            lambda u: 0.1 - u[0] ** 2 - u[1] ** 2,
            lambda u: 2.0 - np.exp(2.0 * u[2]) + 3.0 * u[0],
        ],
    )
    limits = [{"type": "ineq", "fun": each} for each in curves]
    limits.append({"type": "eq", "fun": lambda u: u.sum() - 1.0})
    worse = []
    for x, y in zip(X, moved, strict=True):
        best = minimize(
            lambda u, x=x: ((u - x) ** 2).sum(), y, bounds=[(0, 1)] * 4, constraints=limits
        )
        worse.append(np.linalg.norm(y - x) - np.sqrt(best.fun))
    assert all(min(each(y) for each in curves) >= 0.0 for y in moved)
    assert np.median(worse) < 1e-3
    assert max(worse) < 0.05


def test_ascents_follow_faces_and_curves_to_the_top():
    """A linear function among limits, whose maximum SLSQP finds too; from one random start."""

    class Slope:
        def __init__(self, c):
            self.c = c

        def value_and_grad(self, X):
            return (X @ self.c)[:, 0], np.broadcast_to(self.c, X.shape).copy()

    names = [f"x{k}" for k in range(6)]
    text = " + ".join(names) + " == 1"
    space = Space(
        {name: Real(0, 1) for name in names},
        constraints=[text, "x0 + 2*x1 <= 0.7", "x2**2 + x0**2 <= 0.3"],
    )
    domain, rng = space.domain(), np.random.default_rng(1)
    for _ in range(5):
        c = rng.standard_normal(6)
        limits = [
            {"type": "eq", "fun": lambda u: u.sum() - 1.0},
            {"type": "ineq", "fun": lambda u: 0.7 - u[0] - 2.0 * u[1]},
            {"type": "ineq", "fun": lambda u: 0.3 - u[2] ** 2 - u[0] ** 2},
        ]
        start = domain.sample(1, rng)
        best = minimize(lambda u, c=c: -u @ c, start[0], bounds=[(0, 1)] * 6, constraints=limits)
        ended = BFGS(steps=60)(Allowance(Slope(c)), start[:, None], domain, rng)
        assert ended.value[0] > -best.fun - 1e-4
