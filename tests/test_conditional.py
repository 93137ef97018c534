"""Parameters that apply only with certain values of others."""

import itertools
import json
import math

import numpy as np
import optuna
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.commands import call

from innerloop import AtMost, Choice, InputError, Integer, Optimizer, Real, Space, minimize
from innerloop.integrations.optuna import InnerLoopSampler
from innerloop.report.case import case_of_optimizer
from innerloop.report.payload import payload
from innerloop.report.subject import subject_of
from innerloop.space import toml
from innerloop.studies.command import Command

NETWORK = {
    "lr": Real(1e-5, 1e-1, log=True, when={"optimizer": "sgd"}),
    "optimizer": Choice(["sgd", "adam", "lion"]),
    "momentum": Real(0.0, 1.0, when={"optimizer": ["sgd", "lion"]}),
    "nesterov": Choice([False, True], when={"optimizer": "sgd"}),
    "damping": Real(0.0, 1.0, when={"nesterov": True}),
    "layers": Integer(1, 3),
    "units": Integer(4, 64, log=True, when={"layers": [2, 3], "optimizer": ["adam", "sgd"]}),
    "epochs": 3,
}
FINITE = {
    "n": Integer(1, 3, when={"kind": "a"}),
    "kind": Choice(["a", "b", "c"]),
    "way": Choice(["x", "y"], when={"kind": ["a", "b"]}),
    "size": Choice([1, 2, 3], when={"way": "x"}),
}


def applies(parameters, params, name):
    """Whether a parameter applies, by what `when` says."""
    when = getattr(parameters[name], "when", None) or {}
    return all(parent in params and params[parent] in when[parent] for parent in when)


def check(space, params):
    """Params hold what applies, in the order of the space and within bounds."""
    parameters = space.parameters
    assert list(params) == [name for name in space.names if applies(parameters, params, name)]
    for name, value in params.items():
        match parameters[name]:
            case Choice(values=values):
                assert value in values
            case Real() | Integer() as kind:
                assert kind.low <= value <= kind.high
            case fixed:
                assert value == fixed
    assert space.check(params) == params


@st.composite
def spaces(draw):
    """Spaces of a few parameters, each with conditions on some of those before it."""
    parameters, parents = {}, {}
    for k in range(draw(st.integers(2, 7))):
        when = {}
        for name in draw(st.sets(st.sampled_from(sorted(parents)), max_size=2)) if parents else ():
            when[name] = draw(st.lists(st.sampled_from(parents[name]), min_size=1, unique=True))
        name = f"p{k}"
        kind = draw(st.sampled_from(["real", "log", "integer", "binary", "choice"]))
        if kind in ("real", "log"):
            parameters[name] = Real(1.0, 9.0, log=kind == "log", when=when)
        elif kind == "integer":
            parameters[name] = Integer(1, draw(st.integers(2, 12)), when=when)
            parents[name] = [1, 2]
        else:
            parents[name] = ["u", "v"] if kind == "binary" else ["u", "v", None]
            parameters[name] = Choice(parents[name], when=when)
    names = draw(st.permutations(list(parameters)))
    return Space({name: parameters[name] for name in names})


@settings(max_examples=25, deadline=None)
@given(spaces(), st.integers(0, 2**20))
def test_points_decode_to_what_applies_and_back(space, seed):
    generator, domain = np.random.default_rng(seed), space.domain()
    anywhere = generator.random((20, space.d))
    points = [*space.spread(20, seed), *space.sample(20, generator), *domain.project(anywhere)]
    for x in points:
        params = space.decode(x)
        check(space, params)
        assert space.decode(space.encode(params)) == params
        assert domain.contains(space.encode(params))
    for moved in domain.neighbours(np.array(points)[:, None], generator).sets[:, 0]:
        assert domain.contains(moved)
        check(space, space.decode(moved))
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spaces(), st.integers(0, 2**20))
def test_asked_told_saved_and_loaded(tmp_path_factory, space, seed):
    path = tmp_path_factory.mktemp("saved") / "study.json"
    optimizer = Optimizer(space, seed=seed, initial=4)
    for k in range(3):
        for trial in optimizer.ask(2):
            check(space, trial.params)
            if k:
                optimizer.tell(trial, float(len(trial.params) + trial.id % 3))
    optimizer.save(path)
    again = Optimizer.load(path)
    assert [trial.params for trial in again.trials] == [trial.params for trial in optimizer.trials]
    asked = again.ask().params
    check(space, asked)
    assert asked == optimizer.ask().params
    assert math.isfinite(optimizer.predict(asked).mean)


def test_what_does_not_apply_is_no_difference_to_the_model():
    space, generator = Space(NETWORK), np.random.default_rng(0)
    optimizer = Optimizer(space, seed=0)
    for trial in optimizer.ask(8):
        optimizer.tell(trial, len(trial.params) + trial.params.get("momentum", 0.5))
    domain = space.domain()
    X = domain.sample(200, generator)
    idle = np.ones(X.shape, dtype=bool)
    for x, row in zip(X, idle, strict=True):
        for name in space.decode(x):
            row[space.columns[name]] = False
    assert idle.any(axis=0).sum() == 1 + 1 + 1 + 1 + 1  # lr, momentum, nesterov, damping, units
    elsewhere = domain.project(np.where(idle, generator.random(X.shape), X))
    assert np.array_equal(elsewhere, X)
    both = np.stack([X, elsewhere], axis=1)
    belief = optimizer.posterior.belief(both)
    assert np.allclose(belief.cov[:, 0, 0], belief.cov[:, 0, 1], rtol=0, atol=1e-12)
    slopes = domain.along(np.ones(X.shape), X)
    assert not slopes[idle].any()
    assert (slopes[~idle] == 1.0).all()


def test_a_branch_of_a_finite_space_counts_once():
    space = Space(FINITE)
    grid = itertools.product([1, 2, 3], "abc", "xy", [1, 2, 3])
    branches = set()
    for n, kind, way, size in grid:
        params = {"n": n, "kind": kind, "way": way, "size": size}
        kept = {}
        for name in ("kind", "n", "way", "size"):
            if applies(FINITE, kept, name):
                kept[name] = params[name]
        branches.add(frozenset(kept.items()))
    everything = [frozenset(space.decode(x).items()) for x in space.everything()]
    assert len(everything) == len(set(everything)) == space.count
    assert set(everything) == branches
    assert space.everything(limit=space.count - 1) is None
    only_b = [space.decode(x) for x in space.everything(fixed={"kind": "b"})]
    assert len(only_b) == 4
    assert {params["kind"] for params in only_b} == {"b"}
    result = minimize(lambda p: len(p) + (p["kind"] == "b"), space, n_trials=99, seed=0)
    assert result.stopped == "exhausted"
    assert {frozenset(trial.params.items()) for trial in result.trials} == branches


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"a": Real(0, 1, when={"b": 1})}, "applies only with values of 'b', but the names are"),
        (
            {"a": Real(0, 1, when={"b": 1}), "b": Real(0, 1)},
            "must be a Choice or an Integer: it is Real",
        ),
        (
            {"a": Real(0, 1, when={"b": [1, 4]}), "b": Integer(1, 3)},
            "has no such value: b must be an integer from 1 to 3, got 4",
        ),
        (
            {
                "a": Choice([1, 2], when={"b": 1}),
                "b": Choice([1, 2], when={"c": 1}),
                "c": Choice([1, 2], when={"b": 2}),
                "d": Real(0, 1),
            },
            "when goes in a circle: b needs c needs b",
        ),
    ],
)
def test_conditions_that_cannot_be(parameters, message):
    with pytest.raises(InputError, match=r"when|applies") as refused:
        Space(parameters)
    assert message in str(refused.value)


@pytest.mark.parametrize("when", ["x", {"a": []}, {1: "x"}, {"a": [[1]]}])
def test_when_that_cannot_be_read(when):
    with pytest.raises(InputError, match="when"):
        Real(0.0, 1.0, when=when)


def test_what_is_told_must_apply():
    optimizer = Optimizer(Space(NETWORK), seed=0)
    adam = {"optimizer": "adam", "layers": 1}
    assert optimizer.add(adam, 1.0).params == {**adam, "epochs": 3}
    with pytest.raises(InputError, match="lr applies only where optimizer is 'sgd', got"):
        optimizer.add({**adam, "lr": 1e-3}, 1.0)
    with pytest.raises(InputError, match=r"missing \['units'\]"):
        optimizer.add({"optimizer": "adam", "layers": 2}, 1.0)
    beyond = optimizer.add({"optimizer": "adam", "layers": 2, "units": 100}, 1.0)
    assert "units must be" in beyond.outside
    with pytest.raises(InputError, match="fixed names 'lr', so it has to fix more: lr applies"):
        optimizer.ask(fixed={"lr": 1e-3})
    fixed = {"lr": 1e-3, "optimizer": "sgd", "nesterov": True}
    trial = optimizer.ask(fixed=fixed)
    check(optimizer.space, trial.params)
    assert fixed.items() <= trial.params.items()
    assert "lr" not in optimizer.ask(fixed={"optimizer": "lion"}).params


def test_constraints_hold_where_all_that_they_name_applies():
    parameters = {
        "kind": Choice(["a", "b", "c"]),
        "x": Real(0, 1, when={"kind": "a"}),
        "y": Real(0, 1),
        "n": Integer(1, 5, when={"kind": ["a", "b"]}),
        "dose": Real(0, 1, at_least=0.3, when={"kind": "a"}),
        **{name: Real(0, 1) for name in "uvw"},
    }
    stated = ["x + y <= 0.7", "y * n >= 1", "u + v + w == 1", AtMost(2, ["u", "v", "w"])]

    def gentle(params):
        return params["y"] - 0.8 if "n" in params else params["y"] - 0.9

    space = Space(parameters, constraints=[*stated, gentle])
    found = [space.decode(x) for x in space.sample(60, np.random.default_rng(0))]
    for params in found:
        check(space, params)
        assert params.get("x", 0.0) + params["y"] <= 0.7 or params["kind"] != "a"
        assert params["y"] * params.get("n", np.inf) >= 1
        assert params["y"] <= (0.8 if "n" in params else 0.9)
        assert params.get("dose", 0.0) == 0.0 or params["dose"] >= 0.3
    assert {params["kind"] for params in found} == {"a", "b", "c"}
    with pytest.raises(InputError, match="an equation that is not linear"):
        Space(parameters, constraints=["x + y == 1"])
    with pytest.raises(InputError, match="which does not always apply"):
        Space(parameters, constraints=[AtMost(1, ["x", "y"])])


def test_another_space_with_conditions_and_back():
    plain = Space({"kind": Choice(["a", "b"]), "x": Real(0, 1), "y": Real(0, 1)})
    optimizer = Optimizer(plain, seed=0)
    first = optimizer.add({"kind": "a", "x": 0.1, "y": 0.2}, 1.0)
    second = optimizer.add({"kind": "b", "x": 0.3, "y": 0.4}, 2.0)
    when = Real(0, 1, when={"kind": "a"})
    new = Real(0, 1, when={"kind": "b"})
    optimizer.change_space(Space({**plain.parameters, "x": when}))
    assert [trial.params for trial in optimizer.trials] == [
        first.params,
        {"kind": "b", "y": 0.4},
    ]
    third = optimizer.add({"kind": "b", "y": 0.5}, 3.0)
    with pytest.raises(InputError, match="'x' is new: give a default"):
        optimizer.change_space(plain)
    with pytest.raises(InputError, match="'z' is new: give a default"):
        optimizer.change_space(Space({**plain.parameters, "x": when, "z": new}))
    optimizer.change_space(Space({**plain.parameters, "x": when, "z": new}), defaults={"z": 0.9})
    assert [trial.params.get("z") for trial in optimizer.trials] == [None, 0.9, 0.9]
    optimizer.change_space(plain, defaults={"x": 0.7}, drop=["z"])
    back = [first.params, second.params, {**third.params, "x": 0.7}]
    assert [trial.params for trial in optimizer.trials] == back


SPACE = """\
[optimizer]
type = "choice"
values = ["sgd", "adam"]

[lr]
type = "real"
low = 0.001
high = 0.1
log = true
when = { optimizer = "sgd" }

[warm]
type = "choice"
values = ["no", "yes"]

[steps]
type = "integer"
low = 1
high = 9
when = { optimizer = ["sgd", "adam"], warm = "yes" }
"""


def test_spaces_as_toml():
    def make(parameters, constraints):
        return Space(parameters, constraints=constraints)

    space = toml.loads(SPACE, make)
    assert space.parameters["lr"] == Real(0.001, 0.1, log=True, when={"optimizer": ["sgd"]})
    assert toml.loads(space.to_toml(), make) == space
    below = toml.loads(
        SPACE.replace('when = { optimizer = "sgd" }', '[lr.when]\noptimizer="sgd"'), make
    )
    assert below == space
    with pytest.raises(InputError, match=r"space.toml, line 10: .*no such value: optimizer must"):
        toml.loads(SPACE.replace('"sgd" }', '"sdg" }'), make)


def test_a_study_on_disk(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    command = "test -z {lr} && echo 1 || echo {lr}"
    call(tmp_path, "run", "--space", "space.toml", "-n", "8", "--seed", "0", "--", command)
    space = Space.from_toml(tmp_path / "space.toml")
    records = json.loads(call(tmp_path, "trials", "--format", "json")[0])
    assert {record["params"]["optimizer"] for record in records} == {"sgd", "adam"}
    for record in records:
        check(space, record["params"])
        assert record["value"] == record["params"].get("lr", 1.0)
    # The same results, as a table, in a study of their own.
    table = call(tmp_path, "trials", "--format", "csv")[0]
    assert table.splitlines()[0].startswith("id,state,value,optimizer,lr,warm,steps")
    (tmp_path / "results.csv").write_text(table)
    (tmp_path / "wrong.csv").write_text("optimizer,lr,warm,steps,value\nadam,0.01,no,,2\n")
    other = ("--study", "other")
    call(tmp_path, "ask", "--space", "space.toml", "--seed", "0", *other)
    call(tmp_path, "add", "results.csv", *other)
    said = call(tmp_path, "add", "wrong.csv", *other, status=1)[1]
    assert "line 2: lr applies only where optimizer is 'sgd'" in said
    added = json.loads(call(tmp_path, "trials", "--format", "json", *other)[0])[1:]
    assert [each["params"] for each in added] == [each["params"] for each in records]
    # A condition more: what no longer applies is gone from the trials, and comes back.
    more = SPACE.replace(
        'values = ["no", "yes"]', 'values = ["no", "yes"]\nwhen = { optimizer = "adam" }'
    )
    (tmp_path / "more.toml").write_text(more)
    call(tmp_path, "space", "more.toml")
    changed = json.loads(call(tmp_path, "trials", "--format", "json")[0])
    for record, now in zip(records, changed, strict=True):
        gone = {"warm", "steps"} if record["params"]["optimizer"] == "sgd" else set()
        assert now["params"] == {n: v for n, v in record["params"].items() if n not in gone}
    call(tmp_path, "run", "-n", "9", "--", command)
    call(tmp_path, "space", "space.toml", "--default", "warm=no")
    back = json.loads(call(tmp_path, "trials", "--format", "json")[0])
    assert [each["params"] for each in back[:8]] == [each["params"] for each in records]


def test_in_optuna_what_applies_is_asked_for():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    network = {name: kind for name, kind in NETWORK.items() if name != "units"}
    space = Space(network)
    study = optuna.create_study(sampler=InnerLoopSampler(space=space, seed=0, n_startup_trials=4))
    study.enqueue_trial({"lr": 0.01})  # which need not apply
    study.enqueue_trial({"optimizer": "sgd", "lr": 0.01})

    def objective(trial):
        optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", "lion"])
        trial.suggest_int("layers", 1, 3)
        if optimizer != "adam":
            trial.suggest_float("momentum", 0.0, 1.0)
        if optimizer == "sgd":
            trial.suggest_float("lr", 1e-5, 1e-1, log=True)
            if trial.suggest_categorical("nesterov", [False, True]):
                trial.suggest_float("damping", 0.0, 1.0)
        return float(len(trial.params))

    study.optimize(objective, n_trials=8)
    assert {"optimizer": "sgd", "lr": 0.01}.items() <= study.trials[1].params.items()
    chosen = [trial.system_attrs["innerloop:plan"] for trial in study.trials]
    for trial, plan in zip(study.trials[1:], chosen[1:], strict=True):
        assert plan.keys() - {"epochs"} == trial.params.keys()


def test_placeholders_of_what_does_not_apply_are_empty():
    words = ("printf", "[%s]", "{a}", "{b}")
    assert Command(words, ("a", "b")).run({"a": 2}).last_line == "[2][]"
    assert Command(("echo [{a}][{b}]",), ("a", "b")).run({"b": "x y"}).last_line == "[][x y]"


def test_reports_have_gaps():
    kinds = {"kind": Choice(["a", "b", "c"]), "y": Real(0, 1)}
    space = Space(
        {"x": Real(0, 1, when={"kind": ["a", "c"]}), "z": Real(0, 1, when={"kind": "b"}), **kinds}
    )
    optimizer = Optimizer(space, seed=0)
    for trial in optimizer.ask(9):
        optimizer.tell(trial, trial.params.get("x", 2.0) + trial.params["y"])
    data = payload(subject_of(case_of_optimizer(optimizer), 2))
    names = [each["name"] for each in data["parameters"]]
    for name, column in zip(names, data["trials"]["params"], strict=True):
        gaps = [value is None for value in column]
        assert gaps == [name not in trial.params for trial in optimizer.trials]
    assert {names[each["parameter"]] for each in data["model"]["slices"]} == {"x", "kind", "y"}
    over = {(names[each["x"]], names[each["y"]]): each for each in data["model"]["maps"]}
    (cells,) = (each for pair, each in over.items() if set(pair) == {"x", "kind"})
    rows = np.array(cells["mean"], dtype=object).reshape(-1, cells["columns"])
    rows = rows if names[cells["y"]] == "kind" else rows.T
    drawn = [{value is not None for value in row} for row in rows]
    assert drawn == [{True}, {False}, {True}]  # x does not apply with b
