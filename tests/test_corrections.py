"""Corrections from the shell: what is read is what is right, and what was told stays on record."""

# ruff: noqa: F811 (arguments are fixtures of another file)

import csv
import io
import itertools
import json
import subprocess
import sys

import optuna
import pytest

from commands import INNERLOOP, call
from innerloop.errors import InputError
from innerloop.integrations.optuna import InnerLoopSampler
from innerloop.optimizer.goals import Goals
from innerloop.space.parameters import Choice, Integer, Real
from innerloop.space.space import Space
from innerloop.studies.add import add_text
from innerloop.studies.create import create_study
from innerloop.studies.optimizers import optimizer_of
from innerloop.studies.study import open_study
from test_databases import folder, garbage, server, url  # noqa: F401 (fixtures)

SPACE = Space({"x": Real(0.0, 1.0), "n": Integer(1, 4)})
TOML = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n\n[n]\ntype = "integer"\nlow = 1\nhigh = 4\n'
GOALS = Goals.of({"yield": "maximize", "cost": "minimize"}, ["heat <= 1"])
pytestmark = pytest.mark.filterwarnings("ignore:.* was deleted while still open:ResourceWarning")
# Several processes correct at the same moment, each its own trial and one that all of them correct.
CORRECTING = """\
import os, sys
import innerloop.integrations.optuna
from innerloop.studies.study import open_study

children = []
for k in range(int(sys.argv[1])):
    children.append(os.fork())
    if not children[-1]:
        study = open_study(sys.argv[2], "s")
        for value in range(5):
            study.correct(k, 10.0 * k + value)
            study.correct(7, 100.0 * k + value)
        os._exit(0)
sys.exit(max(os.waitpid(child, 0)[1] for child in children))
"""


def value(params):
    return (params["x"] - 0.3) ** 2 + 0.1 * params["n"]


def outcomes(params):
    return {"yield": params["x"], "cost": params["x"] ** 2 + params["n"], "heat": 2 * params["x"]}


def told(url, n, wrong=None, goals=None):
    """A study that was told all values, some of them wrong, and asks nothing meanwhile."""
    study = create_study(url, "s", space=SPACE, seed=5, goals=goals)
    records = [study.ask() for _ in range(n)]
    for record in records:
        right = value(record.params) if goals is None else outcomes(record.params)
        study.tell(record.id, (wrong or {}).get(record.id, right))
    return study


def as_csv(text):
    return {int(row["id"]): row for row in csv.DictReader(io.StringIO(text))}


# What does not depend on the database is tested in a file alone.
IN_A_FILE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


def test_a_value_is_corrected_everywhere(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    call(tmp_path, "ask", "-n", "4", "--space", "space.toml", "--seed", "1")
    call(tmp_path, "tell", "0", "70.1")
    call(tmp_path, "tell", "1", "50")
    _, err = call(tmp_path, "tell", "0", "7.01", status=1)
    assert "trial 0 was told 70.1 before, and keeps it: 'innerloop tell --correct' replaces" in err
    assert call(tmp_path, "tell", "0", "7.01", "--correct")[1] == "told 0, corrected 1\n"
    assert call(tmp_path, "tell", "0", "7.01", "--correct")[1] == "told 0, 1 had been told before\n"
    for form in ("table", "csv", "json"):
        for command in ("trials", "best"):
            out, _ = call(tmp_path, command, "-f", form)
            assert "7.01" in out
            assert "70.1" not in out
    assert json.loads(call(tmp_path, "studies", "-f", "json")[0])[0]["best"] == 7.01
    call(tmp_path, "report")
    assert "7.01" in (tmp_path / "report.html").read_text()
    stored = optuna.load_study(study_name="default", storage=f"sqlite:///{tmp_path}/innerloop.db")
    assert stored.trials[0].value == 70.1
    (change,) = open_study(f"sqlite:///{tmp_path}/innerloop.db", "default").changes()
    assert (change.before["value"], change.after["value"]) == (70.1, 7.01)


def test_files_of_corrections(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    call(tmp_path, "ask", "-n", "5", "--space", "space.toml")
    (tmp_path / "r.csv").write_text("id,value\n0,1\n1,2\n2,3\n")
    call(tmp_path, "tell", "r.csv", "--failed", "3")
    (tmp_path / "r.csv").write_text("id,value\n0,1\n1,2.5\n2,x\n3,4\n4,5\n")
    _, err = call(tmp_path, "tell", "r.csv", "--correct", status=1)
    assert "told 1, corrected 2, 1 had been told before" in err
    assert "r.csv, line 4: the value of trial 2 must be a number" in err
    rows = as_csv(call(tmp_path, "trials", "-f", "csv")[0])
    assert [row["value"] for row in rows.values()] == ["1.0", "2.5", "3.0", "4.0", "5.0"]
    call(tmp_path, "tell", "--failed", "2", status=1)
    call(tmp_path, "tell", "--failed", "2", "--correct")
    row = as_csv(call(tmp_path, "trials", "-f", "csv")[0])[2]
    assert (row["state"], row["value"], row["error"]) == ("failed", "", "told to have failed")
    call(tmp_path, "tell", "2", "value=3", "--correct")
    assert as_csv(call(tmp_path, "trials", "-f", "csv")[0])[2] == rows[2]


@IN_A_FILE
def test_a_corrected_study_asks_as_if_told_the_right_values(url, tmp_path):
    study = told(url, 9, {2: 90.0, 5: -3.0})
    study.correct(2, None, error="leaked")
    for k in (2, 5):
        study.correct(k, value(study.record(k).params))
    right = told(f"sqlite:///{tmp_path}/right.db", 9)
    for _ in range(2):
        one, other = study.ask(), right.ask()
        assert (one.params, one.prediction) == (other.params, other.prediction)
        for each in (study, right):
            each.tell(one.id, value(one.params))
    assert study.best().id == right.best().id
    # Another process finds the same, and so does Optuna with nothing but the sampler.
    assert open_study(url, "s").records() == study.records()
    sampler = InnerLoopSampler(space=SPACE, seed=5)
    loaded = optuna.load_study(study_name="s", storage=url, sampler=sampler)
    trial = loaded.ask(dict(sampler.distributions))
    assert trial.params == right.ask().params


@IN_A_FILE
def test_what_is_changed_back_changes_nothing(url, tmp_path):
    study, other = told(url, 9), told(f"sqlite:///{tmp_path}/other.db", 9)
    assert study.ask().params == other.ask().params  # hyperparameters are learned, and go on
    for wrong in (50.0, None, 7.0):
        study.correct(3, wrong)
    study.correct(3, value(study.record(3).params))
    assert len(study.changes()) == 4
    assert study.ask().params == other.ask().params


def test_wrong_values_are_not_where_learning_goes_on(url, tmp_path):
    study, right = told(url, 9, {8: 1e6}), told(f"sqlite:///{tmp_path}/right.db", 9)
    wrong = study.ask()
    study.fail(wrong.id, "lost", lost=True)
    study.correct(8, value(study.record(8).params))
    right.fail(right.ask().id, "lost", lost=True)
    one, other = study.ask(), right.ask()
    assert (one.params, one.prediction) == (other.params, other.prediction)
    assert wrong.prediction["sd"] > 1e3 * one.prediction["sd"]


def test_some_of_several_outcomes(url):
    study = told(url, 6, {k: {"yield": 1.0, "cost": 1.0, "heat": 9.0} for k in range(3)}, GOALS)
    assert {0, 1, 2}.isdisjoint(each.id for each in study.front())
    for k in range(3):
        study.correct(k, {"heat": (0.5, 0.01), "cost": -1.0})
    record = study.record(1)
    assert record.outcomes == {"yield": 1.0, "cost": -1.0, "heat": 0.5}
    assert record.noise_sds == {"heat": 0.01}
    assert [each.id for each in study.front()] == [0, 1, 2]
    study.correct(1, None, error="spilled")
    with pytest.raises(InputError, match="trial 1 was told no cost and no heat: give all"):
        study.correct(1, {"yield": 2.0})
    study.correct(1, {"yield": 2.0, "cost": 2.0, "heat": 0.1})
    assert study.record(1).state == "complete"
    assert [t.outcomes for t in optimizer_of(study).trials] == [r.outcomes for r in study.records()]
    assert open_study(url, "s").ask().predictions is not None


def test_parts_are_corrected_before_the_rest_is_told(url):
    study = create_study(url, "s", space=SPACE, seed=5, goals=GOALS)
    study.hand_out(study.ask().id)
    study.tell(0, {"yield": 7.0})
    with pytest.raises(InputError, match="'yield' of trial 0 was told 7"):
        study.tell(0, {"yield": 8.0})
    assert study.correct(0, {"yield": 8.0}).state == "running"
    record = study.tell(0, {"cost": 1.0, "heat": 1.0})
    assert (record.state, record.outcomes["yield"]) == ("complete", 8.0)
    assert optuna.load_study(study_name="s", storage=url).trials[0].values == [8.0, 1.0]


def test_processes_that_correct_at_the_same_moment(url, folder):
    study = told(url, 8)
    line = [sys.executable, "-c", CORRECTING, "4", url]
    run = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    changes = study.changes()
    assert len(changes) == 40
    for k in range(4):
        own = [each.after["value"] for each in changes if each.trial == k]
        assert own == [10.0 * k + value for value in range(5)]
    of_all = [each for each in changes if each.trial == 7]
    assert len(of_all) == 20
    # Each knew the one before it: nothing was overwritten unseen.
    for one, other in itertools.pairwise(of_all):
        assert other.before == one.after
    assert study.record(7).value == of_all[-1].after["value"]


def test_killed_while_it_corrects(url, folder):
    study = told(url, 3)
    code = (
        "import itertools, sys\nfrom innerloop.studies.study import open_study\n"
        "study = open_study(sys.argv[1], 's')\n"
        "for value in itertools.count():\n"
        "    study.correct(1, float(value))\n    print(value, flush=True)\n"
    )
    for lines in (0, 1, 5):
        before = len(study.changes())
        with subprocess.Popen(
            [sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True
        ) as process:
            said = [int(process.stdout.readline()) for _ in range(lines)]
            process.kill()
            said += [int(line) for line in process.stdout.read().split()]
        new = [each.after["value"] for each in study.changes()[before:]]
        assert len(said) <= len(new) + 1  # the first value may be there already
        assert set(said) <= {*new, 0}
        assert len(new) <= len(said) + 1
    assert study.record(1).value == study.changes()[-1].after["value"]


def test_what_cannot_be_corrected(url):
    study = told(url, 2)
    study.hand_out(study.ask().id)
    for number, told_, words in (
        (2, 1.0, "trial 2 is pending: tell what came of it"),
        (5, 1.0, "there is no trial 5"),
        (0, "x", "must be a number"),
        (0, {"yeild": 1.0}, "must be a number"),
    ):
        with pytest.raises(InputError, match=words):
            study.correct(number, told_)
    assert study.changes() == ()


def test_trials_that_only_optuna_knows_stay_as_they_are(url):
    study = told(url, 2)
    study.optuna.enqueue_trial({"x": 0.5, "n": 2})
    pruned = study.optuna.ask()
    study.optuna.tell(pruned, state=optuna.trial.TrialState.PRUNED)
    study.optuna.enqueue_trial({"x": 0.6, "n": 2})
    states = [record.state for record in study.records()]
    assert states == ["complete", "complete", "pruned", "waiting"]
    for number in (2, 3):
        with pytest.raises(InputError, match=f"trial {number} is {states[number]}: it stays"):
            study.forget(number)
        with pytest.raises(InputError, match=f"trial {number} is {states[number]}: it stays"):
            study.correct(number, 1.0)


def test_earlier_versions_refuse_what_was_changed(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"
    study = told(url, 2)
    assert study.optuna.user_attrs["innerloop"]["version"] == 1
    study.correct(0, 3.0)
    assert study.optuna.user_attrs["innerloop"]["version"] == 3
    line = [*INNERLOOP, "trials", "-f", "json", "--storage", url, "--study", "s"]
    run = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)[0]["value"] == 3.0


@pytest.mark.parametrize("text", ["-1.5", "-2", "-3e-1", "-.5"])
def test_negative_values_are_no_options(text, tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    call(tmp_path, "ask", "--space", "space.toml")
    assert call(tmp_path, "tell", "0", text)[1] == "told 1\n"
    assert json.loads(call(tmp_path, "trials", "-f", "json")[0])[0]["value"] == float(text)
    call(tmp_path, "tell", "0", "-x", status=2)


def test_the_history_is_shown(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    call(tmp_path, "ask", "-n", "2", "--space", "space.toml")
    assert json.loads(call(tmp_path, "history", "-f", "json")[0]) == []
    assert call(tmp_path, "history", "-f", "csv")[0].strip() == "at,kind,trial,before,after"
    call(tmp_path, "tell", "0", "70.1")
    call(tmp_path, "tell", "0", "7.01", "--correct")
    call(tmp_path, "tell", "--failed", "0", "--correct")
    call(tmp_path, "forget", "0")
    changes = json.loads(call(tmp_path, "history", "-f", "json")[0])
    assert [(c["kind"], c["trial"]) for c in changes] == [
        ("correct", 0), ("correct", 0), ("forget", 0)
    ]  # fmt: skip
    assert [c["before"].get("value") for c in changes] == [70.1, 7.01, None]
    assert [c["after"]["state"] for c in changes] == ["complete", "failed", "forgotten"]
    rows = list(csv.DictReader(io.StringIO(call(tmp_path, "history", "-f", "csv")[0])))
    assert [row["before"] for row in rows][:2] == [
        "value 70.1", 'state "complete", value 7.01'
    ]  # fmt: skip
    assert 'error "told to have failed"' in rows[1]["after"]
    url = f"sqlite:///{tmp_path}/innerloop.db"
    assert len(open_study(url, "default").changes()) == 3
    # What SQLite cannot be asked for at once is asked for with Optuna.
    slow = call(tmp_path, "history", "-f", "csv", "--storage", f"{url}?timeout=9")[0]
    assert slow == call(tmp_path, "history", "-f", "csv")[0]


# Trials that are to be forgotten.


def test_forgetting_from_the_shell(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    call(tmp_path, "ask", "-n", "4", "--space", "space.toml", "--seed", "1")
    (tmp_path / "r.csv").write_text("id,value\n0,1\n1,2\n2,3\n")
    call(tmp_path, "tell", "r.csv")
    before = call(tmp_path, "trials", "-f", "json")[0]
    _, err = call(tmp_path, "forget", "0", "3", "9", status=1)
    assert "forgotten: 1\n" in err
    assert "trial 3 is pending" in err
    assert "there is no trial 9" in err
    record = json.loads(call(tmp_path, "trials", "-f", "json")[0])[0]
    assert (record["state"], record["value"], record["lost"]) == ("forgotten", 1.0, False)
    assert as_csv(call(tmp_path, "trials", "-f", "csv")[0])[0]["value"] == "1.0"
    assert json.loads(call(tmp_path, "best", "-f", "json")[0])[0]["id"] == 1
    _, err = call(tmp_path, "tell", "0", "5", "--correct", status=1)
    assert "trial 0 was forgotten: bring it back first" in err
    call(tmp_path, "report")
    assert "forgotten" in (tmp_path / "report.html").read_text()
    assert "brought back: 1" in call(tmp_path, "forget", "0", "--undo")[1]
    assert call(tmp_path, "trials", "-f", "json")[0] == before


def test_a_forgotten_point_is_tried_again_by_a_run(tmp_path):
    (tmp_path / "few.toml").write_text('[k]\ntype = "integer"\nlow = 1\nhigh = 4\n')
    line = ["run", "--space", "few.toml", "-n", "4", "--", "echo {k}"]
    call(tmp_path, *line)
    call(tmp_path, "forget", "2")
    call(tmp_path, *line)
    records = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert [r["state"] for r in records] == [*["complete"] * 2, "forgotten", *["complete"] * 2]
    assert records[4]["params"] == records[2]["params"]


@IN_A_FILE
def test_a_study_forgets_and_remembers(url, tmp_path):
    study, other = told(url, 9, {4: -50.0}), told(f"sqlite:///{tmp_path}/other.db", 9, {4: -50.0})
    study.forget(4)
    assert study.best().value == min(value(r.params) for r in study.records() if r.id != 4)
    assert [t.state for t in optimizer_of(study).trials].count("forgotten") == 1
    never = create_study(f"sqlite:///{tmp_path}/never.db", "s", space=SPACE, seed=5)
    for record in [never.ask() for _ in range(9)]:
        if record.id == 4:
            never.fail(4, "never ran", lost=True)
        else:
            never.tell(record.id, value(record.params))
    assert open_study(url, "s").ask().params == never.ask().params
    study.fail(9, "again", lost=True)
    study.forget(4, undo=True)
    other.fail(other.ask().id, "again", lost=True)
    one, two = study.ask(), other.ask()
    assert (one.params, one.prediction) == (two.params, two.prediction)


# Results from elsewhere.

ELSEWHERE = "batch;x;n;value;noise_sd\nA;0,5;2;1,25;0,1\nB;1,5;3;-7;\nC;0,5;2;1,5;0,2\n"


def test_results_from_elsewhere_are_added(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    (tmp_path / "old.csv").write_text(ELSEWHERE)
    new = ["--space", "space.toml", "--seed", "1"]
    _, err = call(tmp_path, "add", "old.csv", *new)
    assert err == "added 3, 1 of them outside the space\nignored: 'batch'\n"
    records = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert [(r["params"], r["value"]) for r in records] == [
        ({"x": 0.5, "n": 2}, 1.25), ({"x": 1.5, "n": 3}, -7.0), ({"x": 0.5, "n": 2}, 1.5)
    ]  # fmt: skip
    assert "x must be a number from 0.0 to 1.0, got 1.5" in records[1]["outside"]
    assert "outside" not in records[0]
    # The best one can be chosen.
    assert json.loads(call(tmp_path, "best", "-f", "json")[0])[0]["id"] == 0
    assert call(tmp_path, "add", "old.csv")[1].startswith("added 0, 3 had been added before\n")
    assert call(tmp_path, "add", "old.csv", "--again")[1].startswith("added 3")
    url = f"sqlite:///{tmp_path}/innerloop.db"
    assert [r.noise_sds for r in open_study(url, "default").records()[:3]] == [
        {"value": 0.1}, {}, {"value": 0.2}
    ]  # fmt: skip
    call(tmp_path, "report")
    asked = json.loads(call(tmp_path, "ask", "-n", "3", "-f", "json")[0])
    assert all(0.0 <= r["params"]["x"] <= 1.0 for r in asked)


def test_rows_that_cannot_be_added_are_named(tmp_path):
    (tmp_path / "space.toml").write_text(TOML + '\n[c]\ntype = "choice"\nvalues = ["=a", "b"]\n')
    rows = [
        "x,n,c,value,state,error",
        "0.5,2,b,1,complete,",
        "0.5,2,d,1,,",
        "0.5,2.5,b,1,,",
        "0.5,2,b,,,",
        "0.5,2,b,much,,",
        ",2,b,1,,",
        "0.25,2,'=a,,failed,broken",
        "0.25,9,=a,-2.5,,",
        "0.25,9,=a,-2.5,,,7",
    ]
    (tmp_path / "old.csv").write_text("\n".join(rows))
    _, err = call(tmp_path, "add", "old.csv", "--space", "space.toml", status=1)
    assert "added 3, 1 of them outside the space" in err
    assert [line.partition("old.csv, ")[2] for line in err.splitlines()[1:]] == [
        "line 3: c must be one of '=a', 'b', got 'd'",
        "line 4: n must be an integer from 1 to 4, got 2.5",
        "line 5: there is no value",
        "line 6: value must be a number, got 'much'",
        "line 7: x must be a number, got ''",
        "line 10: there are 7 cells below 6 columns: what has a comma or the like in it must be "
        "in quotes",
    ]
    records = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert [(r["state"], r["error"]) for r in records] == [
        ("complete", None), ("failed", "broken"), ("complete", None)
    ]  # fmt: skip
    assert records[1]["params"] == {"x": 0.25, "n": 2, "c": "=a"}
    (tmp_path / "old.csv").write_text("x,value\n1,2\n")
    _, err = call(tmp_path, "add", "old.csv", status=1)
    assert "must name the columns, 'x', 'n', 'c', 'value' among them, got 'x,value'" in err
    assert "No such file" in call(tmp_path, "add", "none.csv", status=1)[1]


def test_what_a_study_prints_can_be_added_to_another(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    call(tmp_path, "run", "--space", "space.toml", "-n", "5", "--seed", "1", "--", "echo {x}{n}")
    text = call(tmp_path, "trials", "-f", "csv")[0]
    (tmp_path / "all.csv").write_text(text, newline="")
    other = ["--study", "other"]
    _, err = call(tmp_path, "add", "all.csv", "--space", "space.toml", *other)
    assert err == "added 5\n"
    one, two = as_csv(text), as_csv(call(tmp_path, "trials", "-f", "csv", *other)[0])
    for name in ("x", "n", "value", "state"):
        assert [row[name] for row in one.values()] == [row[name] for row in two.values()]


@IN_A_FILE
def test_added_results_teach_as_told_ones_do(url, tmp_path):
    right = told(f"sqlite:///{tmp_path}/right.db", 9)
    rows = [f"{r.params['x']!r},{r.params['n']},{r.value!r}" for r in right.records()]
    study = create_study(url, "s", space=SPACE, seed=5)
    done = add_text(study, "\n".join(["x,n,value", *rows]), "r.csv")
    assert (len(done.added), done.outside, done.complaints) == (9, [], [])
    one, other = study.ask(), right.ask()
    assert (one.params, one.prediction) == (other.params, other.prediction)
    # What is outside is learned from, too: here it says that little is to be gained inside.
    study.fail(one.id, "no", lost=True)
    add_text(study, "x,n,value\n" + "".join(f"{-x},2,{x}\n" for x in range(1, 6)), "r.csv")
    again = study.ask()
    SPACE.check(again.params)
    assert again.prediction != one.prediction
    assert optimizer_of(study).trials[-2].outside is not None
    assert study.best().id == right.best().id


def test_several_outcomes_from_elsewhere(url):
    study = create_study(url, "s", space=SPACE, seed=5, goals=GOALS)
    text = "heat\tcost\tnoise_sd.cost\tyield\tn\tx\n0,5\t2\t0,1\t7\t1\t0,5\n\t2\t\t3\t1\t0,5\n"
    done = add_text(study, text, "r.tsv")
    assert (done.added, done.complaints) == ([0], ["r.tsv, line 3: there is no heat"])
    record = study.record(0)
    assert record.outcomes == {"yield": 7.0, "cost": 2.0, "heat": 0.5}
    assert record.noise_sds == {"cost": 0.1}
    assert optuna.load_study(study_name="s", storage=url).trials[0].constraints == {"heat": -0.5}
    assert [r.id for r in study.front()] == [0]


def test_noise_in_files_of_values(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    call(tmp_path, "ask", "-n", "2", "--space", "space.toml")
    (tmp_path / "r.csv").write_text("id,value,noise_sd\n0,1,0.25\n1,2,\n")
    assert call(tmp_path, "tell", "r.csv")[1] == "told 2\n"
    assert call(tmp_path, "tell", "r.csv")[1] == "told 0, 2 had been told before\n"
    (tmp_path / "r.csv").write_text("id,value,noise_sd\n0,1,0.5\n1,2,-1\n")
    _, err = call(tmp_path, "tell", "r.csv", "--correct", status=1)
    assert "corrected 1" in err
    assert "the noise_sd of value of trial 1 must be 0 or above, got '-1'" in err
    study = open_study(f"sqlite:///{tmp_path}/innerloop.db", "default")
    assert [r.noise_sds for r in study.records()] == [{"value": 0.5}, {}]
    assert [t.noise_sd for t in optimizer_of(study).trials] == [0.5, None]


# The same point told several times.


@pytest.mark.parametrize("noise", ["", "0.4"])
def test_replicates_settle_which_is_best(noise, tmp_path):
    (tmp_path / "space.toml").write_text('[x]\ntype = "real"\nlow = 0\nhigh = 1\n')
    # One point was lucky once; the other is better on average, by far.
    told_ = {0.2: [3.0, -0.5, 3.1, 2.9, 3.2], 0.8: [0.1, -0.1, 0.0, 0.2, -0.2], 0.5: [2.0, 2.1]}
    rows = [f"{x},{each},{noise}" for x, values in told_.items() for each in values]
    (tmp_path / "r.csv").write_text("\n".join(["x,value,noise_sd", *rows]))
    assert call(tmp_path, "add", "r.csv", "--space", "space.toml")[1] == "added 12\n"
    (best,) = json.loads(call(tmp_path, "best", "-f", "json")[0])
    assert best["params"] == {"x": 0.8}
    study = open_study(f"sqlite:///{tmp_path}/innerloop.db", "default")
    optimizer = optimizer_of(study)
    assert optimizer.best.params == {"x": 0.8}
    means = {x: sum(values) / len(values) for x, values in told_.items()}
    for x, mean in means.items():
        assert optimizer.predict({"x": x}).mean == pytest.approx(mean, abs=0.8)
    # More of the same is better known.
    sds = [optimizer.predict({"x": 0.8}).sd]
    for _ in range(3):
        for each in told_[0.8]:
            optimizer.add({"x": 0.8}, each, noise_sd=float(noise) if noise else None)
        sds.append(optimizer.predict({"x": 0.8}).sd)
    assert sds == sorted(sds, reverse=True)
    assert sds[-1] < 0.8 * sds[0]


# Another space.

WIDER = TOML.replace("high = 1", "high = 2") + '\n[kind]\ntype = "choice"\nvalues = ["a", "b"]\n'


def test_a_space_is_changed_from_the_shell(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    (tmp_path / "wider.toml").write_text(WIDER)
    line = ["run", "-n", "8", "--seed", "1", "--", "echo {x}"]
    call(tmp_path, *line[:1], "--space", "space.toml", *line[1:])
    pending = call(tmp_path, "ask", "-f", "json")[0]
    before = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    _, err = call(tmp_path, "space", "wider.toml", status=1)
    assert "'kind' is new: give a default" in err
    _, err = call(tmp_path, "space", "wider.toml", "--default", "kind=c", status=1)
    assert "kind must be one of 'a', 'b', got 'c'" in err
    assert json.loads(call(tmp_path, "trials", "-f", "json")[0]) == before
    _, err = call(tmp_path, "space", "wider.toml", "--default", "kind=b")
    assert err == "9 trials, 0 of them outside the space\n"
    (tmp_path / "shown.toml").write_text(call(tmp_path, "space")[0])
    assert Space.from_toml(tmp_path / "shown.toml") == Space.from_toml(tmp_path / "wider.toml")
    records = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert [r["params"] for r in records] == [r["params"] | {"kind": "b"} for r in before]
    assert [r["value"] for r in records] == [r["value"] for r in before]
    call(tmp_path, "tell", str(json.loads(pending)[0]["id"]), "0.5")
    call(tmp_path, "run", "-n", "14", "--", "echo {x}{kind} | tr -d ab")
    records = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert [r["state"] for r in records] == ["complete"] * 14
    space = Space.from_toml(tmp_path / "wider.toml")
    assert all(space.check(r["params"]) == r["params"] for r in records)
    assert {r["params"]["kind"] for r in records[9:]} <= {"a", "b"}
    # And back: what lies beyond is kept, and is not the best.
    _, err = call(tmp_path, "space", "space.toml", status=1)
    assert "'kind' is missing: drop it" in err
    call(tmp_path, "space", "space.toml", "--drop", "kind")
    after = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert [r["params"] for r in after[:9]] == [r["params"] for r in before]
    beyond = [r["id"] for r in after if "outside" in r]
    assert beyond == [r["id"] for r in records if r["params"]["x"] > 1]
    changes = list(csv.DictReader(io.StringIO(call(tmp_path, "history", "-f", "csv")[0])))
    assert [c["kind"] for c in changes] == ["space", "space"]
    assert "x.high 1.0" in changes[0]["before"]
    assert "x.high 2.0" in changes[0]["after"]
    call(tmp_path, "report")
    _, err = call(tmp_path, "ask", "--space", "wider.toml", status=1)
    assert "'innerloop space' changes it" in err


def test_choices_and_scales_that_optuna_cannot_change(url):
    """Of a parameter's name, Optuna takes neither other choices nor another scale."""
    first = {"x": Real(0.1, 1.0), "kind": Choice(["a", "b", "c"])}
    study = create_study(url, "s", space=Space(first), seed=5)
    for record in [study.ask() for _ in range(9)]:
        study.tell(record.id, record.params["x"] + "abc".index(record.params["kind"]))
    assert study.best().params["kind"] == "a"
    second = Space({"x": Real(0.05, 1.0, log=True), "kind": Choice(["d", "c", "b"])})
    study.change_space(second)
    assert study.best().params["kind"] == "b"
    for k in range(4):
        seen = open_study(url, "s") if k % 2 else study
        record = seen.ask()
        assert second.check(record.params) == record.params
        assert seen.tell(record.id, record.params["x"]).params == record.params
    records = open_study(url, "s").records()
    assert [r.outside is None for r in records[9:]] == [True] * 4
    for record in records[:9]:
        assert (record.outside is None) == (record.params["kind"] != "a")
    optimizer = optimizer_of(study)
    assert optimizer.best.value == study.best().value
    done = add_text(study, "x,kind,value\n0.5,d,2\n0.01,c,3\n", "r.csv")
    assert (len(done.added), len(done.outside)) == (2, 1)
    study.change_space(Space(first))
    records = study.records()
    assert [r.outside is None for r in records[:9]] == [True] * 9
    for record in records[9:]:
        inside = record.params["kind"] in "abc" and record.params["x"] >= 0.1
        assert (record.outside is None) == inside
    assert study.ask().params["kind"] in "abc"


@IN_A_FILE
def test_a_space_that_is_changed_back_leaves_no_trace(url, tmp_path):
    study, other = told(url, 9), told(f"sqlite:///{tmp_path}/other.db", 9)
    assert study.ask().params == other.ask().params
    before = study.records()
    study.change_space(Space({"x": Real(0.25, 0.5), "n": Integer(1, 9)}))
    assert study.records() != before
    assert any(r.outside for r in study.records())
    study.change_space(SPACE)
    assert study.records() == before
    one, two = study.ask(), other.ask()
    assert (one.params, one.prediction) == (two.params, two.prediction)


@IN_A_FILE
def test_a_narrower_space_is_as_if_trials_had_come_from_elsewhere(url, tmp_path):
    narrow = Space({"x": Real(0.25, 0.5), "n": Integer(2, 3)})
    study = told(url, 9)
    study.change_space(narrow)
    rows = [f"{r.params['x']!r},{r.params['n']},{r.value!r}" for r in study.records()]
    other = create_study(f"sqlite:///{tmp_path}/other.db", "s", space=narrow, seed=5)
    add_text(other, "\n".join(["x,n,value", *rows]), "r.csv")
    one, two = study.ask(), other.ask()
    narrow.check(one.params)
    assert (one.params, one.prediction) == (two.params, two.prediction)
    assert [r.outside for r in study.records()] == [r.outside for r in other.records()]


def test_processes_see_a_space_that_another_has_changed(url):
    study, other = told(url, 9), open_study(url, "s")
    assert other.ask().params.keys() == {"x", "n"}
    more = Space({**SPACE.parameters, "z": Real(5.0, 6.0)})
    study.change_space(more, defaults={"z": 5.0})
    record = other.ask()
    assert more.check(record.params) == record.params
    assert other.record(9).params["z"] == 5.0
    other.tell(9, 1.0)
    assert [r.params["z"] for r in other.records()[:10]] == [5.0] * 10
    assert other.records() == study.records()
    held = Space({"x": Real(0.0, 1.0), "n": 2, "z": Real(5.0, 6.0)})
    study.change_space(held)
    for record in other.records():
        assert (record.outside is None) == (record.params["n"] == 2)
    assert other.ask().params["n"] == 2


def test_several_outcomes_in_a_space_of_their_own(url):
    study = told(url, 9, goals=GOALS)
    study.change_space(Space({"x": Real(0.25, 2.0), "n": Integer(1, 4)}))
    inside = [r for r in study.records() if r.params["x"] >= 0.25]
    assert 0 < len(inside) < 9
    assert {r.id for r in study.front()} <= {r.id for r in inside}
    assert study.ask().params["x"] >= 0.25
