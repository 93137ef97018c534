"""What is taken at the public edge: integers, steps, executors, files; and why trials failed."""

import os
import sqlite3
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import optuna
import pytest

import innerloop as il
from commands import call
from innerloop.integrations.optuna import InnerLoopSampler
from innerloop.optimizer.reasons import why_none
from innerloop.report.report import html_of
from innerloop.studies.create import create_study
from test_cli import call_alone

SPACE = il.Space({"x": il.Real(0.0, 1.0), "n": il.Integer(0, 9)})
TOML = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n'


def bowl(params):
    return (params["x"] - 0.3) ** 2 + params["n"]


def told():
    optimizer = il.Optimizer(SPACE, seed=0)
    for trial in optimizer.ask(4):
        optimizer.tell(trial, bowl(trial.params))
    return optimizer


def run(**settings):
    return [
        t.params for t in il.minimize(bowl, SPACE, **{"n_trials": 3, "seed": 1, **settings}).trials
    ]


def batch(**settings):
    posterior = il.fit(np.arange(6.0).reshape(3, 2) / 6, np.arange(3.0))
    posterior = posterior.condition(np.arange(6.0).reshape(3, 2) / 6, np.arange(3.0))
    return il.suggest(posterior, **{"q": 2, "seed": 1, **settings}).X.tolist()


def draws(**settings):
    gp = il.fit(np.arange(3.0)[:, None] / 3, np.arange(3.0))
    return il.prior_draws(gp, **{"d": 1, "features": 8, "seed": 1, **settings})([[0.5]]).tolist()


def optuna_points(**settings):
    study = optuna.create_study(sampler=InnerLoopSampler(**{"seed": 1, **settings}))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    return [trial.params for trial in study.trials]


INTEGERS = {
    "seed of a run": (run, "seed", 3),
    "trials of a run": (run, "n_trials", 2),
    "trials at a time": (run, "batch_size", 2),
    "initial trials": (run, "initial", 2),
    "failures in a row": (run, "max_failures", 2),
    "asked": (lambda n: len(told().ask(n)), "n", 2),
    "draws of regrets": (lambda draws: told().regrets(draws).tolist(), "draws", 8),
    "queries of a batch": (batch, "q", 3),
    "seed of a batch": (batch, "seed", 3),
    "base draws": (lambda m: il.sobol_normal(m, 2, 0).tolist(), "m", 4),
    "seed of base draws": (lambda seed: il.sobol_normal(4, 2, seed).tolist(), "seed", 3),
    "seed of independent draws": (lambda seed: il.iid_normal(4, 2, seed).tolist(), "seed", 3),
    "seed of functions": (draws, "seed", 3),
    "seed of points": (lambda seed: SPACE.spread(4, seed).tolist(), "seed", 3),
    "number of points": (lambda size: SPACE.spread(size, 0).tolist(), "size", 3),
    "seed of a sampler": (optuna_points, "seed", 3),
    "first trials of a sampler": (optuna_points, "n_startup_trials", 2),
    "next points of a report": (
        lambda next_points: html_of(told(), next_points=next_points).count("numeric"),
        "next_points",
        1,
    ),
}


@pytest.mark.parametrize("what", INTEGERS)
def test_integers_of_numpy_are_integers_and_bools_are_not(what):
    f, name, number = INTEGERS[what]
    assert f(**{name: np.int64(number)}) == f(**{name: np.uint8(number)}) == f(**{name: number})
    for wrong in (True, np.True_):
        with pytest.raises(il.InputError, match=rf"{name} must be an integer"):
            f(**{name: wrong})


def test_seeds_of_numpy_are_saved(tmp_path):
    optimizer = il.Optimizer(SPACE, seed=np.int64(3), initial=np.int16(4))
    optimizer.save(tmp_path / "it.json")
    assert il.Optimizer.load(tmp_path / "it.json").ask().params == optimizer.ask().params
    url = f"sqlite:///{tmp_path}/it.db"
    assert create_study(url, "it", space=SPACE, seed=np.int64(3)).seed == 3


@pytest.mark.parametrize("kind", [il.Real, il.Integer])
def test_a_step_larger_than_the_range_is_refused(kind):
    with pytest.raises(il.InputError, match="step must not be larger than the range from 0"):
        kind(0, 3, step=4)
    assert kind(0, 3, step=3).count == 2
    assert kind(2, 2, step=4).count == 1  # what earlier versions have made of it


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_is_an_instance(kind):
    with pytest.raises(
        il.InputError, match=rf"an instance such as {kind.__name__}\(max_workers=4\)"
    ):
        run(executor=kind)
    with pytest.raises(
        il.InputError, match=r"a method submit, got .threads.; or be dask://HOST:PORT, tcp"
    ):
        run(executor="threads")


# Why there is no best trial.


def fails(params, *, reasons):
    raise ValueError(reasons.pop())


def test_a_run_that_failed_throughout_says_why():
    f = partial(fails, reasons=["no such file"] * 4 + ["disk full"] * 2)
    result = il.minimize(f, SPACE, n_trials=6, seed=0)
    words = "all 6 trials failed, 4 of them with ValueError: no such file; 2 with ValueError: disk"
    for ask in (lambda: result.best, lambda: result.optimizer.best, lambda: result.params):
        with pytest.raises(il.InputError, match=f"there is no best trial: {words}"):
            ask()
    result.optimizer.ask(2)
    with pytest.raises(il.InputError, match="6 of 8 trials failed, 4 of them"):
        _ = result.best


def test_reasons_that_differ_and_no_reasons():
    assert why_none([], 3) == ""
    assert why_none([None], 1) == "the only trial failed with no reason given"
    assert why_none(["at 1", "a\nat 2"], 2) == "all 2 trials failed, the last of them with at 2"
    assert len(why_none(["x" * 9999] * 2, 2)) < 400


def test_best_says_why_a_study_has_none(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    (tmp_path / "it.py").write_text("def f(params):\n    raise KeyError('rate')\n")
    call_alone(
        tmp_path, "run", "it.py:f", "--space", "space.toml", "-n", "3", "--executor", "threads"
    )
    _, err = call_alone(tmp_path, "best", status=1)
    assert "no trial with a value yet: all 3 trials failed, 3 of them with KeyError: 'rate'" in err
    _, err = call(tmp_path, "front")
    assert "no trial is complete yet: all 3 trials failed" in err


# What is not there.

MISSING = [
    (["tell", "nofile.csv"], "nofile.csv"),
    (["add", "nofile.csv"], "nofile.csv"),
    (["add", "nofile.csv", "--space", "space.toml"], "nofile.csv"),
    (["ask", "--space", "nofile.toml"], "nofile.toml"),
    (["add", "rows.csv", "--space", "nofile.toml"], "nofile.toml"),
    (["run", "it.py:f", "--space", "nofile.toml"], "nofile.toml"),
    (["run", "nofile.py:f", "--space", "space.toml"], "nofile.py"),
    (["run", "it.py:f", "--space", "space.toml", "--executor", "nofile.json"], "nofile.json"),
    (["space", "nofile.toml"], "nofile.toml"),
]
NOT_THERE = [
    ["tell", "rows.csv"], ["tell", "7", "0.5"], ["tell", "--failed", "7"], ["add", "rows.csv"],
    ["ask"], ["run", "it.py:f"], ["forget", "7"], ["space"], ["space", "space.toml"], ["history"],
    ["trials"], ["best"], ["front"], ["report"], ["report", "other"],
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "space.toml").write_text(TOML)
    (tmp_path / "rows.csv").write_text("id,x,value\n0,0.5,1\n")
    (tmp_path / "it.py").write_text("def f(params):\n    return 1.0\n")
    return tmp_path


def test_commands_leave_nothing_where_something_is_missing(folder):
    """Neither a database where there was none, nor a study in one that is there."""
    before = sorted(os.listdir(folder))
    for words, missing in MISSING:
        _, err = call(folder, *words, status=1)
        assert missing in err, words
    for words in [*NOT_THERE, ["studies"]]:
        _, err = call(folder, *words, status=1)
        assert "innerloop.db: there is no such database" in err, words
    for words in (MISSING[0][0], NOT_THERE[0]):
        call_alone(folder, *words, status=1)
    assert sorted(os.listdir(folder)) == before
    call(folder, "ask", "--space", "space.toml", "--study", "other one")
    with sqlite3.connect(folder / "innerloop.db") as base:
        whole = list(base.iterdump())
        for words in NOT_THERE[:-1]:
            _, err = call(folder, *words, status=1)
            assert "there is no study 'default'" in err, words
            assert "'other one'" in err, words
        assert list(base.iterdump()) == whole
