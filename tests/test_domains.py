"""Domains of all shapes: every point that comes from them is inside, or they are empty."""

import itertools
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import innerloop as il
from innerloop.domain.discrete import Ordinal
from innerloop.domain.domain import make_domain

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import polytopes

EQUATION = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([0.545, -0.545])


@pytest.mark.parametrize("part", range(11))
def test_points_of_random_domains_are_inside(part):
    """Wide, thin, flat and empty ones, single points, rows of all sizes, mixed and fixed."""
    rng, inside = np.random.default_rng(part), 0
    for seed in range(10**4 + 33 * part, 10**4 + 33 * (part + 1)):
        given = polytopes.problem(seed)
        try:
            domain = given.domain()
        except il.InputError as error:
            assert "no point of the unit cube meets" in str(error)  # noqa: PT017 - some are empty
            assert given.kind == "empty" or polytopes.is_empty(given)
            continue
        X = domain.sample(16, rng)
        sets = [domain.interior[None], X, domain.project(rng.normal(0.5, 1.0, X.shape))]
        if domain.discrete:
            sets.append(domain.neighbours(X[:4].reshape(2, 2, -1), rng)[0].reshape(-1, domain.d))
        assert polytopes.violation(given, np.concatenate(sets)) <= 1e-9, seed
        again = domain.project(X)
        np.testing.assert_allclose(again, X, atol=1e-8, err_msg=str(seed))
        inside += 1
    assert inside > 20  # few are empty


@pytest.mark.parametrize("start", range(0, 66, 11))
def test_suggestions_in_random_domains_are_inside(start):
    """Every kind of domain with every maximizer."""
    found = {seed: polytopes.suggested(seed) for seed in range(start, start + 11)}
    assert set(found.values()) <= {"inside", "empty"}, found
    assert list(found.values()).count("inside") > 7  # few are empty


@pytest.mark.parametrize(
    ("row", "value"),
    [((0.5, 1.6), 0.815), ((1.6, -0.8), 0.888), ((-0.8, 1.1), 0.59), ((0.7, -0.7), 0.357)],
)
def test_two_inequalities_may_be_an_equation(row, value):
    domain = make_domain(2, inequalities=([row, np.negative(row)], [value, -value]))
    for seed in range(5):
        X = np.random.default_rng(seed).random((6, 2))
        y = np.sin(3.0 * X.sum(axis=1))
        posterior = il.GaussianProcess(il.Matern52(0.5), noise=1e-4).condition(X, y)
        batch = il.suggest(posterior, 2, domain=domain, seed=seed)
        assert ((batch.X >= 0.0) & (batch.X <= 1.0)).all()
        np.testing.assert_allclose(batch.X @ row, value, atol=1e-9)
        assert np.abs(batch.X[0] - batch.X[1]).max() > 1e-3


FLAT = {
    "equation": (2, *EQUATION),
    "thin": (2, EQUATION[0], np.array([0.545 + 1e-12, -0.545])),
    "wedge": (2, np.array([[1.0, 1.0], [-1.0, -1.0 - 1e-7]]), np.array([0.545, -0.545])),
    "segment in space": (
        3,
        np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]]),
        np.array([1.2, -1.2, 0.1, -0.1]),
    ),
    "triangle in space": (
        3,
        np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]),
        np.array([1.5, -1.5]),
    ),
    "corner": (3, np.array([[1.0, 1.0, 0.0]]), np.array([0.0])),
}


@pytest.mark.parametrize("kind", FLAT)
def test_samples_fill_flat_domains_and_projections_are_the_nearest(kind):
    d, A, b = FLAT[kind]
    domain = make_domain(d, inequalities=(A, b))
    X = domain.sample(2000, np.random.default_rng(0))
    # Every coordinate reaches its ends, by linear programming, and is not heaped up there.
    for j in range(d):
        ends = [
            polytopes.linprog(sign * np.eye(d)[j], A_ub=A, b_ub=b, bounds=[(0, 1)] * d).x[j]
            for sign in (1.0, -1.0)
        ]
        extent = ends[1] - ends[0]
        assert X[:, j].min() < ends[0] + 0.1 * extent + 1e-9
        assert X[:, j].max() > ends[1] - 0.1 * extent - 1e-9
        assert X[:, j].std() >= 0.15 * extent
    wanted = np.random.default_rng(1).uniform(-0.5, 1.5, (40, d))
    projected = domain.project(wanted)
    distance = np.linalg.norm(projected - wanted, axis=1)
    assert (distance <= np.linalg.norm(X[:, None] - wanted, axis=-1).min(axis=0) + 1e-8).all()


def test_an_equation_is_sampled_evenly():
    X = make_domain(2, inequalities=EQUATION).sample(4000, np.random.default_rng(0))
    quantiles = np.quantile(X[:, 0], [0.1, 0.25, 0.5, 0.75, 0.9]) / 0.545
    np.testing.assert_allclose(quantiles, [0.1, 0.25, 0.5, 0.75, 0.9], atol=0.03)


def test_levels_and_reals_may_share_an_equation():
    """n + x + y = 1, with n in quarters: for each n all of the segment that is left."""
    row = np.array([[1.0, 1.0, 1.0]])
    domain = make_domain(
        3, inequalities=(np.vstack([row, -row]), [1.0, -1.0]), discrete=(Ordinal(0, 5),)
    )
    X = domain.sample(2000, np.random.default_rng(0))
    np.testing.assert_allclose(X.sum(axis=1), 1.0, atol=1e-9)
    for level in np.arange(4) / 4:
        some = X[X[:, 0] == level]
        assert len(some) > 50
        assert np.ptp(some[:, 1]) > 0.8 * (1.0 - level)
    sets, owner, _ = domain.neighbours(X[:3, None], np.random.default_rng(0))
    assert set(owner) == {0, 1, 2}
    np.testing.assert_allclose(sets.sum(axis=-1), 1.0, atol=1e-9)


def test_constraints_of_all_sorts_over_a_mixed_space():
    """Slabs of reals, of integers and of both: values decode to what meets them exactly."""
    space = il.Space(
        {name: il.Real(0, 1) for name in "xyz"}
        | {"i": il.Integer(0, 10), "j": il.Integer(1, 20), "c": il.Choice(["a", "b", "c"])},
        constraints=["0.4 <= x + y + z <= 0.5", "5 <= i + j <= 7", "x <= y", "10*z >= i"],
    )
    rng = np.random.default_rng(0)
    domain = space.domain()
    X = space.sample(300, rng)
    sets, _, _ = domain.neighbours(X[:8].reshape(4, 2, -1), rng)
    far = domain.project(rng.uniform(-1.0, 2.0, (300, space.d)))
    for x in np.concatenate([X, far, sets.reshape(-1, space.d)]):
        p = space.decode(x)
        assert 0.4 <= p["x"] + p["y"] + p["z"] <= 0.5
        assert 5 <= p["i"] + p["j"] <= 7
        assert p["x"] <= p["y"]
        assert 10 * p["z"] >= p["i"]
    found = {(p["i"], p["j"]) for p in map(space.decode, X)}
    assert found <= {(i, s - i) for i in range(5) for s in (5, 6, 7)}
    assert found >= {(i, s - i) for i in range(4) for s in (5, 6, 7)}  # with 4 there is little room


# Constraints over integers and steps, against all combinations


def random_space(rng):
    """Parameters, constraints over them, and all values that meet these, as fractions."""
    names = "abc"[: int(rng.integers(2, 4))]
    parameters, values = {}, []
    for name in names:
        low, step = int(rng.integers(-5, 5)), int(rng.integers(1, 4))
        high = low + int(rng.integers(step, 31 if len(names) == 2 else 13))
        if rng.random() < 0.3:
            parameters[name] = il.Real(low / 10, high / 10, step=step / 10)
            values.append([Fraction(k, 10) for k in range(low, high + 1, step)])
        else:
            parameters[name] = il.Integer(low, high, step=step)
            values.append([Fraction(k) for k in range(low, high + 1, step)])
    texts, tests = [], []
    for _ in range(int(rng.integers(1, 3))):
        c = rng.integers(-9, 10, len(names)).tolist()
        c[0] = c[0] or 3
        divisor = int(rng.choice([1, 1, 3, 7, 10]))
        limit = sum(a * rng.choice(v) for a, v in zip(c, values, strict=True)) / divisor
        limit += Fraction(int(rng.integers(-3, 4)), divisor) * int(rng.integers(2))
        operator = str(rng.choice(["==", "<=", ">="]))
        terms = " + ".join(f"{a}*{name}/{divisor}" for a, name in zip(c, names, strict=True))
        texts.append(f"{terms} {operator} {limit.numerator}/{limit.denominator}")
        tests.append((c, divisor, operator, limit))

    def is_met(point):
        sums = [sum(a * x for a, x in zip(c, point, strict=True)) / n for c, n, _, _ in tests]
        return all(
            {"==": s == limit, "<=": s <= limit, ">=": s >= limit}[operator]
            for s, (_, _, operator, limit) in zip(sums, tests, strict=True)
        )

    return parameters, texts, {p for p in itertools.product(*values) if is_met(p)}


def points(space, X):
    """The different values that points stand for, as they are written."""
    rows = [space.check(space.decode(x)) for x in np.unique(X, axis=0)]
    return {tuple(Fraction(repr(v)) for v in params.values()) for params in rows}


@pytest.mark.parametrize("part", range(6))
def test_constraints_over_integers_and_steps_are_exact(part):
    rng = np.random.default_rng([3, part])
    for _ in range(50):
        parameters, texts, expected = random_space(rng)
        if not expected:
            with pytest.raises(il.InputError, match="leave nothing to search"):
                il.Space(parameters, constraints=texts)
            continue
        space = il.Space(parameters, constraints=texts)
        assert points(space, space.everything(10**6)) == expected
        seen = points(space, space.sample(15 * len(expected) + 50, rng))
        assert seen <= expected
        assert len(seen) >= 0.95 * len(expected)
        assert points(space, space.domain().project(rng.random((30, space.d)))) <= expected


def test_an_equation_between_integers():
    given = {"x": il.Integer(0, 1000), "y": il.Integer(0, 1000)}
    expected = {(7 * k, 3 * k) for k in range(143)}
    for texts in (
        ["3*x - 7*y == 0"],
        ["3*x - 7*y <= 0", "3*x - 7*y >= 0"],
        ["0 <= 3*x - 7*y <= 0"],
    ):
        space = il.Space(given, constraints=texts)
        assert points(space, space.everything()) == expected
        assert len(points(space, space.sample(2000, np.random.default_rng(0)))) > 130
        with pytest.raises(il.InputError, match="is not met by"):
            space.check({"x": 8, "y": 3})
    # Too many points to list: they are still found, and moved between.
    large = il.Space({"x": il.Integer(0, 10**6), "y": il.Integer(0, 10**6)}, constraints=texts)
    assert large.everything() is None
    X = large.sample(500, np.random.default_rng(0))
    assert len(points(large, X)) > 400
    sets = large.domain().neighbours(X[:4, None], np.random.default_rng(0)).sets
    assert len(points(large, sets[:, 0]) - points(large, X[:4])) >= 8


def test_equations_with_large_coefficients():
    given = {"x": il.Integer(0, 10**6), "y": il.Integer(0, 10**6)}
    space = il.Space(given, constraints=["1000*x == 1001*y"])
    assert points(space, space.everything()) == {(1001 * k, 1000 * k) for k in range(1000)}
    space = il.Space(given, constraints=["1000003*x - 999983*y == 1"])
    x = pow(1000003, -1, 999983)
    assert points(space, space.everything()) == {(x, (1000003 * x - 1) // 999983)}
    with pytest.raises(il.InputError, match="leave nothing to search"):
        il.Space(given, constraints=["6*x - 9*y == 10"])


def test_large_integers_meet_constraints_exactly():
    large = 10**12
    given = {"n": il.Integer(0, large), "m": il.Integer(0, large)}
    space = il.Space(given, constraints=["n - m <= 0"])
    assert space.check({"n": large, "m": large})
    with pytest.raises(il.InputError, match="is not met by"):
        space.check({"n": large, "m": large - 1})
    for x in space.sample(200, np.random.default_rng(0)):
        space.check(space.decode(x))


# Few points among many combinations


@pytest.mark.parametrize("number", [5, 20])
def test_few_points_among_many_combinations_are_found(number):
    given = {f"n{i}": il.Integer(0, 9) for i in range(number)}
    space = il.Space(given, constraints=[" + ".join(given) + " <= 1"])
    expected = np.vstack([np.zeros(number), np.eye(number)[::-1]]) / 9
    np.testing.assert_array_equal(space.everything(), expected)
    assert space.everything(number) is None
    np.testing.assert_array_equal(space.everything(fixed={"n0": 1}), expected[-1:])


def test_what_is_held_may_leave_few_points():
    space = il.Space(
        {"x": il.Real(0, 1), "n": il.Integer(0, 9), "c": il.Choice(["a", "b", "c"])},
        constraints=["n + 10*x <= 7"],
    )
    assert space.everything() is None
    X = space.everything(fixed={"x": 0.5})
    decoded = [space.decode(x) for x in X]
    assert decoded == [{"x": 0.5, "n": n, "c": c} for n in range(3) for c in "abc"]
    run = il.minimize(
        lambda p: p["n"], space, n_trials=20, seed=0, fixed={"x": 0.5}, progress=False
    )
    assert (len(run.trials), run.stopped) == (9, "exhausted")


def test_a_run_ends_when_constraints_leave_no_more_points():
    given = {name: il.Integer(0, 9) for name in "abcde"}
    space = il.Space(given, constraints=["a + b + c + d + e <= 1"])
    optimizer = il.Optimizer(space, seed=0)
    run = il.minimize(lambda p: sum(p.values()), optimizer, n_trials=20, progress=False)
    assert (len(run.trials), run.stopped) == (6, "exhausted")
    assert optimizer.exhausted
