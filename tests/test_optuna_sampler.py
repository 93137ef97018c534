"""The sampler for Optuna: what it finds, what it shares with other processes, what it survives."""

import datetime
import json
import math
import os
import pickle
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

optuna = pytest.importorskip("optuna", reason="needs Optuna: pip install 'innerloop[study]'")

from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial  # noqa: E402

import innerloop as il  # noqa: E402
from innerloop.integrations.optuna import InnerLoopSampler  # noqa: E402
from innerloop.integrations.optuna_model import SpaceModel  # noqa: E402
from innerloop.integrations.optuna_space import (  # noqa: E402
    at_quantile,
    external,
    internal,
    parameter_of,
    searchable,
)
from innerloop.integrations.trial_marks import PLAN  # noqa: E402

HUB = Path(__file__).parents[1] / "docs" / "integrations" / "optunahub"
optuna.logging.set_verbosity(optuna.logging.ERROR)

PLANE = {"x": FloatDistribution(-5.0, 10.0), "y": FloatDistribution(0.0, 15.0)}
UNIT = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def branin(x, y):
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def bowl(x, y):
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


def on_plane(trial):
    return branin(trial.suggest_float("x", -5.0, 10.0), trial.suggest_float("y", 0.0, 15.0))


def study_with(sampler, points, *, space=UNIT, f=bowl, **options):
    """A study that was told the values of a function at points (n, 2)."""
    study = optuna.create_study(sampler=sampler, **options)
    for point in points:
        params = dict(zip(space, map(float, point), strict=True))
        study.add_trial(create_trial(params=params, distributions=space, value=f(**params)))
    return study


def twelve_points():
    return np.random.default_rng(0).random((12, 2))


def asked(study, space=UNIT):
    return np.array(list(study.ask(space).params.values()))


def smallest_gap(points):
    """The distance of the two points that are nearest to each other."""
    points = np.array(points)
    gaps = np.linalg.norm(points[:, None] - points, axis=-1)
    return gaps[~np.eye(len(points), dtype=bool)].min()


# What it finds.


def test_finds_the_optimum_of_branin():
    study = optuna.create_study(sampler=InnerLoopSampler(seed=0))
    study.optimize(on_plane, n_trials=30)
    assert study.best_value < 0.397887 + 0.1  # one point in 500 is as good


def test_maximizing_is_minimizing_the_negative():
    up = optuna.create_study(direction="maximize", sampler=InnerLoopSampler(seed=1))
    down = optuna.create_study(sampler=InnerLoopSampler(seed=1))
    up.optimize(lambda trial: -on_plane(trial), n_trials=12)
    down.optimize(on_plane, n_trials=12)
    assert [t.params for t in up.trials] == [t.params for t in down.trials]


def mixed(trial):
    rate = math.log10(trial.suggest_float("rate", 1e-4, 1.0, log=True)) / 4 + 1
    depth = trial.suggest_int("depth", 2, 10, step=2)
    width = math.log2(trial.suggest_int("width", 1, 256, log=True)) / 8
    share = trial.suggest_float("share", 0.0, 1.0, step=0.1)
    kind = trial.suggest_categorical("kind", ["a", None, False])
    trial.suggest_float("single", 2.0, 2.0)
    misfit = (rate - 0.5) ** 2 + (width - 0.5) ** 2 + (share - 0.3) ** 2
    return misfit + 0.1 * (depth - 6) ** 2 + 0.3 * (kind is not None)


def test_finds_the_optimum_of_a_mixed_space():
    study = optuna.create_study(sampler=InnerLoopSampler(seed=0))
    study.optimize(mixed, n_trials=40)
    assert study.best_params["kind"] is None
    assert study.best_params["depth"] == 6
    assert study.best_value < 0.05
    for trial in study.trials:
        assert trial.params["single"] == 2.0
        kinds = [type(trial.params[name]) for name in ("rate", "depth", "width", "share")]
        assert kinds == [float, int, int, float]


def branching(trial):
    cost = math.log10(trial.suggest_float("cost", 1e-3, 1e3, log=True))
    if trial.suggest_categorical("kernel", ["linear", "radial"]) == "linear":
        return 0.5 + 0.05 * (cost - 1) ** 2
    gamma = math.log10(trial.suggest_float("gamma", 1e-4, 1e1, log=True))
    tilt = trial.suggest_float("tilt", 0.0, 1.0)
    return 0.08 * (cost + 0.5 * gamma - 1) ** 2 + 0.1 * (gamma + 2) ** 2 + (tilt - 0.7) ** 2


def typical_best(objective, n_trials, sampler):
    """The median over three seeds of the best value found."""
    bests = []
    for seed in range(3):
        study = optuna.create_study(sampler=sampler(seed))
        study.optimize(objective, n_trials=n_trials)
        bests.append(study.best_value)
    return sorted(bests)[1]


def modelled(seed):
    return InnerLoopSampler(seed=seed)


def drawn(seed):
    """What is not in every trial, or varies, is drawn at random, as by other samplers."""
    at_random = optuna.samplers.RandomSampler(seed=seed)
    return InnerLoopSampler(seed=seed, independent_sampler=at_random)


def test_a_space_is_honoured_from_the_first_trial_on():
    """Constraints and fixed values, which distributions of Optuna cannot express."""
    space = il.Space(
        {"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0), "k": il.Integer(1, 4), "z": 7.0},
        constraints=["x + y <= 1", "x + 0.1*k <= 0.8"],
    )
    sampler = InnerLoopSampler(space=space, seed=0)
    study = optuna.create_study(sampler=sampler)

    def objective(trial):
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        return -x - y - 0.05 * trial.suggest_int("k", 1, 4)

    study.optimize(objective, n_trials=20)
    for trial in study.trials:
        assert space.check({**trial.params, "z": 7.0})
    assert study.best_value < -1.15  # -1.2 at k = 4, x <= 0.4, x + y = 1
    expected = [t.system_attrs.get("innerloop:expected") for t in study.trials]
    assert expected[0] is None
    assert expected[-1]["prediction"]["mean"] == pytest.approx(study.trials[-1].value, abs=0.3)
    with pytest.raises(il.InputError, match="space must be a Space"):
        InnerLoopSampler(space={"x": 1})


def test_parameters_of_a_branch_are_modelled():
    assert typical_best(branching, 25, modelled) < 0.05 < typical_best(branching, 25, drawn)


def test_ranges_that_depend_on_other_parameters_are_modelled():
    def dependent(trial):
        x = trial.suggest_float("x", 0.1, 10.0)
        return (x - 6) ** 2 / 10 + (trial.suggest_float("y", 0.0, x) - 2) ** 2

    assert typical_best(dependent, 20, modelled) < 0.05 < typical_best(dependent, 20, drawn)


def test_a_range_that_was_edited_is_searched_without_the_old_results():
    def within(low, high):
        return lambda trial: (trial.suggest_float("x", low, high) - 3.0) ** 2

    study = optuna.create_study(sampler=InnerLoopSampler(seed=0))
    study.optimize(within(0.0, 10.0), n_trials=12)
    study.optimize(within(6.0, 20.0), n_trials=14)
    later = [trial.params["x"] for trial in study.trials[12:]]
    assert min(later) < 6.05  # the best of the new range, though worse than old results
    assert all(6.0 <= x <= 20.0 for x in later)


@pytest.mark.parametrize(
    ("highs", "expected"),
    [
        ([1, 1, 1], 1),
        ([1], 1),
        ([1, 1, 2, 2], 2),  # edited
        ([1, 1, 2], None),  # edited, or different in every trial: not known yet
        ([1, 2, 1, 1], None),
        ([1, 2, 3, 4], None),
        ([1, None, 1], None),  # not in every trial
    ],
)
def test_the_space_is_what_complete_trials_have_in_common(highs, expected):
    study = optuna.create_study(sampler=InnerLoopSampler(seed=0))
    always = {"always": IntDistribution(0, 9)}
    for high in highs:
        space = always if high is None else {**always, "x": FloatDistribution(0.0, high)}
        study.add_trial(
            create_trial(params=dict.fromkeys(space, 0), distributions=space, value=0.0)
        )
    study.add_trial(create_trial(state=TrialState.FAIL))
    study.add_trial(create_trial(state=TrialState.PRUNED))
    trial = study._storage.get_trial(study.ask()._trial_id)
    found = study.sampler.infer_relative_search_space(study, trial)
    also = {} if expected is None else {"x": FloatDistribution(0.0, expected)}
    assert found == {**always, **also}


# Distributions.


@st.composite
def distributions(draw):
    low = draw(st.integers(-50, 50))
    high = low + draw(st.integers(0, 40))
    step = draw(st.sampled_from([None, 0.1, 0.25, 0.003, 2.0]))
    positive = draw(st.integers(1, 50))
    return draw(
        st.sampled_from(
            [
                FloatDistribution(low / 7, high / 7),
                FloatDistribution(low, low + 6.0, step=step),
                FloatDistribution(positive / 1e6, positive * 10.0, log=True),
                IntDistribution(low, high),
                IntDistribution(low, low + 12, step=3),
                IntDistribution(positive, positive + high - low, log=True),
                IntDistribution(0, 2**62),
                CategoricalDistribution(["a", "b", None, 0.5][: 1 + abs(low) % 4]),
                CategoricalDistribution([1, True, 1.0, "1", None, 0, False]),
            ]
        )
    )


@given(distributions(), st.floats(0.0, 1.0, exclude_max=True))
def test_whatever_is_chosen_is_contained_and_plain(distribution, u):
    drawn = at_quantile(distribution, u)
    assert distribution._contains(distribution.to_internal_repr(drawn))
    assume(searchable(distribution))
    parameter = parameter_of(distribution)
    value = external(distribution, parameter.decode([u] * parameter.width))
    assert distribution._contains(distribution.to_internal_repr(value))
    assert type(value) in (int, float, str, bool, type(None))
    assert parameter.check("value", internal(distribution, value)) == internal(distribution, value)
    # What the storage gives back is the same, also of choices that equal each other.
    stored = distribution.to_external_repr(distribution.to_internal_repr(value))
    assert stored == value
    assert type(stored) is type(value)


def test_choices_that_look_equal_are_never_confused():
    choices = [0, 1, True, 1.0, None, "1", False]
    seen = {}

    def objective(trial):
        seen[trial.number] = trial.suggest_categorical("kind", choices)
        return {0: 3.0, 1: 2.0, None: 1.0, "1": 4.0}[seen[trial.number]]

    study = optuna.create_study(sampler=InnerLoopSampler(seed=0, n_startup_trials=1))
    study.optimize(objective, n_trials=8)
    for trial in study.trials:
        assert type(trial.params["kind"]) is type(seen[trial.number])
    assert {*seen.values()} == {0, 1, None, "1"}  # each is tried, and none is taken for another
    assert study.best_params["kind"] is None


def test_the_first_trials_are_spread_evenly():
    study = optuna.create_study(sampler=InnerLoopSampler(seed=0))
    space = {**UNIT, "kind": CategoricalDistribution(["a", "b"])}
    trials = [study.ask(space) for _ in range(16)]
    for name in UNIT:
        assert sorted(int(16 * trial.params[name]) for trial in trials) == list(range(16))
    assert sum(trial.params["kind"] == "a" for trial in trials) == 8
    places = np.array([[trial.params[name] for name in UNIT] for trial in trials])
    assert abs(np.corrcoef(places.T)[0, 1]) < 0.9


def test_what_is_too_large_for_the_model_is_still_drawn():
    def objective(trial):
        large = trial.suggest_int("large", 0, 2**62)
        fine = trial.suggest_float("fine", 0.0, 1.0, step=1e-12)
        return large / 2**62 + fine + trial.suggest_float("x", 0.0, 1.0)

    study = optuna.create_study(sampler=InnerLoopSampler(seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=6)
    for name in ("large", "fine", "x"):
        assert len({trial.params[name] for trial in study.trials}) == 6
    plans = [trial.system_attrs.get("innerloop:plan", {}).keys() for trial in study.trials]
    assert plans == [set(), set(), *[{"x"}] * 4]


# Seeds, copies and processes.

WORKER = """
import json, sys
import optuna, sqlalchemy
from innerloop.integrations.optuna import InnerLoopSampler

@sqlalchemy.event.listens_for(sqlalchemy.Engine, "connect")
def do_not_wait_for_the_disk(connection, _):
    connection.execute("PRAGMA synchronous=OFF")

def objective(trial):
    x = trial.suggest_float("x", -5.0, 5.0)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    if kind == "a":
        return (x - 1) ** 2 + trial.suggest_float("z", 0.0, 1.0)
    if trial.number % 7 == 3:
        raise ValueError("one that fails")
    return (x + 1) ** 2 + 0.1 * abs(trial.suggest_int("n", 1, 64, log=True) - 8)

storage, trials, seed = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(
    storage=storage, study_name="shared", load_if_exists=True, sampler=InnerLoopSampler(seed=seed)
)
study.optimize(objective, n_trials=trials, catch=(ValueError,))
"""


def start(path, trials, seed, hash_seed=0):
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    arguments = [f"sqlite:///{path}", str(trials), json.dumps(seed)]
    return subprocess.Popen([sys.executable, "-c", WORKER, *arguments], env=environment)


def trials_in(path):
    return optuna.load_study(study_name="shared", storage=f"sqlite:///{path}").trials


def facts(trials):
    return [(trial.number, trial.state, trial.params, trial.values) for trial in trials]


def test_resumed_equals_straight_bit_for_bit_in_other_processes(tmp_path):
    straight, resumed = tmp_path / "straight.db", tmp_path / "resumed.db"
    processes = [start(straight, 40, 5), start(resumed, 20, 5, hash_seed=1)]
    assert [process.wait() for process in processes] == [0, 0]
    assert facts(trials_in(straight))[:20] == facts(trials_in(resumed))
    assert start(resumed, 20, 5, hash_seed=2).wait() == 0
    assert facts(trials_in(straight)) == facts(trials_in(resumed))
    states = [trial.state for trial in trials_in(straight)]
    assert TrialState.FAIL in states
    assert len(states) == 40


def test_two_processes_at_once_share_a_file_and_repeat_nothing(tmp_path):
    path = tmp_path / "both.db"
    # Two processes that make the tables of one database at once get into each other's way.
    optuna.create_study(storage=f"sqlite:///{path}", study_name="shared")
    processes = [start(path, 8, 0) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    trials = trials_in(path)
    assert all(trial.state.is_finished() for trial in trials)
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == 16
    assert sum("innerloop:plan" in trial.system_attrs for trial in trials) >= 6


def test_a_seed_repeats_itself_and_another_one_differs():
    runs = []
    for seed in (3, 3, 4, None, None):
        study = optuna.create_study(sampler=InnerLoopSampler(seed=seed))
        study.optimize(on_plane, n_trials=8)
        runs.append([trial.params for trial in study.trials])
    assert runs[0] == runs[1]
    assert all(runs[i] != runs[j] for i in range(1, 5) for j in range(1, i))


def test_copies_go_on_alike_unless_they_are_reseeded():
    study = study_with(InnerLoopSampler(seed=0, n_startup_trials=0), twelve_points())
    study.ask(UNIT)
    clones = [pickle.loads(pickle.dumps(study)) for _ in range(3)]
    clones[2].sampler.reseed_rng()
    first, second, reseeded = (asked(clone) for clone in clones)
    assert (first == second).all()
    assert clones[2].sampler.seed != clones[0].sampler.seed
    # Also before there is a model.
    fresh = [optuna.create_study(sampler=InnerLoopSampler(seed=0)) for _ in range(2)]
    fresh[1].sampler.reseed_rng()
    assert (asked(fresh[0]) != asked(fresh[1])).any()
    assert reseeded.shape == first.shape


def test_threads_share_a_sampler():
    study = optuna.create_study(sampler=InnerLoopSampler(seed=0, n_startup_trials=4))
    study.optimize(on_plane, n_trials=16, n_jobs=4)
    assert smallest_gap([list(trial.params.values()) for trial in study.trials]) > 1e-3
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)


def test_one_sampler_serves_one_study_after_the_other():
    sampler = InnerLoopSampler(seed=0, n_startup_trials=2)
    alone = optuna.create_study(sampler=InnerLoopSampler(seed=0, n_startup_trials=2))
    alone.optimize(on_plane, n_trials=6)
    other = optuna.create_study(sampler=sampler)
    other.optimize(mixed, n_trials=4)
    again = optuna.create_study(sampler=sampler)
    again.optimize(on_plane, n_trials=6)
    assert [t.params for t in again.trials] == [t.params for t in alone.trials]


# Trials under way.


def two_views(tmp_path, points):
    """The same study as two processes would have it, each with a sampler of its own."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first = study_with(InnerLoopSampler(seed=0), points, storage=url, study_name="both")
    second = optuna.load_study(study_name="both", storage=url, sampler=InnerLoopSampler(seed=0))
    return first, second


def test_what_is_planned_is_seen_by_others_before_it_is_asked_for(tmp_path):
    first, second = two_views(tmp_path, twelve_points())
    trial = first.ask()
    x = trial.suggest_float("x", 0.0, 1.0)  # y is not asked for yet
    plan = second.trials[-1].system_attrs["innerloop:plan"]
    assert plan["x"] == x
    other = asked(second)
    assert np.linalg.norm(other - [x, plan["y"]]) > 0.02
    assert trial.suggest_float("y", 0.0, 1.0) == plan["y"]


def test_workers_that_start_together_choose_different_points(tmp_path):
    first, second = two_views(tmp_path, twelve_points())
    one, two = first.ask(), second.ask()
    # The later one chooses first, and leaves the best place to the earlier one, which would ...
    later = np.array([two.suggest_float(name, 0.0, 1.0) for name in UNIT])
    alone = study_with(InnerLoopSampler(seed=0), twelve_points())
    best = asked(alone)
    # ... have it if it could not see the other's plan.
    assert np.linalg.norm(later - best) > 0.02
    earlier = np.array([one.suggest_float(name, 0.0, 1.0) for name in UNIT])
    assert np.linalg.norm(later - earlier) > 0.02


@pytest.mark.parametrize("told", [0, 12])  # before there is a model, and with one
@pytest.mark.parametrize("is_first", [True, False])
def test_a_point_that_another_trial_takes_meanwhile_is_left_to_it(told, is_first, monkeypatch):
    space = il.Space({"a": il.Integer(0, 3), "b": il.Integer(0, 3)})
    study = optuna.create_study(sampler=InnerLoopSampler(space=space, seed=0))
    everywhere = study.sampler.distributions
    for _ in range(told):
        trial = study.ask(everywhere)
        study.tell(trial, trial.params["a"] + trial.params["b"])
    both = [study.ask(), study.ask()]
    rival, trial = both if is_first else both[::-1]
    chosen, way = [], "choose" if told else "design"
    choose = getattr(SpaceModel, way)

    def then_others_write(*args, **kwargs):
        point = choose(*args, **kwargs)
        if not chosen:
            study._storage.set_trial_system_attr(rival._trial_id, PLAN, point.params)
        chosen.append(point.params)
        return point

    monkeypatch.setattr(SpaceModel, way, then_others_write)
    values = {name: trial._suggest(name, each) for name, each in everywhere.items()}
    assert values == chosen[-1] != chosen[0]
    assert len(chosen) == 2
    plans = [each.system_attrs[PLAN] for each in study.trials[told:]]
    assert sorted(plans, key=str) == sorted([chosen[0], values], key=str)
    # Everything is taken in the end, each point once, and asking goes on after that.
    points = {tuple(study.ask(everywhere).params.values()) for _ in range(14 - told)}
    assert len(points) == 14 - told
    assert study.ask(everywhere).params


def unfinished(params, age):
    """A trial that has been under way for some seconds."""
    trial = create_trial(
        state=TrialState.RUNNING, params=params, distributions={n: UNIT[n] for n in params}
    )
    trial.datetime_start = datetime.datetime.now() - datetime.timedelta(seconds=age)
    return trial


@pytest.mark.parametrize("expire", [None, 60.0])
def test_trials_of_dead_workers_expire(expire):
    best = asked(study_with(InnerLoopSampler(seed=0), twelve_points()))
    choices = []
    # The second one has no parameters, so that nobody can know where it is.
    for params in (dict(zip(UNIT, best.tolist(), strict=True)), {}):
        study = study_with(InnerLoopSampler(seed=0, expire=expire), twelve_points())
        study.add_trial(unfinished(params, age=3600.0))
        choices.append(asked(study))
    if expire is None:
        assert np.linalg.norm(choices[0] - best) > 0.02
        assert (choices[0] != choices[1]).any()
    else:
        assert np.linalg.norm(choices[0] - best) < 0.02
        np.testing.assert_array_equal(*choices)


def test_values_fixed_by_the_user_are_taken_into_account():
    """The valley of the function is diagonal: the best y depends on the x that was fixed."""
    points = np.random.default_rng(1).random((25, 2))
    study = study_with(
        InnerLoopSampler(seed=0), points, f=lambda x, y: (x + y - 1) ** 2 + 0.01 * (x - 0.5) ** 2
    )
    study.enqueue_trial({"x": 0.1})
    study.enqueue_trial({"x": 0.8})
    for x in (0.1, 0.8):
        trial = study.ask(UNIT)
        assert trial.params["x"] == x
        assert trial.params["y"] == pytest.approx(1 - x, abs=0.1)
        study.tell(trial, (x + trial.params["y"] - 1) ** 2)


# What is learned is learned once.


def learned(study):
    attributes = study._storage.get_study_system_attrs(study._study_id)
    return {key: value for key, value in attributes.items() if key.startswith("innerloop:learned")}


def test_learned_once_for_a_result_and_kept_in_the_study(tmp_path):
    first, second = two_views(tmp_path, twelve_points())
    assert learned(first) == {}
    trials = [first.ask(UNIT) for _ in range(3)]
    before = learned(first)
    assert len(before) == 1
    (model,) = first.sampler._memory._models.values()
    belief = model._taught
    trials.append(first.ask(UNIT))
    assert model._taught is belief
    second.ask(UNIT)
    assert learned(second) == before
    first.tell(trials[0], bowl(**trials[0].params))
    first.ask(UNIT)
    assert learned(first).keys() == before.keys()
    assert learned(first) != before


def test_another_process_uses_what_was_learned():
    """It takes even lengthscales that it would not have come to itself."""
    choices = []
    for lengthscales in (None, None, [0.03, 30.0]):
        study = study_with(InnerLoopSampler(seed=0), twelve_points())
        study.ask(UNIT)
        ((name, stored),) = learned(study).items()
        if lengthscales is not None:
            stored["learned"]["gp"]["lengthscales"] = lengthscales
            study._storage.set_study_system_attr(study._study_id, name, stored)
        if choices:
            study.sampler = InnerLoopSampler(seed=0)  # as in another process
        choices.append(asked(study))
    np.testing.assert_array_equal(choices[0], choices[1])
    assert math.dist(choices[0], choices[2]) > 1e-3


def test_what_another_version_has_stored_is_passed_over():
    study = study_with(InnerLoopSampler(seed=0), twelve_points())
    study.ask(UNIT)
    ((name, _),) = learned(study).items()
    study._storage.set_study_system_attr(study._study_id, name, {"version": 0, "learned": "?"})
    study.sampler = InnerLoopSampler(seed=0)
    assert len(asked(study)) == 2
    assert learned(study)[name]["version"] > 0


def test_memory_does_not_grow_with_branches():
    def objective(trial):
        branch = trial.suggest_int("branch", 0, 30)
        return branch + trial.suggest_float(f"of branch {branch}", 0.0, 1.0)

    sampler = InnerLoopSampler(seed=0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler)
    for branch in [*range(30), *range(30)]:
        study.enqueue_trial({"branch": branch})
    study.optimize(objective, n_trials=60)
    assert len(sampler._memory._models) <= 8
    assert len(sampler._memory._spaces) <= 64
    assert len(learned(study)) <= 31


# Trials without a value, or with one that does not count.


def test_keeps_away_from_where_trials_fail():
    """A model that knew nothing of failures would choose the same place every time."""
    study = study_with(InnerLoopSampler(seed=0), twelve_points())
    failed = []
    for _ in range(4):
        trial = study.ask(UNIT)
        study.tell(trial, state=TrialState.FAIL)
        failed.append(list(trial.params.values()))
    assert math.dist(failed[0], failed[-1]) > 0.05


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_failures(bad):
    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        return bad if x > 0.6 else (x - 0.5) ** 2

    study = optuna.create_study(sampler=InnerLoopSampler(seed=0, n_startup_trials=4))
    study.optimize(objective, n_trials=14)
    finite = [t.value for t in study.trials if t.value is not None and math.isfinite(t.value)]
    assert min(finite) < 1e-3


def test_a_pruned_trial_is_not_tried_again():
    study = study_with(InnerLoopSampler(seed=0), twelve_points())
    pruned = []
    for _ in range(4):
        trial = study.ask(UNIT)
        trial.report(0.4, step=1)
        study.tell(trial, state=TrialState.PRUNED)
        pruned.append(list(trial.params.values()))
    assert smallest_gap(pruned) > 0.02


@pytest.mark.parametrize(
    "fate",
    [
        {"state": TrialState.PRUNED},  # a run cut short
        {"constraints": {"forbidden": 0.1}},
        {"constraints": {"allowed": -1.0, "forbidden": 0.1}},
    ],
)
def test_values_that_look_too_good_do_not_attract(fate):
    study = study_with(InnerLoopSampler(seed=0, acquisition="sr"), twelve_points())
    where = {"x": 0.95, "y": 0.05}
    study.add_trial(create_trial(params=where, distributions=UNIT, value=-100.0, **fate))
    assert np.linalg.norm(asked(study) - [0.3, 0.6]) < 0.2


def test_a_constraint_that_is_met_changes_nothing():
    points, choices = twelve_points(), []
    for constraints in (None, {"met": 0.0, "well met": -1.0}):
        study = study_with(InnerLoopSampler(seed=0), points[:-1])
        params = dict(zip(UNIT, map(float, points[-1]), strict=True))
        study.add_trial(
            create_trial(
                params=params, distributions=UNIT, value=bowl(**params), constraints=constraints
            )
        )
        choices.append(asked(study))
    np.testing.assert_array_equal(*choices)


@pytest.mark.parametrize(
    "pruner", [optuna.pruners.HyperbandPruner(max_resource=4), optuna.pruners.MedianPruner()]
)
def test_works_with_pruners(pruner):
    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(4):
            trial.report((x - 0.3) ** 2 + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (x - 0.3) ** 2 + 0.25

    study = optuna.create_study(sampler=InnerLoopSampler(seed=0), pruner=pruner)
    study.optimize(objective, n_trials=14)
    assert study.best_value < 0.251


# Settings.


@pytest.mark.parametrize("acquisition", ["pi", "sr", "ucb", "es", "kg"])
def test_other_acquisition_functions(acquisition):
    study = study_with(InnerLoopSampler(seed=0, acquisition=acquisition), twelve_points())
    points = np.array([asked(study) for _ in range(2)])
    assert np.linalg.norm(points[0] - points[1]) > 1e-3
    assert ((points >= 0.0) & (points <= 1.0)).all()


def test_other_ways_to_search():
    ways = {"form": "joint", "way": "joint", "maximizer": "random_search", "seconds": 0.01}
    study = study_with(InnerLoopSampler(seed=0, **ways), twelve_points())
    assert ((0.0 <= asked(study)) & (asked(study) <= 1.0)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must be"),
        ({"n_startup_trials": -1}, "n_startup_trials must be"),
        ({"acquisition": "best"}, "acquisition must be one of"),
        ({"form": "incremental", "way": "joint"}, "form='incremental' goes with"),
        ({"expire": 0.0}, "expire must be above 0"),
        ({"seconds": -1.0}, "seconds must be above 0"),
        ({"independent_sampler": "random"}, "independent_sampler must be"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(il.InputError, match=message):
        InnerLoopSampler(**arguments)


def test_says_what_to_install_where_optuna_is_missing():
    code = "import sys; sys.modules['optuna'] = None; import innerloop.integrations.optuna"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode != 0
    assert "pip install 'innerloop[study]'" in run.stderr


def test_the_package_for_optunahub_offers_the_sampler():
    package = HUB / "package" / "samplers" / "innerloop"
    assert runpy.run_path(str(package / "__init__.py"))["InnerLoopSampler"] is InnerLoopSampler
    front = (package / "README.md").read_text().split("---\n")[1]
    keys = {line.split(":")[0] for line in front.splitlines()}
    assert keys == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "tags: [sampler," in front
    assert (package / "LICENSE").read_text() == (HUB.parents[2] / "LICENSE").read_text()
