"""The sampler for Optuna in studies with several directions, and with constraints."""

import hashlib
import json
import math
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", reason="needs Optuna: pip install 'innerloop[study]'")

from optuna.distributions import FloatDistribution  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

import innerloop as il  # noqa: E402
from innerloop.integrations.optuna import InnerLoopSampler  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)

UNIT = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
TWO = ("minimize", "maximize")


def misfits(x, y):
    """Squared distances from two places: small ones of the first are good, and of the second."""
    return (x - 0.2) ** 2 + (y - 0.3) ** 2, -((x - 0.8) ** 2) - (y - 0.6) ** 2


def trade(trial):
    return misfits(trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0))


def beyond_disc(x, y):
    return (x - 0.5) ** 2 + (y - 0.5) ** 2 - 0.09


def study_of(points, tell, *, directions=("minimize",), **options):
    """A study that was told what `tell` says of points: keywords of `create_trial`."""
    study = optuna.create_study(
        directions=list(directions), sampler=InnerLoopSampler(seed=0, **options)
    )
    for x, y in points:
        params = {"x": float(x), "y": float(y)}
        study.add_trial(create_trial(params=params, distributions=UNIT, **tell(**params)))
    return study


def some_points(n=12):
    return np.random.default_rng(0).random((n, 2))


def asked(study):
    return study.ask(UNIT).params


def area(study):
    """The area that values dominate, the first small and the second large, up to (1, -1)."""
    total, edge = 0.0, -1.0
    for cost, gain in sorted(t.values for t in study.trials if t.values):
        if cost < 1.0 and gain > edge:
            total += (1.0 - cost) * (gain - edge)
            edge = gain
    return total


def learned(study):
    attributes = study._storage.get_study_system_attrs(study._study_id)
    return {key for key in attributes if key.startswith("innerloop:learned")}


def models_of(study):
    return [each._taught.model for each in study.sampler._memory._models.values()]


# What it finds.


@pytest.mark.parametrize("seed", range(3))
def test_a_front_is_better_than_one_of_ten_times_as_many_random_trials(seed):
    areas = []
    samplers = InnerLoopSampler(seed=seed), optuna.samplers.RandomSampler(seed=seed)
    for sampler, n_trials in zip(samplers, (24, 240), strict=True):
        study = optuna.create_study(directions=TWO, sampler=sampler)
        study.optimize(trade, n_trials=n_trials)
        areas.append(area(study))
    assert areas[0] > areas[1]


def test_turning_an_objective_around_changes_nothing():
    runs = []
    for sign in (1.0, -1.0):
        directions = ["minimize", "maximize" if sign > 0 else "minimize"]
        study = optuna.create_study(directions=directions, sampler=InnerLoopSampler(seed=1))
        study.optimize(lambda t, sign=sign: (trade(t)[0], sign * trade(t)[1]), n_trials=12)
        runs.append([trial.params for trial in study.trials])
    assert runs[0] == runs[1]


def named(trial):
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    trial.set_constraint("disc", beyond_disc(x, y))
    return x + y


def unnamed(trial):
    return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_float("y", 0.0, 1.0)


@pytest.mark.parametrize(
    ("objective", "constraints_func"),
    [(named, None), (unnamed, lambda trial: [beyond_disc(**trial.params)])],
)
def test_finds_the_best_feasible_point(objective, constraints_func):
    study = optuna.create_study(
        direction="maximize", sampler=InnerLoopSampler(seed=0, constraints_func=constraints_func)
    )
    study.optimize(objective, n_trials=24)
    best = 1.0 + 0.6 / math.sqrt(2.0)  # where the edge of the disc is farthest out
    assert best - 1e-2 < study.best_value <= best
    assert all(beyond_disc(**t.params) in t.constraints.values() for t in study.trials)


def test_constraints_of_a_function_are_written_where_optuna_writes_them():
    studies = []
    for kind in (InnerLoopSampler, optuna.samplers.NSGAIISampler):
        with pytest.warns(FutureWarning) if kind is not InnerLoopSampler else nullcontext():
            sampler = kind(seed=0, constraints_func=lambda trial: (trial.number - 1.0, -2.0))
        study = optuna.create_study(sampler=sampler)
        study.optimize(unnamed, n_trials=3)
        failed = study.ask()
        study.tell(failed, state=TrialState.FAIL)
        studies.append(study)
    ours, theirs = ([t.system_attrs.get("constraints") for t in s.trials] for s in studies)
    assert list(map(str, ours)) == list(map(str, theirs))
    assert studies[0].trials[2].constraints == {"0": 1.0, "1": -2.0}


def test_a_front_keeps_within_limits():
    def limited(trial):
        values = trade(trial)
        trial.set_constraint("0", trial.params["x"] - 0.5)  # objectives have numbers, too
        return values

    study = optuna.create_study(directions=TWO, sampler=InnerLoopSampler(seed=0))
    study.optimize(limited, n_trials=24)
    xs = [trial.params["x"] for trial in study.best_trials]
    assert len(xs) >= 8
    assert 0.45 < max(xs) <= 0.5
    assert min(xs) < 0.3


def test_looks_for_what_is_feasible_as_long_as_nothing_is():
    def tell(x, y):
        return {"value": x, "constraints": {"far": math.hypot(x - 0.9, y - 0.9) - 0.05}}

    points = [each for each in some_points(16) if tell(*each)["constraints"]["far"] > 0.0]
    study = study_of(points, tell)
    for _ in range(6):
        trial = study.ask(UNIT)
        told = tell(**trial.params)
        trial.set_constraint("far", told["constraints"]["far"])
        study.tell(trial, told["value"])
    # One point in 120 is within the limit, and values alone lead away from it.
    assert any(t.constraints["far"] <= 0.0 for t in study.trials[len(points) :])


@pytest.mark.parametrize(
    ("objectives", "limits"),
    [({"0": "minimize", "1": "maximize"}, []), ({"0": "minimize"}, ["constraint c <= 0"])],
)
def test_chooses_what_an_optimizer_chooses(objectives, limits):
    def tell(x, y):
        values = misfits(x, y)[: len(objectives)]
        return {"values": values, "constraints": {"c": 0.4 - x} if limits else None}

    study = study_of(some_points(), tell, directions=objectives.values())
    chosen = asked(study)
    optimizer = il.Optimizer(
        il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)}),
        objectives=objectives,
        outcome_constraints=limits,
        seed=study.sampler._seed_for(12),
        initial=1,
    )
    for trial in study.trials[:12]:
        told = {str(i): value for i, value in enumerate(trial.values)}
        limited = {f"constraint {name}": value for name, value in trial.constraints.items()}
        optimizer.add(trial.params, {**told, **limited})
    expected = optimizer.ask()
    assert chosen == expected.params
    stored = study.trials[-1].system_attrs["innerloop:expected"]["predictions"]
    for name, each in expected.predictions.items():
        assert stored[name] == pytest.approx({"mean": each.mean, "sd": each.sd}, rel=1e-9)


# Outcomes that are missing, or say nothing.


def test_what_some_trials_lack_is_missing_there():
    """What lacks a constraint is not known to be feasible, however good its value is."""
    numbers = iter(range(12))

    def tell(x, y):
        limited = next(numbers) % 2 == 0
        value = x + y if limited else x + y - 10.0
        return {"value": value, "constraints": {"c": 0.8 - x} if limited else None}

    study = study_of(some_points(), tell)
    asked(study)
    (model,) = models_of(study)
    assert model.rows == {"0": tuple(range(12)), "constraint c": tuple(range(0, 12, 2))}
    complete = [trial.id for trial in model.trials if trial.state == "complete"]
    assert complete == list(range(0, 12, 2))
    assert len(model.failed) == 0


def test_a_violated_constraint_that_one_trial_has_is_a_failure_and_one_that_two_have_a_limit():
    points = some_points()
    for having, failures in ((1, 1), (2, 0)):
        numbers = iter(range(12))

        def tell(x, y, having=having, numbers=numbers):
            limits = {"c": 1.0} if next(numbers) < having else None
            return {"value": x + y, "constraints": limits}

        study = study_of(points, tell)
        asked(study)
        (model,) = models_of(study)
        assert len(model.failed) == failures
        assert type(model).__name__ == ("OneOutcome" if failures else "SeveralOutcomes")


@pytest.mark.parametrize("acquisition", ["pi", "ucb"])
def test_with_other_acquisition_functions_a_violation_is_a_failure(acquisition):
    study = study_of(
        some_points(),
        lambda x, y: {"value": x, "constraints": {"c": 0.3 - x}},
        acquisition=acquisition,
    )
    asked(study)
    (model,) = models_of(study)
    below = [x for x, _ in some_points() if x < 0.3]
    assert sorted(model.failed[:, 0]) == pytest.approx(sorted(below))


def test_several_objectives_have_an_acquisition_function_of_their_own():
    study = optuna.create_study(directions=TWO, sampler=InnerLoopSampler(acquisition="ucb"))
    with pytest.raises(il.InputError, match="several outcomes have acquisition functions"):
        study.ask(UNIT)
    with pytest.raises(il.InputError, match="constraints_func must be a function"):
        InnerLoopSampler(constraints_func=[0.0])


ODD = {
    "constant": lambda i, a, b: (1.0, b),
    "huge": lambda i, a, b: (1e300 * a, b),
    "infinite now and then": lambda i, a, b: (math.inf, b) if i % 2 else (a, b),
    "never finite": lambda i, a, b: (math.inf, b) if i % 2 else (a, -math.inf),
    "failing now and then": lambda i, a, b: (a, b) if i % 3 else None,
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_outcomes(odd):
    """And a constraint that is never met, or infinitely far away."""

    def objective(trial):
        values = trade(trial)
        trial.set_constraint("never", 1.0 + trial.params["x"])
        if trial.number > 6:
            trial.set_constraint("far", math.inf if trial.number % 2 else -math.inf)
        return ODD[odd](trial.number, *values)

    study = optuna.create_study(
        directions=TWO, sampler=InnerLoopSampler(seed=0, n_startup_trials=2)
    )
    study.optimize(objective, n_trials=10)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 10
    modelled = sum("innerloop:plan" in trial.system_attrs for trial in study.trials)
    assert (modelled == 0) == (odd == "never finite")


def test_parameters_of_a_branch_are_modelled():
    def branching(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return x + 1.0, x - 1.0
        return misfits(x, trial.suggest_float("y", 0.0, 1.0))

    areas = []
    for kind in (InnerLoopSampler, optuna.samplers.RandomSampler):
        studies = []
        for seed in range(3):
            study = optuna.create_study(directions=TWO, sampler=kind(seed=seed))
            study.optimize(branching, n_trials=30)
            studies.append(study)
        areas.append(sorted(map(area, studies))[1])
        if kind is InnerLoopSampler:
            later = [t for t in study.trials[15:] if "y" in t.params]
            assert all("y" in trial.system_attrs["innerloop:plan"] for trial in later)
            assert len(later) > 7  # the other branch is worse throughout
    assert areas[0] > areas[1]


# What is learned, and other processes.


def test_each_outcome_is_learned_once_and_kept_apart_from_others():
    def two_and_a_limit(x, y):
        return {"values": misfits(x, y), "constraints": {"c": 0.4 - x}}

    plain = study_of(some_points(), lambda x, y: {"value": x})
    asked(plain)
    digest = hashlib.sha256(repr(["x", "y"]).encode()).hexdigest()[:16]
    assert learned(plain) == {f"innerloop:learned:{digest}"}  # as ever
    study = study_of(some_points(), two_and_a_limit, directions=TWO)
    first = asked(study)
    assert len(learned(study)) == 3
    assert not learned(study) & learned(plain)
    (model,) = models_of(study)
    asked(study)
    assert models_of(study)[0] is model
    # Another process finds it, and chooses the same.
    again = study_of(some_points(), two_and_a_limit, directions=TWO)
    for key in learned(study):
        stored = study._storage.get_study_system_attrs(study._study_id)[key]
        stored["learned"]["gp"]["lengthscales"] = [0.03, 30.0]
        again._storage.set_study_system_attr(again._study_id, key, stored)
    assert asked(again) != first
    lengthscales = [each.gp.kernel.lengthscales for each in models_of(again)[0].learned.values()]
    np.testing.assert_array_equal(lengthscales, [[0.03, 30.0]] * 3)


WORKER = """
import json, sys
import optuna, sqlalchemy
from innerloop.integrations.optuna import InnerLoopSampler

@sqlalchemy.event.listens_for(sqlalchemy.Engine, "connect")
def do_not_wait_for_the_disk(connection, _):
    connection.execute("PRAGMA synchronous=OFF")

def objective(trial):
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    trial.set_constraint("c", 0.3 - x)
    if trial.number % 7 == 3:
        raise ValueError("one that fails")
    return (x - 0.2) ** 2 + (y - 0.3) ** 2, -((x - 0.8) ** 2) - (y - 0.6) ** 2

storage, trials = sys.argv[1], int(sys.argv[2])
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(
    storage=storage, study_name="shared", sampler=InnerLoopSampler(seed=5)
)
study.optimize(objective, n_trials=trials, catch=(ValueError,))
"""


def new_study(path):
    url = f"sqlite:///{path}"
    optuna.create_study(storage=url, study_name="shared", directions=TWO)
    return url


def start(url, trials):
    return subprocess.Popen([sys.executable, "-c", WORKER, url, str(trials)])


def trials_in(url):
    return optuna.load_study(study_name="shared", storage=url).trials


def facts(trials):
    plain = [(t.number, t.state.name, t.params, t.values, t.constraints) for t in trials]
    return json.loads(json.dumps(plain))


def test_resumed_equals_straight_bit_for_bit(tmp_path):
    straight, resumed = new_study(tmp_path / "straight.db"), new_study(tmp_path / "resumed.db")
    processes = [start(straight, 20), start(resumed, 11)]
    assert [process.wait() for process in processes] == [0, 0]
    assert start(resumed, 9).wait() == 0
    assert facts(trials_in(straight)) == facts(trials_in(resumed))
    assert len(trials_in(straight)) == 20
    assert "predictions" in trials_in(straight)[-1].system_attrs["innerloop:expected"]


def test_two_processes_at_once_lose_nothing_and_repeat_nothing(tmp_path):
    url = new_study(tmp_path / "both.db")
    processes = [start(url, 10) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    trials = trials_in(url)
    assert len(trials) == 20
    for trial in trials:
        is_failure = trial.number % 7 == 3
        assert trial.state == (TrialState.FAIL if is_failure else TrialState.COMPLETE)
        assert trial.values == (None if is_failure else list(misfits(**trial.params)))
        assert trial.constraints == {"c": 0.3 - trial.params["x"]}
    points = np.array([[trial.params["x"], trial.params["y"]] for trial in trials])
    gaps = np.abs(points[:, None] - points).max(axis=-1)
    assert gaps[~np.eye(20, dtype=bool)].min() > 1e-6
    assert sum("innerloop:plan" in trial.system_attrs for trial in trials) >= 8


def test_trials_under_way_are_pending():
    study = study_of(some_points(), lambda x, y: {"values": misfits(x, y)}, directions=TWO)
    points = np.array([list(asked(study).values()) for _ in range(4)])
    gaps = np.linalg.norm(points[:, None] - points, axis=-1)
    assert gaps[~np.eye(4, dtype=bool)].min() > 0.02
