"""Runs that are cut off, by whatever: nothing is lost, and what was not done is made up."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

import innerloop as il
from innerloop.optimizer import files
from innerloop.run.failures import FailuresInARow
from innerloop.run.optimize import maximize, minimize

SPACE = il.Space({"x": il.Real(-1.0, 1.0), "y": il.Real(0.0, 1.0), "k": il.Integer(1, 3)})
SIX = il.Space({"a": il.Integer(1, 3), "b": il.Choice(["left", "right"])})
LINE = il.Space({"x": il.Real(0.0, 1.0)})
PATIENCE = 60.0  # seconds until something that should have happened is taken to have not


def bowl(params):
    return params["x"] ** 2 + (params["y"] - 0.3) ** 2 + params["k"]


def six(params):
    return params["a"] + (params["b"] == "left")


def states(trials):
    return [trial.state for trial in trials]


def outline(trials):
    return [(trial.id, trial.params, trial.state, trial.value) for trial in trials]


def stop_at(number):
    def stop(optimizer, trial):
        if trial.id == number:
            raise StopIteration

    return stop


# Taken up again


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("saved", [False, True])
def test_a_run_cut_off_anywhere_ends_as_if_it_had_not_been(batch_size, saved, tmp_path):
    whole = minimize(bowl, SPACE, n_trials=12, batch_size=batch_size, seed=2)
    for number in (0, 4, 9):
        stop = [stop_at(number)]
        cut = minimize(bowl, SPACE, n_trials=12, batch_size=batch_size, seed=2, callbacks=stop)
        done = Counter(states(cut.trials))["complete"]
        assert done == number + 1
        optimizer = cut.optimizer
        if saved:
            optimizer.save(tmp_path / "cut.json")
            optimizer = il.Optimizer.load(tmp_path / "cut.json")
        rest = minimize(bowl, optimizer, n_trials=12 - done, batch_size=batch_size)
        assert outline(rest.trials) == outline(whole.trials)
        assert rest.trials[-1].error is None


def test_points_that_were_cut_off_are_not_taken_for_tried():
    """A finite space is exhausted when every value has been tried, not when it has been asked."""
    release = threading.Event()

    def hangs_on_the_left(params):
        if params["b"] == "left" and not release.is_set():
            release.wait(PATIENCE)
        return six(params)

    with ThreadPoolExecutor(6) as executor:
        options = {"n_trials": 50, "batch_size": 4, "executor": executor}
        first = minimize(hangs_on_the_left, SIX, timeout=0.3, seed=0, **options)
        assert first.stopped == "timeout"
        assert not first.optimizer.exhausted
        release.set()
        second = minimize(hangs_on_the_left, first.optimizer, **options)
    assert second.stopped == "exhausted"
    assert outline(second.trials) == [
        (t.id, t.params, "complete", six(t.params)) for t in second.trials
    ]
    assert len({tuple(trial.params.values()) for trial in second.trials}) == 6
    assert second.optimizer.exhausted


def test_cut_off_trials_and_expired_ones_teach_nothing():
    optimizer = il.Optimizer(SPACE, seed=0)
    for trial in optimizer.ask(10):
        optimizer.tell(trial, bowl(trial.params))
    trial = optimizer.ask()
    optimizer.tell(trial, state="failed")
    np.testing.assert_array_equal(optimizer.chance.failed, [SPACE.encode(trial.params)])
    optimizer.tell(trial, state="cancelled", error="power cut")
    assert optimizer.chance is None
    assert len(optimizer.posterior.X) == 10
    late = il.Trial.from_dict({**trial.to_dict(), "state": "expired"})
    assert optimizer.with_trials([*optimizer.trials[:-1], late]).chance is None
    optimizer.tell(trial, 0.5)
    assert (optimizer.trials[-1].value, optimizer.trials[-1].error) == (0.5, None)


def test_ctrl_c_and_failures_leave_trials_to_be_taken_up():
    def fails(params):
        raise ValueError("never works")

    result = minimize(fails, SPACE, n_trials=9, batch_size=3, max_failures=2, seed=0)
    assert states(result.trials) == ["failed", "failed", "cancelled"]
    assert [trial.id for trial in result.optimizer.abandoned] == [2]
    again = minimize(bowl, result.optimizer, n_trials=1)
    assert states(again.trials) == ["failed", "failed", "complete"]
    assert again.optimizer.abandoned == ()


class Cancelling(ThreadPoolExecutor):
    """Cancels every third call."""

    calls = 0

    def submit(self, *call):
        self.calls += 1
        if self.calls % 3:
            return super().submit(*call)
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_calls_that_an_executor_cancels():
    with Cancelling(1) as executor:
        result = minimize(bowl, SPACE, n_trials=9, executor=executor, seed=0, max_failures=1)
    assert result.stopped == "n_trials"
    assert Counter(states(result.trials)) == {"complete": 6, "cancelled": 3}
    assert "3 of them cancelled" in str(result)
    assert result.failures == ()


KILLED = """
    import os, signal, sys
    from concurrent.futures import ThreadPoolExecutor
    import innerloop as il
    from innerloop.run.optimize import minimize

    path, calls = sys.argv[1], []

    def f(params):
        calls.append(params)
        if len(calls) == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return params["x"] ** 2

    space = il.Space({"x": il.Real(0.0, 1.0)})
    keep = [lambda optimizer, trial: optimizer.pending and optimizer.save(path)]
    with ThreadPoolExecutor(1) as executor:
        minimize(f, space, n_trials=50, batch_size=3, executor=executor, callbacks=keep, seed=0)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals as POSIX has them")
def test_killed_and_loaded_it_takes_up_what_was_pending(tmp_path):
    script, path = tmp_path / "script.py", tmp_path / "study.json"
    script.write_text(textwrap.dedent(KILLED))
    ended = subprocess.run([sys.executable, str(script), str(path)], timeout=PATIENCE)
    assert ended.returncode == -signal.SIGKILL
    optimizer = il.Optimizer.load(path)
    waiting = optimizer.pending
    assert waiting
    assert optimizer.abandoned == waiting
    seen = []

    def f(params):
        seen.append(params)
        return params["x"] ** 2

    complete = Counter(states(optimizer.trials))["complete"]
    result = minimize(f, optimizer, n_trials=len(waiting) + 2)
    assert seen[: len(waiting)] == [trial.params for trial in waiting]
    assert states(result.trials) == ["complete"] * (complete + len(waiting) + 2)


def test_what_is_given_out_here_is_left_to_whoever_has_it():
    """Trials that were asked by hand are somebody's; those of a file are nobody's, as copies."""
    optimizer = il.Optimizer(SPACE, seed=0)
    by_hand = optimizer.ask(2)
    result = minimize(bowl, optimizer, n_trials=3)
    assert states(result.trials) == ["pending"] * 2 + ["complete"] * 3
    optimizer.tell(by_hand[0], state="cancelled")
    assert states(minimize(bowl, optimizer, n_trials=1).trials)[:2] == ["complete", "pending"]
    there = pickle.loads(pickle.dumps(optimizer))
    assert [trial.id for trial in there.abandoned] == [1]
    with pytest.raises(il.InputError, match="trial 1 is pending"):
        optimizer.resume(1)
    assert there.resume(1).state == "pending"
    assert there.abandoned == ()


def test_nothing_is_taken_up_by_a_run_that_is_told_so(tmp_path):
    optimizer = il.Optimizer(SPACE, seed=0)
    optimizer.tell(optimizer.ask(2)[0], state="cancelled")
    optimizer.save(tmp_path / "study.json")
    loaded = il.Optimizer.load(tmp_path / "study.json")
    result = minimize(bowl, loaded, n_trials=3, resume=False)
    assert states(result.trials) == ["cancelled", "pending"] + ["complete"] * 3
    result = minimize(bowl, loaded, n_trials=3)
    assert states(result.trials) == ["complete"] * 6


def test_only_trials_with_the_fixed_values_are_taken_up():
    optimizer = il.Optimizer(SPACE, seed=0)
    for k in (1, 2):
        optimizer.tell(optimizer.ask(fixed={"k": k}), state="cancelled")
    result = minimize(bowl, optimizer, n_trials=2, fixed={"k": 2})
    assert states(result.trials) == ["cancelled", "complete", "complete"]
    assert result.trials[2].params["k"] == 2


def test_a_point_that_was_asked_again_is_not_taken_up():
    """By hand a finite space gives cancelled points out again; one evaluation of them is enough."""
    optimizer = il.Optimizer(SIX, seed=0)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, state="cancelled")
    assert len(optimizer.abandoned) == 6
    again = optimizer.ask(4)
    assert len({tuple(trial.params.values()) for trial in again}) == 4
    assert len(optimizer.abandoned) == 2
    optimizer.tell(again, [six(trial.params) for trial in again])
    result = minimize(six, optimizer, n_trials=50)
    assert result.stopped == "exhausted"
    assert Counter(states(result.trials)) == {"cancelled": 4, "complete": 6}


def test_waiting_to_be_taken_up_lets_no_trial_expire(tmp_path):
    """Trials of a file may have been asked long ago: their time begins when they are taken up."""
    optimizer = il.Optimizer(SPACE, seed=0, expire=30.0)
    optimizer.ask(5)
    optimizer._trials = [
        il.Trial(**{**vars(trial), "asked": trial.asked - 3600.0}) for trial in optimizer.trials
    ]
    optimizer.save(tmp_path / "old.json")
    loaded = il.Optimizer.load(tmp_path / "old.json")
    with ThreadPoolExecutor(1) as executor:
        result = minimize(bowl, loaded, n_trials=6, batch_size=2, executor=executor)
    assert states(result.trials) == ["complete"] * 6


def test_files_without_cancelled_trials_are_read(tmp_path):
    """As all files were before there were any."""
    optimizer = il.Optimizer(LINE, seed=0)
    content = {
        "space": LINE.to_dict(),
        "settings": optimizer._settings.to_dict(),
        "trials": [
            {"id": 0, "params": {"x": 0.5}, "state": "complete", "value": 1.0},
            {
                "id": 1,
                "params": {"x": 0.6},
                "state": "failed",
                "error": "stopped before it finished",
            },
            {"id": 2, "params": {"x": 0.7}, "state": "expired"},
            {"id": 3, "params": {"x": 0.8}, "state": "pending"},
        ],
        "drawn": 4,
        "learned": None,
    }
    files.write(tmp_path / "old.json", content)
    loaded = il.Optimizer.load(tmp_path / "old.json")
    assert states(loaded.trials) == ["complete", "failed", "expired", "pending"]
    assert [trial.id for trial in loaded.abandoned] == [3]


# Errors that are not those of f


class Moody(il.Space):
    """A space that cannot give out more than so many points."""

    limit = 10

    def decode(self, x, **options):
        self.limit -= 1
        if self.limit < 0:
            raise ArithmeticError("no more points")
        return super().decode(x, **options)


@pytest.mark.parametrize("workers", [0, 3])
def test_an_error_while_points_are_chosen_ends_the_run_with_what_there_is(workers):
    """Also where nobody else has the optimizer; what is running then may finish."""
    space = Moody({"x": il.Real(0.0, 1.0)})
    with ThreadPoolExecutor(3) as executor:
        options = {"batch_size": 3, "executor": executor} if workers else {}
        with pytest.warns(RuntimeWarning, match="no more points"):
            result = minimize(lambda p: p["x"], space, n_trials=20, seed=0, **options)
    assert result.stopped == "ask: ArithmeticError: no more points"
    assert isinstance(result.error, ArithmeticError)
    assert len(result.trials) >= 3
    assert set(states(result.trials)) == {"complete"}
    assert result.value == min(trial.params["x"] for trial in result.trials)
    assert "in decode" in str(result)
    assert "stopped: ask: ArithmeticError: no more points" in str(result)
    space.limit = 1000
    more = minimize(lambda p: p["x"], result.optimizer, n_trials=2)
    assert (more.stopped, more.error) == ("n_trials", None)


class Confused(il.Optimizer):
    """Can make nothing of more than five results."""

    def _one_outcome(self):
        if len(self._complete()) > 5:
            raise FloatingPointError("a model that fits nothing")
        return super()._one_outcome()


@pytest.mark.parametrize(("run", "best"), [(minimize, min), (maximize, max)])
def test_the_best_is_known_without_a_model(run, best):
    optimizer = Confused(SPACE, seed=0, direction=run.__name__)
    with pytest.warns(RuntimeWarning, match="a model that fits nothing"):
        result = run(bowl, optimizer, n_trials=20)
    assert result.stopped == "ask: FloatingPointError: a model that fits nothing"
    assert result.value == best(trial.value for trial in result.trials)
    assert result.best.params == result.params
    assert f"best value {result.value:.6g}" in str(result)


def test_an_error_in_a_callback_ends_the_run_with_what_there_is():
    """The other callbacks are called all the same, and the first error counts."""
    seen = []

    def breaks(optimizer, trial):
        if trial.id >= 3:
            raise KeyError(f"trial {trial.id}")

    callbacks = [breaks, lambda optimizer, trial: seen.append(trial.id)]
    with pytest.warns(RuntimeWarning, match="KeyError: 'trial 3'") as caught:
        result = minimize(bowl, SPACE, n_trials=20, batch_size=5, callbacks=callbacks, seed=0)
    assert [warning.filename for warning in caught] == [__file__]
    assert result.stopped == "callback: KeyError: 'trial 3'"
    assert isinstance(result.error, KeyError)
    assert states(result.trials) == ["complete"] * 4 + ["cancelled"]
    assert seen == [0, 1, 2, 3]
    assert "in breaks" in str(result)
    assert states(minimize(bowl, result.optimizer, n_trials=1).trials) == ["complete"] * 5


def test_an_error_after_another_reason_to_stop_is_not_lost():
    def breaks(optimizer, trial):
        raise KeyError("too late")

    with pytest.warns(RuntimeWarning, match="too late"):
        result = minimize(bowl, SPACE, n_trials=5, callbacks=[stop_at(0), breaks])
    assert result.stopped == "callback"
    assert isinstance(result.error, KeyError)


def test_leaving_the_program_from_a_callback_is_left_to_it():
    optimizer = il.Optimizer(SPACE)
    with pytest.raises(SystemExit):
        minimize(bowl, optimizer, n_trials=4, batch_size=2, callbacks=[lambda *_: sys.exit(3)])
    assert states(optimizer.trials) == ["complete", "cancelled"]


# Failures in a row


def test_failures_at_one_place_do_not_end_the_run():
    def fails(params):
        raise ValueError("not here")

    # With so many parameters the only one that varies does not lead far away.
    wide = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(40)})
    fixed = {f"x{i}": 0.5 for i in range(39)}
    result = minimize(fails, wide, n_trials=12, max_failures=6, fixed=fixed)
    assert result.stopped == "n_trials"
    assert states(result.trials) == ["failed"] * 12
    spread = minimize(fails, LINE, n_trials=12, max_failures=2, seed=0)
    assert spread.stopped.startswith("failures: trials failed at 2 different places in a row")
    assert "ValueError: not here" in spread.stopped
    assert "max_failures" in spread.stopped


def test_places_are_counted_until_something_works():
    """In the unit cube of two parameters, places are 0.05 sqrt(2) apart."""
    space = il.Space({"x": il.Real(0.0, 10.0), "y": il.Real(0.0, 1.0)})
    failures = FailuresInARow(space)
    for x, y, places in [(1, 0, 1), (1.6, 0, 1), (1.6, 0.05, 2), (1.1, 0.01, 2), (9, 1, 3)]:
        failures.note({"x": float(x), "y": float(y)}, failed=True)
        assert len(failures) == places
    failures.note({"x": 5.0, "y": 0.5}, failed=False)
    assert len(failures) == 0
