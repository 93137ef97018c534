"""Ask and tell: any order, nothing lost, nothing repeated, the same after a save and a load."""

import json
import math
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import innerloop as il
from innerloop.optimizer.learn import learn
from innerloop.optimizer.propose import CAUTION
from innerloop.optimizer.results import Results

SPACE = il.Space({"x": il.Real(-5.0, 10.0), "y": il.Real(0.0, 15.0)})
MIXED = il.Space(
    {
        "rate": il.Real(1e-4, 1e-1, log=True),
        "depth": il.Integer(1, 6),
        "kind": il.Choice(["a", "b", "c"]),
        "version": 3,
    }
)


def branin(params):
    x, y = params["x"], params["y"]
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def mixed(params):
    best = {"a": 0.2, "b": 0.5, "c": 0.7}[params["kind"]]
    share = math.log10(params["rate"] / 1e-4) / 3
    return (share - best) ** 2 + 0.1 * (params["depth"] - 4) ** 2 + 0.3 * (params["kind"] != "b")


def bowl(params):
    return params["x"] ** 2 + (params["y"] - 3) ** 2


def run(optimizer, f, trials, q=1):
    while len(optimizer.trials) < trials:
        asked = optimizer.ask(q)
        optimizer.tell(asked, [f(trial.params) for trial in asked])
    return optimizer


def choices(optimizer):
    return [(trial.id, trial.params, trial.prediction) for trial in optimizer.trials]


def test_finds_the_optimum_of_branin():
    optimizer = run(il.Optimizer(SPACE, seed=0), branin, 40, q=4)
    assert optimizer.best.value < 0.397887 + 1e-3
    assert optimizer.best.value == min(trial.value for trial in optimizer.trials)


def test_maximizing_is_minimizing_the_negative():
    up = run(il.Optimizer(SPACE, seed=1, direction="maximize"), lambda p: -branin(p), 14, q=2)
    down = run(il.Optimizer(SPACE, seed=1), branin, 14, q=2)
    assert [t.params for t in up.trials] == [t.params for t in down.trials]
    assert up.best.id == down.best.id


def test_finds_the_optimum_of_a_mixed_space():
    optimizer = run(il.Optimizer(MIXED, seed=0), mixed, 48, q=4)
    assert optimizer.best.params["kind"] == "b"
    assert optimizer.best.params["depth"] == 4
    assert optimizer.best.value < 1e-3


def test_asked_values_are_plain_and_valid():
    optimizer = il.Optimizer(MIXED, seed=3)
    for trial in optimizer.ask(5):
        assert MIXED.check(trial.params) == trial.params
        assert [type(v) for v in trial.params.values()] == [float, int, str, int]
        assert trial.params["version"] == 3


def test_predictions_are_those_of_the_model_before_the_results():
    optimizer = run(il.Optimizer(SPACE, seed=0), branin, 12, q=4)
    trials = optimizer.ask(3)
    for trial in trials:
        expected = optimizer.predict(trial.params)
        assert trial.prediction.mean == pytest.approx(expected.mean, rel=1e-9)
        assert trial.prediction.sd == pytest.approx(expected.sd, rel=1e-6)
    assert trials[0].certificate is trials[2].certificate
    assert 0.0 < trials[0].certificate.fraction <= 1.0
    assert trials[0].certificate.value <= trials[0].certificate.upper_bound


def test_predictions_come_true():
    """Nearly all new values are within four predicted standard deviations."""
    optimizer = run(il.Optimizer(SPACE, seed=0), branin, 30, q=3)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(40):
        params = SPACE.decode(rng.random(2))
        prediction = optimizer.predict(params)
        errors.append(abs(branin(params) - prediction.mean) / prediction.sd)
    assert np.mean(np.array(errors) < 4.0) > 0.85


# Any order, any grouping, save and load.


@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_any_order_and_grouping_of_tells_gives_the_same_next_ask(shuffler, seed):
    straight, shuffled = (il.Optimizer(SPACE, seed=seed, initial=4) for _ in range(2))
    for optimizer in (straight, shuffled):
        optimizer.ask(9)
    values = {trial.id: branin(trial.params) for trial in straight.trials}
    told = list(values)[:7]  # two stay pending
    straight.tell(told, [values[i] for i in told])
    shuffler.shuffle(told)
    while told:
        size = shuffler.randint(1, len(told))
        group, told = told[:size], told[size:]
        shuffled.tell(group, [values[i] for i in group])
        if shuffler.random() < 0.3:
            _ = shuffled.best  # looking changes nothing
    assert choices_of(straight.ask(2)) == choices_of(shuffled.ask(2))


def choices_of(trials):
    return [(trial.id, trial.params, trial.prediction) for trial in trials]


@pytest.mark.parametrize(("space", "f"), [(SPACE, branin), (MIXED, mixed)])
@pytest.mark.parametrize("q", [1, 3])
def test_saved_and_loaded_equals_straight(tmp_path, space, f, q):
    straight = run(il.Optimizer(space, seed=7), f, 50, q)
    resumed = run(il.Optimizer(space, seed=7), f, 25, q)
    resumed.save(tmp_path / "half.json")
    resumed = run(il.Optimizer.load(tmp_path / "half.json"), f, 50, q)
    assert choices(straight) == choices(resumed)


def test_pending_trials_are_saved_too(tmp_path):
    optimizer = run(il.Optimizer(SPACE, seed=2), branin, 10)
    asked = optimizer.ask(3)
    optimizer.tell(asked[1], state="failed", error="burnt")
    optimizer.save(tmp_path / "o.json")
    loaded = il.Optimizer.load(tmp_path / "o.json")
    assert loaded.trials == optimizer.trials
    assert loaded.space == optimizer.space
    assert repr(loaded) == repr(optimizer)
    loaded.tell(asked[0], 1.0)
    assert loaded.ask().params is not None


def test_a_seed_is_drawn_and_kept(tmp_path):
    first, second = il.Optimizer(SPACE), il.Optimizer(SPACE)
    assert first.seed != second.seed
    again = il.Optimizer(SPACE, seed=first.seed)
    assert first.ask(3)[2].params == again.ask(3)[2].params


# Bad files.


def saved(tmp_path):
    optimizer = il.Optimizer(SPACE, seed=0, initial=2)
    optimizer.tell(optimizer.ask(2), [1.0, 2.0])
    optimizer.ask()
    path = tmp_path / "o.json"
    optimizer.save(path)
    return optimizer, path


def test_a_file_truncated_at_any_byte_is_refused(tmp_path):
    _, path = saved(tmp_path)
    whole = path.read_bytes()
    short = tmp_path / "short.json"
    for size in range(len(whole)):
        short.write_bytes(whole[:size])
        with pytest.raises(il.InputError, match=r"short\.json is not a complete JSON file"):
            il.Optimizer.load(short)


def test_a_file_with_any_byte_changed_is_refused_or_means_the_same(tmp_path):
    optimizer, path = saved(tmp_path)
    whole = bytearray(path.read_bytes())
    bad = tmp_path / "bad.json"
    rng = random.Random(0)
    refused = 0
    for _ in range(400):
        changed = whole.copy()
        place = rng.randrange(len(whole))
        changed[place] = rng.choice([b for b in range(32, 127) if b != whole[place]])
        bad.write_bytes(changed)
        try:
            loaded = il.Optimizer.load(bad)
        except il.InputError:
            refused += 1
        else:
            assert loaded.trials == optimizer.trials
    assert refused > 390


def test_a_number_beyond_all_floats_is_refused(tmp_path):
    _, path = saved(tmp_path)
    path.write_text(path.read_text().replace('"value": 2.0', '"value": 2e999'))
    with pytest.raises(il.InputError, match="is damaged"):
        il.Optimizer.load(path)


def test_error_texts_of_any_kind_are_saved(tmp_path):
    optimizer, path = saved(tmp_path)
    optimizer.tell(2, state="failed", error="undecodable: \udcff, and \x00 too")
    optimizer.save(path)
    assert il.Optimizer.load(path).trials == optimizer.trials


def test_other_files_are_refused(tmp_path):
    _, path = saved(tmp_path)
    newer = json.loads(path.read_text())
    newer["version"] = 3
    path.write_text(json.dumps(newer))
    with pytest.raises(il.InputError, match=r"version 3.*reads version 2 at most.*newer"):
        il.Optimizer.load(path)
    path.write_text('{"hello": 1}')
    with pytest.raises(il.InputError, match=r"not a file that Optimizer\.save wrote"):
        il.Optimizer.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(il.InputError, match="not a complete JSON file"):
        il.Optimizer.load(path)
    with pytest.raises(FileNotFoundError):
        il.Optimizer.load(tmp_path / "absent.json")


SAVING_WITH_NO_ROOM = """
import resource, signal, sys
import innerloop as il
optimizer = il.Optimizer.load(sys.argv[1])
for _ in range(50):
    optimizer.add({"x": 1.0, "y": 2.0}, 3.0)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    optimizer.save(sys.argv[1])
except OSError as error:
    print("failed:", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX resource limits")
def test_a_save_that_fails_leaves_the_previous_file(tmp_path):
    optimizer, path = saved(tmp_path)
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", SAVING_WITH_NO_ROOM, str(path)], capture_output=True, text=True
    )
    assert done.stdout.startswith("failed:"), done.stderr
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["o.json"]
    assert il.Optimizer.load(path).trials == optimizer.trials


SAVING_FOR_EVER = """
import sys
import innerloop as il
optimizer = il.Optimizer.load(sys.argv[1])
while True:
    optimizer.add({"x": 1.0, "y": 2.0}, 3.0)
    optimizer.save(sys.argv[1])
    print(len(optimizer.trials), flush=True)
"""


def test_killed_while_saving_nothing_is_lost(tmp_path):
    _, path = saved(tmp_path)
    for stop_after in (1, 7, 30):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING_FOR_EVER, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(stop_after):
            count = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert len(il.Optimizer.load(path).trials) >= count


# What users do.


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400])
def test_values_that_are_not_finite_make_failed_trials(value):
    optimizer = il.Optimizer(SPACE, seed=0)
    told = optimizer.tell(optimizer.ask(), value)
    assert told.state == "failed"
    assert "the value was" in told.error
    assert not optimizer.pending


@pytest.mark.parametrize(
    "value", [None, "1.0", b"1", True, 1 + 2j, [1.0], np.ones(2), {"loss": 1}, object()]
)
def test_values_that_are_not_numbers_are_refused(value):
    optimizer = il.Optimizer(SPACE, seed=0)
    trial = optimizer.ask()
    with pytest.raises(il.InputError, match="the value of trial 0 must be a number, got"):
        optimizer.tell(trial, value)
    assert optimizer.pending == (trial,)
    optimizer.tell(trial, 1.0)


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int64(3), np.array(2.0)])
def test_anything_like_a_number_will_do(value):
    optimizer = il.Optimizer(SPACE, seed=0)
    told = optimizer.tell(optimizer.ask(), value)
    assert type(told.value) is float
    assert told.value == float(value)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda o: o.tell(0, 1.0), "trial 0 was told 1.5 before, and keeps it"),
        (lambda o: o.tell([1, 0], [1.0, 2.0]), "trial 0 was told 1.5 before"),
        (lambda o: o.tell(0, state="failed"), "trial 0 was told 1.5 before"),
        (lambda o: o.tell(99, 1.0), "no trial 99: trials of this optimizer are 0 to 2"),
        (lambda o: o.tell(-1, 1.0), "no trial -1"),
        (lambda o: o.tell("0", 1.0), "trial must be a trial or the id of one, got '0'"),
        (lambda o: o.tell(1.0, 1.0), "must be a trial or the id of one"),
        (lambda o: o.tell(il.Trial(1, {"x": 0.0, "y": 0.0}), 1.0), "comes from another optimizer"),
        (lambda o: o.tell([1, 2], [1.0]), "2 trials need as many values, got 1"),
        (lambda o: o.tell([1, 2], 1.0), "2 trials need a list of as many values, got 1.0"),
        (lambda o: o.tell([1, 2], [1.0, "x"]), "the value of trial 2 must be a number, got 'x'"),
        (lambda o: o.tell([1, 1], [1.0, 2.0]), "a trial is there twice"),
        (lambda o: o.tell(1, 1.0, state="done"), "must be 'complete', 'failed' or 'cancelled'"),
        (lambda o: o.tell(1, 1.0, state="failed"), "a failed trial has no value"),
        (lambda o: o.tell(1, 1.0, state="cancelled"), "a cancelled trial has no value"),
        (lambda o: o.tell(0, state="cancelled"), "trial 0 was told 1.5 before"),
        (lambda o: o.resume(0), "trial 0 is complete: it cannot be taken up again"),
        (lambda o: o.resume(1), "trial 1 is pending: it cannot be taken up again"),
        (lambda o: o.tell(1, 1.0, noise_sd=-1.0), "noise_sd of trial 1 must be 0 or above"),
        (lambda o: o.tell(1, 1.0, noise_sd="a"), "noise_sd of trial 1 must be a number"),
        (lambda o: o.add({"x": 1.0}, 1.0), r"missing \['y'\]"),
        (lambda o: o.add({"x": 1.0, "y": 1.0, "z": 1.0}, 1.0), r"unknown \['z'\]"),
        (lambda o: o.add({"x": 1.0, "y": "99"}, 1.0), "y"),
        (lambda o: o.add({"x": 1.0, "y": 1.0}, "q"), "must be a number"),
        (lambda o: o.ask(0), "n must be an integer of 1 or more, got 0"),
        (lambda o: o.ask(2.5), "n must be an integer of 1 or more"),
        (lambda o: o.ask(fixed={"z": 1}), "fixed names 'z'"),
        (lambda o: o.ask(fixed={"x": 99.0}), "x"),
    ],
)
def test_mistakes_are_told_and_change_nothing(act, message):
    optimizer = il.Optimizer(SPACE, seed=0)
    optimizer.tell(optimizer.ask(3)[0], 1.5)
    before = optimizer.trials
    with pytest.raises(il.InputError, match=message):
        act(optimizer)
    assert optimizer.trials == before
    optimizer.tell([1, 2], [0.5, 0.7])
    assert optimizer.best.id == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"direction": "down"}, "direction must be one of"),
        ({"acquisition": "EI2"}, "acquisition must be one of"),
        ({"maximizer": "newton"}, "maximizer must be one of"),
        ({"form": "closed"}, "form must be one of"),
        ({"form": "incremental", "acquisition": "kg"}, "form='incremental' goes with"),
        ({"seed": -1}, "seed must be an integer of 0 or more"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"initial": 0}, "initial must be an integer of 1 or more"),
        ({"seconds": 0.0}, "seconds must be above 0"),
        ({"expire": -1.0}, "expire must be above 0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(il.InputError, match=message):
        il.Optimizer(SPACE, **settings)
    with pytest.raises(il.InputError, match="space must be a Space"):
        il.Optimizer({"x": (0, 1)})


def test_there_is_no_best_before_a_result():
    optimizer = il.Optimizer(SPACE, seed=0)
    with pytest.raises(il.InputError, match="there is no best trial"):
        _ = optimizer.best
    with pytest.raises(il.InputError, match="nothing has been learned"):
        optimizer.predict({"x": 0.0, "y": 0.0})


@pytest.mark.parametrize("worst", [1e300, 1.7e308, -1.7e308])
def test_values_of_any_size(worst):
    optimizer = run(il.Optimizer(SPACE, seed=0), branin, 10)
    optimizer.add({"x": 9.0, "y": 14.0}, worst)
    for _ in range(4):
        asked = optimizer.ask(2)
        optimizer.tell(asked, [branin(trial.params) for trial in asked])
        assert all(math.isfinite(trial.prediction.mean) for trial in asked)
        assert all(math.isfinite(trial.prediction.sd) for trial in asked)


def test_one_huge_failure_in_disguise_does_not_spoil_the_search():
    optimizer = il.Optimizer(SPACE, seed=0)
    optimizer.add({"x": 9.0, "y": 14.0}, 1e300)
    assert run(optimizer, branin, 40, q=2).best.value < 0.45


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1e8, 1e200])
def test_the_unit_of_values_does_not_matter(scale):
    plain = run(il.Optimizer(SPACE, seed=0), branin, 16, q=4)
    scaled = run(il.Optimizer(SPACE, seed=0), lambda p: scale * branin(p), 16, q=4)
    for first, second in zip(plain.trials, scaled.trials, strict=True):
        assert first.params == pytest.approx(second.params, abs=1e-3)


def test_all_values_equal():
    optimizer = run(il.Optimizer(SPACE, seed=0), lambda p: 3.0, 24, q=4)
    assert len({tuple(t.params.values()) for t in optimizer.trials}) == 24
    assert optimizer.trials[-1].prediction.mean == pytest.approx(3.0, abs=1e-6)


def test_all_trials_failed():
    optimizer = il.Optimizer(SPACE, seed=0)
    for _ in range(10):
        for trial in optimizer.ask(3):
            optimizer.tell(trial, state="failed")
    assert len({tuple(t.params.values()) for t in optimizer.trials}) == 30
    assert run(optimizer, branin, 60, q=4).best.value < 0.6


def test_failures_are_learned_from():
    """The bottom of the deeper of two hollows is where trials fail: they do not all go there."""

    def value(params):
        deep = 9 * ((params["x"] - 0.2) ** 2 + (params["y"] - 0.3) ** 2) - 1
        shallow = 9 * ((params["x"] - 0.8) ** 2 + (params["y"] - 0.7) ** 2)
        return min(deep, shallow)

    space = il.Space({"x": il.Real(0, 1), "y": il.Real(0, 1)})
    optimizer = il.Optimizer(space, seed=0)
    for _ in range(20):
        for trial in optimizer.ask(2):
            if trial.params["x"] < 0.45:
                optimizer.tell(trial, state="failed")
            else:
                optimizer.tell(trial, value(trial.params))
    # The best that works, on the slope of the deep one, is 9 * 0.25**2 - 1 = -0.4375.
    assert optimizer.best.value < -0.15
    assert sum(trial.state == "failed" for trial in optimizer.trials) <= 22


def test_a_failure_by_accident_does_not_bar_the_place():
    optimizer = run(il.Optimizer(SPACE, seed=0), bowl, 12, q=2)
    optimizer.add({"x": 0.0, "y": 3.0}, state="failed")
    assert run(optimizer, bowl, 40, q=2).best.value < 1e-3


@pytest.mark.parametrize("q", [1, 4])
def test_an_edge_of_one_parameter_of_six_is_learned(q):
    """Trials beyond 0.9 of one parameter fail, and the best that works is just before that."""
    space, failures = il.Space({f"x{k}": il.Real(0.0, 1.0) for k in range(6)}), []
    for seed in (0, 1, 2):
        optimizer = il.Optimizer(space, seed=seed)
        for _ in range(40 // q):
            for trial in optimizer.ask(q):
                x = list(trial.params.values())
                if x[0] > 0.9:
                    optimizer.tell(trial, state="failed")
                else:
                    optimizer.tell(trial, sum((each - 0.4) ** 2 for each in x[1:]) - 2.0 * x[0])
        failures.append(sum(trial.state == "failed" for trial in optimizer.trials))
        assert optimizer.best.value < -1.76  # of -1.8
    assert np.median(failures) <= 8
    assert max(failures) <= 12


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"acquisition": "pi"},
        {"form": "joint"},
        {"way": "joint"},
        {"acquisition": "pi", "way": "joint", "maximizer": "adam"},
        {"maximizer": "cmaes"},
    ],
)
def test_every_way_to_maximize_improvement_keeps_away_from_failures(settings):
    """Values get better to the right, where all trials fail from some point on."""
    space = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(space, seed=0, **settings)
    for x in np.linspace(0.0, 1.0, 8):
        for y in np.linspace(0.0, 1.0, 5):
            params = {"x": float(x), "y": float(y)}
            if x > 0.6:
                optimizer.add(params, state="failed")
            else:
                optimizer.add(params, math.sin(9.0 * y) - float(x))
    assert max(trial.params["x"] for trial in optimizer.ask(3)) < 0.7


@pytest.mark.parametrize("acquisition", ["ucb", "ei"])
def test_points_of_a_finite_space_that_failed_are_not_chosen_again(acquisition):
    """Nor is some other point in their place: it is the best of those that have not been tried."""
    space = il.Space({"k": il.Integer(0, 30)})
    optimizer = il.Optimizer(space, seed=0, acquisition=acquisition, initial=1)
    for k in range(0, 24, 2):
        optimizer.add({"k": k}, -float(k))
    optimizer.add({"k": 30}, state="failed")
    rest = [k for k in range(31) if k % 2 or k in (24, 26, 28)]
    X = space.encode_all([{"k": k} for k in rest])
    mean, variance = optimizer.posterior.marginals(X)
    worth = mean + np.sqrt(2.0 * variance)
    if acquisition == "ei":
        sd = np.sqrt(variance)
        u = (mean - optimizer.posterior.fitted.max()) / sd
        density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
        below = np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in u])
        worth = sd * (u * below + density) * np.exp(optimizer.chance.in_a_row(CAUTION).log(X)[0])
    assert optimizer.ask().params == {"k": rest[int(np.argmax(worth))]}


def test_late_results_are_welcome():
    optimizer = il.Optimizer(SPACE, seed=0, expire=1e-9)
    slow, lost = optimizer.ask(2)
    optimizer.tell(slow, state="failed", error="timeout")
    optimizer.ask()
    assert [t.state for t in optimizer.trials] == ["failed", "expired", "pending"]
    optimizer.tell(slow, 1.0)
    optimizer.tell(lost, 2.0)
    assert [t.value for t in optimizer.trials] == [1.0, 2.0, None]
    assert optimizer.best.error is None


def test_pending_trials_are_not_asked_again():
    optimizer = run(il.Optimizer(SPACE, seed=0), bowl, 12, q=4)
    for _ in range(6):
        optimizer.ask()
    pending = np.array([list(t.params.values()) for t in optimizer.pending])
    apart = np.abs(pending[:, None] - pending).max(axis=-1) + 100 * np.eye(6)
    assert apart.min() > 1e-3


def test_some_parameters_fixed_for_an_ask():
    optimizer = run(il.Optimizer(MIXED, seed=0), mixed, 14, q=2)
    for trial in optimizer.ask(3, fixed={"kind": "c", "depth": 2}):
        assert trial.params["kind"] == "c"
        assert trial.params["depth"] == 2
    assert il.Optimizer(MIXED, seed=0).ask(fixed={"depth": 5}).params["depth"] == 5


def test_results_from_elsewhere_replace_the_start():
    optimizer = il.Optimizer(SPACE, seed=0, initial=4)
    rng = np.random.default_rng(0)
    for _ in range(4):
        params = SPACE.decode(rng.random(2))
        optimizer.add(params, branin(params))
    assert optimizer.ask().prediction is not None


# Finite spaces and constraints.


def test_a_finite_space_is_tried_in_full_before_anything_is_repeated():
    space = il.Space({"k": il.Integer(1, 4), "c": il.Choice(["u", "v", "w"])})
    optimizer = il.Optimizer(space, seed=0, initial=3)
    for i in range(12):
        assert not optimizer.exhausted
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["k"] + (trial.params["c"] != "v") + 0.01 * i)
    assert len({tuple(t.params.values()) for t in optimizer.trials}) == 12
    assert optimizer.exhausted
    again = optimizer.ask(2)  # with noise it makes sense to try again
    assert all(space.check(trial.params) for trial in again)
    assert len(optimizer.ask(20)) == 20


def test_a_large_finite_space_does_not_repeat_itself():
    space = il.Space({"a": il.Integer(0, 99), "b": il.Real(0, 10, step=0.1)})
    optimizer = run(il.Optimizer(space, seed=0), lambda p: abs(p["a"] - 40) + p["b"], 60, q=4)
    assert len({tuple(t.params.values()) for t in optimizer.trials}) == 60
    assert optimizer.best.params == {"a": 40, "b": 0.0}


def test_constraints_hold_exactly():
    space = il.Space(
        {"x": il.Real(0, 1), "y": il.Real(0, 1), "n": il.Integer(0, 5)},
        constraints=["x + y <= 1", "n - 3*x <= 3"],
    )
    optimizer = run(
        il.Optimizer(space, seed=0), lambda p: -p["x"] - 2 * p["y"] - 0.1 * p["n"], 32, q=4
    )
    for trial in optimizer.trials:
        assert trial.params["x"] + trial.params["y"] <= 1
        assert trial.params["n"] - 3 * trial.params["x"] <= 3
    assert optimizer.best.value < -2.28  # -2.3 at (0, 1, 3)


def test_an_infeasible_constraint_is_refused():
    with pytest.raises(il.InputError, match="x \\+ n <= 1"):
        il.Space({"x": il.Real(2, 3), "n": il.Integer(0, 4)}, constraints=["x + n <= 1"])


# Noise.


def test_best_is_better_than_the_luckiest():
    """With much noise the smallest value seen says little about where the best point is."""
    best, luckiest = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        optimizer = il.Optimizer(SPACE, seed=0)
        for x in rng.random((30, 2)):
            params = SPACE.decode(x)
            optimizer.add(params, bowl(params) + 50 * rng.standard_normal())
        best.append(bowl(optimizer.best.params))
        luckiest.append(bowl(min(optimizer.trials, key=lambda trial: trial.value).params))
    assert np.mean(best) < 0.7 * np.mean(luckiest)


def test_noise_that_is_given_is_believed():
    """Two values at each place: one said to be sure, the other said to be worth nothing."""
    optimizer = il.Optimizer(SPACE, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        params = SPACE.decode(rng.random(2))
        optimizer.add(params, bowl(params), noise_sd=0.01)
        optimizer.add(params, 50.0, noise_sd=1e4)
    params = {"x": 1.0, "y": 5.0}
    assert optimizer.predict(params).mean == pytest.approx(bowl(params), abs=2.0)


def test_some_noise_given_and_some_learned():
    optimizer = run(il.Optimizer(SPACE, seed=0), bowl, 12, q=4)
    trial = optimizer.ask()
    optimizer.tell(trial, bowl(trial.params), noise_sd=0.1)
    assert optimizer.best.value <= min(bowl(t.params) for t in optimizer.trials) + 1e-12
    assert optimizer.ask().prediction is not None


# Everything by name.


@pytest.mark.parametrize("acquisition", ["ei", "pi", "sr", "ucb", "es", "kg"])
@pytest.mark.parametrize("maximizer", ["bfgs", "lbfgs", "random_search"])
def test_every_acquisition_by_name(acquisition, maximizer):
    settings = {"acquisition": acquisition, "maximizer": maximizer, "seconds": 0.05}
    optimizer = run(il.Optimizer(MIXED, seed=0, initial=5, **settings), mixed, 9, q=2)
    assert len({tuple(t.params.values()) for t in optimizer.trials}) == 10


@pytest.mark.parametrize("maximizer", ["adam", "cmaes", "direct", "successive_halving"])
@pytest.mark.parametrize("way", ["greedy", "joint"])
def test_every_maximizer_by_name(maximizer, way):
    settings = {"maximizer": maximizer, "way": way, "seconds": 0.05}
    optimizer = run(il.Optimizer(MIXED, seed=0, initial=5, **settings), mixed, 7, q=2)
    assert all(MIXED.check(t.params) == t.params for t in optimizer.trials)


def test_other_forms():
    joint = run(il.Optimizer(SPACE, seed=0, form="joint", initial=4), branin, 8, q=2)
    assert joint.trials[-1].prediction is not None


def test_a_copy_with_other_trials_leaves_the_original_as_it_is():
    optimizer = il.Optimizer(il.Space({"x": il.Real(0.0, 1.0)}), seed=0, acquisition="ucb")
    for _ in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, (trial.params["x"] - 0.4) ** 2)
    before = optimizer.trials
    some = optimizer.with_trials(before[3::2])
    assert some.acquisition == "ucb"
    assert [trial.id for trial in some.trials] == list(range(5))
    assert [trial.params for trial in some.trials] == [trial.params for trial in before[3::2]]
    assert some.best.value == min(trial.value for trial in before[3::2])
    some.tell(some.ask(), 1.0)
    assert optimizer.trials == before
    # All of them: it goes on as the original does.
    assert optimizer.with_trials(before).ask().params == optimizer.ask().params


@pytest.mark.parametrize(("function", "bent"), [("steep", True), ("waves", False)])
def test_learning_step_by_step_finds_the_scaling_that_learning_at_once_finds(function, bent):
    """The worse scaling is not fitted at every step, but must win as soon as it is the better."""
    X = np.random.default_rng(0).random((45, 2))
    values = {
        "steep": 1e3 * (X[:, 0] - 0.3) ** 4 + 1e2 * (X[:, 1] - 0.6) ** 2,
        "waves": np.sin(7 * X[:, 0]) + np.cos(5 * X[:, 1]),
    }[function]

    def results(n):
        return Results(X[:n], values[:n], np.full(n, np.nan), np.zeros((0, 2)))

    learned = None
    for n in range(4, 46):
        learned = learn(results(n), -1.0, learned)
    at_once = learn(results(45), -1.0, None)
    assert learned.outputs.bent == at_once.outputs.bent == bent
    np.testing.assert_allclose(
        learned.gp.kernel.lengthscales, at_once.gp.kernel.lengthscales, rtol=0.1
    )


def test_learning_happens_when_it_is_needed(monkeypatch):
    """Points of the initial design fit nothing, and no posterior is conditioned twice."""
    fitted, conditioned = [], []

    def counting_fit(X, y, **settings):
        fitted.append(len(y))
        return il.fit(X, y, **settings)

    def counting_condition(self, X, y):
        conditioned.append((self.kernel.lengthscales.tobytes(), np.asarray(y).tobytes()))
        return condition(self, X, y)

    condition = il.GaussianProcess.condition
    monkeypatch.setattr("innerloop.optimizer.learn.fit", counting_fit)
    monkeypatch.setattr(il.GaussianProcess, "condition", counting_condition)
    optimizer = il.Optimizer(il.Space({"x": il.Real(-1.0, 1.0)}), seed=0, initial=6)
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["x"] ** 2)
    assert fitted == conditioned == []

    first = optimizer.ask(2)
    assert set(fitted) == {6}
    assert len(set(conditioned)) == len(conditioned) <= 2  # one for each scaling of the outputs
    # The same results teach nothing more, whoever asks.
    optimizer.ask(2)
    optimizer.predict({"x": 0.1})
    assert optimizer.best.value == min(t.value for t in optimizer.trials if t.value is not None)
    assert set(fitted) == {6}
    assert len(conditioned) <= 2

    before = len(conditioned)
    optimizer.tell(first[0], first[0].params["x"] ** 2)
    optimizer.ask()
    assert 7 in fitted
    assert len(set(conditioned)) == len(conditioned) <= before + 3


@pytest.mark.parametrize(
    ("name", "way", "maximizer"),
    [
        ("optimizer_with_parallelism.json", None, None),
        ("optimizer_with_joint_parallelism.json", "joint", "adam"),
    ],
)
def test_files_of_earlier_versions_load(name, way, maximizer):
    """Written when ways were called parallelism, and "lbfgs" meant the default."""
    path = Path(__file__).parent / "files" / name
    written = json.loads(path.read_text())["content"]
    optimizer = il.Optimizer.load(path)
    assert [trial.to_dict() for trial in optimizer.trials] == written["trials"]
    assert (optimizer._settings.way, optimizer._settings.maximizer) == (way, maximizer)
    assert optimizer.acquisition == written["settings"]["acquisition"]
    known = [trial.params for trial in optimizer.trials]
    for trial in optimizer.ask(2):
        assert trial.params not in known
        assert trial.prediction is not None
