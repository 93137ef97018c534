"""Studies in SQLite files, read without Optuna: the same as with it, or not at all."""

import math
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from innerloop import Choice, Integer, Real, Space
from innerloop.cli.views import view, views
from innerloop.optimizer.goals import Goals
from innerloop.studies.create import create_study
from innerloop.studies.storage import open_storage
from innerloop.studies.study import Study, open_study, studies_in
from innerloop.studies.study_file import StudyFile, study_file, study_files

optuna.logging.set_verbosity(optuna.logging.CRITICAL)

DISTRIBUTIONS = {
    "x": FloatDistribution(-1.0, 1.0),
    "rate": FloatDistribution(1e-6, 1.0, log=True),
    "stepped": FloatDistribution(0.0, 1.0, step=0.25),
    "n": IntDistribution(1, 9),
    "kind": CategoricalDistribution(["a", None, True, 3, 2.5, "\u00e4'\"%"]),
}
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=5))
FEW = {"max_size": 3}


@st.composite
def trials(draw):
    state = draw(st.sampled_from(TrialState))
    names = draw(st.lists(st.sampled_from(sorted(DISTRIBUTIONS)), unique=True, max_size=5))
    params = {}
    for name in names:
        each = DISTRIBUTIONS[name]
        if isinstance(each, CategoricalDistribution):
            params[name] = draw(st.sampled_from(each.choices))
        elif each.step is None:
            params[name] = draw(st.floats(each.low, each.high))
        else:
            steps = draw(st.integers(0, int((each.high - each.low) / each.step)))
            params[name] = each.low + steps * each.step
    value = draw(st.floats(-1e300, 1e300) | st.sampled_from([math.inf, -math.inf]))
    has_value = state in (TrialState.COMPLETE, TrialState.PRUNED)
    marks = {"innerloop:lost": draw(st.booleans())}
    user = draw(st.dictionaries(st.text(min_size=1, max_size=5), PLAIN, **FEW))
    return create_trial(
        state=state,
        value=value if has_value else None,
        params=params,
        distributions={name: DISTRIBUTIONS[name] for name in names},
        user_attrs={**user, "error": "it broke"},
        system_attrs=marks,
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(trials(), max_size=6), st.sampled_from(["minimize", "maximize"]))
def test_a_file_reads_as_optuna_reads_it(tmp_path_factory, stored, direction):
    url = f"sqlite:///{tmp_path_factory.mktemp('files')}/a b'\u00e4.db"
    storage = open_storage(url, writing=True)
    study = optuna.create_study(storage=storage, study_name="s", direction=direction)
    study.add_trials(stored)
    ours, theirs = study_file(url, "s"), open_study(url, "s", writing=False)
    assert ours.records() == theirs.records()
    assert ours.direction == theirs.direction == direction
    for mine, its in zip(ours.stored_trials(), theirs.stored_trials(), strict=True):
        for name in ("number", "values", "params", "user_attrs", "system_attrs"):
            assert getattr(mine, name) == getattr(its, name)
        assert mine.state.name == its.state.name
        assert (mine.datetime_start, mine.datetime_complete) == (
            its.datetime_start,
            its.datetime_complete,
        )


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/study.db"


def test_spaces_outcomes_and_limits_are_read(url):
    space = Space({"x": Real(0, 1), "n": Integer(1, 3), "kind": Choice(["a", "b"]), "fixed": 3})
    objectives = {"yield": "maximize", "cost": "minimize"}
    goals = Goals.of(objectives, outcome_constraints=["heat <= 0.5"])
    study = create_study(url, "s", space=space, seed=4, goals=goals)
    for k in range(4):
        told = {"yield": float(k), "cost": float(k * k), "heat": 0.2 * k}
        study.tell(study.ask().id, told if k != 2 else {"cost": 0.5})
    create_study(url, "plain", space=space, seed=2)
    seen = view(url, "s")
    assert isinstance(seen, StudyFile)
    assert (seen.space, seen.goals, seen.seed) == (space, goals, 4)
    assert seen.records() == study.records()
    assert seen.front() == study.front()
    assert seen.hypervolume() == study.hypervolume() > 0.0
    assert [each.name for each in views(url)] == [each.name for each in studies_in(url)]


def test_what_takes_optuna_is_left_to_it(url, tmp_path):
    create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0)
    path = tmp_path / "study.db"
    assert study_file(f"{url}?timeout=9", "s") is None
    assert isinstance(view(f"{url}?timeout=9", "s"), Study)
    assert study_file(url, "t") is None
    assert study_file("sqlite:///nowhere/study.db", "s") is None
    assert study_files("postgresql://localhost/studies") is None
    (tmp_path / "text.db").write_text("x,y\n" * 1000)
    assert study_files(f"sqlite:///{tmp_path}/text.db") is None
    other = tmp_path / "other.db"
    changes = (
        "UPDATE alembic_version SET version_num = 'v9'",
        'UPDATE trial_params SET distribution_json = \'{"name": "Unheard", "attributes": {}}\'',
        "ALTER TABLE trial_values RENAME COLUMN value TO other",
    )
    study = open_study(url, "s")
    study.tell(study.ask().id, 1.0)
    assert study_file(url, "s").best() == study.best()
    for change in changes:
        shutil.copy(path, other)
        with closing(sqlite3.connect(other)) as base:
            base.execute(change)
            base.commit()
        assert study_file(f"sqlite:///{other}", "s") is None, change


def test_a_file_that_a_process_left_half_written_is_put_right(url, tmp_path):
    study = create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0)
    study.tell(study.ask().id, 1.0)
    code = (
        "import os, sqlite3, sys\n"
        "base = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "base.execute('PRAGMA cache_size = 1')\n"  # so that pages are written before the end
        "base.execute('BEGIN')\n"
        "base.execute('UPDATE trial_values SET value = 7.0')\n"
        "for k in range(2000):\n"
        "    base.execute('INSERT INTO studies (study_name) VALUES (?)', (f'{k}' * 20,))\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "study.db"], check=False)
    assert (tmp_path / "study.db-journal").exists()
    assert study_file(url, "s").best().value == 1.0
    assert [each.name for each in study_files(url)] == ["s"]


@pytest.mark.parametrize("command", ["best", "trials", "front", "studies"])
def test_looking_at_a_file_does_not_import_optuna(url, command):
    study = create_study(url, "default", space=Space({"x": Real(0, 1)}), seed=0)
    study.tell(study.ask().id, 1.0)
    code = (
        "import sys\nfrom innerloop.cli.main import main\n"
        f"try:\n    main([{command!r}, '--storage', {url!r}])\n"
        "finally:\n"
        "    print({'optuna', 'sqlalchemy', 'scipy'} & sys.modules.keys(), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.splitlines()[-1] == "set()", ran.stderr
    assert "1" in ran.stdout
