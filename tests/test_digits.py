"""Suggestions with so many digits: rounded, feasible all the same, and what the model is told."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innerloop as il
from innerloop import InputError, Integer, Real, Space


def on_grid(parameter, value):
    """Whether a value has no more digits than are wanted, by its decimals; or is an end."""
    if parameter.digits is None or value in (parameter.low, parameter.high):
        return True
    if parameter.log and parameter.high / 2 >= parameter.low:
        return float(f"{value:.{parameter.digits - 1}e}") == value
    decimals = parameter.digits - math.floor(math.log10(parameter.high - parameter.low))
    return (Fraction(repr(value)) * Fraction(10) ** decimals).denominator == 1


def test_digits_of_a_range_and_of_values():
    assert Real(20, 120, digits=3).decode([0.123456]) == 32.3
    assert Real(0, 1, digits=3).decode([0.123456]) == 0.123
    assert Real(0, 5000, digits=2).decode([0.123456]) == 620.0
    assert Real(1e-5, 1e-1, log=True, digits=2).decode([0.5]) == 0.001
    assert Real(1e-5, 1e-1, log=True, digits=2).decode([0.123456]) == 3.1e-5
    assert Real(0, 1).decode([0.123456789]) == 0.123456789


@given(
    low=st.floats(-1e6, 1e6),
    size=st.floats(1e-3, 1e6),
    digits=st.integers(1, 12),
    u=st.floats(0, 1),
    log=st.booleans(),
)
def test_values_are_on_the_grid_within_range_and_near(low, size, digits, u, log):
    low = abs(low) + 1e-6 if log else low
    parameter = Real(low, low + size, log=log, digits=digits)
    value = parameter.decode([u])
    assert parameter.low <= value <= parameter.high
    assert parameter.decode(parameter.encode(value)) == value
    precise = Real(low, low + size, log=log).decode([u])
    if not log:  # half a step, which is at most the range over 10^digits
        assert abs(value - precise) <= 0.51 * size / 10**digits + 1e-9
    if digits <= 6:  # beyond that doubles may have no room for it
        assert on_grid(parameter, value)


def test_refused_digits_and_files():
    for digits, message in ((0, "from 1 to 12"), (13, "from 1 to 12"), (2.5, "must be an integer")):
        with pytest.raises(InputError, match=message):
            Real(0, 1, digits=digits)
    with pytest.raises(InputError, match="step and digits do not go together"):
        Real(0, 1, step=0.1, digits=2)
    assert Real(0, 1).to_dict() == {"type": "real", "low": 0, "high": 1, "log": False, "step": None}
    space = Space({"x": Real(0, 1, digits=3), "y": Real(1, 9)}, constraints=["x*y <= 2"])
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space
    assert "digits = 3" in space.to_toml()


def test_spaces_in_toml(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("[x]\ntype = 'real'\nlow = 0\nhigh = 1\ndigits = 3\n")
    space = Space.from_toml(path)
    assert space.parameters["x"] == Real(0, 1, digits=3)
    path.write_text(space.to_toml())
    assert Space.from_toml(path) == space
    path.write_text("[x]\ntype = 'real'\nlow = 0\nhigh = 1\ndigits = 40\n")
    with pytest.raises(InputError, match="line 5: parameter 'x': digits must be from 1 to 12"):
        Space.from_toml(path)


@st.composite
def rounded_spaces(draw):
    """Spaces with digits and constraints of all sorts that a point meets, with a little room."""
    digits = st.sampled_from([1, 2, 3, 5, None])
    parameters = {
        "a": Real(0, 1, digits=draw(digits)),
        "b": Real(0, 1, digits=draw(digits)),
        "c": Real(0, draw(st.sampled_from([1, 2.5, 80])), digits=draw(digits)),
        "r": Real(1e-3, 10, log=True, digits=draw(digits)),
        "n": Integer(0, 5),
    }
    space = Space(parameters)
    point = space.decode(draw(st.lists(st.floats(0.1, 0.9), min_size=5, max_size=5)))
    a, b, c, r, n = point.values()
    options = [
        f"a + b <= {a + b + 1e-3!r}",
        f"a - 2*b + 0.3*n <= {a - 2 * b + 0.3 * n + 1e-3!r}",
        f"a*c <= {a * c + 1e-3!r}",
        f"r + a**2 >= {r + a * a - 1e-3!r}",
        f"a + b + c == {a + b + c!r}",
        f"a + 0.1*c + n == {a + 0.1 * c + n!r}",
    ]
    some = draw(st.lists(st.sampled_from(options), min_size=1, max_size=4, unique=True))
    return Space(parameters, constraints=some)


@settings(max_examples=80, deadline=None)
@given(space=rounded_spaces(), seed=st.integers(0, 2**16))
def test_rounded_points_are_inside_and_decode_to_themselves(space, seed):
    rng, domain = np.random.default_rng(seed), space.domain()
    X = np.vstack([space.sample(6, rng), space.spread(6, seed)])
    X = np.vstack([X, domain.project(rng.uniform(-1.0, 2.0, (6, space.d)))])
    for x in X:
        params = space.decode(x)
        assert space.check(params) == params
        assert space.decode(space.encode(params)) == params


@settings(max_examples=10, deadline=None)
@given(space=rounded_spaces(), seed=st.integers(0, 2**16))
def test_every_suggestion_is_inside_and_decodes_to_itself(space, seed):
    optimizer = il.Optimizer(space, seed=seed, initial=4)
    for _ in range(2):
        for trial in optimizer.ask(3):
            assert space.check(trial.params) == trial.params
            assert space.decode(space.encode(trial.params)) == trial.params
            optimizer.tell(trial, trial.params["a"] - trial.params["c"])


def test_roomy_constraints_leave_values_on_the_grid():
    """By brute force a point of the grid is near every point of such a domain."""
    parameters = {
        "x": Real(0, 1, digits=2),
        "y": Real(0, 1, digits=2),
        "T": Real(20, 120, digits=3),
    }
    space = Space(parameters, constraints=["x + y <= 0.777", "x - y <= 0.333", "T * x <= 30.05"])
    X = space.domain().project(np.random.default_rng(0).uniform(-0.5, 1.5, (200, 3)))
    for x in X:
        params = space.check(space.decode(x))
        assert all(on_grid(parameters[name], value) for name, value in params.items())
        np.testing.assert_allclose(space.encode(params), x, atol=0.0101)


@pytest.mark.parametrize("n", [3, 7, 20])
def test_mixtures_add_up_in_decimals(n):
    names = [f"x{k}" for k in range(n)]
    space = Space(
        {name: Real(0, 1, digits=3) for name in names},
        constraints=[" + ".join(names) + " == 1", "x0 <= 0.4", "x1*x2 <= 0.05"],
    )
    for x in np.vstack([space.sample(40, np.random.default_rng(0)), space.spread(40, 0)]):
        params = space.check(space.decode(x))
        exact = [Fraction(repr(value)) for value in params.values()]
        assert sum(exact) == 1
        assert all((1000 * value).denominator == 1 for value in exact)
        assert params["x0"] <= 0.4
        assert params["x1"] * params["x2"] <= 0.05


def test_without_a_point_on_the_grid_there_are_more_digits():
    space = Space({"x": Real(0, 1, digits=1)}, constraints=["0.42 <= x <= 0.43"])
    for x in space.sample(5, np.random.default_rng(0)):
        assert 0.42 <= space.check(space.decode(x))["x"] <= 0.43


def test_rounded_points_are_what_is_modelled_and_told_values_need_not_be():
    space = Space(
        {"x": Real(0, 1, digits=2), "y": Real(0, 1, digits=2)}, constraints=["x + y <= 1"]
    )
    optimizer = il.Optimizer(space, seed=0, initial=4)
    for _ in range(5):
        for trial in optimizer.ask(3):
            assert all(value == round(value, 2) for value in trial.params.values())
            optimizer.tell(trial, (trial.params["x"] - 0.3) ** 2 + (trial.params["y"] - 0.6) ** 2)
    told = optimizer.add({"x": 0.123456, "y": 0.2}, 0.2)
    assert told.params["x"] == 0.123456
    held = optimizer.ask(fixed={"x": 0.123456})
    assert held.params["x"] == 0.123456
    assert held.params["y"] == round(held.params["y"], 2)
    assert optimizer.best.value <= 2e-4
    points = {tuple(trial.params.values()) for trial in optimizer.trials}
    assert len(points) == len(optimizer.trials)


def test_optuna_gets_rounded_values():
    optuna = pytest.importorskip("optuna")
    from innerloop.integrations.optuna import InnerLoopSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = Space({name: Real(0, 1, digits=2) for name in "abc"}, constraints=["a + b + c == 1"])
    study = optuna.create_study(sampler=InnerLoopSampler(space=space, seed=0))

    def value(trial):
        parts = [trial.suggest_float(name, 0, 1) for name in "abc"]
        assert sum(Fraction(repr(part)) for part in parts) == 1
        assert all(part == round(part, 2) for part in parts)
        return (parts[0] - 0.2) ** 2 + (parts[1] - 0.7) ** 2

    study.optimize(value, n_trials=20)
    assert study.best_value < 3e-3
