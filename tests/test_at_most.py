"""At most some of several components: every suggestion keeps to it, and the best are found."""

import csv
import io
import json
import pickle
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import innerloop as il
from commands import call
from innerloop import AtMost, Choice, InputError, Integer, Real, Space
from innerloop.domain.supports import Supports
from innerloop.report.report import html_of


def mixture(n, number, at_least=None, digits=None):
    names = [f"x{k}" for k in range(n)]
    return Space(
        {name: Real(0, 1, at_least=at_least, digits=digits) for name in names},
        constraints=[" + ".join(names) + " == 1", AtMost(number, names)],
    )


def subsets(names):
    return chain.from_iterable(combinations(names, k) for k in range(len(names) + 1))


def number_present(params, names):
    return sum(params[name] != 0.0 for name in names)


@st.composite
def sparse_spaces(draw):
    """A space with limits on what is present, and a point of it, which meets all of them."""
    given, point = {}, {}
    names = list("abcdef"[: draw(st.integers(2, 6))])
    for name in names:
        low = draw(st.sampled_from([0.0, 0.0, 0.0, -1.0, -0.3]))
        high = draw(st.sampled_from([1.0, 0.7, 20.0]))
        least = draw(st.sampled_from([None, 0.05, 0.25])) if low == 0.0 else None
        digits = draw(st.sampled_from([None, None, 3]))
        given[name] = Real(low, high, at_least=least, digits=digits)
        share = draw(st.sampled_from([0.0, 0.0, 0.3, 1.0]))
        point[name] = 0.0 if share == 0.0 else given[name].decode([share])
    given["n"], point["n"] = draw(
        st.sampled_from([(Integer(0, 3), 2), (Real(0, 1, step=0.25), 0.5), (2, 2)])
    )
    if draw(st.booleans()):
        given["kind"], point["kind"] = Choice(["u", "v", "w"]), "v"
    counts = []
    for _ in range(draw(st.integers(0, 2))):
        group = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        least = max(1, number_present(point, group))
        counts.append((draw(st.integers(least, max(least, len(group)))), group))
    numeric = [*names, "n"]
    value = {name: point[name] for name in numeric}
    linear = []
    kind = draw(st.sampled_from(["none", "equation", "inequality", "curve", "both"]))
    texts = []
    if kind in ("equation", "both"):
        c = {name: draw(st.sampled_from([1, 1, 1, 0.5, -1])) for name in names}
        total = sum(c[name] * value[name] for name in names)
        texts.append(" + ".join(f"{c[n]!r}*{n}" for n in names) + f" == {total!r}")
        linear.append((c, total, True))
    if kind in ("inequality", "both"):
        c = {name: draw(st.sampled_from([1, 2, -1])) for name in numeric}
        total = sum(c[name] * value[name] for name in numeric) + 0.1
        texts.append(" + ".join(f"{c[n]!r}*{n}" for n in numeric) + f" <= {total!r}")
        linear.append((c, total, False))
    limit = sum(value[name] ** 2 for name in names) + 0.1
    if kind == "curve":
        texts.append(" + ".join(f"{name}**2" for name in names) + f" <= {limit!r}")
    space = Space(given, constraints=[*texts, *(AtMost(k, group) for k, group in counts)])
    return space, counts, linear, limit if kind == "curve" else None, point


def assert_met(example, params):
    space, counts, linear, limit, _ = example
    for number, group in counts:
        assert number_present(params, group) <= number
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Real):
            assert parameter.low <= params[name] <= parameter.high
            least = parameter.at_least
            assert least is None or params[name] == 0.0 or params[name] >= least
    for c, total, is_equation in linear:
        terms = [c[name] * params[name] for name in c]
        slack = 1e-9 * (sum(map(abs, terms)) + abs(total))
        assert sum(terms) <= total + slack
        assert not is_equation or sum(terms) >= total - slack
    if limit is not None:
        assert sum(params[name] ** 2 for name in params if name in "abcdef") <= limit * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(example=sparse_spaces(), seed=st.integers(0, 2**16))
def test_points_of_all_sorts_are_allowed_and_decode_to_themselves(example, seed):
    space, point = example[0], example[-1]
    assert space.check(point) == point
    rng, domain = np.random.default_rng(seed), space.domain()
    X = np.vstack([space.sample(6, rng), space.spread(6, seed), domain.interior])
    X = np.vstack([X, domain.project(rng.uniform(-1.0, 2.0, (6, space.d)))])
    moved = domain.neighbours(X[:, None], rng).sets[:, 0]
    X = np.vstack([X, moved[rng.permutation(len(moved))[:6]]])
    assert domain.contains(X).all()
    np.testing.assert_array_equal(domain.project(X), X)
    for x in X:
        params = space.decode(x)
        assert_met(example, params)
        assert space.check(params) == params
        assert space.decode(space.encode(params)) == params
    np.testing.assert_array_equal(space.spread(3, seed), space.spread(6, seed)[:3])


@settings(max_examples=8, deadline=None)
@given(example=sparse_spaces(), seed=st.integers(0, 2**16))
def test_every_suggestion_is_allowed(example, seed):
    """Asked, told, saved, loaded, and with a value held."""
    space, point = example[0], example[-1]
    optimizer = il.Optimizer(space, seed=seed, initial=3)
    for _ in range(2):
        for trial in optimizer.ask(2):
            numbers = [v for v in trial.params.values() if not isinstance(v, str)]
            optimizer.tell(trial, sum((v - 0.4) ** 2 for v in numbers))
    again = Space.from_dict(json.loads(json.dumps(space.to_dict())))
    assert again == space == pickle.loads(pickle.dumps(space))
    assert optimizer.ask(fixed={"a": point["a"]}).params["a"] == point["a"]
    for trial in optimizer.trials:
        assert_met(example, trial.params)
        assert space.check(trial.params) == trial.params


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(1, 6),
    switched=st.lists(st.booleans(), min_size=6, max_size=6),
    groups=st.lists(st.tuples(st.sets(st.integers(0, 5)), st.integers(0, 4)), max_size=3),
)
def test_supports_are_those_of_an_enumeration(n, switched, groups):
    columns = np.arange(n)
    member = np.array([[k in group for k in columns] for group, _ in groups], dtype=bool)
    most = np.array([number for _, number in groups], dtype=np.intp)
    supports = Supports(
        columns,
        np.zeros(n),
        np.zeros(n),
        np.array(switched[:n]),
        member.reshape(len(groups), n),
        most,
    )

    def allowed(present):
        return all(sum(present[k] for k in g if k < n) <= number for g, number in groups)

    def is_largest(present):
        grown = [[*present[:k], True, *present[k + 1 :]] for k in columns]
        return not any(allowed(grown[k]) for k in columns if not (present[k] or switched[k]))

    sets = [list(each) for each in product([False, True], repeat=n)]
    expected = {tuple(each) for each in sets if allowed(each) and is_largest(each)}
    found = supports.everything(2**n)
    assert {tuple(row) for row in found.tolist()} == expected
    assert len(found) == len(expected)
    assert supports.everything(len(expected) - 1) is None
    X = np.array(sets, dtype=float)
    exchanged = supports.exchanges(X > 0, 100, np.random.default_rng(0))
    assert supports.allowed(exchanged.present).all()
    changed = exchanged.present ^ (X[exchanged.owner] > 0)
    for change, before in zip(changed, X[exchanged.owner] > 0, strict=True):
        if change.sum() == 1:
            assert switched[int(np.flatnonzero(change)[0])]
        else:
            assert change.sum() == 2
            assert before[change].sum() == 1


def nearest_by_brute_force(wanted, names, number, least):
    """The distance to the nearest mixture, from SLSQP in every set of components."""
    best = np.inf
    for chosen in subsets(range(len(names))):
        if not 0 < len(chosen) <= number:
            continue
        bounds = [
            (least if k in chosen else 0.0, 1.0 if k in chosen else 0.0) for k in range(len(names))
        ]
        start = np.array([1.0 / len(chosen) if k in chosen else 0.0 for k in range(len(names))])
        found = minimize(
            lambda x: ((x - wanted) ** 2).sum(),
            start,
            jac=lambda x: 2.0 * (x - wanted),
            bounds=bounds,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0, "jac": np.ones_like},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        if abs(found.x.sum() - 1.0) < 1e-9:
            best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize("least", [None, 0.2])
def test_projections_are_the_nearest_of_all_supports(least):
    space = mixture(4, 2, least)
    wanted = np.random.default_rng(0).uniform(-0.3, 1.3, (25, 4))
    found = space.domain().project(wanted)
    for x, y in zip(wanted, found, strict=True):
        expected = nearest_by_brute_force(x, space.names, 2, least or 0.0)
        assert ((y - x) ** 2).sum() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("least", [None, 0.15])
@pytest.mark.parametrize("number", [1, 2])
def test_the_acquisition_is_maximized_over_all_supports(least, number):
    space = mixture(5, number, least)
    rng = np.random.default_rng(number)
    X = space.spread(12, 3)
    y = -((X - rng.random(5)) ** 2).sum(axis=1) + 0.1 * np.sin(7 * X).sum(axis=1)
    posterior = il.fit(X, y).condition(X, y)
    utility = il.ExpectedImprovement(y.max())
    found = il.suggest(posterior, 1, utility, domain=space.domain(), seed=0)
    acquisition = il.Incremental(utility, posterior, np.zeros((1, 1)))

    def loss(x):
        value, grad = acquisition.value_and_grad(x[None, None])
        return -float(value[0]), -grad[0, 0]

    best = -np.inf
    for chosen in subsets(range(5)):
        if not 0 < len(chosen) <= number:
            continue
        bounds = [(least or 0.0, 1.0) if k in chosen else (0.0, 0.0) for k in range(5)]
        for _ in range(4):
            start = np.zeros(5)
            start[list(chosen)] = rng.dirichlet(np.ones(len(chosen)))
            ended = minimize(
                loss,
                start,
                jac=True,
                bounds=bounds,
                constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0, "jac": np.ones_like},
                method="SLSQP",
                options={"ftol": 1e-12},
            )
            if abs(ended.x.sum() - 1.0) < 1e-9:
                best = max(best, -float(ended.fun))
    assert found.value >= best * (1 - 1e-3)


@pytest.mark.parametrize("least", [None, 0.05])
def test_the_best_sparse_mixture_is_found(least):
    """Seven components, three at most: the optimum is known by its three components alone."""
    space = mixture(7, 3, least)
    wanted = np.array([0.0, 0.45, 0.1, 0.0, 0.35, 0.0, 0.2])
    weights = np.array([1.0, 2.0, 0.5, 1.0, 2.0, 1.0, 3.0])

    def loss(params):
        return float(weights @ (np.array(list(params.values())) - wanted) ** 2)

    best = np.inf
    for chosen in combinations(range(7), 3):
        # Lagrange: x = wanted - t / (2 weights) among those chosen, with t from the sum.
        some = list(chosen)
        t = 2.0 * (wanted[some].sum() - 1.0) / (1.0 / weights[some]).sum()
        x = np.zeros(7)
        x[some] = wanted[some] - t / (2.0 * weights[some])
        if (x[some] >= (least or 0.0)).all():
            best = min(best, loss(dict(enumerate(x))))
    result = il.minimize(loss, space, n_trials=40, batch_size=4, seed=0)
    assert result.value <= best + 2e-3
    assert number_present(result.params, space.names) == 3


def test_many_supports_are_searched_by_exchanges():
    """Of 4,368 sets of five of 16 components the best is found, and all suggestions are allowed."""
    names = [f"x{k}" for k in range(16)]
    space = Space({name: Real(0, 1) for name in names}, constraints=[AtMost(5, names)])
    gain = np.where(np.arange(16) % 3 == 0, 1.0, -1.0)

    def loss(params):
        x = np.array(list(params.values()))
        return float(-gain @ x + 0.1 * (x**2).sum())

    result = il.minimize(loss, space, n_trials=48, batch_size=6, seed=1)
    assert all(number_present(trial.params, names) <= 5 for trial in result.trials)
    # The best has five of the six that help, each as much as may be.
    assert result.value <= -5.0 + 0.5 + 0.05


def test_starting_designs_are_spread_over_supports():
    space = mixture(5, 2)
    designs = [space.decode(x) for x in space.spread(20, 0)]
    seen = {tuple(name for name in space.names if params[name]) for params in designs}
    assert len(seen) >= 8  # of ten
    optional = Space({"x": Real(0, 1, at_least=0.5), "y": Real(0, 1)})
    left_out = [optional.decode(x)["x"] == 0.0 for x in optional.spread(12, 0)]
    assert 3 <= sum(left_out) <= 9


@pytest.mark.parametrize(
    ("parameters", "constraints", "reason"),
    [
        # Two of at most 0.4 do not make a whole.
        (
            {n: Real(0, 0.4) for n in "abc"},
            ["a + b + c == 1", AtMost(2, ["a", "b", "c"])],
            "at most 2",
        ),
        ({n: Real(0, 1) for n in "ab"}, ["a >= 0.1", "b >= 0.1", AtMost(1, ["a", "b"])], "nothing"),
        ({"a": Real(0, 1, at_least=0.7), "b": Real(0, 0.2)}, ["a + b == 0.5"], "nothing to search"),
        ({"a": 0.5, "b": 0.2, "c": Real(0, 1)}, [AtMost(1, ["a", "b", "c"])], "1 too many"),
        ({"a": Real(1, 2), "b": Real(0, 1)}, [AtMost(1, ["a", "b"])], "never 0"),
        ({"a": Integer(0, 2), "b": Real(0, 1)}, [AtMost(1, ["a", "b"])], "not a real number"),
        ({"a": Real(0, 1), "b": Real(0, 1)}, [AtMost(1, ["a", "z"])], "the names are"),
    ],
)
def test_impossible_combinations_are_refused(parameters, constraints, reason):
    with pytest.raises(InputError, match=reason):
        Space(parameters, constraints=constraints)


def test_impossible_combinations_of_many_are_refused():
    names = [f"x{k}" for k in range(20)]
    with pytest.raises(InputError, match="leave nothing to search"):
        Space(
            {name: Real(0, 0.2) for name in names},
            constraints=[" + ".join(names) + " == 1", AtMost(4, names)],
        )


def test_limits_that_fail_say_why():
    parameters, count = {name: Real(0, 1) for name in "abc"}, AtMost(1, ["a", "b"])
    with pytest.raises(InputError, match="must return a number, got 'much'"):
        Space(parameters, constraints=[count, lambda params: "much"])
    with pytest.raises(InputError, match=r"'a\*\*2 \+ b\*\*2 >= 1\.1'.* leave nothing to search"):
        Space(parameters, constraints=[count, "a**2 + b**2 >= 1.1"])


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: AtMost(0, ["a"]), "1 or more"),
        (lambda: AtMost(1, "abc"), "a list of names"),
        (lambda: AtMost(1, ["a", "a"]), "must differ"),
        (lambda: AtMost(1, [1]), "must be strings"),
        (lambda: Real(0.1, 1, at_least=0.5), "low must be 0"),
        (lambda: Real(0, 1, at_least=1.5), "not above high"),
        (lambda: Real(0, 1, at_least=0.0), "above 0"),
        (lambda: Real(0, 1, step=0.1, at_least=0.5), "do not go together"),
        (lambda: Real(0, 1, digits=1, at_least=0.05), "more digits"),
    ],
)
def test_bad_arguments_are_refused(make, reason):
    with pytest.raises(InputError, match=reason):
        make()


def test_values_in_a_gap_are_refused_or_beyond_the_space():
    space = Space({"x": Real(0, 1, at_least=0.25), "y": Real(0, 1)})
    with pytest.raises(InputError, match=r"x must be 0 or a number from 0\.25 to 1"):
        space.check({"x": 0.1, "y": 0.5})
    optimizer = il.Optimizer(space, seed=0)
    assert optimizer.add({"x": 0.1, "y": 0.5}, 1.0).outside is not None
    assert optimizer.add({"x": 0.0, "y": 0.5}, 1.0).outside is None
    kind = space.parameters["x"]
    assert [kind.decode([u]) for u in (0.0, 0.1, 0.2, 0.25, 0.6)] == [0.0, 0.0, 0.25, 0.25, 0.6]


def test_too_many_are_refused_or_beyond_the_space():
    space = mixture(4, 2)
    whole = {"x0": 0.5, "x1": 0.3, "x2": 0.2, "x3": 0.0}
    with pytest.raises(InputError, match="'at most 2 of x0, x1, x2, x3' is not met"):
        space.check(whole)
    assert il.Optimizer(space, seed=0).add(whole, 1.0).outside is not None
    with pytest.raises(InputError, match="too many"):
        space.domain({"x0": 0.2, "x1": 0.2, "x2": 0.2})
    for x in space.domain({"x0": 0.5}).sample(20, np.random.default_rng(0)):
        params = space.decode(x, fixed={"x0": 0.5})
        assert params["x0"] == 0.5
        assert number_present(params, ["x1", "x2", "x3"]) <= 1


def test_finite_spaces_are_those_of_an_enumeration():
    steps = Real(0, 1, step=0.25)
    space = Space(
        dict.fromkeys("abc", steps), constraints=["a + b + c <= 1.5", AtMost(2, list("abc"))]
    )
    grid = product([0.0, 0.25, 0.5, 0.75, 1.0], repeat=3)
    expected = {v for v in grid if sum(v) <= 1.5 and sum(x != 0.0 for x in v) <= 2}
    found = [tuple(space.decode(x).values()) for x in space.everything()]
    assert set(found) == expected
    assert len(found) == len(expected)
    for x in space.sample(30, np.random.default_rng(0)):
        assert tuple(space.decode(x).values()) in expected


TOML = """
[a]
type = "real"
low = 0.0
high = 1.0
at_least = 0.05

[b]
type = "real"
low = 0.0
high = 1.0

[[constraint]]
expression = "a + b <= 1.5"

[[constraint]]
at_most = 1
of = ["a", "b"]
"""


def test_files_say_it_and_say_it_again(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(TOML)
    space = Space.from_toml(path)
    assert space == Space(
        {"a": Real(0, 1, at_least=0.05), "b": Real(0, 1)},
        constraints=["a + b <= 1.5", AtMost(1, ["a", "b"])],
    )
    path.write_text(space.to_toml())
    assert Space.from_toml(path) == space
    assert "at_least" not in Real(0, 1).to_dict()
    path.write_text(TOML.replace('of = ["a", "b"]', 'of = ["a", "z"]'))
    with pytest.raises(InputError, match=r"line 16: constraint 'at most 1 of a, z' names 'z'"):
        Space.from_toml(path)
    path.write_text(TOML.replace("at_least = 0.05", "at_least = 5"))
    with pytest.raises(InputError, match="line 6: parameter 'a': at_least must be"):
        Space.from_toml(path)
    path.write_text(TOML.replace("at_most = 1\n", ""))
    with pytest.raises(InputError, match="line 16: a constraint takes one key"):
        Space.from_toml(path)


def test_saved_and_loaded_it_goes_on_as_before(tmp_path):
    optimizer = il.Optimizer(mixture(4, 2, 0.1, 2), seed=1, initial=4)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, trial.params["x0"] - trial.params["x1"] ** 2)
    optimizer.save(tmp_path / "mixture.json")
    again, copied = il.Optimizer.load(tmp_path / "mixture.json"), pickle.dumps(optimizer)
    expected = optimizer.ask().params
    assert again.ask().params == pickle.loads(copied).ask().params == expected
    assert "at most 2 of x0, x1, x2, x3" in html_of(again)


@pytest.mark.parametrize("maximizer", ["adam", "bfgs", "cmaes", "direct", "successive_halving"])
@pytest.mark.parametrize("way", ["greedy", "joint"])
def test_all_maximizers_keep_to_it(maximizer, way):
    space = mixture(4, 2, 0.1)
    X = space.spread(8, 1)
    posterior = il.fit(X, X[:, 0] - X[:, 1] ** 2).condition(X, X[:, 0] - X[:, 1] ** 2)
    budget = il.Budget(evaluations=300)
    batch = il.suggest(
        posterior, 2, domain=space.domain(), maximizer=maximizer, way=way, budget=budget, seed=0
    )
    for x in batch.X:
        params = space.decode(x)
        assert space.check(params) == params
        assert number_present(params, space.names) <= 2


def test_studies_keep_to_it(tmp_path):
    (tmp_path / "space.toml").write_text(mixture(4, 2, 0.1, 2).to_toml())
    for _ in range(2):
        out, _ = call(tmp_path, "ask", "-n", 5, "-f", "csv", "--space", "space.toml", "--seed", 1)
        rows = list(csv.DictReader(io.StringIO(out)))
        told = [f"{row['id']},{float(row['x0']) - float(row['x1']) ** 2}" for row in rows]
        (tmp_path / "told.csv").write_text("\n".join(["id,value", *told, ""]))
        call(tmp_path, "tell", "told.csv")
    records = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert len(records) == 10
    space = mixture(4, 2, 0.1, 2)
    for record in records:
        assert space.check(record["params"]) == record["params"]
    call(tmp_path, "report")
