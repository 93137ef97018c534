"""Spaces: exact round trips, valid points, constraints that hold, and refusals that say why."""

import itertools
import json
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from innerloop.domain.discrete import OneHot, Ordinal
from innerloop.errors import InputError
from innerloop.space.constraints import parse
from innerloop.space.parameters import Choice, Integer, Real, parameter_from
from innerloop.space.space import Space

NASTY = [
    Real(1e6, 1e6 + 1e-6),
    Real(1e6, 1e6 + 1e-6, log=True),
    Real(1e6, 1e6 + 1e-6, step=1e-9),
    Real(-1e300, 1e300),
    Real(-1e300, 1e300, step=1e299),
    Real(1e-300, 1e300, log=True),
    Real(5e-324, 1e300, log=True),
    Real(0, 5e-324),
    Real(0, 1e-310),
    Real(5e-324, 1.5e-323, log=True),
    Real(-1e-320, 1e300),
    Real(-1.0, 1e-20),
    Real(0.0, 1.0 + 2.0**-52),
    Real(1 / 3, 2 / 3, step=1 / 7),
    Integer(-(10**13), 10**13),
    Integer(1, 10**13, log=True),
    Integer(10**13 - 3, 10**13, log=True),
]

unit = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-20.0, 0.0).map(lambda e: 10.0**e),
    st.floats(-17.0, 0.0).map(lambda e: 1.0 - 10.0**e),
)
decimals = st.integers(-(10**6), 10**6).map(lambda n: n / 1000)
numbers = st.one_of(decimals, st.floats(-1e300, 1e300), st.floats(-10.0, 10.0))


@st.composite
def reals(draw, log=None):
    low = draw(numbers)
    reach = draw(st.one_of(st.none(), st.floats(-16.0, 3.0)))
    high = draw(numbers) if reach is None else low + abs(low) * 10.0**reach
    low, high = sorted((low, max(-1e300, min(1e300, high))))
    if draw(st.booleans()) if log is None else log:
        low, high = sorted((abs(low) or 5e-324, abs(high) or 1.0))
        return Real(low, high, log=True)
    return Real(low, high)


@st.composite
def stepped(draw):
    low, steps = draw(decimals), draw(st.integers(1, 60))
    step = draw(st.sampled_from([0.1, 0.05, 0.25, 1.0, 1 / 3, 1e-3, 7.5, 1e-6]))
    return Real(low, low + step * (steps + draw(st.floats(0.0, 0.9))), step=step)


@st.composite
def integers(draw):
    size = draw(st.sampled_from([5, 100, 10**6, 10**13]))
    log = draw(st.booleans())
    low, high = sorted(draw(st.tuples(*[st.integers(1 if log else -size, size)] * 2)))
    widest = max(min(5, high - low), 1)
    return Integer(low, high, log=log, step=1 if log else draw(st.integers(1, widest)))


plains = st.one_of(
    st.text(max_size=3), st.integers(-99, 99), st.floats(-9, 9), st.booleans(), st.none()
)
choices = st.lists(plains, min_size=1, max_size=5, unique=True).map(Choice)
parameters = st.one_of(st.sampled_from(NASTY), reals(), stepped(), integers(), choices)


def value_of(parameter, level):
    """The value of a discrete parameter by its number, written out."""
    if isinstance(parameter, Choice):
        return parameter.values[level]
    if isinstance(parameter, Integer):
        return parameter.low + level * parameter.step
    exact = Fraction(parameter.low) + level * Fraction(parameter.step)
    value = parameter.decode((level / (parameter.count - 1),))
    assert abs(Fraction(value) - exact) <= parameter.step * Fraction(1, 8)
    return value


@settings(max_examples=1000)
@given(parameter=parameters, u=st.lists(unit, min_size=5, max_size=5))
def test_what_is_decoded_is_encoded_and_decoded_without_a_change(parameter, u):
    value = parameter.decode(u[: parameter.width])
    assert type(value) in (str, int, float, bool, type(None))
    assert not isinstance(parameter, Real) or type(value) is float
    if not isinstance(parameter, Choice):
        assert parameter.low <= value <= parameter.high
    point = parameter.encode(value)
    assert len(point) == parameter.width
    assert all(type(c) is float and 0.0 <= c <= 1.0 for c in point)
    again = parameter.decode(point)
    assert again == value
    assert type(again) is type(value)
    assert parameter.encode(again) == point
    assert parameter.check("p", value) == value


@pytest.mark.parametrize("parameter", NASTY, ids=repr)
def test_round_trips_where_floats_are_few_or_far_apart(parameter):
    rng = np.random.default_rng(0)
    for u in (
        *rng.random(300),
        *10.0 ** -rng.uniform(0, 20, 50),
        *1 - 10.0 ** -rng.uniform(0, 17, 50),
    ):
        value = parameter.decode((u,))
        assert parameter.low <= value <= parameter.high
        assert parameter.decode(parameter.encode(value)) == value


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("low", [1e6, 5e-324, 0.7, 1e300 * (1.0 - 1e-14)])
def test_every_float_of_a_narrow_range_has_a_place(low, log):
    floats = [low]
    while len(floats) < 50:
        floats.append(math.nextafter(floats[-1], math.inf))
    parameter = Real(low, floats[-1], log=log)
    values = [parameter.decode(parameter.encode(value)) for value in floats]
    assert values == floats


@settings(max_examples=300)
@given(parameter=st.one_of(st.sampled_from(NASTY), reals(), stepped(), integers()))
def test_ends_are_exact(parameter):
    low, high = (parameter.decode((u,) * parameter.width) for u in (0.0, 1.0))
    assert (low, high) == (parameter.low, parameter.high)
    if parameter.width:
        assert parameter.encode(low) == (0.0,)
        assert parameter.encode(high) == (1.0,)
        assert parameter.decode((-0.5,)) == low
        assert parameter.decode((1.5,)) == high


@settings(max_examples=300)
@given(parameter=parameters, share=st.floats(0.0, 1.0))
def test_every_discrete_value_has_a_place(parameter, share):
    assume(parameter.count is not None and parameter.width)
    for level in {0, parameter.count - 1, math.floor(share * (parameter.count - 1))}:
        value = value_of(parameter, level)
        point = parameter.encode(value)
        assert parameter.decode(point) == value
        if isinstance(parameter, Choice) and parameter.count > 2:
            assert point == tuple(float(i == level) for i in range(parameter.count))
        elif getattr(parameter, "log", False):
            place = math.log(Fraction(value, parameter.low)) if value > parameter.low else 0.0
            place /= math.log(Fraction(parameter.high, parameter.low))
            assert point == pytest.approx((place,), rel=1e-3 if parameter.low > 10**12 else 1e-9)
        else:
            assert point == (level / (parameter.count - 1),)


@settings(max_examples=200)
@given(parameter=parameters, u=st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5))
def test_the_nearest_value_is_taken(parameter, u):
    assume(parameter.count is not None and 1 < parameter.count <= 50)
    u = u[: parameter.width]
    places = np.array([parameter.encode(value_of(parameter, k)) for k in range(parameter.count)])
    here = np.array(parameter.encode(parameter.decode(u)))
    distances = np.linalg.norm(places - u, axis=1)
    assert np.linalg.norm(here - u) == pytest.approx(distances.min(), abs=1e-12)


@settings(max_examples=300)
@given(parameter=reals(log=False), u=st.floats(0.0, 1.0))
def test_linear_reals_are_rounded_by_a_hair(parameter, u):
    low, high, value = map(Fraction, (parameter.low, parameter.high, parameter.decode((u,))))
    spacing = Fraction(math.ulp(max(-parameter.low, parameter.high)))
    exact = low + Fraction(u) * (high - low)
    assert abs(value - exact) <= (high - low) * Fraction(1e-12) + spacing


@settings(max_examples=300)
@given(parameter=reals(log=True), u=st.floats(0.0, 1.0))
def test_logarithmic_reals_are_rounded_by_a_hair(parameter, u):
    exponent = (1.0 - u) * math.log(parameter.low) + u * math.log(parameter.high)
    value = parameter.decode((u,))
    # Numbers next to zero are farther apart than their digits say.
    assert math.log(value) == pytest.approx(exponent, abs=1e-11 + math.ulp(value) / value)
    if parameter.high > 2.0 * parameter.low and value not in (parameter.low, parameter.high):
        assert len(f"{value!r}".partition("e")[0].replace(".", "").strip("0")) <= 12


def test_decimals_are_clean():
    assert Real(0, 1).decode((0.1 + 0.2,)) == 0.3
    assert str(Real(-5, 5).decode((0.5 - 1e-14,))) == "0.0"
    assert Real(1e-4, 1.0, log=True).decode((0.5,)) == 0.01
    tenths = Real(0, 1, step=0.1)
    assert [tenths.decode((k / 10,)) for k in range(11)] == [k / 10 for k in range(11)]
    assert tenths.check("x", 0.1 + 0.2) == 0.3
    around_zero = Real(-0.3, 0.3, step=0.1)
    assert str(around_zero.decode((0.5,))) == "0.0"
    assert Real(1e6, 1e6 + 1e-6).decode((0.5,)) not in (1e6, 1e6 + 1e-6)


def test_the_nearer_of_two_values_is_taken():
    for parameter in (Choice([0, 1]), Integer(0, 1), Real(0, 1, step=1)):
        assert [parameter.decode((u,)) for u in (0.0, 0.499, 0.501, 1.0)] == [0, 0, 1, 1]


def test_high_is_lowered_to_the_last_step():
    assert Real(0, 1, step=0.3).high == 0.9
    assert Real(0, 0.3, step=0.1).high == 0.3
    assert Real(0, 1, step=0.3) == Real(0, 0.9, step=0.3)
    assert Integer(1, 10, step=4).high == 9
    assert Integer(1, 4, step=2).high == 3


@settings(max_examples=300)
@given(parameter=parameters, each=st.integers(1, 4))
def test_quantiles_are_uniform(parameter, each):
    if parameter.count is None:
        u = np.linspace(0.0, 1.0, 7, endpoint=False)
        np.testing.assert_array_equal(parameter.quantile(u), u[:, None])
        return
    if isinstance(parameter, Integer) and parameter.log:  # by the room that each has in the log
        u = np.linspace(0.0, 1.0, 50)
        values = [parameter.decode(point) for point in parameter.quantile(u).tolist()]
        if parameter.width:
            nearest = parameter.low * (parameter.high / parameter.low) ** u
            assert np.all(np.abs(np.array(values) - nearest) <= 1.0 + 1e-6 * nearest)
        return
    if parameter.count > 200:
        points = parameter.quantile(np.array([0.0, 0.5, np.nextafter(1.0, 0.0)]))
        levels = [0, math.floor(0.5 * parameter.count), parameter.count - 1]
    else:
        u = (np.arange(each * parameter.count) + 0.5) / (each * parameter.count)
        points = parameter.quantile(u)
        levels = np.repeat(np.arange(parameter.count), each)
    assert points.shape == (len(levels), parameter.width)
    for point, level in zip(points.tolist(), levels, strict=True):
        if parameter.width:
            assert parameter.decode(point) == value_of(parameter, int(level))
        assert tuple(point) == pytest.approx(parameter.encode(parameter.decode(point)), abs=1e-15)


def test_plain_values_come_out_whatever_came_in():
    assert type(Real(np.float32(0.5), np.int64(2)).low) is float
    assert type(Integer(np.int64(1), np.int32(3)).high) is int
    assert Choice(np.array(["a", "b"])).values == ("a", "b")
    members = Choice([np.float64(0.5), np.True_, np.str_("a"), None]).values
    assert [type(value) for value in members] == [float, bool, str, type(None)]
    for value in (2, 2.0, np.int64(2), np.float64(2.0)):
        assert type(Integer(1, 3).check("n", value)) is int
        assert type(Real(1, 3).check("x", value)) is float
    assert type(Choice([1, 2]).check("c", 1.0)) is int
    assert Choice(["a", True]).check("c", np.True_) is True


@pytest.mark.parametrize(
    ("parameter", "values", "message"),
    [
        (
            Real(0, 1),
            [-1e-9, 1.1, math.nan, math.inf, 10**400, "0.5", None, True, [0.5], np.zeros(1), 1j],
            "x must be a number from 0.0 to 1.0, got ",
        ),
        (
            Real(0, 1, step=0.1),
            [0.05, 0.30001, 1.1, 1e300, math.nan, "0.1", None],
            "x must be a number from 0.0 to 1.0 in steps of 0.1, got ",
        ),
        (
            Integer(1, 8),
            [0, 9, 2.5, 2**70, math.nan, math.inf, "2", None, True, np.True_, [2]],
            "x must be an integer from 1 to 8, got ",
        ),
        (Integer(1, 9, step=2), [2, 10, 4.0], "x must be an integer from 1 to 9 in steps of 2, "),
        (
            Choice(["a", 1, None]),
            ["b", 2, True, False, math.nan, ["a"], np.array(["a", "a"]), {}],
            "x must be one of 'a', 1, None, got ",
        ),
        (Choice([True, False]), [1, 0, "True", None], "x must be one of True, False, got "),
    ],
)
def test_values_that_are_refused(parameter, values, message):
    for value in values:
        with pytest.raises(InputError) as caught:
            parameter.check("x", value)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real(1, 0), "low must not be above high, got low 1.0 and high 0.0"),
        (lambda: Real("0", 1), "low must be a finite number, got '0'"),
        (lambda: Real(0, math.inf), "high must be a finite number, got inf"),
        (lambda: Real(0, math.nan), "high must be a finite number, got nan"),
        (lambda: Real(False, 1), "low must be a finite number, got False"),
        (lambda: Real(0, 1.7e308), "must be within 1e+300 of 0"),
        (lambda: Real(0, 1, log=True), "log=True needs low above 0, got 0.0"),
        (lambda: Real(1, 2, log=1), "log must be True or False, got 1"),
        (lambda: Real(1, 2, log=True, step=0.1), "log and step do not go together"),
        (lambda: Real(0, 1, step=0), "step must be above 0, got 0.0"),
        (lambda: Real(0, 1, step="a"), "step must be a finite number, got 'a'"),
        (lambda: Real(0, 1, step=1e-12), "step 1e-12 is too small for 0.0 to 1.0"),
        (lambda: Real(1e6, 1e6 + 1, step=1e-10), "too small"),
        (lambda: Integer(1, 2.5), "high must be an integer, got 2.5"),
        (lambda: Integer(1.0, 2), "low must be an integer, got 1.0"),
        (lambda: Integer(True, 2), "low must be an integer, got True"),
        (lambda: Integer(3, 2), "low must not be above high, got low 3 and high 2"),
        (lambda: Integer(0, 2, log=True), "log=True needs low above 0, got 0"),
        (lambda: Integer(1, 9, log=True, step=2), "log and step do not go together"),
        (lambda: Integer(1, 9, step=0), "step must be 1 or more, got 0"),
        (lambda: Integer(1, 9, step=1.5), "step must be an integer, got 1.5"),
        (lambda: Integer(0, 10**14), "must be within 10000000000000 of 0"),
        (lambda: Choice([]), "values must be a list of one value or more, got []"),
        (lambda: Choice("abc"), "values must be a list of one value or more, got 'abc'"),
        (lambda: Choice({1, 2}), "values must be a list of one value or more, got {1, 2}"),
        (lambda: Choice([1, True]), "values must differ from each other, got [1, True]"),
        (lambda: Choice(["a", "a"]), "values must differ"),
        (lambda: Choice([0.5, math.nan]), "a value of a Choice must be finite, got nan"),
        (lambda: Choice([(1, 2), "a"]), "must be a string, a number, a bool or None, got (1, 2)"),
        (lambda: parameter_from("lr", {}), "parameter 'lr': type must be one of ['real', 'int"),
        (lambda: parameter_from("lr", {"type": "float"}), "got 'float'"),
        (lambda: parameter_from("lr", {"type": ["real"]}), "got ['real']"),
        (
            lambda: parameter_from("lr", {"type": "real", "low": 0, "hgih": 1}),
            "'log', 'step', 'digits', 'at_least', 'when'], got ['low', 'hgih']",
        ),
        (lambda: parameter_from("lr", {"type": "choice", "values": 3}), "'lr': values must be"),
        (lambda: parameter_from("lr", {"type": "real", "low": 2, "high": 1}), "'lr': low must"),
    ],
)
def test_parameters_that_are_refused(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)


# Constraints as text


@st.composite
def expressions(draw, depth=2):
    """A linear expression: products have a number on one side."""
    number = st.sampled_from(["1", "2.5", "0.125", "3e1", "-4", "+7"])
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.one_of(st.sampled_from(["x", "y", "long_name"]), number))
    left, right = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    factor = draw(number)
    return draw(
        st.sampled_from(
            [
                f"{left} + {right}",
                f"{left} - ({right})",
                f"({left}) * {factor}",
                f"{factor}*({left})",
                f"({left}) / {factor}",
                f"-({left})",
            ]
        )
    )


@settings(max_examples=200)
@given(
    sides=st.tuples(expressions(), expressions(), expressions()),
    operators=st.tuples(*[st.sampled_from(["<=", ">=", "<", ">"])] * 2),
    values=st.tuples(*[st.integers(-50, 50)] * 3),
)
def test_constraints_mean_what_python_means(sides, operators, values):
    params = dict(zip(("x", "y", "long_name"), values, strict=True))
    text = f" {sides[0]} {operators[0]} {sides[1]} {operators[1]} {sides[2]}"
    try:
        constraints = parse(text)
    except InputError as error:
        assert "compares no parameter" in str(error)  # noqa: PT017 - whether it is raised depends
        return
    numbers = [eval(side, {}, params) for side in sides]
    for constraint, operator, left, right in zip(
        constraints, operators, numbers[:-1], numbers[1:], strict=True
    ):
        excess = left - right if "<" in operator else right - left
        assert constraint.text == text
        assert constraint.excess(params) == pytest.approx(excess, rel=1e-9, abs=1e-6)
        if abs(excess) > 1e-3:
            assert constraint.is_met(params) == (excess < 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x*y <= 1", "is not linear: it multiplies parameters"),
        ("(x + 1)*(y - x) <= 1", "is not linear: it multiplies parameters"),
        ("1/x <= 1", "is not linear: it divides by a parameter"),
        ("x/0 <= 1", "divides by 0"),
        ("x/(1 - 1) <= 1", "divides by 0"),
        ("x**2 <= 1", "is not linear: it has a power or a function"),
        ("abs(x) <= 1", "is not linear: it has a power or a function"),
        ("x != y", "cannot be read"),
        ("x in y", "cannot be read"),
        ("x <= 1 and y <= 1", "cannot be read"),
        ("x + y", "cannot be read"),
        ("x <=", "cannot be read"),
        ("", "cannot be read"),
        ("x <= '1'", "cannot be read"),
        ("x <= True", "cannot be read"),
        ("x <= 1j", "cannot be read"),
        ("x <= y[0]", "cannot be read"),
        ("lambda <= 1", "cannot be read"),
        ("x <= 1\0", "cannot be read"),
        ("(" * 500 + "x" + ")" * 500 + " <= 1", "cannot be read"),
        ("-" * 100000 + "x <= 1", "cannot be read"),
        ("+".join(["x"] * 5000) + " <= 1", "cannot be read"),
        ("1 <= 2", "compares no parameter"),
        ("x - x <= 2", "compares no parameter"),
        ("0 <= x <= 1 <= 2", "compares no parameter"),
        ("x <= 1e999", "finite coefficients"),
        ("1e300*1e300*x <= 1", "finite coefficients"),
        (f"x <= 1{'0' * 400}", "finite coefficients"),
        (3, "must be a string such as 'x + y <= 1', got 3"),
    ],
)
def test_constraints_that_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert message in str(caught.value)


# Spaces


@st.composite
def modest_reals(draw):
    if draw(st.booleans()):
        low = 10.0 ** draw(st.floats(-9.0, 3.0))
        return Real(low, low * 10.0 ** draw(st.floats(0.1, 9.0)), log=True)
    low = draw(decimals)
    return Real(low, low + draw(st.integers(1, 10**6)) / 1000)


few_values = st.one_of(
    stepped(),
    choices,
    st.builds(Integer, st.integers(-5, 0), st.integers(3, 9), step=st.integers(1, 3)),
    st.builds(Integer, st.integers(1, 3), st.integers(4, 99), log=st.just(True)),
)


@st.composite
def constraints_of(draw, space):
    """One to three constraints that a point of the space meets, with some room."""
    point = space.decode(draw(st.lists(st.floats(0, 1), min_size=space.d, max_size=space.d)))
    terms = {
        name: 0.0 if isinstance(p, (int, float)) else p.high - p.low
        for name, p in space.parameters.items()
        if not isinstance(p, (Choice, str, bool, type(None))) and not getattr(p, "log", False)
    }
    texts = []
    for _ in range(draw(st.integers(1, 3)) if any(terms.values()) else 0):
        c = {name: draw(st.sampled_from([1.0, -1.0, 0.5, -3.0, 0.1, 0.0])) for name in terms}
        if any(c.values()):
            room = 0.05 * sum(abs(c[name]) * reach for name, reach in terms.items())
            limit = sum(c[name] * point[name] for name in terms) + room
            texts.append(" + ".join(f"{c[name]!r}*{name}" for name in terms) + f" <= {limit!r}")
    return texts


@st.composite
def spaces(draw, discrete=False, constrained=None):
    """A few parameters, one of them fixed."""
    some = few_values if discrete else st.one_of(few_values, modest_reals())
    size = draw(st.integers(1, 3 if discrete else 5))
    given = {name: draw(some) for name in "abcde"[:size]}
    assume(any(parameter.width for parameter in given.values()))
    given["fixed"] = draw(plains)
    space = Space(given)
    if draw(st.booleans()) if constrained is None else constrained:
        return Space(given, constraints=draw(constraints_of(space)))
    return space


def exact_excess(constraint, params):
    terms = (Fraction(c) * Fraction(params[n]) for n, c in constraint.coefficients.items())
    return sum(terms) - Fraction(constraint.limit)


@settings(max_examples=250)
@given(space=spaces(), seed=st.integers(0, 2**16))
def test_spaces_keep_what_they_are_given(space, seed):
    for x in np.random.default_rng(seed).random((3, space.d)):
        params = space.decode(x)
        assert tuple(params) == space.names
        point = space.encode(params)
        assert point.shape == (space.d,)
        assert space.decode(point) == params
        np.testing.assert_array_equal(space.encode(space.decode(point)), point)
        for name, parameter in space.parameters.items():
            assert name != "fixed" or params[name] == parameter
            if name != "fixed":
                assert tuple(point[space.columns[name]]) == parameter.encode(params[name])
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space
    assert pickle.loads(pickle.dumps(space)) == space
    assert eval(repr(space)) == space
    assert len({space, Space(dict(space.parameters), constraints=space.constraints)}) == 1


@settings(max_examples=200)
@given(space=spaces(), seed=st.integers(0, 2**16))
def test_points_are_valid(space, seed):
    X = np.vstack([space.sample(12, np.random.default_rng(seed)), space.spread(12, seed)])
    assert X.shape == (24, space.d)
    assert ((X >= 0.0) & (X <= 1.0)).all()
    # Rounding moves reals by a hair, and nothing else.
    np.testing.assert_allclose(space.encode_all([space.decode(x) for x in X]), X, atol=1e-9)
    for x in X:
        params = space.check(space.decode(x))
        for constraint in space.inequalities:
            free = (space.parameters[name] for name in constraint.coefficients)
            if any(isinstance(p, Real) and p.count is None for p in free):
                assert exact_excess(constraint, params) <= 0
    np.testing.assert_array_equal(space.spread(5, seed), X[12:17])


@settings(max_examples=150)
@given(space=spaces(constrained=True), seed=st.integers(0, 2**16))
def test_the_domain_is_where_the_constraints_are_met(space, seed):
    domain = space.domain()
    for x in space.encode_all(
        [space.decode(u) for u in np.random.default_rng(seed).random((8, space.d))]
    ):
        params = space.decode(x)
        excess = [exact_excess(c, params) for c in space.inequalities]
        size = [
            sum(abs(v * params[n]) for n, v in c.coefficients.items()) for c in space.inequalities
        ]
        if all(abs(e) > 1e-6 * (s + 1.0) for e, s in zip(excess, size, strict=True)):
            met = all(e < 0 for e in excess)
            assert domain.contains(x, 0.0) == met
            if met:
                assert space.check(params) == params
            else:
                with pytest.raises(InputError, match="is not met by"):
                    space.check(params)


def values_of(parameter):
    return (
        [value_of(parameter, k) for k in range(parameter.count)]
        if parameter.width
        else [parameter.decode(())]
    )


@settings(max_examples=150)
@given(space=spaces(discrete=True))
def test_everything_is_everything(space):
    assume(space.count <= 300)
    names = [name for name in space.names if name != "fixed"]
    values = [values_of(space.parameters[name]) for name in names]
    assert space.count == math.prod(map(len, values))
    expected = []
    for combination in itertools.product(*values):
        params = {**dict(zip(names, combination, strict=True)), "fixed": space.parameters["fixed"]}
        if all(exact_excess(c, params) <= Fraction(1, 10**9) for c in space.inequalities):
            expected.append(params)
    X = space.everything(len(expected))
    assert space.everything(len(expected) - 1) is None
    assert [space.decode(x) for x in X] == expected
    np.testing.assert_array_equal(space.encode_all(expected), X)
    assert space.domain().contains(X, 0.0).all()


def test_a_continuous_space_has_no_end():
    space = Space({"x": Real(0, 1), "n": Integer(1, 3)})
    assert space.count is None
    assert space.everything(10**9) is None


def test_spread_is_balanced_and_goes_on():
    space = Space(
        {
            "two": Choice(["a", "b"]),
            "four": Choice([1, 2, 3, 4]),
            "eight": Integer(1, 8),
            "x": Real(-1, 1),
            "steps": Real(0, 0.3, step=0.1),
        }
    )
    params = [space.decode(x) for x in space.spread(64, 3)]
    for name, count in {"two": 2, "four": 4, "eight": 8, "steps": 4}.items():
        assert set(Counter(p[name] for p in params).values()) == {64 // count}
        assert len({p[name] for p in params}) == count
    assert sorted(math.floor((p["x"] + 1.0) * 32) for p in params) == list(range(64))
    for size in (1, 3, 8, 63):
        np.testing.assert_array_equal(space.spread(size, 3), space.spread(64, 3)[:size])
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(space.spread(8, generator), space.spread(8, 3))
    assert (space.spread(8, generator) != space.spread(8, 3)).any()


@pytest.mark.parametrize("limit", [0.5, 1e-3])
def test_spread_goes_on_under_constraints(limit):
    """Few Sobol points, or none, lie in the corner: random ones follow, always the same."""
    given = {name: Real(0, 1) for name in "abc"} | {"n": Integer(0, 50)}
    space = Space(given, constraints=[f"a + b + c + n <= {limit}"])
    X = space.spread(40, 7)
    for x in X:
        params = space.check(space.decode(x))
        assert sum(params.values()) <= limit
    for size in (1, 17, 33):
        np.testing.assert_array_equal(space.spread(size, 7), X[:size])
    assert len(np.unique(X, axis=0)) == 40


def test_what_a_maximizer_is_told():
    space = Space(
        {
            "x": Real(0, 1),
            "n": Integer(2, 8, step=2),
            "fixed": 3,
            "k": Integer(2, 8, log=True),
            "c": Choice([1, 2, 3]),
            "b": Choice([False, True]),
            "one": Choice(["only"]),
            "s": Real(0, 1, step=0.25),
        },
        constraints=["0 <= 2*x + n - fixed <= 4"],
    )
    domain = space.domain()
    assert domain.discrete == (
        Ordinal(1, 4),
        Ordinal(2, 7, 4.0),
        OneHot(3, 3),
        Ordinal(6, 2),
        Ordinal(7, 5),
    )
    # x = 0.75 and n = 4 against -2 x - 6 (n - 2) / 6 <= -1 and 2 x + 6 (n - 2) / 6 <= 5.
    x = space.encode({"x": 0.75, "n": 4, "k": 2, "c": 1, "b": True, "one": "only", "s": 0.5})
    room = np.sort((domain.b - domain.A @ x) / np.abs(domain.A).max(axis=1) * 6.0)
    np.testing.assert_allclose(room, [1.5, 2.5], atol=1e-7)


def test_parameters_held_for_one_request():
    space = Space(
        {
            "a": Real(0, 1),
            "b": Real(0, 1),
            "n": Integer(0, 3),
            "c": Choice(["x", "y", "z"]),
            "f": 1,
        },
        constraints=["a + b + n <= 2"],
    )
    generator = np.random.default_rng(0)
    zeros = {"a": 0.0, "b": 0.0, "c": "x"}
    for fixed in (
        {"a": 0.25, "c": "y"},
        {"n": 2},
        {"a": 1.0, "n": 1, "f": 1},
        {"a": 1.0, "b": 1.0},
    ):
        for x in space.domain(fixed).sample(20, generator):
            params = space.check(space.decode(x))
            assert {name: params[name] for name in fixed} == fixed
    assert space.domain({"a": 0.0, "b": 0.0}).contains(space.encode({**zeros, "n": 2}), 0.0)
    # What is left of reals is nothing but their end.
    assert space.decode(space.domain({"n": 2}).sample(1, generator)[0])["b"] == 0.0
    for fixed, message in [
        ({"n": 3}, "constraints ['a + b + n <= 2'] leave nothing to search with {'n': 3}"),
        ({"z": 3}, "fixed names 'z', but the names are ['a', 'b', 'n', 'c', 'f']"),
        ({"n": 7}, "n must be an integer from 0 to 3, got 7"),
        ({"f": 2}, "f must be one of 1, got 2"),
        (["n"], "fixed must be a mapping"),
    ]:
        with pytest.raises(InputError) as caught:
            space.domain(fixed)
        assert message in str(caught.value)


@settings(max_examples=150)
@given(space=spaces(constrained=True), seed=st.integers(0, 2**16), data=st.data())
def test_what_some_point_has_can_be_held(space, seed, data):
    generator = np.random.default_rng(seed)
    point = space.decode(space.sample(1, generator)[0])
    held = data.draw(st.sets(st.sampled_from(space.names)))
    fixed = {name: point[name] for name in held}
    for x in space.domain(fixed).sample(5, generator):
        params = space.check(space.decode(x))
        assert {name: params[name] for name in held} == fixed


MIXED = Space({"x": Real(0, 1), "n": Integer(1, 3), "f": "cpu"}, constraints=["x + n <= 3"])


def test_params_are_put_in_order():
    params = MIXED.check({"n": np.int64(2), "x": 1})
    assert list(params.items()) == [("x", 1.0), ("n", 2), ("f", "cpu")]
    assert MIXED.check({"f": "cpu", "n": 3, "x": 0}) == {"x": 0.0, "n": 3, "f": "cpu"}
    np.testing.assert_array_equal(MIXED.encode({"n": 2, "x": 1}), [1.0, 0.5])
    assert MIXED.encode_all([]).shape == (0, 2)
    assert MIXED.d == 2
    assert Space({"a": Real(0, 1), "b": Real(0, 1)}) != Space({"b": Real(0, 1), "a": Real(0, 1)})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"x": 0.5}, "missing ['n'], unknown []"),
        ({"x": 0.5, "n": 1, "z": 3, "f": "cpu"}, "missing [], unknown ['z']"),
        ({"x": 0.5, 1: 1}, "missing ['n'], unknown [1]"),
        ({"x": 0.5, "n": 1, "f": "gpu"}, "f must be one of 'cpu', got 'gpu'"),
        ({"x": 0.5, "n": 1.5}, "n must be an integer from 1 to 3, got 1.5"),
        ({"x": math.nan, "n": 1}, "x must be a number from 0.0 to 1.0, got nan"),
        ({"x": 1e-6, "n": 3}, "constraint 'x + n <= 3' is not met by {'x': 1e-06, 'n': 3, "),
        ([("x", 1)], "params must be a mapping"),
        (None, "params must be a mapping"),
    ],
)
def test_params_that_are_refused(params, message):
    with pytest.raises(InputError) as caught:
        MIXED.check(params)
    assert message in str(caught.value)


def test_points_that_are_refused():
    with pytest.raises(InputError, match=r"x must have shape \(2,\), got shape \(3,\)"):
        MIXED.decode([0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="x must be finite"):
        MIXED.decode([0.1, math.nan])
    with pytest.raises(InputError, match="size must be an integer of 1 or more"):
        MIXED.spread(0, 1)


X, N = Real(0, 1), Integer(0, 5)


@pytest.mark.parametrize(
    ("parameters", "constraints", "message"),
    [
        ({}, (), "a space needs a parameter with two values or more"),
        ({"a": 1, "b": Real(2, 2), "c": Choice(["x"])}, (), "two values or more"),
        ([("x", X)], (), "parameters must be a mapping"),
        ({"": X}, (), "names of parameters must be non-empty strings, got ''"),
        ({3: X}, (), "names of parameters must be non-empty strings, got 3"),
        ({"x": (0, 1)}, (), "parameter 'x' must be a Real, Integer or Choice, or a plain value"),
        ({"x": X, "y": math.nan}, (), "parameter 'y' must be a Real, Integer or Choice"),
        ({"x": Real}, (), "parameter 'x' must be a Real, Integer or Choice"),
        ({"x": X}, "x <= 0.5", "constraints must be a list of strings, got 'x <= 0.5'"),
        ({"x": X}, None, "constraints must be a list of strings, got None"),
        ({"x": X}, [3], "a constraint must be a string"),
        ({"x": X}, ["x + z <= 1"], "names 'z', but the names are ['x']"),
        ({"x": X, "c": Choice([1, 2])}, ["x <= c"], "names 'c', which is not a number"),
        ({"x": X, "c": "one"}, ["x <= c"], "names 'c', which is not a number: it is 'one'"),
        ({"x": X, "c": True}, ["x <= c"], "names 'c', which is not a number"),
        ({"x": X, "c": None}, ["x <= c"], "names 'c', which is not a number"),
        ({"x": X, "y": Real(1, 2, log=True)}, ["x == y"], "an equation that is not linear"),
        ({"x": X, "y": Integer(1, 2, log=True)}, ["x == y"], "an equation that is not linear"),
        ({"x": X, "c": 10**400}, ["x <= c"], "which is too large to compute with"),
        ({"x": Real(0, 1e300)}, ["1e20*x <= 1"], "terms too large to compute with"),
        ({"x": X, "y": X}, ["x + y >= 2.1"], "['x + y >= 2.1'] leave nothing to search"),
        ({"x": X, "y": X}, ["x <= y", "x >= y"], "['x <= y', 'x >= y'] leave nothing"),
        ({"x": X, "y": X}, ["x + y == 3"], "constraints ['x + y == 3'] leave nothing to search"),
        ({"x": X, "y": X}, ["x + y == 1", "x + y = 0.9"], "leave nothing to search"),
        ({"x": X, "n": N}, ["0 <= n == x - 1.5"], "leave nothing to search"),
        ({"n": N, "m": N}, ["2*n == 2*m + 1"], "['2*n == 2*m + 1'] leave nothing to search"),
        ({"x": X, "c": 3}, ["c <= 2"], "['c <= 2'] leave nothing to search"),
        ({"x": X, "y": Real(3, 3)}, ["y <= 2"], "['y <= 2'] leave nothing to search"),
        ({"n": N, "m": N}, ["0.1 <= 2*n - 2*m <= 1.9"], "leave nothing to search"),
    ],
)
def test_spaces_that_are_refused(parameters, constraints, message):
    with pytest.raises(InputError) as caught:
        Space(parameters, constraints=constraints)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "a space takes the table 'parameters' and the list 'constraints', got {}"),
        ({"parameters": {"x": X.to_dict()}, "constraint": []}, "a space takes the table"),
        ({"parameters": []}, "a space takes the table"),
        ({"parameters": {"x": {"type": "rael"}}}, "parameter 'x': type must be one of"),
        ({"parameters": {"x": X.to_dict()}, "constraints": "x <= 1"}, "must be a list of strings"),
        (None, "space must be a table"),
    ],
)
def test_tables_that_are_refused(table, message):
    with pytest.raises(InputError) as caught:
        Space.from_dict(table)
    assert message in str(caught.value)


def test_constraints_over_constants():
    space = Space({"x": X, "a": 0.1, "b": 0.2}, constraints=["a + b <= 0.3", "x <= a + b"])
    assert space.check({"x": 0.3})["x"] == 0.3
    x = space.sample(50, np.random.default_rng(0))
    assert 0.2 < x.max() <= 0.3


def test_a_level_on_the_limit_is_in_and_the_next_one_is_out():
    for high in (10, 10**4, 10**9):
        space = Space({"n": Integer(0, high), "m": Integer(0, high)}, constraints=["n - m <= 1"])
        domain = space.domain()
        for n, inside in ((high, True), (high - 1, True)):
            assert domain.contains(space.encode({"n": n, "m": n - 1}), 0.0) == inside
            assert not domain.contains(space.encode({"n": n, "m": n - 2}), 0.0)
    tenths = Space(
        {"a": Real(0, 1, step=0.1), "b": Real(0, 1, step=0.1)}, constraints=["a+b <= 0.3"]
    )
    assert len(tenths.everything(1000)) == 10
