"""Importances are Sobol indices of the posterior mean, and are not given where it knows nothing."""

from __future__ import annotations

import numpy as np
import pytest

import innerloop as il
from innerloop.cli.hartmann import hartmann6
from innerloop.surrogate.leave_one_out import left_out, skill


def ishigami(x: np.ndarray) -> np.ndarray:
    a, b, c = np.pi * (2.0 * x.T - 1.0)
    return np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def hartmann(x: np.ndarray) -> np.ndarray:
    names = [f"x{i}" for i in range(1, 7)]
    return np.array([hartmann6(dict(zip(names, row, strict=True))) for row in x.tolist()])


def cube(d: int) -> il.Space:
    return il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(d)})


def told(space: il.Space, f, n: int, direction: str = "minimize") -> il.Optimizer:
    """An optimizer that knows f of encoded points at n points spread over a space."""
    optimizer = il.Optimizer(space, direction=direction, seed=0)
    X = space.spread(n, 0)
    for x, value in zip(X, f(X), strict=True):
        optimizer.add(space.decode(x), float(value))
    return optimizer


def expected(optimizer: il.Optimizer, X: np.ndarray) -> np.ndarray:
    """What the model expects at encoded points, in the units of the values."""
    return optimizer.learned.outputs.moments(*optimizer.posterior.marginals(X))[0]


def by_force(optimizer: il.Optimizer, d: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total Sobol indices over the unit cube, from independent draws."""
    rng = np.random.default_rng(1)
    A, B = rng.random((size, d)), rng.random((size, d))
    a, b = expected(optimizer, A), expected(optimizer, B)
    variance, first, total = np.concatenate([a, b]).var(), [], []
    for i in range(d):
        mixed = B.copy()
        mixed[:, i] = A[:, i]  # agrees with A in this one alone
        c = expected(optimizer, mixed)
        first.append(1.0 - ((a - c) ** 2).mean() / (2.0 * variance))
        total.append(((b - c) ** 2).mean() / (2.0 * variance))
    return np.array(first), np.array(total)


@pytest.mark.parametrize(("f", "d", "n"), [(ishigami, 3, 80), (hartmann, 6, 140)])
def test_importances_equal_brute_force(f, d, n):
    optimizer = told(cube(d), f, n)
    found = optimizer.importances()
    first, total = by_force(optimizer, d, 2**14)
    names = optimizer.space.names
    assert [found[name] for name in names] == pytest.approx(total, abs=0.02)
    assert [found.first[name] for name in names] == pytest.approx(first, abs=0.02)
    assert max(found.errors.values()) < 0.01
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert dict(found) == found.total


def test_importances_approach_those_of_the_function():
    found = told(cube(3), ishigami, 250).importances()
    # Known in closed form (Saltelli et al. 2000, for a = 7 and b = 0.1).
    assert [found[f"x{i}"] for i in range(3)] == pytest.approx([0.558, 0.442, 0.244], abs=0.03)
    assert [found.first[f"x{i}"] for i in range(3)] == pytest.approx([0.314, 0.442, 0.0], abs=0.03)


def test_values_seen_through_a_logarithm_count_in_their_own_units():
    def f(X):
        return np.exp(6.0 * X[:, 0] + 2.0 * X[:, 1])

    optimizer = told(cube(2), f, 40)
    assert optimizer.learned.outputs.bent
    u = (np.arange(150) + 0.5) / 150
    X = np.stack(np.meshgrid(u, u, indexing="ij"), axis=-1).reshape(-1, 2)
    first, total = indices(expected(optimizer, X).reshape(150, 150), np.ones((150, 150)))
    found = optimizer.importances()
    assert [found["x0"], found["x1"]] == pytest.approx(total, abs=0.02)
    assert [found.first["x0"], found.first["x1"]] == pytest.approx(first, abs=0.02)


def indices(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total indices from a table with one axis for each parameter."""
    mass = weights.sum()
    center = (weights * values).sum() / mass
    variance = (weights * (values - center) ** 2).sum() / mass
    first, total = [], []
    for axis in range(values.ndim):
        others = tuple(k for k in range(values.ndim) if k != axis)
        first.append(explained(values, weights, others, center) / variance)
        total.append(1.0 - explained(values, weights, (axis,), center) / variance)
    return np.array(first), np.array(total)


def explained(values, weights, axes, center) -> float:
    """The variance of the means over some axes."""
    own = weights.sum(axis=axes)
    mean = (weights * values).sum(axis=axes) / np.where(own > 0.0, own, 1.0)
    return float((own * (mean - center) ** 2).sum() / own.sum())


def test_choices_count_as_one_parameter_and_levels_alike():
    space = il.Space(
        {
            "rate": il.Real(1e-4, 1.0, log=True),
            "layers": il.Integer(1, 4),
            "kind": il.Choice(["a", "b", "c"]),
        }
    )
    optimizer = il.Optimizer(space, seed=0)
    for x in space.spread(40, 0):
        p = space.decode(x)
        slope = {"a": 0.5, "b": -0.2, "c": 0.0}[p["kind"]]
        optimizer.add(p, slope * np.log10(p["rate"]) + 0.1 * p["layers"] ** 2)
    rates = 10.0 ** (-4.0 * (np.arange(60) + 0.5) / 60)
    table = [
        {"rate": rate, "layers": layers, "kind": kind}
        for rate in rates
        for layers in range(1, 5)
        for kind in "abc"
    ]
    values = expected(optimizer, space.encode_all(table)).reshape(60, 4, 3)
    first, total = indices(values, np.ones_like(values))
    found = optimizer.importances()
    assert set(found) == {"rate", "layers", "kind"}
    assert [found[name] for name in space.names] == pytest.approx(total, abs=0.02)
    assert [found.first[name] for name in space.names] == pytest.approx(first, abs=0.02)


def triangle(optimizer: il.Optimizer, third: bool) -> tuple[np.ndarray, np.ndarray]:
    """Indices over a + b <= 1, the third parameter being what is left if there is one."""
    u = (np.arange(120) + 0.5) / 120
    a, b = (each.ravel() for each in np.meshgrid(u, u, indexing="ij"))
    points = np.column_stack([a, b, 1.0 - a - b] if third else [a, b])
    inside = (a + b <= 1.0).astype(float)
    values = np.where(inside, expected(optimizer, np.clip(points, 0.0, 1.0)), 0.0)
    return indices(values.reshape(120, 120), inside.reshape(120, 120))


def bumps(X: np.ndarray) -> np.ndarray:
    return np.sin(4.0 * X[:, 0]) + 2.0 * X[:, 0] * X[:, 1] + X[:, 1] ** 2


def test_parameters_that_do_not_apply_change_nothing():
    """Of 2 u with one of two kinds and 0 with the other, by hand."""
    kind = il.Choice(["a", "b"])
    space = il.Space({"kind": kind, "u": il.Real(0.0, 1.0, when={"kind": "a"})})
    a = space.encode({"kind": "a", "u": 0.5})[0]
    found = told(space, lambda X: 2.0 * X[:, 1] * (X[:, 0] == a), 40).importances()
    assert found.total == pytest.approx({"kind": 0.8, "u": 0.4}, abs=0.02)
    assert found.first == pytest.approx({"kind": 0.6, "u": 0.2}, abs=0.02)


def test_constraints_leave_what_meets_them():
    space = il.Space({"a": il.Real(0.0, 1.0), "b": il.Real(0.0, 1.0)}, constraints=["a + b <= 1.0"])
    optimizer = told(space, bumps, 40)
    found = optimizer.importances()
    first, total = triangle(optimizer, third=False)
    assert [found["a"], found["b"]] == pytest.approx(total, abs=0.02)
    assert [found.first["a"], found.first["b"]] == pytest.approx(first, abs=0.02)


def test_what_an_equation_ties_has_first_order_shares_alone():
    space = il.Space({name: il.Real(0.0, 1.0) for name in "abc"}, constraints=["a + b + c == 1.0"])
    optimizer = told(space, bumps, 40)
    found = optimizer.importances()
    first, _ = triangle(optimizer, third=True)
    assert found.total is None
    assert dict(found) == found.first
    assert [found["a"], found["b"]] == pytest.approx(first, abs=0.02)


def test_a_large_gentle_change_counts_more_than_a_small_rapid_one():
    def f(X):
        return 0.084 * X[:, 0] + 0.0085 * np.sin(15.0 * X[:, 1])

    optimizer = told(cube(2), f, 60)
    gentle, rapid = optimizer.learned.gp.kernel.lengthscales
    assert gentle > rapid
    assert list(optimizer.importances()) == ["x0", "x1"]


def test_scale_and_direction_do_not_matter():
    plain = told(cube(3), ishigami, 120).importances()
    huge = told(cube(3), lambda X: -1e300 * ishigami(X), 120, "maximize").importances()
    assert dict(huge) == pytest.approx(dict(plain), abs=0.02)


def test_an_outcome_is_chosen_by_name():
    space = cube(2)
    optimizer = il.Optimizer(
        space, objectives={"cost": "minimize"}, outcome_constraints=["heat <= 1"], seed=0
    )
    with pytest.raises(il.InputError, match="no trial has been told"):
        optimizer.importances()
    for x in space.spread(20, 0):
        optimizer.add(space.decode(x), {"cost": x[0] ** 2, "heat": np.sin(5.0 * x[1])})
    assert next(iter(optimizer.importances())) == "x0"
    assert next(iter(optimizer.importances("heat"))) == "x1"
    with pytest.raises(il.InputError, match="outcome must be one of"):
        optimizer.importances("nonsense")


@pytest.mark.parametrize("f", [lambda X: np.full(len(X), 3.0), lambda X: np.sin(1e6 * X[:, 0])])
@pytest.mark.parametrize("n", [1, 25])
def test_nothing_is_said_where_nothing_is_known(f, n):
    with pytest.raises(il.InputError, match="cannot tell"):
        told(cube(2), f, n).importances()


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_left_out_observations_are_predicted_from_the_others(noise):
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 2)), rng.standard_normal(12)
    variances = 1e-3 + noise * rng.random(12)
    gp = il.GaussianProcess(il.Matern52([0.3, 0.6], 1.3), mean=0.2, noise=variances)
    found = left_out(gp.condition(X, y))
    for i in range(12):
        others = np.arange(12) != i
        rest = il.GaussianProcess(gp.kernel, gp.mean, variances[others])
        mean, variance = rest.condition(X[others], y[others]).marginals(X[i])
        assert found.mean[i] == pytest.approx(mean, abs=1e-8)
        assert found.variance[i] == pytest.approx(variance + variances[i], abs=1e-8)


def test_skill_compares_with_averages_of_the_others():
    rng = np.random.default_rng(0)
    X = rng.random((15, 1))
    posterior = il.fit(X, np.sin(5.0 * X[:, 0])).condition(X, np.sin(5.0 * X[:, 0]))
    y, missed = posterior.y, posterior.y - left_out(posterior).mean
    averages = [np.delete(y, i).mean() for i in range(15)]
    assert skill(posterior) == pytest.approx(1.0 - (missed**2).sum() / ((y - averages) ** 2).sum())
    assert skill(posterior) > 0.9
