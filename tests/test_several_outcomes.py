"""Optimizers and runs with several outcomes: objectives, limits, fronts, files, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import innerloop as il
from innerloop.acquisition.boxes import non_dominated, volume
from innerloop.optimizer.goals import Goals, OutcomeConstraint

SPACE = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
TWO = {"cost": "minimize", "gain": "maximize"}


def costs(params):
    """Cheap at the left, good at the right; y only spoils."""
    x, y = params["x"], params["y"]
    return {"cost": x**2 + y, "gain": 1.0 - (x - 1.0) ** 2 - y}


def limited(params):
    """Best at (0.2, 0.8), but x + y has to be 0.8 at most and x at least 0.1."""
    x, y = params["x"], params["y"]
    return {"loss": (x - 0.2) ** 2 + (y - 0.8) ** 2, "sum": x + y, "left": x}


LIMITS = ["sum <= 0.8", "left >= 0.1"]


def test_a_front_is_found():
    result = il.optimize(costs, SPACE, TWO, n_trials=32, batch_size=4, seed=0)
    optimizer = result.optimizer
    assert len(result.trials) == 32
    assert all(trial.state == "complete" and trial.value is None for trial in result.trials)
    assert result.front == optimizer.front
    for trial in result.front:
        for other in result.trials:
            better = other.outcomes["cost"] < trial.outcomes["cost"]
            assert not (better and other.outcomes["gain"] > trial.outcomes["gain"])
    # y = 0 is best throughout; of the volume above (cost 1.5, gain -0.5) little is missing.
    x = np.linspace(0.0, 1.0, 2001)
    ideal = volume(np.stack([-(x**2), 1.0 - (x - 1.0) ** 2], axis=1)[::10], np.array([-1.5, -0.5]))
    assert optimizer.hypervolume({"cost": 1.5, "gain": -0.5}) > 0.97 * ideal
    with pytest.raises(il.InputError, match="several objectives"):
        _ = optimizer.best
    assert "a front of" in str(result)


def test_the_best_within_limits_is_found():
    result = il.optimize(
        limited,
        SPACE,
        {"loss": "minimize"},
        outcome_constraints=LIMITS,
        n_trials=28,
        batch_size=4,
        seed=0,
    )
    best = result.best
    assert best.outcomes["sum"] <= 0.8
    assert best.outcomes["left"] >= 0.1
    assert best.value == best.outcomes["loss"]
    assert best.value == pytest.approx(0.02, abs=2e-3)  # at (0.1, 0.7), on the edge of both
    assert result.front == (best,)
    forecast = result.optimizer.predict({"x": 0.9, "y": 0.9})
    assert forecast.feasible < 0.05
    assert forecast.outcomes["sum"].mean == pytest.approx(1.8, abs=0.1)
    assert result.optimizer.predict({"x": 0.3, "y": 0.2}).feasible > 0.9
    asked = [trial for trial in result.trials if trial.predictions]
    assert asked
    assert all(set(t.predictions) == {"loss", "sum", "left"} for t in asked)


def test_the_first_feasible_trial_is_looked_for():
    """One hundredth of the square is feasible, and no starting point is."""

    def narrow(params):
        x, y = params["x"], params["y"]
        return {"loss": x, "far": (x - 0.83) ** 2 + (y - 0.21) ** 2}

    result = il.optimize(
        narrow,
        SPACE,
        {"loss": "minimize"},
        outcome_constraints=["far <= 0.003"],
        n_trials=30,
        batch_size=3,
        seed=1,
    )
    assert len(result.front) == 1
    assert result.best.outcomes["far"] <= 0.003


def told(optimizer, f, rounds, size=3):
    for _ in range(rounds):
        for trial in optimizer.ask(size):
            optimizer.tell(trial, f(trial.params))
    return [trial.params for trial in optimizer.trials]


@pytest.mark.parametrize(
    ("f", "goals"),
    [
        (costs, {"objectives": TWO, "reference": {"cost": 2.0, "gain": -1.0}}),
        (limited, {"objectives": {"loss": "minimize"}, "outcome_constraints": LIMITS}),
    ],
)
def test_saved_and_resumed(f, goals, tmp_path):
    straight = told(il.Optimizer(SPACE, seed=2, **goals), f, 6)
    optimizer = il.Optimizer(SPACE, seed=2, **goals)
    told(optimizer, f, 4)
    optimizer.save(tmp_path / "study.json")
    loaded = il.Optimizer.load(tmp_path / "study.json")
    assert loaded.goals == optimizer.goals
    assert loaded.trials == optimizer.trials
    assert told(loaded, f, 2) == straight


def test_outcomes_may_be_told_in_parts():
    optimizer = il.Optimizer(SPACE, objectives=TWO, outcome_constraints=["heat <= 3"], seed=0)
    trial = optimizer.ask()
    assert optimizer.tell(trial, {"gain": 1.0}).state == "pending"
    assert optimizer.tell(trial, {"heat": (2.0, 0.1)}).noise_sds == {"heat": 0.1}
    with pytest.raises(il.InputError, match=r"'gain' of trial 0 was told 1\.0 before"):
        optimizer.tell(trial, {"gain": 2.0})
    whole = optimizer.tell(trial, {"cost": 3.0})
    assert whole.state == "complete"
    assert whole.outcomes == {"gain": 1.0, "heat": 2.0, "cost": 3.0}
    assert optimizer.front == (whole,)
    with pytest.raises(il.InputError, match="before, and keeps it"):
        optimizer.tell(trial, {"cost": 3.0})
    # What is missing in some trials is learned from the others.
    for k in range(9):
        optimizer.tell(optimizer.ask(), {"gain": float(k % 3), "cost": k / 2.0, "heat": k % 4})
    half = optimizer.ask()
    optimizer.tell(half, {"cost": 1.5})
    assert optimizer.ask(2)[0].predictions is not None


def test_limits_may_be_relative_to_a_trial():
    optimizer = il.Optimizer(
        SPACE, objectives={"gain": "maximize"}, outcome_constraints=["time <= 1.5 * trial 0"]
    )
    first, second, third = optimizer.ask(3)
    optimizer.tell(second, {"gain": 5.0, "time": 100.0})
    assert optimizer.best.id == second.id  # there is no limit yet
    optimizer.tell(first, {"gain": 1.0, "time": 10.0})
    optimizer.tell(third, {"gain": 3.0, "time": 15.0})
    assert optimizer.best.id == third.id
    assert optimizer.ask().state == "pending"


@pytest.mark.parametrize(
    ("text", "name", "sign", "bound", "trial"),
    [
        ("impurity <= 2", "impurity", 1.0, 2.0, None),
        ("accuracy>=0.9", "accuracy", -1.0, 0.9, None),
        ("-1e-3 <= slope", "slope", -1.0, -1e-3, None),
        (" 3 >= heat of run ", "heat of run", 1.0, 3.0, None),
        ("latency <= trial 0", "latency", 1.0, 1.0, 0),
        ("latency <= 1.1 * trial 12", "latency", 1.0, 1.1, 12),
    ],
)
def test_constraints_are_read(text, name, sign, bound, trial):
    read = OutcomeConstraint.read(text)
    assert (read.name, read.sign, read.bound, read.trial) == (name, sign, bound, trial)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objectives": {}}, "objectives must have names"),
        ({"objectives": ["a", "b"]}, "objectives must be a mapping"),
        ({"objectives": {"a": "up"}}, "the direction of 'a' must be one of"),
        ({"outcome_constraints": "a <= 2"}, "outcome_constraints must be a list"),
        ({"outcome_constraints": ["a < 2"]}, "must read like 'impurity <= 2'"),
        ({"outcome_constraints": ["value <= 2"]}, "'value' is an objective"),
        ({"outcome_constraints": ["a <= 2", "a >= 1"]}, "more than one outcome constraint"),
        ({"objectives": TWO, "reference": {"cost": 1.0}}, "reference must have a number for each"),
        ({"objectives": TWO, "acquisition": "ucb"}, "acquisition functions of their own"),
    ],
)
def test_goals_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(il.InputError, match=message):
        il.Optimizer(SPACE, **arguments)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3.0, "tell trial 0 a mapping with its outcomes, .*got 3.0"),
        ((70.0, 3.2), "tell trial 0 a mapping"),
        ({}, "tell trial 0 a mapping"),
        ({"price": 3.0}, "there is no outcome 'price': outcomes are"),
        ({"cost": "much"}, "'cost' of trial 0 must be a number, got 'much'"),
        ({"cost": (1.0, -2.0)}, "noise_sd of trial 0 must be 0 or above"),
    ],
)
def test_outcomes_that_make_no_sense_are_refused(value, message):
    optimizer = il.Optimizer(SPACE, objectives=TWO)
    trial = optimizer.ask()
    with pytest.raises(il.InputError, match=message):
        optimizer.tell(trial, value)
    assert optimizer.pending == (trial,)


def test_one_outcome_that_is_not_finite_fails_a_trial_and_loses_nothing():
    optimizer = il.Optimizer(SPACE, objectives=TWO, seed=0)
    trial = optimizer.ask()
    failed = optimizer.tell(trial, {"cost": 2.5, "gain": math.nan})
    assert failed.state == "failed"
    assert failed.error == "gain was nan"
    assert failed.outcomes == {"cost": 2.5}
    assert optimizer.front == ()
    assert told(optimizer, costs, 5)


@pytest.mark.parametrize(
    "f",
    [
        lambda p: {"cost": 1.0, "gain": 2.0},
        lambda p: {"cost": p["x"], "gain": 2.0},
        lambda p: {"cost": p["x"], "gain": -p["x"]},
        lambda p: {"cost": 1e300 * p["x"], "gain": -1e-300 * p["y"]},
        lambda p: {"cost": p["x"], "gain": 1e300 if p["y"] > 0.5 else -1e300},
    ],
    ids=["all equal", "one constant", "one point", "sizes", "huge"],
)
def test_strange_outcomes_make_sensible_runs(f):
    result = il.optimize(f, SPACE, TWO, n_trials=14, batch_size=2, seed=0)
    assert result.stopped == "n_trials"
    assert len({tuple(trial.params.values()) for trial in result.trials}) == 14
    assert 1 <= len(result.front) <= 14


def test_limits_that_are_never_met_make_a_sensible_run():
    result = il.optimize(
        lambda p: {"loss": p["x"], "heat": 5.0 + p["y"]},
        SPACE,
        {"loss": "minimize"},
        outcome_constraints=["heat <= 1"],
        n_trials=14,
        batch_size=2,
        seed=0,
    )
    assert result.stopped == "n_trials"
    assert result.front == ()
    with pytest.raises(il.InputError, match="none is within all limits"):
        _ = result.best
    assert "no trial is within all limits" in str(result)


def test_functions_that_leave_out_outcomes_fail():
    result = il.optimize(lambda p: {"cost": 1.0}, SPACE, TWO, n_trials=2, max_failures=None, seed=0)
    assert [trial.state for trial in result.trials] == ["failed", "failed"]
    assert "f must return a mapping from 'cost', 'gain' to" in result.trials[0].error


@given(st.integers(2, 4), st.integers(0, 10_000))
def test_volumes_are_those_of_inclusion_and_exclusion(M, seed):
    rng = np.random.default_rng(seed)
    points, reference = rng.random((5, M)), np.full(M, -0.2)
    total = 0.0
    for subset in range(1, 2**5):
        rows = [k for k in range(5) if subset >> k & 1]
        sides = points[rows].min(axis=0) - reference
        total -= (-1) ** len(rows) * sides.prod()
    assert volume(points, reference) == pytest.approx(total)


def test_non_dominated_points():
    points = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 3.0]])
    assert non_dominated(points) == [0, 1, 3, 4]


def test_references_are_found_from_the_front():
    goals = Goals.of(TWO)
    front = np.array([[-1.0, 0.0], [-2.0, 10.0]])
    np.testing.assert_allclose(goals.reference_of(front, front), [-2.1, -1.0])
    everything = np.array([[-1.0, 0.0], [-5.0, 0.0]])
    np.testing.assert_allclose(goals.reference_of(front[:1], everything), [-1.4, -0.1])


def test_each_outcome_has_the_kernel_that_explains_it_better():
    """A wave is smooth, kinks are not; and with one objective, or a kernel given, that is it."""

    def learned(**options):
        space = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
        optimizer = il.Optimizer(space, seed=0, **options)
        for x, y in np.random.default_rng(0).random((40, 2)):
            wave = float(np.sin(4.0 * x) + np.cos(3.0 * y))
            kinks = float(abs(x - 0.3) + abs(y - 0.6) + abs(x - y))
            told = {"wave": wave, "kinks": kinks} if "objectives" in options else wave
            optimizer.add({"x": float(x), "y": float(y)}, told)
        optimizer.ask()
        return {name: type(each.gp.kernel) for name, each in optimizer._learned.items()}

    two = {"wave": "minimize", "kinks": "maximize"}
    found = learned(objectives=two)
    assert found["wave"] is il.SquaredExponential
    assert found["kinks"] is il.Matern52
    assert set(learned(objectives=two, kernel=il.Matern32).values()) == {il.Matern32}
    assert set(learned().values()) == {il.Matern52}
