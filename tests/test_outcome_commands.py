"""Commands and studies with several outcomes: objectives, limits, parts, fronts."""

import csv
import io
import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

from commands import INNERLOOP, WAIT_AT_GATE, Gate, call
from innerloop import InputError, Integer, Optimizer, Real, Space
from innerloop.errors import StudyError
from innerloop.optimizer.goals import Goals
from innerloop.space import toml
from innerloop.studies.create import create_study
from innerloop.studies.optimizers import optimizer_of
from innerloop.studies.study import Study, open_study, studies_in
from innerloop.studies.targets import TargetError, reported, returned

optuna.logging.set_verbosity(optuna.logging.CRITICAL)

PARAMETERS = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n\n[y]\ntype = "real"\nlow = 0\nhigh = 1\n'
GOALS = '[objectives]\nyield = "maximize"\ncost = "minimize"\n'
SPACE = f'outcome_constraints = ["heat <= 1.2"]\n\n{PARAMETERS}\n{GOALS}'
TARGET = (
    WAIT_AT_GATE
    + """\
import json, os, socket, sys

def outcomes(params):
    x, y = params["x"], params["y"]
    return {"yield": 1 - (x - 0.8) ** 2 - (y - 0.6) ** 2, "cost": x + y * y, "heat": x + y}

def gated(params):
    wait_at_gate(params)
    return outcomes(params)

def missing(params):
    return {"yield": 1.5, "cost": 2.5}

def unknown(params):
    return {**outcomes(params), "colour": 3}

def undefined(params):
    return {**outcomes(params), "cost": float("nan")}

def huge(params):
    found = outcomes(params)
    return {**found, "cost": 1e300} if params["x"] < 0.5 else found

def uncertain(params):
    return {name: (value, 0.25) for name, value in outcomes(params).items()}

def bare(params):
    return 1.0

if __name__ == "__main__":
    print("some noise")
    print(json.dumps(outcomes({"x": float(sys.argv[1]), "y": float(sys.argv[2])})))
"""
)
NAMES = ("yield", "cost", "heat")
HEAT = Goals.of({"yield": "maximize", "cost": "minimize"}, ["heat <= 1.2"])
UNIT = Space({"x": Real(0, 1), "y": Real(0, 1)})
NEW = ("--space", "space.toml", "--seed", "0")


def outcomes(params):
    """What the target says, once more."""
    x, y = params["x"], params["y"]
    return {"yield": 1 - (x - 0.8) ** 2 - (y - 0.6) ** 2, "cost": x + y * y, "heat": x + y}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "target.py").write_text(TARGET)
    return tmp_path


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/study.db"


def trials(folder, *arguments):
    return json.loads(call(folder, "trials", "-f", "json", *arguments)[0])


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def csv_of(rows, names):
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def front_of(records):
    """Ids of the trials within the limit that no other such one beats, one by one."""
    good = [r["outcomes"] | {"id": r["id"]} for r in records if r["state"] == "complete"]
    good = [each for each in good if each["heat"] <= 1.2]

    def beats(a, b):
        at_least = a["yield"] >= b["yield"] and a["cost"] <= b["cost"]
        return at_least and (a["yield"] > b["yield"] or a["cost"] < b["cost"])

    return [each["id"] for each in good if not any(beats(other, each) for other in good)]


def area(front, reference):
    """The area that a front dominates, strip by strip from the cheapest on."""
    total, edge = 0.0, reference["yield"]
    for each in sorted(front, key=lambda each: each["cost"]):
        width = max(reference["cost"] - each["cost"], 0.0)
        total += width * max(each["yield"] - edge, 0.0)
        edge = max(edge, each["yield"])
    return total


# Files.


def read(path):
    return toml.read_goals(path, lambda objectives=None, **others: Goals.of(objectives, **others))


def test_goals_are_read_and_spaces_are_as_before(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(SPACE + "\n[reference]\nyield = 0\ncost = 2.5\n")
    goals = read(path)
    assert goals.objectives == {"yield": "maximize", "cost": "minimize"}
    assert [each.text for each in goals.constraints] == ["heat <= 1.2"]
    assert goals.reference == {"yield": 0.0, "cost": 2.5}
    assert Space.from_toml(path) == UNIT
    path.write_text(PARAMETERS)
    assert read(path) is None
    path.write_text(f'outcome_constraints = ["heat <= 1.2"]\n{PARAMETERS}')
    assert read(path).objectives == {"value": "minimize"}
    assert Space.from_toml(path) == UNIT


def test_parameters_may_have_the_names_of_goals(tmp_path):
    path = tmp_path / "space.toml"
    space = Space(
        {
            "objectives": Integer(1, 3),
            "outcome_constraints": "none",
            "reference": Real(0, 1),
            "constraint": 3,
        }
    )
    path.write_text(space.to_toml())
    assert Space.from_toml(path) == space
    assert read(path) is None
    path.write_text('objectives = "many"\n[reference]\ntype = "real"\nlow = 0\nhigh = 1\n')
    assert Space.from_toml(path) == Space({"objectives": "many", "reference": Real(0, 1)})
    assert read(path) is None
    # An objective may be called like a key of parameters.
    path.write_text(f'{PARAMETERS}[objectives]\ntype = "minimize"\nlow = "maximize"\n')
    assert read(path).objectives == {"type": "minimize", "low": "maximize"}
    assert Space.from_toml(path) == UNIT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'{PARAMETERS}[objectives]\nloss = "smallest"\n',
         r"line 10: the direction of 'loss' must be .*'smallest'"),
        (f"{PARAMETERS}[objectives]\n", "line 10: objectives must have names"),
        (f'outcome_constraints = ["heat < 2"]\n{PARAMETERS}{GOALS}',
         "line 1: an outcome constraint must read like 'impurity <= 2'.* got 'heat < 2'"),
        (f'outcome_constraints = "heat <= 2"\n{PARAMETERS}{GOALS}',
         "line 1: outcome_constraints must be a list, got 'heat <= 2'"),
        (f'outcome_constraints = ["cost <= 2"]\n{PARAMETERS}{GOALS}',
         "line 1: 'cost' is an objective: give its limit as `reference`"),
        (f"{PARAMETERS}{GOALS}[reference]\nyield = 3\n",
         "line 13: reference must have a number for each of"),
        (f'{PARAMETERS}[objectives]\nstate = "minimize"\n', "cannot be called 'state'"),
        (f'{PARAMETERS}[objectives]\n" a" = "minimize"\n', "cannot be called ' a'"),
    ],
)  # fmt: skip
def test_goals_that_make_no_sense_are_named(text, words, folder):
    (folder / "space.toml").write_text(text)
    _, err = call(folder, "ask", *NEW, status=1)
    assert err.count("\n") == 1
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(err)
    assert not (folder / "innerloop.db").exists()


def test_directions_are_given_once(folder):
    _, err = call(folder, "ask", *NEW, "--direction", "minimize", status=1)
    assert "space.toml, line 13: objectives have directions: leave out --direction" in err
    (folder / "space.toml").write_text(f'outcome_constraints = ["heat >= 1.2"]\n{PARAMETERS}')
    call(folder, "ask", *NEW, "--direction", "maximize")
    study = open_study(f"sqlite:///{folder}/innerloop.db", "default")
    assert study.goals == Goals.of({"value": "maximize"}, ["heat >= 1.2"])


# Studies.


def play(study, number):
    for _ in range(number):
        record = study.ask()
        study.tell(record.id, outcomes(record.params))


def test_a_study_keeps_its_goals(url):
    create_study(url, "s", space=UNIT, seed=0, goals=HEAT)
    assert create_study(url, "s", space=UNIT).goals == open_study(url, "s").goals == HEAT
    other = Goals.of(HEAT.objectives, ["heat <= 1.3"])
    with pytest.raises(StudyError, match=r"other goals: outcome_constraints were .*1\.2.*1\.3"):
        create_study(url, "s", space=UNIT, goals=other)
    with pytest.raises(StudyError, match="several objectives: leave out --direction"):
        create_study(url, "s", space=None, direction="minimize")
    create_study(url, "plain", space=UNIT)
    with pytest.raises(StudyError, match=r"goals: objectives were .*value.: .minimize"):
        create_study(url, "plain", space=UNIT, goals=HEAT)
    assert [each.name for each in studies_in(url)] == ["s", "plain"]


def test_optuna_sees_everything(url):
    study = create_study(url, "s", space=UNIT, seed=0, goals=HEAT)
    play(study, 12)
    theirs = optuna.load_study(study_name="s", storage=url)
    assert theirs.metric_names == ["yield", "cost"]
    assert [each.name for each in theirs.directions] == ["MAXIMIZE", "MINIMIZE"]
    for trial in theirs.trials:
        told = outcomes(trial.params)
        assert trial.values == [told["yield"], told["cost"]]
        assert trial.constraints == {"heat": told["heat"] - 1.2}
        assert trial.user_attrs == {f"outcome:{name}": value for name, value in told.items()}
    best = {trial.number for trial in theirs.best_trials}
    assert best == {record.id for record in study.front()}
    assert 0 < len(best) < 12


def test_two_halves_equal_the_whole(tmp_path):
    whole = create_study(f"sqlite:///{tmp_path}/a.db", "s", space=UNIT, seed=7, goals=HEAT)
    play(whole, 14)
    half = f"sqlite:///{tmp_path}/b.db"
    play(create_study(half, "s", space=UNIT, seed=7, goals=HEAT), 9)
    play(open_study(half, "s"), 5)
    params = [[r.params for r in each.records()] for each in (whole, open_study(half, "s"))]
    assert params[0] == params[1]


def test_the_best_is_within_its_limit(url):
    goals = Goals.of({"yield": "maximize"}, ["heat <= 1.2"])
    study = create_study(url, "s", space=UNIT, seed=1, goals=goals)
    for _ in range(20):
        record = study.ask()
        told = outcomes(record.params)
        study.tell(record.id, {"yield": told["yield"], "heat": told["heat"]})
    # The nearest point to (0.8, 0.6) with x + y <= 1.2 is (0.7, 0.5).
    assert study.best().value == pytest.approx(0.98, abs=2e-3)
    assert study.best().outcomes["heat"] <= 1.2
    assert max(record.outcomes["yield"] for record in study.records()) >= study.best().value


def test_nothing_is_within_a_limit_that_is_never_met(url):
    goals = Goals.of({"yield": "maximize"}, ["heat <= -1"])
    study = create_study(url, "s", space=UNIT, seed=1, goals=goals)
    with pytest.raises(StudyError, match="no trial with a value yet"):
        study.best()
    for _ in range(10):
        record = study.ask()
        told = outcomes(record.params)
        study.tell(record.id, {"yield": told["yield"], "heat": told["heat"]})
    with pytest.raises(StudyError, match="no trial within all limits yet"):
        study.best()
    assert study.front() == ()


def test_a_reference_says_where_to_search(url):
    """Of the front x in [0, 1] only [0.2, 0.3] is better than the reference in both."""
    goals = Goals.of({"a": "minimize", "b": "minimize"}, (), {"a": 0.3, "b": 0.8})
    study = create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0, goals=goals)
    for _ in range(20):
        record = study.ask()
        x = record.params["x"]
        study.tell(record.id, {"a": x, "b": 1 - x})
    chosen = [r.params["x"] for r in study.records() if r.predictions is not None]
    assert len(chosen) >= 8
    assert sum(0.2 <= x <= 0.3 for x in chosen) >= 0.75 * len(chosen)


def test_parts_come_in_any_order_and_stay(url):
    study = create_study(url, "s", space=UNIT, seed=0, goals=HEAT)
    number = study.ask().id
    assert study.tell(number, {"heat": 1.0}).state == "running"
    with pytest.raises(InputError, match=r"'heat' of trial 0 was told 1\.0 before, and keeps it"):
        study.tell(number, {"heat": 2.0, "cost": 1.0})
    with pytest.raises(InputError, match=r"there is no outcome 'colour': outcomes are \['yield'"):
        study.tell(number, {"colour": 2.0})
    with pytest.raises(InputError, match="tell trial 0 a mapping with its outcomes"):
        study.tell(number, 2.0)
    assert open_study(url, "s").record(number).outcomes == {"heat": 1.0}
    record = open_study(url, "s").tell(number, {"cost": 3.0, "yield": 2.0})
    assert (record.state, record.value) == ("complete", None)
    assert record.outcomes == {"yield": 2.0, "cost": 3.0, "heat": 1.0}
    with pytest.raises(InputError, match=r"trial 0 was told {'yield': 2\.0.* before"):
        study.tell(number, {"cost": 3.0})
    failed = study.ask().id
    study.tell(failed, {"heat": 1.5})
    record = study.tell(failed, {"yield": 4.0, "cost": math.nan})
    assert (record.state, record.error) == ("failed", "cost was nan")
    assert record.outcomes == {"heat": 1.5, "yield": 4.0}
    with pytest.raises(InputError, match="trial 1 was told to have failed before"):
        study.tell(failed, {"cost": 3.0})


def rows_of_models(study):
    """Numbers of the trials that each outcome was last learned from."""
    (model,) = study.optuna.sampler._memory._models.values()
    return {name: list(rows) for name, rows in model._taught.model.rows.items()}


def test_parts_teach_as_soon_as_they_are_told(url):
    study = create_study(url, "s", space=UNIT, seed=0, goals=HEAT)
    play(study, 10)
    part, failed = study.ask().id, study.ask().id
    study.tell(part, {"heat": 0.5})
    study.tell(failed, {"yield": 0.7, "cost": math.inf})
    study.ask()
    first = list(range(10))
    expected = {"yield": [*first, 11], "cost": first, "heat": [*first, 10]}
    assert rows_of_models(study) == expected
    study.tell(part, {"yield": 0.5})
    study.ask()
    assert rows_of_models(study) == {**expected, "yield": [*first, 10, 11]}
    study.tell(part, {"cost": 0.5})
    study.ask()
    assert rows_of_models(study) == {
        "yield": [*first, 10, 11],
        "cost": [*first, 10],
        "heat": [*first, 10],
    }


def test_limits_relative_to_a_trial_are_known_later(url):
    goals = Goals.of({"cost": "minimize"}, ["latency <= 1.1 * trial 0", "heat >= 1"])
    study = create_study(url, "s", space=UNIT, seed=0, goals=goals)
    first, second, third = (study.ask().id for _ in range(3))
    study.tell(second, {"cost": 1.0, "latency": 10.0, "heat": 2.0})
    study.tell(third, {"cost": 2.0, "latency": 12.0, "heat": 0.5})
    assert [r.feasible for r in study.records()] == [None, True, False]
    theirs = [trial.constraints for trial in optuna.load_study(study_name="s", storage=url).trials]
    assert theirs == [{}, {"heat": -1.0}, {"heat": 0.5}]
    elsewhere = open_study(url, "s")
    elsewhere.tell(first, {"latency": 10.5})
    play_one = {"cost": 3.0, "latency": 11.0, "heat": 1.0}
    fourth = study.ask().id
    assert study.tell(fourth, {**play_one, "latency": 11.6}).state == "complete"
    assert elsewhere.tell(first, {"cost": 3.0, "heat": 1.0}).state == "complete"
    assert [r.feasible for r in study.records()] == [True, True, False, False]
    theirs = [trial.constraints for trial in optuna.load_study(study_name="s", storage=url).trials]
    limit = 1.1 * 10.5
    latencies = [10.5 - limit, 10.0 - limit, 12.0 - limit, 11.6 - limit]
    assert [each["latency"] for each in theirs] == latencies
    assert [each["heat"] for each in theirs] == [0.0, -1.0, 0.5, 0.0]
    assert study.best().id == second
    assert study.ask().id == 4  # chosen with a limit that became known meanwhile


def test_limits_that_nobody_wrote_down_are_written_by_the_next_run(url):
    """As when a process ends between the outcome that others wait for and their constraints."""
    goals = Goals.of({"cost": "minimize"}, ["latency <= trial 0"])
    study = create_study(url, "s", space=UNIT, seed=0, goals=goals)
    first, second = study.ask().id, study.ask().id
    study.tell(second, {"cost": 1.0, "latency": 10.0})
    study._limit_all = lambda: None
    study.tell(first, {"cost": 1.0, "latency": 7.0})
    open_study(url, "s").bury()
    theirs = optuna.load_study(study_name="s", storage=url).trials
    assert [trial.constraints for trial in theirs] == [{"latency": 0.0}, {"latency": 3.0}]


def test_noise_is_kept_and_learned_from(url):
    study = create_study(url, "s", space=UNIT, seed=0, goals=HEAT)
    for _ in range(10):
        record = study.ask()
        told = outcomes(record.params)
        study.tell(record.id, {**told, "cost": (told["cost"], 0.5)})
    assert open_study(url, "s").records()[3].noise_sds == {"cost": 0.5}
    assert study.ask().predictions["cost"]["sd"] > 10 * study.ask().predictions["heat"]["sd"]
    assert optimizer_of(study).trials[3].noise_sds == {"cost": 0.5}


def test_a_study_as_an_optimizer(url):
    goals = Goals.of(HEAT.objectives, ["heat <= 2 * trial 1"], {"yield": 0.0, "cost": 2.0})
    study = create_study(url, "s", space=UNIT, seed=0, goals=goals)
    play(study, 10)
    study.tell(study.ask().id, {"yield": 2.0})
    optimizer = optimizer_of(study)
    assert isinstance(optimizer, Optimizer)
    assert [t.id for t in optimizer.front] == [r.id for r in study.front()]
    assert optimizer.hypervolume() == study.hypervolume()
    front = [record.outcomes for record in study.front()]
    assert study.hypervolume() == pytest.approx(area(front, goals.reference), rel=1e-12)
    assert optimizer.trials[10].outcomes == {"yield": 2.0}
    # Trials that optimizers leave out change the numbers of others.
    study.optuna.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL))
    assert [t.id for t in optimizer_of(study).front] == [r.id for r in study.front()]


def test_studies_of_optuna_with_several_directions_can_be_adopted(url):
    made = optuna.create_study(study_name="s", storage=url, directions=["maximize", "minimize"])
    made.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 2.0), n_trials=2)
    with pytest.raises(StudyError, match=r"2 objectives without names.*\[objectives\]"):
        open_study(url, "s")
    assert studies_in(url) == []
    space = Space({"x": Real(0, 1)})
    with pytest.raises(StudyError, match="2 objectives without names"):
        create_study(url, "s", space=space)
    wrong = Goals.of({"a": "minimize", "b": "minimize"})
    with pytest.raises(StudyError, match="to maximize, minimize, not to minimize, minimize"):
        create_study(url, "s", space=space, goals=wrong)
    study = create_study(url, "s", space=space, goals=Goals.of({"a": "maximize", "b": "minimize"}))
    assert [r.outcomes for r in study.records()] == [
        {"a": t.values[0], "b": 2.0} for t in made.trials
    ]
    study.tell(study.ask().id, {"a": 3.0, "b": 1.0})
    assert [record.id for record in study.front()] == [2]


# Targets.


def test_several_numbers():
    assert returned({"a": 1, "b": (2, 0.5)}) == {"a": 1.0, "b": (2.0, 0.5)}
    for value in ({"a": "1"}, {"a": None}, {"a": True}, {"a": [1, 2, 3]}):
        with pytest.raises(TargetError, match="must return numbers by name"):
            returned(value)


class Printed:
    status, complaint = 0, ""

    def __init__(self, last_line):
        self.last_line = last_line


def test_several_numbers_in_the_last_line():
    assert reported(Printed('{"a": 1, "b": [2e3, 0.5], "c": NaN}'))["b"] == (2000.0, 0.5)
    assert math.isnan(reported(Printed('{"c": NaN}'))["c"])
    for line in ('{"a": "1"}', '{"a": null}', "{'a': 1}", '{"a": 1', "{" * 100_000, '{"a": {}}'):
        with pytest.raises(TargetError, match="not a JSON object of numbers by name"):
            reported(Printed(line))


@pytest.mark.parametrize(
    ("name", "words", "kept"),
    [
        ("missing", "f must return a mapping from 'yield', 'cost', 'heat'",
         {"yield": 1.5, "cost": 2.5}),
        ("unknown", "f must return a mapping from 'yield', 'cost', 'heat'", {}),
        ("bare", "f must return a mapping from 'yield', 'cost', 'heat'", {}),
        ("undefined", "cost was nan", None),
    ],
)  # fmt: skip
def test_a_trial_that_fails_keeps_what_was_told(name, words, kept, folder):
    _, err = call(folder, "run", f"target.py:{name}", *NEW, "-n", "2")
    assert "0 complete, 2 failed" in err
    for record in trials(folder):
        assert record["state"] == "failed"
        assert not record["lost"]
        assert words in record["error"]
        found = outcomes(record["params"])
        expected = {n: found[n] for n in ("yield", "heat")} if kept is None else kept
        assert record["outcomes"] == expected


def test_a_function_and_a_command_say_the_same(folder):
    call(folder, "run", "target.py:outcomes", *NEW, "-n", "9", "--study", "function")
    command = [sys.executable, "target.py", "{x}", "{y}"]
    call(folder, "run", *NEW, "-n", "9", "--study", "command", "--", *command)
    threads = ["--executor", "threads"]
    call(folder, "run", "target.py:outcomes", *NEW, "-n", "9", "--study", "threads", *threads)
    found = [trials(folder, "--study", name) for name in ("function", "command", "threads")]
    told = [[(r["params"], r["outcomes"]) for r in records] for records in found]
    assert told[0] == told[1] == told[2]
    assert all(told == outcomes(params) for params, told in told[0])


def test_noise_comes_with_values(folder):
    call(folder, "run", "target.py:uncertain", *NEW, "-n", "2")
    assert trials(folder)[0]["noise_sds"] == dict.fromkeys(NAMES, 0.25)


def test_one_objective_with_a_name(folder):
    (folder / "space.toml").write_text(f'{PARAMETERS}[objectives]\nyield = "maximize"\n')
    line = ["run", *NEW, "-n"]
    _, err = call(folder, *line, "3", "--", "echo {x}")
    assert "best: " in err
    assert "{" not in err
    call(folder, *line, "4", "--", 'echo "{{\\"yield\\": "{x}"}}"')
    assert [r["value"] for r in trials(folder)] == [r["params"]["x"] for r in trials(folder)]
    _, err = call(folder, *line, "5", "--", 'echo "{{\\"gain\\": "{x}"}}"')
    assert "there is no outcome 'gain': outcomes are ['yield']" in err
    (row,) = rows_of(call(folder, "ask", "-f", "csv")[0])
    assert list(row) == ["id", "x", "y", "yield"]
    call(folder, "tell", row["id"], "yield=7")
    (best,) = rows_of(call(folder, "best", "-f", "csv")[0])
    assert (best["id"], best["yield"]) == (row["id"], "7.0")


# By hand.


def test_the_hand_run_path(folder):
    told = {}
    for round_ in range(3):
        asked, _ = call(folder, "ask", "-n", "4", "-f", "csv", *(NEW if round_ == 0 else ()))
        rows = rows_of(asked)
        assert list(rows[0]) == ["id", "x", "y", *NAMES]
        assert all(row[name] == "" for row in rows for name in NAMES)
        for row in rows:
            told[int(row["id"])] = outcomes({"x": float(row["x"]), "y": float(row["y"])})
            row.update({n: repr(value) for n, value in told[int(row["id"])].items()})
        whole = csv_of(rows, ["heat", "x", "id", "cost", "yield"])
        rows[0]["cost"], rows[1]["heat"] = "", "-"
        rows[2].update(dict.fromkeys(NAMES, ""))
        (folder / "part.csv").write_text(csv_of(rows, ["yield", "id", "heat", "cost"]))
        _, err = call(folder, "tell", "part.csv", status=1)
        assert "told 2, 1 of them in part" in err
        assert "part.csv, line 3: the heat of trial" in err
        assert "part.csv, line 4: trial" in err
        assert "has no yield or cost or heat yet and stays as it is" in err
        states = [record["state"] for record in trials(folder)[-4:]]
        assert states == ["running", "running", "running", "complete"]
        (folder / "whole.csv").write_text(whole)
        _, err = call(folder, "tell", "whole.csv")
        assert err == "told 3, 1 had been told before\n"
        assert {r["id"]: r["outcomes"] for r in trials(folder)} == told
    records = trials(folder)
    assert [r["feasible"] for r in records] == [told[k]["heat"] <= 1.2 for k in range(12)]
    shown, err = call(folder, "front", "-f", "json")
    front = json.loads(shown)
    assert [each["id"] for each in front] == front_of(records)
    costs = [each["outcomes"]["cost"] for each in front]
    yields = [each["outcomes"]["yield"] for each in front]
    reference = {
        "cost": max(costs) + 0.1 * (max(costs) - min(costs)),
        "yield": min(yields) - 0.1 * (max(yields) - min(yields)),
    }
    expected = area([each["outcomes"] for each in front], reference)
    assert err.startswith(f"a front of {len(front)} trial")
    assert err.strip().endswith(f"hypervolume {expected:.6g}")
    _, err = call(folder, "best", status=1)
    assert "has several objectives and no best trial: 'innerloop front'" in err


def test_one_trial_in_parts(folder):
    call(folder, "ask", *NEW, "-n", "2")
    assert call(folder, "tell", "0", "yield=71", "cost=3.2")[1] == "told 1, 1 of them in part\n"
    assert call(folder, "tell", "0", "yield=71")[1] == "told 0, 1 had been told before\n"
    assert trials(folder)[0]["outcomes"] == {"yield": 71.0, "cost": 3.2}
    assert call(folder, "tell", "0", "heat=1.4", "cost=3.2")[1] == "told 1\n"
    record = trials(folder)[0]
    assert (record["state"], record["feasible"]) == ("complete", False)
    table = call(folder, "trials")[0].splitlines()
    assert table[0].split()[:8] == ["id", "state", *NAMES, "feasible", "x", "y"]
    assert table[1].split()[:6] == ["0", "complete", "71", "3.2", "1.4", "false"]
    call(folder, "tell", "1", "yield=1e300")
    call(folder, "tell", "--failed", "1")
    assert trials(folder)[1]["outcomes"] == {"yield": 1e300}
    assert call(folder, "front")[1] == "no trial is within all limits\n"


def test_the_recipe_of_the_documents(tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "commands.md").read_text()
    recipe = text[text.index("## Several outcomes") : text.index("## Looking")]
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", recipe, re.DOTALL | re.MULTILINE)
    shown = []
    for kind, block in blocks:
        if kind != "sh":
            (tmp_path / {"toml": "reaction.toml", "python": "reaction.py"}[kind]).write_text(block)
            continue
        for line in block.splitlines():
            words, _, file = line.partition(" > ")
            first, *rest = shlex.split(words)
            if first == "innerloop":
                out = call(tmp_path, *rest)[0]
            else:
                assert first in ("cat", "printf")
                out = (tmp_path / rest[0]).read_text() if first == "cat" else _escaped(rest[0])
            if file:
                (tmp_path / file).write_text(out)
            shown.append(out)
    assert (tmp_path / "batch.csv").read_text() == shown[1]
    assert shown[1].startswith("id,temperature,catalyst,yield,cost,impurity\n0,")
    records = trials(tmp_path, "--study", "reaction")
    assert [record["state"] for record in records] == ["complete"] * 20
    assert records[0]["outcomes"] == {"yield": 71.0, "cost": 3.2, "impurity": 1.4}
    assert records[1]["outcomes"] == {"yield": 64.5, "cost": 2.1, "impurity": 0.9}
    assert (tmp_path / "reaction.html").exists()


def _escaped(text):
    return text.replace("\\n", "\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["0", "yeild=3"], "there is no outcome 'yeild': outcomes are ['yield', 'cost', 'heat']"),
        (["0", "yield"], "an outcome is told as name=value, got 'yield'"),
        (["0", "yield="], "an outcome is told as name=value, got 'yield='"),
        (["0", "yield=nan"], "the yield of trial 0 must be a number, got 'nan'"),
        (["0", "yield=1e999"], "the yield of trial 0 must be a number, got '1e999'"),
        (["0", "yield=3", "yield=4"], "'yield' is there twice"),
        (["7", "yield=3"], "there is no trial 7 in study 'default'"),
        (["first", "yield=3"], "id must be the number of a trial, got 'first'"),
        (["1", "yield=3"], "'yield' of trial 1 was told 2.0 before, and keeps it"),
    ],
)
def test_what_cannot_be_told_is_named(arguments, words, folder):
    call(folder, "ask", *NEW, "-n", "2")
    call(folder, "tell", "1", "yield=2")
    before = trials(folder)
    _, err = call(folder, "tell", *arguments, status=1)
    assert words in err
    assert "told 0\n" in err
    assert trials(folder) == before


def test_columns_of_files(folder):
    call(folder, "ask", *NEW, "-n", "2")
    (folder / "r.csv").write_text("id,x,params.y,state,yeild,heat\n0,1,1,complete,3,1.5\n")
    _, err = call(folder, "tell", "r.csv")
    assert "told 1, 1 of them in part" in err
    assert "ignored: 'yeild'; outcomes are 'yield', 'cost', 'heat'" in err
    assert trials(folder)[0]["outcomes"] == {"heat": 1.5}
    (folder / "r.csv").write_text("id,value\n0,3\n")
    _, err = call(folder, "tell", "r.csv", status=1)
    assert "must name the columns, 'id' and 'yield' or 'cost' or 'heat' among them" in err


def test_outcomes_called_like_params_or_formulas(folder):
    goals = '[objectives]\nx = "maximize"\n"-y" = "minimize"\n'
    (folder / "space.toml").write_text(PARAMETERS + goals)
    asked, _ = call(folder, "ask", *NEW, "-f", "csv")
    assert asked.splitlines()[0] == "id,params.x,y,x,'-y"
    (folder / "r.csv").write_text(f"{asked.splitlines()[0]}\n0,0.5,0.5,7,8\n")
    assert call(folder, "tell", "r.csv")[1] == "told 1\n"
    assert trials(folder)[0]["outcomes"] == {"x": 7.0, "-y": 8.0}


# Runs.


def test_a_run_with_everything_and_its_report(folder):
    _, err = call(folder, "run", "target.py:huge", *NEW, "-n", "14", "-p", "2")
    assert "14 complete" in err
    assert "a front of " in err
    records = trials(folder)
    assert {r["outcomes"]["cost"] == 1e300 for r in records} == {True, False}
    assert [r["id"] for r in json.loads(call(folder, "front", "-f", "json")[0])] == front_of(
        records
    )
    assert any(set(r["predictions"] or {}) == set(NAMES) for r in records)
    call(folder, "report")
    page = (folder / "report.html").read_text()
    assert "front" in page
    assert "heat" in page
    (summary,) = json.loads(call(folder, "studies", "-f", "json")[0])
    assert (summary["direction"], summary["best"]) == ("maximize yield, minimize cost", None)


def told_at(records):
    """Outcomes of the trials that are complete, by their points."""
    done = [record for record in records if record["state"] == "complete"]
    return {(r["params"]["x"], r["params"]["y"]): r["outcomes"] for r in done}


def test_killed_at_any_moment_and_resumed(folder):
    line = [*INNERLOOP, "run", "target.py:gated", *NEW, "-n", "12", "-p", "2"]
    told, lost = {}, 0
    with Gate(folder) as gate:
        for values, on_its_way in [(0, True), (3, False), (2, True)]:
            process = subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE)
            gate.arrive()
            gate.arrive()
            through = set()
            for _ in range(values):
                through.add(gate.let_through())
                gate.arrive()  # outcomes are stored before the next trial starts
            last = {gate.let_through()} if on_its_way else set()
            process.kill()
            process.communicate()
            gate.forget()
            call(folder, "ask")  # finishes what was all but finished
            new = told_at(trials(folder)).keys() - told.keys()
            assert through <= new <= through | last
            assert told.items() <= told_at(trials(folder)).items()
            told = told_at(trials(folder))
    ran = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    records = trials(folder)
    lost = [record for record in records if record["state"] == "failed"]
    assert all(record["lost"] for record in lost)
    assert told.items() <= told_at(records).items()
    assert len(told_at(records)) == 12
    for (x, y), found in told_at(records).items():
        assert found == outcomes({"x": x, "y": y})


DYING = """\
import os, sys
from innerloop.studies.study import Study, open_study
study = open_study(sys.argv[1], "s")
record = study.ask()
Study._finish = lambda *_: os._exit(3)
study.tell(record.id, {"yield": 1.0, "cost": 2.0, "heat": 3.0})
"""


def test_what_was_told_counts_though_nobody_has_finished_the_trial(url):
    study = create_study(url, "s", space=UNIT, seed=0, goals=HEAT)
    ended = subprocess.run([sys.executable, "-c", DYING, url], check=False)
    assert ended.returncode == 3
    assert study.record(0).state == "running"
    assert study.bury() == []
    record = study.record(0)
    assert (record.state, record.lost) == ("complete", False)
    assert record.outcomes == {"yield": 1.0, "cost": 2.0, "heat": 3.0}
    assert optuna.load_study(study_name="s", storage=url).trials[0].values == [1.0, 2.0]


def test_plain_studies_are_written_as_before(url):
    study = create_study(url, "s", space=UNIT, seed=3)
    study.tell(study.ask().id, 1.5)
    theirs = optuna.load_study(study_name="s", storage=url)
    assert theirs.user_attrs == {"innerloop": {"version": 1, "space": UNIT.to_dict(), "seed": 3}}
    assert theirs.metric_names is None
    assert theirs.trials[0].user_attrs == {}
    assert isinstance(study, Study)
    assert study.goals == Goals.of({"value": "minimize"})
