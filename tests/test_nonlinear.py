"""Constraints that are not linear: read, never run as code, and met by every suggestion."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import innerloop as il
from innerloop import Choice, InputError, Integer, Real, Space
from innerloop.insight.model import FittedModel
from innerloop.insight.slices import maps, slices
from innerloop.maximizers import MAXIMIZERS
from innerloop.report.report import html_of
from innerloop.space.curves import read
from innerloop.space.expressions import Dual

FUNCTIONS = ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "tanh")
PYTHON = {name: getattr(math, name) for name in FUNCTIONS} | {"abs": abs, "min": min, "max": max}
PAIR = {"x": Real(0.5, 3), "y": Real(0.5, 3)}


def by_python(text, params):
    """Whether Python finds a comparison true, up to 1e-9 of its sides."""
    left, right = (
        eval(side.replace("^", "**"), PYTHON | dict(params)) for side in text.split("<=")
    )
    return left - right <= 1e-9 * (abs(left) + abs(right))


FORMULAS = [
    "x*y",
    "x**2 + y^3",
    "x/y - y/x",
    "x**y",
    "2**x",
    "-x**2",
    "sqrt(x) * exp(-y)",
    "log(x*y) + log10(x + y)",
    "sin(x) + cos(y) * tan(x/4)",
    "tanh(x - y)",
    "abs(x - 2) + max(x, y, 1.5) - min(x*y, 2)",
    "(x + 1)**0",
    "x**-2",
    "(x - y)**2",
    "1.5",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_mean_what_python_means_and_slopes_are_differences(text):
    (formula,) = read(f"{text} <= x*y", PAIR)
    X = np.random.default_rng(0).uniform(0.6, 2.9, (20, 2))

    def difference(x):
        variables = {"x": x[0], "y": x[1]}
        return eval(text.replace("^", "**"), PYTHON | variables) - x[0] * x[1]

    variables = {
        name: Dual(X[:, k : k + 1], np.broadcast_to(np.eye(2)[k], (20, 2)))
        for k, name in enumerate("xy")
    }
    excess, _ = formula.excess(variables)
    np.testing.assert_allclose(
        excess.value[:, 0], [difference(x) for x in X], rtol=1e-12, atol=1e-12
    )
    for x, slope in zip(X, excess.slope, strict=True):
        np.testing.assert_allclose(slope, approx_fprime(x, difference, 1e-7), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').getcwd() <= x", "cannot be read"),
        ("x.real <= 1", "cannot be read"),
        ("[x][0] <= 1", "cannot be read"),
        ("(x if y else 1) <= 1", "cannot be read"),
        ("(lambda: x)() <= 1", "cannot be read"),
        ("eval(x) <= 1", "cannot be read"),
        ("exp(x, y) <= 1", "cannot be read"),
        ("exp(x=1) <= 1", "cannot be read"),
        ("exp(*x) <= 1", "cannot be read"),
        ("min(x) <= 1", "cannot be read"),
        ("x // y <= 1", "cannot be read"),
        ("x % y <= 1", "cannot be read"),
        ("exp <= 1", "names 'exp', but the names are ['x', 'y']"),
        ("sqrt(z) <= 1", "names 'z', but the names are ['x', 'y']"),
        ("x*y != 1", "cannot be read"),
        ("x*y <= 1e999", "cannot be read"),
        ("x*y <= eval(x)", "cannot be read"),
        ("x*y <= x.real", "cannot be read"),
        ("x*y <= 1" + "0" * 400, "cannot be read"),
        ("sqrt(x) <= True", "cannot be read"),
        ("x*y" + " + x*y" * 250 + " <= 1", "is too deep"),
        ("x*y == 1", "is an equation that is not linear"),
        ("2**3 <= exp(1)", "compares no parameter"),
        ("sqrt(" * 400 + "x" + ")" * 400 + " <= 1", "cannot be read"),
        ("x" + "**2" * 3000 + " <= 1", "cannot be read"),
        (3.0, "a constraint must be a string such as"),
    ],
)
def test_texts_that_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        Space(PAIR, constraints=[text])
    assert message in str(caught.value)


def test_only_numbers_can_be_constrained():
    for given_ in ({"c": Choice([1, 2])}, {"c": "one"}, {"c": True}):
        with pytest.raises(InputError, match="'c', which is not a number"):
            Space(PAIR | given_, constraints=["x*c <= 1"])
    space = Space(PAIR | {"c": 0.5}, constraints=["x*c <= 0.4"])
    assert max(space.decode(x)["x"] for x in space.sample(50, np.random.default_rng(0))) <= 0.8


# Random spaces


@st.composite
def curved_spaces(draw):
    """A space with constraints of all sorts that a point of it meets, with some room."""
    parameters = {
        "a": Real(0, 1),
        "b": draw(st.sampled_from([Real(0, 1), Real(-2, 2), Real(1e-4, 1e2, log=True)])),
        "c": draw(st.sampled_from([Real(0, 1), Real(20, 120)])),
        "n": draw(st.sampled_from([Integer(0, 6), Integer(1, 300, log=True), 3])),
        "s": draw(st.sampled_from([Real(0, 1, step=0.125), 0.5])),
        "kind": Choice(["p", "q", "r"]),
    }
    space = Space(parameters)
    u = draw(st.lists(st.floats(0.05, 0.95), min_size=space.d, max_size=space.d))
    point = space.decode(u)
    formulas = draw(
        st.lists(
            st.sampled_from(
                [
                    "a*b",
                    "-a*c",
                    "a**2 + s^2",
                    "n*a",
                    "-b*s*c",
                    "exp(a) + log(b + 3)",
                    "abs(a - 0.4)",
                    "max(a, s) - min(a, 0.5)",
                    "n*s",
                    "sqrt(c + 3)*a",
                ]
            ),
            min_size=1,
            max_size=2,
            unique=True,
        )
    )
    values = {text: eval(text.replace("^", "**"), PYTHON | dict(point)) for text in formulas}
    constraints = [f"{text} <= {v + 0.03 * abs(v) + 1e-3!r}" for text, v in values.items()]
    if draw(st.booleans()):
        constraints.append(f"a + 0.5*c == {point['a'] + 0.5 * point['c']!r}")
    if draw(st.booleans()):
        constraints.append(f"a + s <= {point['a'] + point['s'] + 0.1!r}")
    return Space(parameters, constraints=constraints)


def assert_allowed(space, params):
    assert space.check(params) == params
    for text in space.constraints:
        if "==" not in text:
            assert by_python(text, params), (text, params)
        else:
            left, right = (eval(side, PYTHON | dict(params)) for side in text.split("=="))
            assert left == pytest.approx(right, rel=1e-9)
    assert space.decode(space.encode(params)) == params


@settings(max_examples=30, deadline=None)
@given(space=curved_spaces(), seed=st.integers(0, 2**16))
def test_points_of_all_sorts_are_inside(space, seed):
    rng, domain = np.random.default_rng(seed), space.domain()
    X = np.vstack([space.sample(8, rng), space.spread(8, seed), domain.interior])
    X = np.vstack([X, domain.project(rng.uniform(-1.0, 2.0, (8, space.d)))])
    near = domain.neighbours(X[:4].reshape(2, 2, -1), rng).sets.reshape(-1, space.d)
    for x in np.vstack([X, near]):
        assert_allowed(space, space.decode(x))
    assert domain.contains(X).all()
    np.testing.assert_allclose(domain.project(X), X, atol=1e-8)
    np.testing.assert_array_equal(space.spread(3, seed), space.spread(8, seed)[:3])


@settings(max_examples=12, deadline=None)
@given(space=curved_spaces(), seed=st.integers(0, 2**16))
def test_every_suggestion_is_inside(space, seed):
    optimizer = il.Optimizer(space, seed=seed, initial=4)
    for _ in range(2):
        for trial in optimizer.ask(3):
            optimizer.tell(trial, trial.params["a"] - trial.params["c"] ** 2)
    held = optimizer.ask(fixed={"a": optimizer.trials[0].params["a"]})
    assert held.params["a"] == optimizer.trials[0].params["a"]
    for trial in optimizer.trials:
        assert_allowed(space, trial.params)


def test_saved_and_loaded_it_goes_on_as_before(tmp_path):
    space = Space(
        {"T": Real(20, 120), "a": Real(0, 1)}, constraints=["T * a <= 60", "a ^ 2 <= 0.9"]
    )
    optimizer = il.Optimizer(space, seed=1, initial=4)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, trial.params["a"] * trial.params["T"])
    optimizer.save(tmp_path / "run.json")
    assert il.Optimizer.load(tmp_path / "run.json").ask().params == optimizer.ask().params
    (tmp_path / "space.toml").write_text(space.to_toml())
    assert Space.from_toml(tmp_path / "space.toml") == space
    with pytest.raises(InputError, match=r"constraint 'T \* a <= 60' is not met by"):
        space.check({"T": 100.0, "a": 0.61})
    assert space.check({"T": 100.0, "a": 0.6})


# Domains


def test_a_disc_is_sampled_evenly_whether_it_is_large_or_small():
    """Squares of distances from the centre are uniform: r^2 / R^2 has mean 1/2."""
    for radius in (0.8, 0.02):
        space = Space(
            {"x": Real(-1, 1), "y": Real(-1, 1)},
            constraints=[f"(x - 0.1)**2 + y**2 <= {radius**2}"],
        )
        points = [space.decode(x) for x in space.sample(2000, np.random.default_rng(0))]
        squares = np.array([(p["x"] - 0.1) ** 2 + p["y"] ** 2 for p in points]) / radius**2
        assert squares.max() <= 1.0
        quantiles = np.quantile(squares, [0.1, 0.25, 0.5, 0.75, 0.9])
        np.testing.assert_allclose(quantiles, [0.1, 0.25, 0.5, 0.75, 0.9], atol=0.06)


def test_projections_onto_a_disc_are_the_nearest_points():
    space = Space({"x": Real(-1, 1), "y": Real(-1, 1)}, constraints=["x**2 + y**2 <= 0.25"])
    wanted = np.random.default_rng(0).random((200, 2))
    found = 2.0 * space.domain().project(wanted) - 1.0
    away = 2.0 * wanted - 1.0
    length = np.linalg.norm(away, axis=1, keepdims=True)
    np.testing.assert_allclose(found, away * np.minimum(0.5 / length, 1.0), atol=2e-3)


def test_a_ring_is_found_and_an_empty_set_is_refused():
    given_ = {"x": Real(-1, 1), "y": Real(-1, 1), "z": Real(-1, 1)}
    ring = Space(given_, constraints=["0.999 <= x**2 + y**2 <= 1", "z >= x*y"])
    for x in ring.sample(50, np.random.default_rng(0)):
        assert ring.check(ring.decode(x))
    with pytest.raises(InputError, match="leave nothing to search: no point was found among 4096"):
        Space(given_, constraints=["x**2 + y**2 <= -0.1"])
    with pytest.raises(InputError, match=r"nothing to search with \{'x': 1.0, 'z': -1.0\}: no"):
        ring.domain({"x": 1.0, "z": -1.0})


def test_nowhere_defined_is_nowhere_met():
    space = Space({"x": Real(-1, 1)}, constraints=["sqrt(x) <= 0.5"])
    values = [space.decode(x)["x"] for x in space.sample(100, np.random.default_rng(0))]
    assert 0.0 <= min(values) < 0.05
    assert 0.2 < max(values) <= 0.25
    with pytest.raises(InputError, match="is not met by"):
        space.check({"x": -0.5})


def test_everything_is_what_brute_force_finds():
    space = Space(
        {"n": Integer(1, 12), "m": Integer(1, 12), "s": Real(0, 1, step=0.25)},
        constraints=["n*m <= 24", "n*s^2 <= 3", "n + m >= 6"],
    )
    found = {tuple(space.decode(x).values()) for x in space.everything()}
    levels = itertools.product(range(1, 13), range(1, 13), [0.0, 0.25, 0.5, 0.75, 1.0])
    assert found == {
        (n, m, s) for n, m, s in levels if n * m <= 24 and n * s**2 <= 3 and n + m >= 6
    }
    assert len(found) == len(space.everything())


def test_plain_and_linear_domains_know_nothing_of_it():
    for constraints in ([], ["x + y <= 3"], ["x + y == 3"]):
        assert Space(PAIR, constraints=constraints).domain().curved is None
    assert Space(PAIR, constraints=["x*2 <= 3*y"]).curves == ()


@pytest.mark.parametrize("maximizer", sorted(MAXIMIZERS))
def test_every_maximizer_stays_inside(maximizer):
    given_ = {name: Real(0, 1) for name in "abc"} | {"n": Integer(0, 4), "T": Real(20, 120)}
    space = Space(given_, constraints=["a + b + c == 1", "a*T <= 30", "b**2 + c**2 <= n/4 + 0.2"])
    optimizer = il.Optimizer(space, seed=0, initial=4, maximizer=maximizer)
    for _ in range(2):
        for trial in optimizer.ask(3):
            assert_allowed(space, trial.params)
            optimizer.tell(trial, trial.params["a"] - trial.params["T"])


# Optima


def best_by_slsqp(value, starts, bounds, limits):
    cons = [{"type": "ineq", "fun": limit} for limit in limits]
    found = [
        minimize(value, start, method="SLSQP", bounds=bounds, constraints=cons) for start in starts
    ]
    return min(each.fun for each in found if each.success)


def test_finds_the_best_point_of_a_disc():
    """On its rim, at the point nearest to the aim."""
    space = Space({"x": Real(-1, 1), "y": Real(-1, 1)}, constraints=["x**2 + y**2 <= 0.5"])
    result = il.minimize(
        lambda p: (p["x"] - 1) ** 2 + (p["y"] - 0.5) ** 2, space, n_trials=28, batch_size=4, seed=0
    )
    assert result.value <= (math.hypot(1, 0.5) - math.sqrt(0.5)) ** 2 + 1e-5


def test_finds_the_best_of_a_mixture_with_curved_limits():
    weights, aim = np.array([1, 2, 0.5, 1.5]), np.array([0.6, 0.2, 0.1, 0.1])

    def value(x):
        return float((weights * (np.asarray(x) - aim) ** 2).sum())

    def whole(x):  # the last part is what the others leave
        return np.append(x, 1.0 - np.sum(x))

    best = best_by_slsqp(
        lambda x: value(whole(x)),
        np.random.default_rng(0).dirichlet(np.ones(4), 10)[:, :3],
        [(0, 1)] * 3,
        [
            lambda x: 1.0 - np.sum(x),
            lambda x: x[2] * whole(x)[3] - 0.03,
            lambda x: 0.16 - x[0] ** 2,
        ],
    )
    space = Space(
        {name: Real(0, 1) for name in "abcd"},
        constraints=["a + b + c + d == 1", "c*d >= 0.03", "a^2 <= 0.16"],
    )
    result = il.minimize(
        lambda p: value(list(p.values())), space, n_trials=28, batch_size=4, seed=0
    )
    assert -1e-7 <= result.value - best <= 1e-3


def test_finds_the_best_of_integers_within_curved_limits():
    space = Space(
        {"n": Integer(1, 40), "m": Integer(1, 40), "x": Real(0, 1)},
        constraints=["n*m <= 60", "n*x <= 10"],
    )

    def value(p):
        return (p["n"] - 13) ** 2 + (p["m"] - 5) ** 2 + (p["x"] - 1) ** 2

    levels = [(n, m) for n in range(1, 41) for m in range(1, 41) if n * m <= 60]
    best = min(value({"n": n, "m": m, "x": min(1.0, 10 / n)}) for n, m in levels)
    result = il.minimize(value, space, n_trials=40, batch_size=4, seed=0)
    assert -1e-9 <= result.value - best <= 0.05


# Functions


def beyond(params):
    return params["x"] ** 2 + params["y"] ** 2 - (0.5 if params["kind"] == "wide" else 0.05)


def test_functions_of_params(tmp_path):
    parameters = {"x": Real(-1, 1), "y": Real(-1, 1), "kind": Choice(["wide", "small", "tiny"])}
    space = Space(parameters, constraints=[beyond, "x + y <= 0.4"])
    X = np.vstack(
        [
            space.sample(8, np.random.default_rng(0)),
            space.spread(8, 0),
            space.domain().project(np.random.default_rng(1).random((8, space.d))),
        ]
    )
    for x in X:
        params = space.check(space.decode(x))
        assert beyond(params) <= 0.0
        assert space.decode(space.encode(params)) == params
    assert {space.decode(x)["kind"] for x in X} == set(parameters["kind"].values)
    optimizer = il.Optimizer(space, seed=0, initial=6)
    for _ in range(4):
        for trial in optimizer.ask(3):
            assert beyond(trial.params) <= 0.0
            optimizer.tell(trial, -trial.params["x"])
    assert optimizer.best.value < -0.5  # of -sqrt(0.5)
    assert pickle.loads(pickle.dumps(space)) == space
    with pytest.raises(
        InputError, match="constraint 'beyond' is a function, which cannot be saved"
    ):
        optimizer.save(tmp_path / "run.json")
    with pytest.raises(InputError, match="constraint 'beyond' is not met by"):
        space.check({"x": 0.9, "y": -0.6, "kind": "wide"})
    assert "beyond" in html_of(optimizer)


def test_functions_that_return_no_number():
    with pytest.raises(InputError, match="must return a number, got None"):
        Space(PAIR, constraints=[lambda params: None])
    space = Space(PAIR, constraints=[lambda p: math.nan if p["x"] > 2 else 0.0])
    assert max(space.decode(x)["x"] for x in space.sample(50, np.random.default_rng(0))) <= 2


# Reports and Optuna


def test_reports_end_at_curved_limits():
    space = Space({"x": Real(-1, 1), "y": Real(-1, 1)}, constraints=["x**2 + y**2 <= 0.5"])
    optimizer = il.Optimizer(space, seed=0, initial=6)
    for trial in optimizer.ask(8):
        optimizer.tell(trial, trial.params["x"] + trial.params["y"])
    model = FittedModel.of(optimizer)
    for each in slices(model):
        X = model.moved({each.name: each.values})
        assert all(space.check(space.decode(x)) for x in X)
        other = next(n for n in "xy" if n != each.name)
        end = math.sqrt(0.5 - optimizer.best.params[other] ** 2)
        assert max(each.values) == pytest.approx(end, abs=0.02)
        assert min(each.values) == pytest.approx(-end, abs=0.02)
    (only,) = maps(model)
    assert np.isfinite(only.mean).mean() == pytest.approx(math.pi * 0.5 / 4, abs=0.02)
    assert "x**2 + y**2 &lt;= 0.5" in html_of(optimizer)


def test_optuna_samples_curved_spaces():
    optuna = pytest.importorskip("optuna")
    from innerloop.integrations.optuna import InnerLoopSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = Space({"x": Real(-1, 1), "y": Real(-1, 1)}, constraints=["x**2 + y**2 <= 0.5"])
    study = optuna.create_study(sampler=InnerLoopSampler(space=space, seed=0))

    def value(trial):
        x, y = (trial.suggest_float(name, -1, 1) for name in "xy")
        assert x**2 + y**2 <= 0.5 + 1e-9
        return (x - 1) ** 2 + (y - 0.5) ** 2

    study.optimize(value, n_trials=20)
    assert study.best_value <= (math.hypot(1, 0.5) - math.sqrt(0.5)) ** 2 + 1e-3
