"""Equations among parameters: every suggestion meets them, and mixtures are searched well."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import innerloop as il
from innerloop import InputError, Integer, Real, Space
from innerloop.insight.model import FittedModel
from innerloop.insight.slices import maps, slices
from innerloop.report.report import html_of

THREE = Space({name: Real(0, 1) for name in "abc"}, constraints=["a + b + c == 1"])


def simplex(n):
    names = [f"x{k}" for k in range(n)]
    return Space({n: Real(0, 1) for n in names}, constraints=[" + ".join(names) + " == 1"])


def total(coefficients, params):
    """The sum of terms in exact decimals, and the sum of their sizes."""
    terms = [Fraction(repr(c)) * Fraction(repr(params[n])) for n, c in coefficients.items()]
    return sum(terms), sum(map(abs, terms))


def assert_met(equations, params):
    for coefficients, value in equations:
        value = Fraction(repr(value))
        got, size = total(coefficients, params)
        assert abs(got - value) <= Fraction(1, 10**9) * (size + abs(value))


@st.composite
def mixtures(draw):
    """A space with one to three equations that a point of it meets, and what these are."""
    given = {}
    for name in "abcdef"[: draw(st.integers(2, 6))]:
        low = draw(st.integers(-20, 20)) / 10
        given[name] = Real(low, low + draw(st.sampled_from([0.1, 1.0, 2.5, 300.0])))
    given["n"] = draw(st.sampled_from([Integer(0, 4), Real(0, 1, step=0.25), 3, 0.5]))
    u = {name: draw(st.sampled_from([0.0, 0.1, 0.5, 0.77, 1.0])) for name in given}
    point = {
        name: kind if isinstance(kind, (int, float)) else kind.decode([u[name]])
        for name, kind in given.items()
    }
    texts, equations = [], []
    for _ in range(draw(st.integers(1, min(3, len(given) - 1)))):
        c = {n: draw(st.sampled_from([1, 1, 1, -1, 0, 0.5, -2, 0.3])) for n in given}
        assume(any(c[n] for n in given if n != "n"))
        value = float(total(c, point)[0])
        texts.append(" + ".join(f"{c[n]!r}*{n}" for n in given if c[n]) + f" == {value!r}")
        equations.append((c, value))
    return Space(given, constraints=texts), equations, point


@settings(max_examples=80, deadline=None)
@given(mixture=mixtures(), seed=st.integers(0, 2**16))
def test_points_of_all_sorts_meet_equations_and_decode_to_themselves(mixture, seed):
    space, equations, _ = mixture
    rng, domain = np.random.default_rng(seed), space.domain()
    X = np.vstack([space.sample(6, rng), space.spread(6, seed), domain.interior])
    X = np.vstack([X, domain.project(rng.uniform(-1.0, 2.0, (6, space.d)))])
    for x in X:
        params = space.decode(x)
        assert_met(equations, params)
        assert space.check(params) == params
        assert space.decode(space.encode(params)) == params
        np.testing.assert_allclose(space.encode(params), x, atol=1e-6)
    np.testing.assert_array_equal(space.spread(3, seed), space.spread(6, seed)[:3])


@settings(max_examples=25, deadline=None)
@given(mixture=mixtures(), seed=st.integers(0, 2**16))
def test_every_suggestion_meets_equations(mixture, seed):
    """Asked, told, saved, loaded, and with a value held."""
    space, equations, point = mixture
    optimizer = il.Optimizer(space, seed=seed, initial=4)
    for _ in range(2):
        for trial in optimizer.ask(3):
            optimizer.tell(trial, sum(value**2 for value in trial.params.values()))
    own = il.Optimizer(Space.from_dict(json.loads(json.dumps(space.to_dict()))), seed=seed)
    assert own.space == space
    held = next(name for name in space.parameters if name != "n")
    last = optimizer.ask(fixed={held: point[held]})
    assert last.params[held] == point[held]
    for trial in optimizer.trials:
        assert_met(equations, trial.params)
        assert space.decode(space.encode(trial.params)) == trial.params or trial is last


def test_saved_and_loaded_it_goes_on_as_before(tmp_path):
    optimizer = il.Optimizer(THREE, seed=1, initial=4)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, trial.params["a"] - trial.params["b"] ** 2)
    optimizer.save(tmp_path / "mixture.json")
    again = il.Optimizer.load(tmp_path / "mixture.json")
    assert again.ask().params == optimizer.ask().params
    assert pickle.loads(pickle.dumps(THREE)) == THREE
    (tmp_path / "mixture.toml").write_text(THREE.to_toml())
    assert Space.from_toml(tmp_path / "mixture.toml") == THREE


def test_decimals_add_up_exactly():
    for n in (3, 7, 20):
        space = simplex(n)
        for x in space.sample(50, np.random.default_rng(n)):
            assert sum(Fraction(repr(value)) for value in space.decode(x).values()) == 1


def test_a_single_equals_sign_is_an_equation():
    space = Space({name: Real(0, 1) for name in "ab"}, constraints=["a + b = 1", "a >= 0.25"])
    params = space.decode(space.sample(1, np.random.default_rng(0))[0])
    assert params["a"] + params["b"] == 1.0


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_equations_are_refused_if_and_only_if_linear_programming_finds_no_point(data):
    numbers = st.sampled_from([-2, -1, 0, 1, 2, 3])
    rows = data.draw(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=3))
    assume(all(any(row) for row in rows))
    values = [data.draw(st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.0])) for _ in rows]
    exists = linprog(np.zeros(3), A_eq=rows, b_eq=values, bounds=[(0, 1)] * 3).success
    texts = [f"{r[0]}*a + {r[1]}*b + {r[2]}*c == {v}" for r, v in zip(rows, values, strict=True)]
    if exists:
        space = Space({name: Real(0, 1) for name in "abc"}, constraints=texts)
        found = np.array(list(space.decode(space.sample(1, np.random.default_rng(0))[0]).values()))
        np.testing.assert_allclose(np.array(rows) @ found, values, atol=1e-9)
    else:
        with pytest.raises(InputError, match="leave nothing to search"):
            Space({name: Real(0, 1) for name in "abc"}, constraints=texts)


def test_params_off_the_plane_are_refused_and_not_moved():
    with pytest.raises(InputError, match=r"constraint 'a \+ b \+ c == 1' is not met by"):
        THREE.check({"a": 0.3, "b": 0.3, "c": 0.3})
    off = {"a": 0.5, "b": 0.75, "c": 0.25}
    assert THREE.decode(THREE.encode(off)) == off
    assert THREE.check({"a": 0.3, "b": 0.3, "c": 0.4 + 3e-10})["c"] == 0.4 + 3e-10


@pytest.mark.parametrize("n", [2, 7, 20])
def test_the_simplex_is_sampled_evenly(n):
    """Coordinates have the moments of Dirichlet's distribution: 1/n, (n - 1)/(n^2 (n + 1))."""
    X = simplex(n).sample(4000, np.random.default_rng(0))
    sd = np.sqrt((n - 1) / (n**2 * (n + 1)))
    np.testing.assert_allclose(X.mean(axis=0), 1.0 / n, atol=0.2 * sd)
    np.testing.assert_allclose(X.std(axis=0), sd, rtol=0.2)


def distances(X, Y):
    return np.sqrt(((X[:, None] - Y) ** 2).sum(axis=-1))


def energy(X, Y):
    """The energy distance between points and a sample (Szekely and Rizzo 2013)."""
    return 2.0 * distances(X, Y).mean() - distances(X, X).mean() - distances(Y, Y).mean()


@pytest.mark.parametrize("n", [3, 7, 20])
def test_starting_points_fill_the_simplex(n):
    """Nearer to a uniform sample, drawn by its textbook recipe, than random points are."""
    uniform = np.random.default_rng(0).dirichlet(np.ones(n), 1500)
    X = simplex(n).spread(32, 1)
    drawn = [np.random.default_rng(k).dirichlet(np.ones(n), 32) for k in range(1, 9)]
    assert energy(X, uniform) < 0.9 * min(energy(each, uniform) for each in drawn)
    assert (simplex(n).spread(32, 2) != X).any()


def test_parameters_beside_an_equation_are_balanced():
    given = {name: Real(0, 1) for name in "abc"} | {"T": Real(20, 120), "n": Integer(1, 4)}
    space = Space(given, constraints=["a + b + c == 1"])
    params = [space.decode(x) for x in space.spread(32, 0)]
    assert [sum(p["n"] == n for p in params) for n in range(1, 5)] == [8] * 4
    assert sorted(int((p["T"] - 20) / 100 * 32) for p in params) == list(range(32))


def tasks():
    for n in (3, 7):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            weights, aim = rng.uniform(0.5, 3.0, n), rng.dirichlet(np.ones(n))
            yield n, weights, aim - (0.15 if seed == 2 else 0.0)


@pytest.mark.parametrize(("n", "weights", "aim"), list(tasks()))
def test_finds_the_best_mixture(n, weights, aim):
    """Of a quadratic, within 1 % of what it varies by; SLSQP knows where that is."""

    def value(x):
        return float((weights * (np.asarray(x) - aim) ** 2).sum())

    space = simplex(n)
    best = minimize(
        value,
        np.full(n, 1.0 / n),
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0},
        options={"ftol": 1e-13},
    ).fun
    corners = [value(row) for row in np.eye(n)]
    result = il.minimize(
        lambda params: value(list(params.values())),
        space,
        n_trials=24 if n == 3 else 44,
        batch_size=4,
        seed=0,
    )
    assert result.value - best <= 0.001 * (max(corners) - best)


def test_a_batch_is_as_good_as_that_of_a_solver_that_knows_the_plane():
    n, rng = 7, np.random.default_rng(0)
    space = simplex(n)
    X = space.spread(24, 0)
    y = -((X - rng.dirichlet(np.ones(n)) + 0.05) ** 2) @ rng.uniform(0.5, 3.0, n)
    y = (y - y.mean()) / y.std()
    posterior = il.fit(X, y).condition(X, y)
    gains = il.Incremental(il.ExpectedImprovement(y.max()), posterior, np.zeros((1, 1)))

    def loss(x):
        return -np.log(max(float(gains.value(x[None, None])[0]), 1e-300))

    found = il.suggest(posterior, 1, il.ExpectedImprovement(y.max()), domain=space.domain(), seed=0)
    ends = [
        minimize(
            loss,
            start,
            method="SLSQP",
            bounds=[(0, 1)] * n,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0},
        ).fun
        for start in space.sample(12, rng)
    ]
    assert loss(found.X[0]) <= min(ends) + 1e-3


def test_reports_slice_the_plane():
    space = Space(
        {**{name: Real(0, 1) for name in "abc"}, "T": Real(20, 120)},
        constraints=["a + b + c == 1", "a <= 0.8"],
    )
    optimizer = il.Optimizer(space, seed=0, initial=6)
    for trial in optimizer.ask(8):
        optimizer.tell(trial, trial.params["a"] ** 2 + trial.params["b"] + trial.params["T"])
    model = FittedModel.of(optimizer)
    for each in slices(model):
        X = model.moved({each.name: each.values})
        assert all(space.check(space.decode(x)) for x in X)
        np.testing.assert_allclose(X[:, :3].sum(axis=1), 1.0, atol=1e-9)
        decoded = [space.decode(x)[each.name] for x in X]
        np.testing.assert_allclose(decoded, each.values, rtol=1e-9, atol=1e-11)
    ends = {each.name: (min(each.values), max(each.values)) for each in slices(model)}
    assert ends == {
        "T": (20, 120),
        "a": (0, pytest.approx(0.8, abs=0.01)),
        "b": (0, 1),
        "c": (0, 1),
    }
    for each in maps(model):
        if {each.x, each.y} <= set("abc"):  # half of the square is beyond the triangle, or more
            assert 0.4 < np.isfinite(each.mean).mean() < 0.55
    assert "Parameters that an equation ties to those shown" in html_of(optimizer)


def test_optuna_samples_mixtures():
    optuna = pytest.importorskip("optuna")
    from innerloop.integrations.optuna import InnerLoopSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=InnerLoopSampler(space=THREE, seed=0))

    def value(trial):
        a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
        assert a + b + c == pytest.approx(1.0, abs=1e-9)
        return (a - 0.2) ** 2 + (b - 0.7) ** 2 + (c - 0.1) ** 2

    study.optimize(value, n_trials=24)
    assert study.best_value < 1e-3
