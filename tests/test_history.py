"""Corrections: as if the right thing had been told at once, and nothing that was told is lost."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innerloop as il
from innerloop.report.report import html_of
from innerloop.space.outside import admit, locate

SPACE = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0), "n": il.Integer(1, 5)})
SEVERAL = {
    "objectives": {"yield": "maximize", "cost": "minimize"},
    "outcome_constraints": ["heat <= 1.2"],
}


def value(params):
    return (params["x"] - 0.3) ** 2 + math.sin(3 * params["y"]) + 0.1 * params["n"]


def outcomes(params):
    heat = params["x"] + params["y"] / 2
    return {"yield": -value(params), "cost": params["n"] + params["x"], "heat": heat}


def plain_points(seed, n):
    return [SPACE.decode(x) for x in SPACE.spread(n, seed)]


def told(points, values, noise=None, **settings_):
    """An optimizer that was told these results from elsewhere."""
    optimizer = il.Optimizer(SPACE, seed=3, **settings_)
    for k, (params, each) in enumerate(zip(points, values, strict=True)):
        if each is None:
            optimizer.add(params, state="failed")
        else:
            optimizer.add(params, each, noise_sd=None if noise is None else noise[k])
    return optimizer


def asked(optimizer, n=2):
    """What it would ask, without asking: all that it says of the next trials."""
    optimizer = optimizer.with_trials(optimizer.trials) if n is None else optimizer
    return [(t.id, t.params, t.prediction, t.predictions) for t in optimizer.ask(n)]


VALUES = [value(params) for params in plain_points(7, 12)]
CHANGES = st.lists(
    st.tuples(st.integers(0, 11), st.none() | st.floats(-3, 3)), min_size=1, max_size=4
)


@settings(max_examples=8)
@given(CHANGES)
def test_a_corrected_optimizer_asks_as_if_told_the_right_values(wrong):
    points = plain_points(7, 12)
    values = list(VALUES)
    for k, each in wrong:
        values[k] = each
    optimizer = told(points, values)
    for k, _ in wrong:
        optimizer.correct(k, VALUES[k])
    right = told(points, VALUES)
    assert [t.value for t in optimizer.trials] == VALUES
    assert asked(optimizer) == asked(right)


@settings(max_examples=8)
@given(
    st.lists(st.tuples(st.integers(0, 11), st.none() | st.floats(-3, 3)), max_size=4), st.booleans()
)
def test_what_is_changed_back_changes_nothing(changes, has_asked):
    one, other = (told(plain_points(7, 12), VALUES) for _ in range(2))
    if has_asked:  # hyperparameters are learned then, and go on from there
        assert asked(one) == asked(other)
    for k, each in changes:
        one.correct(k, each, state="failed" if each is None else "complete")
    for k, _ in changes:
        one.correct(k, VALUES[k])
    assert asked(one) == asked(other)


def test_what_was_learned_from_a_wrong_value_is_learned_anew():
    points = plain_points(7, 12)
    optimizer = told(points, [*VALUES[:11], 1e4])
    before = optimizer.ask()
    optimizer.correct(11, VALUES[11])
    right = told(points, VALUES)
    right.add(before.params, state="cancelled")
    optimizer.tell(before, state="cancelled")
    assert optimizer.learned.gp.kernel.lengthscales == pytest.approx(
        right.learned.gp.kernel.lengthscales
    )
    assert asked(optimizer) == asked(right)
    assert optimizer.best.value == min(VALUES)


def test_a_correction_is_kept_with_what_was_before(tmp_path):
    optimizer = told(plain_points(7, 3), [3.0, 1.0, 2.0])
    assert optimizer.best.id == 1
    assert optimizer.correct(1, 71.0, noise_sd=0.5).value == 71.0
    assert optimizer.best.id == 2
    optimizer.correct(optimizer.trials[1], state="failed", error="it leaked")
    failed = optimizer.trials[1]
    assert (failed.state, failed.value, failed.error) == ("failed", None, "it leaked")
    assert failed.noise_sd is None
    optimizer.correct(1, 0.5)
    assert optimizer.correct(1, 0.5) == optimizer.trials[1]
    optimizer.correct(1, math.nan)
    assert [(c.kind, c.trial) for c in optimizer.history] == [("correct", 1)] * 4
    assert [c.before.get("value") for c in optimizer.history] == [1.0, 71.0, None, 0.5]
    assert [c.after.get("value") for c in optimizer.history] == [71.0, None, 0.5, None]
    optimizer.save(tmp_path / "o.json")
    loaded = il.Optimizer.load(tmp_path / "o.json")
    assert loaded.history == optimizer.history
    assert loaded.trials == optimizer.trials
    assert asked(loaded) == asked(optimizer)


def test_noise_is_corrected_too():
    points, noise = plain_points(7, 12), [0.2] * 12
    optimizer = told(points, VALUES, noise)
    asked_with_noise = optimizer.with_trials(optimizer.trials).ask(2)
    for k in range(12):
        optimizer.correct(k, VALUES[k], noise_sd=1e-3)
    right = told(points, VALUES, [1e-3] * 12)
    assert [t.params for t in optimizer.ask(2)] == [t.params for t in right.ask(2)]
    assert [t.params for t in asked_with_noise] != [t.params for t in optimizer.pending]


def test_some_of_several_outcomes():
    points = plain_points(5, 9)
    right = told(points, map(outcomes, points), **SEVERAL)
    wrong = told(points, [{**outcomes(p), "heat": 9.0} for p in points], **SEVERAL)
    assert not wrong.front
    for k, params in enumerate(points):
        wrong.correct(k, {"heat": outcomes(params)["heat"]})
    assert [t.outcomes for t in wrong.trials] == [t.outcomes for t in right.trials]
    assert wrong.front == () or [t.id for t in wrong.front] == [t.id for t in right.front]
    assert asked(wrong) == asked(right)
    assert wrong.history[0].before["outcomes"]["heat"] == 9.0


def test_several_outcomes_fail_and_come_back():
    optimizer = told(plain_points(5, 3), map(outcomes, plain_points(5, 3)), **SEVERAL)
    whole = optimizer.trials[1]
    optimizer.correct(1, state="failed", error="spilled")
    assert optimizer.trials[1].outcomes is None
    with pytest.raises(il.InputError, match="trial 1 was told no yield and no heat: give all"):
        optimizer.correct(1, {"cost": 2.0})
    back = optimizer.correct(1, whole.outcomes)
    assert (back.state, back.outcomes) == ("complete", whole.outcomes)
    nan = optimizer.correct(1, {"cost": math.nan})
    assert (nan.state, nan.error, set(nan.outcomes)) == (
        "failed",
        "cost was nan",
        {"yield", "heat"},
    )
    assert optimizer.correct(1, {"cost": 2.0}).state == "complete"


def test_parts_are_corrected_before_the_rest_is_told():
    optimizer = il.Optimizer(SPACE, seed=0, **SEVERAL)
    trial = optimizer.ask()
    optimizer.tell(trial, {"yield": 7.0})
    assert optimizer.correct(trial, {"yield": (71.0, 0.5)}).state == "pending"
    now = optimizer.tell(trial, {"cost": 1.0, "heat": 1.0})
    assert (now.state, now.outcomes["yield"], now.noise_sds) == ("complete", 71.0, {"yield": 0.5})


def test_the_one_objective_with_a_limit_has_its_value_corrected():
    optimizer = il.Optimizer(SPACE, seed=0, outcome_constraints=["heat <= 1"])
    optimizer.add(plain_points(0, 1)[0], {"value": 1.0, "heat": 0.5})
    assert optimizer.correct(0, {"value": 3.0}).value == 3.0
    assert optimizer.best.value == 3.0


@pytest.mark.parametrize(
    ("trial", "arguments", "words"),
    [
        (0, {"value": 1.0}, "trial 0 is pending: tell what came of it"),
        (1, {"value": 1.0}, "trial 1 is cancelled: tell what came of it"),
        (9, {"value": 1.0}, "there is no trial 9"),
        (2, {"value": "3"}, "must be a number, got '3'"),
        (2, {"value": 1.0, "noise_sd": -1.0}, "must be 0 or above"),
        (2, {"value": 1.0, "state": "failed"}, "a failed trial has no value"),
        (2, {"state": "cancelled"}, "state must be one of"),
        (2, {}, "must be a number, got None"),
    ],
)
def test_what_cannot_be_corrected(trial, arguments, words):
    optimizer = il.Optimizer(SPACE, seed=0)
    optimizer.tell(optimizer.ask(3)[1], state="cancelled")
    optimizer.tell(2, 5.0)
    before = optimizer.trials
    with pytest.raises(il.InputError, match=words):
        optimizer.correct(trial, **arguments)
    assert optimizer.trials == before
    assert optimizer.history == ()


def test_files_without_corrections_are_as_before(tmp_path):
    optimizer = told(plain_points(7, 3), [3.0, 1.0, 2.0])
    optimizer.save(tmp_path / "o.json")
    whole = json.loads((tmp_path / "o.json").read_text())
    assert whole["version"] == 1
    assert list(whole["content"]) == ["space", "settings", "trials", "drawn", "learned"]
    optimizer.correct(0, 4.0)
    optimizer.save(tmp_path / "o.json")
    assert json.loads((tmp_path / "o.json").read_text())["version"] == 2


# Trials that are to be forgotten.


@settings(max_examples=8)
@given(st.sets(st.integers(0, 11), max_size=6), st.booleans())
def test_what_is_brought_back_was_never_gone(ids, has_asked):
    one, other = (told(plain_points(7, 12), VALUES) for _ in range(2))
    if has_asked:
        assert asked(one) == asked(other)
    before = one.trials
    for k in ids:
        one.forget(k)
    for k in ids:
        one.forget(k, undo=True)
    assert one.trials == before
    assert len(one.history) == 2 * len(ids)
    assert asked(one) == asked(other)


@settings(max_examples=6)
@given(st.sets(st.integers(0, 11), min_size=1, max_size=6))
def test_what_is_forgotten_teaches_nothing(ids):
    points = plain_points(7, 12)
    optimizer = told(points, VALUES)
    for k in ids:
        optimizer.forget(k)
    # As if these had never been evaluated, though there are as many trials.
    never = il.Optimizer(SPACE, seed=3)
    for k, params in enumerate(points):
        if k in ids:
            never.add(params, state="cancelled")
        else:
            never.add(params, VALUES[k])
    assert optimizer.best.params == never.best.params
    assert asked(optimizer) == asked(never)
    assert [t.value for t in optimizer.trials[:12]] == VALUES


def test_a_forgotten_trial_stays_on_record(tmp_path):
    points = plain_points(7, 4)
    optimizer = told(points, [3.0, 1.0, None, 2.0])
    assert optimizer.forget(1).state == "forgotten"
    assert optimizer.forget(1).value == 1.0
    assert optimizer.forget(2).state == "forgotten"
    assert optimizer.best.id == 3
    assert optimizer.chance is None
    assert not optimizer.abandoned
    for change in (
        lambda: optimizer.tell(1, 3.0),
        lambda: optimizer.correct(1, 3.0),
        lambda: optimizer.resume(1),
    ):
        with pytest.raises(il.InputError, match="trial 1 was forgotten: bring it back first"):
            change()
    optimizer.save(tmp_path / "o.json")
    loaded = il.Optimizer.load(tmp_path / "o.json")
    assert loaded.trials == optimizer.trials
    assert loaded.forget(2, undo=True).state == "failed"
    assert loaded.forget(1, undo=True).state == "complete"
    assert loaded.best.id == 1
    assert loaded.forget(0, undo=True) == optimizer.trials[0]
    assert [(c.kind, c.trial) for c in loaded.history] == [
        ("forget", 1), ("forget", 2), ("undo", 2), ("undo", 1)
    ]  # fmt: skip


def test_the_point_of_a_forgotten_trial_may_be_tried_again():
    space = il.Space({"n": il.Integer(1, 3)})
    optimizer = il.Optimizer(space, seed=0)
    for n in (1, 2, 3):
        optimizer.add({"n": n}, float(n))
    assert optimizer.exhausted
    optimizer.forget(1)
    assert not optimizer.exhausted
    assert optimizer.ask().params == {"n": 2}


def test_what_cannot_be_forgotten():
    limits = ["heat <= 1.1 * trial 0"]
    optimizer = il.Optimizer(SPACE, seed=0, outcome_constraints=limits)
    optimizer.add(plain_points(0, 1)[0], {"value": 1.0, "heat": 0.5})
    optimizer.ask()
    with pytest.raises(il.InputError, match="trial 0 is what 'heat"):
        optimizer.forget(0)
    with pytest.raises(il.InputError, match="trial 1 is pending"):
        optimizer.forget(1)
    with pytest.raises(il.InputError, match="there is no trial 2"):
        optimizer.forget(2)
    assert optimizer.history == ()


def test_several_outcomes_are_forgotten():
    points = plain_points(5, 9)
    optimizer = told(points, map(outcomes, points), **SEVERAL)
    before = optimizer.front
    optimizer.forget(before[0].id)
    assert before[0].id not in [t.id for t in optimizer.front]
    never = il.Optimizer(SPACE, seed=3, **SEVERAL)
    for k, params in enumerate(points):
        if k == before[0].id:
            never.add(params, state="cancelled")
        else:
            never.add(params, outcomes(params))
    assert asked(optimizer) == asked(never)
    optimizer.forget(before[0].id, undo=True)
    assert optimizer.front == before


# Results from beyond the space.

BEYOND = il.Space(
    {
        "x": il.Real(0.0, 1.0),
        "rate": il.Real(0.1, 1.0, log=True),
        "step": il.Real(0.0, 1.0, step=0.25),
        "n": il.Integer(1, 5),
        "size": il.Integer(1, 64, log=True),
        "kind": il.Choice(["a", "b", "c"]),
        "fixed": 3,
    }
)
GIVEN = {"x": 0.5, "rate": 0.3, "step": 0.5, "n": 3, "size": 8, "kind": "b"}


@pytest.mark.parametrize(
    ("changed", "coordinate"),
    [
        ({"x": 1.5}, 1.5),
        ({"x": -2}, -2.0),
        ({"rate": 10.0}, 2.0),
        ({"rate": 0.01}, -1.0),
        ({"step": 1.3}, 1.3),
        ({"step": 0.3}, 0.3),
        ({"n": 7}, 1.5),
        ({"n": 0}, -0.25),
        ({"size": 512}, 1.5),
    ],
)
def test_results_beyond_a_range_have_a_place(changed, coordinate):
    (name,) = changed
    values, why = admit(BEYOND, GIVEN | changed)
    assert values == {**GIVEN, "fixed": 3} | changed
    assert list(values) == list(BEYOND.names)
    assert name in why
    assert locate(BEYOND, values)[BEYOND.columns[name]] == pytest.approx(coordinate, abs=1e-12)
    others = np.delete(locate(BEYOND, values), BEYOND.columns[name])
    assert np.array_equal(others, np.delete(BEYOND.encode(GIVEN), BEYOND.columns[name]))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "d"}, "kind must be one of 'a', 'b', 'c', got 'd'"),
        ({"fixed": 4}, "fixed must be one of 3, got 4"),
        ({"rate": 0.0}, "rate must be a number from 0.1 to 1.0"),
        ({"n": 2.5}, "n must be an integer"),
        ({"x": math.inf}, "x must be a number"),
        ({"x": "0.5"}, "x must be a number"),
        ({"x": True}, "x must be a number"),
        ({"z": 1}, r"unknown \['z'\]"),
    ],
)
def test_what_has_no_place_is_refused(changed, words):
    optimizer = il.Optimizer(BEYOND, seed=0)
    with pytest.raises(il.InputError, match=words):
        optimizer.add(GIVEN | changed, 1.0)
    assert optimizer.trials == ()


@pytest.mark.parametrize("acquisition", ["ei", "pi", "ucb", "kg"])
@pytest.mark.parametrize("noise", [None, 0.3])
def test_results_beyond_the_space_are_learned_from_and_never_chosen(acquisition, noise):
    line = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(line, seed=0, acquisition=acquisition)
    rng = np.random.default_rng(0)
    # The more x, the better: what is beyond is better than anything that can be chosen.
    for x in rng.uniform(-1.0, 3.0, 16):
        optimizer.add({"x": float(x), "y": float(rng.uniform())}, -3.0 * float(x), noise_sd=noise)
    outside = [t for t in optimizer.trials if not 0.0 <= t.params["x"] <= 1.0]
    assert {t.id for t in outside} == {t.id for t in optimizer.trials if t.outside is not None}
    assert 4 < len(outside) < 16
    assert optimizer.best.outside is None
    assert optimizer.front == (optimizer.best,)
    trial = optimizer.ask()
    line.check(trial.params)
    assert trial.outside is None
    # It knows what to expect between what is inside and what is beyond.
    assert optimizer.predict({"x": 1.0, "y": 0.5}).mean == pytest.approx(-3.0, abs=0.5)
    assert trial.params["x"] > optimizer.best.params["x"] - 0.05


def test_with_nothing_in_the_space_asks_go_where_it_gets_better(tmp_path):
    line = il.Space({"x": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(line, seed=0, direction="maximize", initial=1)
    for x in (2.0, 2.5, 3.0, 4.0):
        optimizer.add({"x": x}, -x)
    with pytest.raises(il.InputError, match="none that was told a value is in the space"):
        _ = optimizer.best
    assert optimizer.front == ()
    optimizer.save(tmp_path / "o.json")
    loaded = il.Optimizer.load(tmp_path / "o.json")
    assert loaded.trials == optimizer.trials
    assert loaded.ask().params == optimizer.ask().params
    optimizer.tell(4, 5.0)
    assert optimizer.best.id == 4


def test_several_outcomes_beyond_the_space():
    optimizer = il.Optimizer(SPACE, seed=0, **SEVERAL)
    for k, params in enumerate(plain_points(5, 9)):
        beyond = params | {"x": params["x"] + 2.0} if k % 3 == 0 else params
        optimizer.add(beyond, {**outcomes(params), "yield": 50.0 if k % 3 == 0 else 1.0})
    assert all(t.outside is None for t in optimizer.front)
    for trial in optimizer.ask(3):
        SPACE.check(trial.params)
    assert html_of(optimizer)


# Another space.

WIDE = il.Space({"x": il.Real(-1.0, 3.0), "y": il.Real(0.0, 1.0), "n": il.Integer(1, 9)})
NARROW = il.Space({"x": il.Real(0.25, 0.5), "y": il.Real(0.0, 1.0), "n": il.Integer(2, 3)})


@settings(max_examples=8)
@given(st.lists(st.sampled_from([WIDE, NARROW]), min_size=1, max_size=3), st.booleans())
def test_a_space_that_is_changed_back_changes_nothing(spaces, has_asked):
    one, other = (told(plain_points(7, 12), VALUES) for _ in range(2))
    if has_asked:
        assert asked(one) == asked(other)
    before = one.trials
    for space in spaces:
        one.change_space(space)
    one.change_space(SPACE)
    assert one.trials == before
    assert asked(one) == asked(other)


@settings(max_examples=5)
@given(st.sampled_from([WIDE, NARROW]))
def test_another_space_is_as_if_it_had_always_been_there(space):
    points = plain_points(7, 12)
    changed, always = told(points, VALUES), il.Optimizer(space, seed=3)
    changed.change_space(space)
    for params, each in zip(points, VALUES, strict=True):
        always.add(params, each)
    assert [t.outside for t in changed.trials] == [t.outside for t in always.trials]
    assert [t.params for t in changed.trials] == points
    assert asked(changed) == asked(always)
    for trial in changed.pending:
        space.check(trial.params)


def test_a_new_parameter_has_a_default_in_earlier_trials(tmp_path):
    points = plain_points(7, 12)
    optimizer = told(points, VALUES)
    pending = optimizer.ask()
    more = il.Space({"z": il.Real(0.0, 1.0), **SPACE.parameters, "kind": il.Choice(["a", "b"])})
    with pytest.raises(il.InputError, match="'z' is new: give a default"):
        optimizer.change_space(more, defaults={"kind": "a"})
    assert optimizer.space is SPACE
    optimizer.change_space(more, defaults={"kind": "a", "z": 0.5})
    assert list(optimizer.trials[0].params) == ["z", "x", "y", "n", "kind"]
    assert [t.params["z"] for t in optimizer.trials] == [0.5] * 13
    assert optimizer.tell(pending, 1.5).params == {**pending.params, "z": 0.5, "kind": "a"}
    optimizer.tell(optimizer.ask(), 0.3)
    last = optimizer.trials[-1].params
    # It goes, and comes back with the values that there were.
    with pytest.raises(il.InputError, match="'z' is missing: drop it"):
        optimizer.change_space(SPACE, drop=["kind"])
    optimizer.change_space(SPACE, drop=["z", "kind"])
    assert "z" not in optimizer.trials[-1].params
    assert optimizer.trials[0].params == points[0]
    assert all(t.outside is None for t in optimizer.trials)
    optimizer.save(tmp_path / "o.json")
    optimizer = il.Optimizer.load(tmp_path / "o.json")
    optimizer.change_space(more)
    assert optimizer.trials[-1].params == last
    assert [c.kind for c in optimizer.history] == ["space"] * 3
    assert il.Space.from_dict(optimizer.history[0].before["space"]) == SPACE


def test_choices_come_and_go():
    three = il.Space({"x": il.Real(0.0, 1.0), "kind": il.Choice(["a", "b", "c"])})
    two = il.Space({"x": il.Real(0.0, 1.0), "kind": il.Choice(["b", "c"])})
    four = il.Space({"x": il.Real(0.0, 1.0), "kind": il.Choice(["d", "c", "b", "a"])})
    optimizer = il.Optimizer(three, seed=0)
    for k in range(12):
        optimizer.add({"x": k / 12, "kind": "abc"[k % 3]}, float(k % 3) + k / 100)
    assert optimizer.best.params["kind"] == "a"
    optimizer.change_space(two)
    assert optimizer.best.params["kind"] == "b"
    assert len(optimizer.trials) == 12
    assert "kind must be one of 'b', 'c', got 'a'" in optimizer.trials[0].outside
    only = il.Optimizer(two, seed=0)
    for trial in optimizer.trials:
        if trial.params["kind"] != "a":
            only.add(trial.params, trial.value)
    assert optimizer.predict({"x": 0.5, "kind": "b"}).mean == pytest.approx(
        only.predict({"x": 0.5, "kind": "b"}).mean, rel=1e-9
    )
    two.check(optimizer.ask().params)
    optimizer.change_space(four)
    assert all(t.outside is None for t in optimizer.trials)
    assert optimizer.best.params["kind"] == "a"
    four.check(optimizer.ask().params)
    assert html_of(optimizer)


def test_points_beyond_a_finite_space_do_not_exhaust_it():
    optimizer = il.Optimizer(il.Space({"n": il.Integer(1, 2)}), seed=0)
    for n in (0, 1, 3):
        optimizer.add({"n": n}, float(n))
    assert not optimizer.exhausted
    assert optimizer.ask().params == {"n": 2}
    assert optimizer.exhausted
    optimizer.change_space(il.Space({"n": il.Integer(0, 5)}))
    assert not optimizer.exhausted
    assert {optimizer.ask().params["n"] for _ in range(2)} == {4, 5}


def test_a_parameter_is_held_at_a_value_or_let_go():
    free = il.Space({"x": il.Real(0.0, 1.0), "n": il.Integer(1, 3)})
    held = il.Space({"x": il.Real(0.0, 1.0), "n": 2})
    optimizer = il.Optimizer(held, seed=0)
    for x in (0.1, 0.4, 0.7):
        optimizer.add({"x": x}, x)
    optimizer.change_space(free)  # what it was held at is known
    assert [t.params["n"] for t in optimizer.trials] == [2, 2, 2]
    optimizer.add({"x": 0.05, "n": 3}, -5.0)
    optimizer.change_space(held)
    assert [t.outside is None for t in optimizer.trials] == [True, True, True, False]
    assert optimizer.best.value == 0.1


@pytest.mark.parametrize(
    ("space", "arguments", "words"),
    [
        (WIDE, {"defaults": {"x": 1.0}}, "defaults are for new parameters, and 'x' is none"),
        (WIDE, {"defaults": {"w": 1.0}}, "defaults are for new parameters, and 'w' is none"),
        (WIDE, {"drop": ["x"]}, "'x' is to be dropped, but is not among what is gone"),
        ({"x": 1}, {}, "space must be a Space"),
        (il.Space({"x": il.Real(0, 1)}), {"drop": ["y"]}, "'n' is missing: drop it"),
        (
            il.Space({**SPACE.parameters, "k": il.Choice(["a", "b"])}),
            {"defaults": {"k": "c"}},
            "k must be one of 'a', 'b', got 'c'",
        ),
        (il.Space({**SPACE.parameters, "k": 3}), {"defaults": {"k": 4}}, "'k' is held at 3, not"),
    ],
)
def test_spaces_that_are_not_clear_are_refused(space, arguments, words):
    optimizer = told(plain_points(7, 3), VALUES[:3])
    with pytest.raises(il.InputError, match=words):
        optimizer.change_space(space, **arguments)
    assert optimizer.space is SPACE
    assert optimizer.history == ()


def test_several_outcomes_in_another_space():
    points = plain_points(5, 9)
    changed = told(points, map(outcomes, points), **SEVERAL)
    before = asked(told(points, map(outcomes, points), **SEVERAL))
    changed.change_space(NARROW)
    assert all(0.25 <= t.params["x"] <= 0.5 for t in changed.front)
    NARROW.check(changed.with_trials(changed.trials).ask().params)
    changed.change_space(SPACE)
    assert asked(changed) == before
