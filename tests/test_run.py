"""Runs on real executors: nothing lost, nothing twice, and a result however they end."""

import contextlib
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import innerloop as il
from innerloop.run.optimize import maximize, minimize
from innerloop.run.result import Result

SPACE = il.Space({"x": il.Real(-1.0, 1.0), "y": il.Real(0.0, 1.0), "k": il.Integer(1, 3)})
SIX = il.Space({"a": il.Integer(1, 3), "b": il.Choice(["left", "right"])})
PATIENCE = 30.0  # seconds until something that should have happened is taken to have not


def bowl(params):
    return params["x"] ** 2 + (params["y"] - 0.3) ** 2 + params["k"]


def six(params):
    return params["a"] + (params["b"] == "left")


def fails_on_the_left(params):
    if params["x"] < 0.0:
        raise ArithmeticError(f"no root of {params['x']}")
    return bowl(params)


def dies(params):
    os._exit(3)


def processes(workers=2):
    # Children of their own server: forking a process with threads is asking for trouble.
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("forkserver"))


def outline(result):
    return [(trial.id, trial.params, trial.state, trial.value) for trial in result.trials]


def states(result):
    return [trial.state for trial in result.trials]


class Watched(il.Optimizer):
    """Remembers how many trials were pending before and after every ask."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.before, self.after = [], []

    def ask(self, n=None, *, fixed=None):
        self.before.append(len(self.pending))
        asked = super().ask(n, fixed=fixed)
        self.after.append(len(self.pending))
        return asked


# What a run does


@pytest.mark.parametrize("batch_size", [1, 3])
def test_serial_equals_one_thread(batch_size):
    options = {"n_trials": 13, "batch_size": batch_size, "seed": 3, "refill": False}
    serial = minimize(bowl, SPACE, **options)
    with ThreadPoolExecutor(1) as executor:
        thread = minimize(bowl, SPACE, executor=executor, **options)
    assert outline(serial) == outline(thread)
    assert serial.stopped == thread.stopped == "n_trials"
    assert [trial.value for trial in serial.trials] == [bowl(t.params) for t in serial.trials]
    assert 0.0 < serial.ask_seconds < serial.seconds


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(3), processes])
def test_threads_and_processes_complete_every_trial(make):
    with make() as executor:
        result = minimize(bowl, SPACE, n_trials=14, batch_size=3, executor=executor, seed=0)
    assert states(result) == ["complete"] * 14
    assert [trial.value for trial in result.trials] == [bowl(t.params) for t in result.trials]
    assert (result.params, result.value) == (result.best.params, result.best.value)
    assert result.failures == ()


def test_maximize_is_minimize_of_the_opposite():
    up = maximize(lambda params: -bowl(params), SPACE, n_trials=9, seed=1)
    down = minimize(bowl, SPACE, n_trials=9, seed=1)
    assert [trial.params for trial in up.trials] == [trial.params for trial in down.trials]
    assert up.value == -down.value


def test_f_may_spoil_its_argument():
    def spoils(params):
        value = bowl(params)
        params.clear()
        return value

    assert outline(minimize(spoils, SPACE, n_trials=8, seed=1)) == outline(
        minimize(bowl, SPACE, n_trials=8, seed=1)
    )


@pytest.mark.parametrize("refill", [True, False])
def test_a_whole_batch_runs_at_the_same_time(refill):
    """Nobody passes the barrier unless four are at it; every ask fills up what is pending."""
    barrier = threading.Barrier(4)

    def meets(params):
        barrier.wait(PATIENCE)
        return bowl(params)

    optimizer = Watched(SPACE, seed=0)
    with ThreadPoolExecutor(8) as executor:
        options = {"n_trials": 20, "batch_size": 4, "executor": executor}
        result = minimize(meets, optimizer, refill=refill, **options)
    assert states(result) == ["complete"] * 20
    assert optimizer.before[0] == 0
    assert set(optimizer.after) == {4}
    if not refill:
        assert optimizer.before == [0] * 5


def test_one_slow_trial_holds_up_nobody_else():
    """With refill the others take turns while the first one runs; it finishes last."""
    others_done = threading.Event()
    finished = []

    def slow_at_first(params):
        if params == first:
            assert others_done.wait(PATIENCE)
        return bowl(params)

    def note(optimizer, trial):
        finished.append(trial.id)
        if len(finished) == 11:
            others_done.set()

    first = il.Optimizer(SPACE, seed=5).ask().params
    with ThreadPoolExecutor(3) as executor:
        options = {"n_trials": 12, "batch_size": 3, "executor": executor, "seed": 5}
        result = minimize(slow_at_first, SPACE, callbacks=[note], **options)
    assert states(result) == ["complete"] * 12
    assert finished[-1] == 0
    assert sorted(finished) == list(range(12))


def test_eight_workers_with_random_durations_and_failures():
    """200 trials, 8 always pending, none twice, and what f returned is what was told."""
    log, lock, generator = {}, threading.Lock(), random.Random(0)

    def erratic(params):
        with lock:
            duration, fails = 0.008 * generator.random(), generator.random() < 0.1
        time.sleep(duration)
        value = None if fails else bowl(params)
        with lock:
            assert tuple(params.values()) not in log
            log[tuple(params.values())] = value
        if fails:
            raise RuntimeError("bad luck")
        return value

    optimizer = Watched(SPACE, seed=1, seconds=0.01)
    with ThreadPoolExecutor(8) as executor:
        result = minimize(erratic, optimizer, n_trials=200, batch_size=8, executor=executor)
    assert result.stopped == "n_trials"
    assert {tuple(trial.params.values()): trial.value for trial in result.trials} == log
    assert len(log) == 200
    assert set(optimizer.after[:-1]) == {8}  # the last ask starts those that are left
    assert len(optimizer.trials) == 200
    assert 5 < len(result.failures) < 50
    assert all("RuntimeError: bad luck" in trial.error for trial in result.failures)


def test_noise_can_be_returned_with_the_value():
    result = minimize(lambda params: (bowl(params), 0.25), SPACE, n_trials=6, seed=0)
    assert [trial.noise_sd for trial in result.trials] == [0.25] * 6


def test_fixed_parameters_stay_where_they_are():
    result = minimize(bowl, SPACE, n_trials=8, batch_size=2, fixed={"k": 2, "y": 0.5}, seed=0)
    assert {(trial.params["k"], trial.params["y"]) for trial in result.trials} == {(2, 0.5)}


def test_a_saved_optimizer_goes_on(tmp_path):
    whole = minimize(bowl, SPACE, n_trials=14, batch_size=2, seed=2)
    half = minimize(bowl, SPACE, n_trials=8, batch_size=2, seed=2)
    half.optimizer.save(tmp_path / "half.json")
    loaded = il.Optimizer.load(tmp_path / "half.json")
    rest = minimize(bowl, loaded, n_trials=6, batch_size=2)
    assert rest.optimizer is loaded
    assert outline(rest) == outline(whole)


def test_settings_reach_the_optimizer():
    settings = {"acquisition": "ucb", "form": "joint", "way": "joint", "initial": 5}
    settings |= {"maximizer": "adam", "seconds": 0.5, "expire": 60.0}
    result = minimize(bowl, SPACE, n_trials=7, seed=4, **settings)
    by_hand = il.Optimizer(SPACE, seed=4, **settings)
    assert result.optimizer._settings == by_hand._settings


# What goes wrong with f


@pytest.mark.parametrize("make", [None, lambda: ThreadPoolExecutor(2), processes])
def test_exceptions_become_failed_trials_with_their_traceback(make):
    if make is None:
        result = minimize(fails_on_the_left, SPACE, n_trials=12, seed=0)
    else:
        with make() as executor:
            options = {"n_trials": 12, "batch_size": 2, "executor": executor, "seed": 0}
            result = minimize(fails_on_the_left, SPACE, **options)
    assert result.stopped == "n_trials"
    for trial in result.trials:
        assert (trial.state == "failed") == (trial.params["x"] < 0.0)
    assert result.failures
    for trial in result.failures:
        assert f"ArithmeticError: no root of {trial.params['x']}" in trial.error
        assert "in fails_on_the_left" in trial.error
        assert "test_run.py" in trial.error


@pytest.mark.parametrize(
    "returned",
    [None, "3.5", True, [1.0], (1.0,), (1.0, 2.0, 3.0), (1.0, None), (1.0, -1.0), ("1", 0.1), {}],
)
def test_what_is_not_a_number_is_a_failure(returned):
    result = minimize(lambda params: returned, SPACE, n_trials=2, seed=0)
    assert states(result) == ["failed"] * 2
    assert "f must return a number" in result.trials[0].error
    assert f"got {returned!r}" in result.trials[0].error


def test_long_values_are_shortened_in_errors():
    result = minimize(lambda params: "long " * 10_000, SPACE, n_trials=1)
    assert len(result.trials[0].error) < 500


def test_objects_that_refuse_to_be_numbers_are_failures():
    class Refuses:
        def __float__(self):
            raise RuntimeError("not a number, really")

    result = minimize(lambda params: Refuses(), SPACE, n_trials=2)
    assert states(result) == ["failed"] * 2
    assert "f must return a number" in result.trials[0].error


@pytest.mark.parametrize("value", [np.float32(2.5), np.array(2.5), 2, np.int64(2)])
def test_numbers_of_any_kind_will_do(value):
    assert minimize(lambda params: value, SPACE, n_trials=1).value == float(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("-inf"), 10**400])
def test_values_that_are_not_finite_are_failures(value):
    result = minimize(lambda params: value, SPACE, n_trials=3)
    assert states(result) == ["failed"] * 3


def test_failures_in_a_row_end_the_run():
    """Seven fail, one succeeds, then all fail: the run ends with the tenth of those."""
    calls = []

    def mostly_fails(params):
        calls.append(params)
        if len(calls) != 8:
            raise ValueError(f"call {len(calls)}")
        return 1.0

    # Points of the initial design are far apart; others may be at the same place.
    result = minimize(mostly_fails, SPACE, n_trials=50, initial=50, seed=0)
    assert len(calls) == 18
    assert "failed at 10 different places in a row" in result.stopped
    assert "ValueError: call 18; mend the function" in result.stopped
    assert len(result.failures) == 17
    assert result.value == 1.0


def test_all_trials_may_fail():
    def fails(params):
        raise ValueError("never works")

    with ThreadPoolExecutor(3) as executor:
        options = {"n_trials": 15, "batch_size": 3, "executor": executor}
        result = minimize(fails, SPACE, max_failures=None, **options)
    assert result.stopped == "n_trials"
    assert states(result) == ["failed"] * 15
    with pytest.raises(il.InputError, match="no best trial"):
        _ = result.best
    assert "no trial has a value" in repr(result)
    assert "15 of them failed" in str(result)


class Wicked(BaseException):
    """Not an Exception, and not Ctrl-C either."""


def exits(params):
    sys.exit(2)


def is_wicked(params):
    raise Wicked("on purpose")


@pytest.mark.parametrize("make", [None, lambda: ThreadPoolExecutor(2), processes])
@pytest.mark.parametrize(
    ("f", "reason"), [(exits, "SystemExit: 2"), (is_wicked, "Wicked: on purpose")]
)
def test_exits_are_failures_wherever_f_runs(f, reason, make):
    """A script that calls sys.exit does not take the run with it, nor its workers."""
    with make() if make else contextlib.nullcontext() as executor:
        result = minimize(f, SPACE, n_trials=4, batch_size=2, executor=executor)
    assert result.stopped == "n_trials"
    assert states(result) == ["failed"] * 4
    for trial in result.trials:
        assert reason in trial.error.splitlines()[-1]
        assert f"in {f.__name__}" in trial.error


# What goes wrong with executors


def test_a_worker_process_that_dies():
    with processes() as executor:
        result = minimize(dies, SPACE, n_trials=20, batch_size=3, executor=executor)
    assert result.stopped.startswith("executor: ")
    assert "BrokenProcessPool" in result.stopped
    assert states(result) == ["cancelled"] * 3  # which of them it was is not known
    assert all("BrokenProcessPool" in trial.error for trial in result.trials)


def test_a_trial_that_is_alone_when_the_worker_dies_has_failed():
    """Else it would break every executor that takes it up again."""
    with processes(1) as executor:
        result = minimize(dies, SPACE, n_trials=20, executor=executor)
    assert result.stopped.startswith("executor: ")
    assert states(result) == ["failed"]


def breaks_its_own_pool(params):
    raise BrokenProcessPool("one inside f")


@pytest.mark.parametrize("make", [None, lambda: ThreadPoolExecutor(2), processes])
def test_executors_inside_f_are_none_of_ours(make):
    with make() if make else contextlib.nullcontext() as executor:
        options = {"n_trials": 4, "batch_size": 2, "executor": executor}
        result = minimize(breaks_its_own_pool, SPACE, **options)
    assert result.stopped == "n_trials"
    assert states(result) == ["failed"] * 4


def test_an_executor_that_was_shut_down_midway():
    """What was running is told, what could not be submitted is cancelled."""
    both_running = threading.Barrier(2)

    def meets(params):
        both_running.wait(PATIENCE)
        return bowl(params)

    executor = ThreadPoolExecutor(2)

    def shut_down(optimizer, trial):
        if trial.id >= 2:
            executor.shutdown(wait=False)

    options = {"n_trials": 20, "batch_size": 2, "executor": executor, "refill": False}
    result = minimize(meets, SPACE, callbacks=[shut_down], **options)
    assert result.stopped.startswith("executor: RuntimeError: ")
    assert states(result) == ["complete"] * 4 + ["cancelled"] * 2
    assert "cannot schedule new futures" in result.trials[4].error
    assert "not started" in result.trials[5].error


@pytest.mark.parametrize("kind", ["local", "lambda", "lock"])
def test_functions_that_cannot_travel_are_refused(kind):
    lock = threading.Lock()
    f = {"local": lambda: None, "lambda": lambda params: 1.0, "lock": lock.locked}[kind]
    if kind == "local":

        def f(params):
            return 1.0

    optimizer = il.Optimizer(SPACE)
    with processes(1) as executor, pytest.raises(il.InputError, match="top level of a module"):
        minimize(f, optimizer, n_trials=9, batch_size=3, executor=executor)
    assert optimizer.pending == ()
    assert len(optimizer.trials) == 3


def test_pickling_errors_of_f_itself_are_failures():
    def pickles(params):
        return pickle.dumps(threading.Lock())

    with ThreadPoolExecutor(1) as executor:
        result = minimize(pickles, SPACE, n_trials=2, executor=executor)
    assert states(result) == ["failed"] * 2
    assert "cannot pickle" in result.trials[0].error


def test_other_futures_are_refused():
    class Foreign:
        def submit(self, function, *arguments):
            return object()

    optimizer = il.Optimizer(SPACE)
    with pytest.raises(il.InputError, match=r"must return a .*Future, got a builtins\.object"):
        minimize(bowl, optimizer, n_trials=2, executor=Foreign())
    assert optimizer.pending == ()


# How a run ends


def test_a_finite_space_is_exhausted():
    result = minimize(six, SIX, n_trials=50, batch_size=4, seed=0)
    assert result.stopped == "exhausted"
    assert len({tuple(trial.params.values()) for trial in result.trials}) == 6
    assert states(result) == ["complete"] * 6
    assert result.value == 1
    again = minimize(six, result.optimizer, n_trials=3)
    assert (again.stopped, len(again.trials)) == ("exhausted", 6)


@pytest.mark.parametrize("refill", [True, False])
def test_a_finite_space_is_exhausted_on_an_executor(refill):
    with ThreadPoolExecutor(4) as executor:
        options = {"n_trials": 50, "batch_size": 4, "executor": executor, "seed": 0}
        result = minimize(six, SIX, refill=refill, fixed={"b": "right"}, **options)
    assert result.stopped == "exhausted"
    assert sorted(trial.params["a"] for trial in result.trials) == [1, 2, 3]


def test_timeout_does_not_wait_for_what_hangs():
    release = threading.Event()

    def hangs_on_the_right(params):
        if params["x"] > 0.0:
            release.wait(PATIENCE)
        return bowl(params)

    with ThreadPoolExecutor(2) as executor:
        options = {"n_trials": 100, "batch_size": 6, "executor": executor, "seed": 0}
        result = minimize(hangs_on_the_right, SPACE, timeout=0.4, **options)
        assert not release.is_set()
        release.set()
    assert result.stopped == "timeout"
    assert result.optimizer.pending == ()
    given_up = [trial for trial in result.trials if trial.state == "cancelled"]
    assert len(given_up) == 6
    assert {trial.error for trial in given_up} == {
        "no result when the 0.4 seconds of the run were over"
    }


def test_timeout_without_executor_lets_the_trial_finish():
    def outlasts(params):
        time.sleep(0.06)
        return bowl(params)

    result = minimize(outlasts, SPACE, n_trials=50, batch_size=3, timeout=0.05)
    assert result.stopped == "timeout"
    assert states(result) == ["complete", "cancelled", "cancelled"]


def test_trials_that_take_too_long_expire_and_may_come_late():
    """A hanging trial gives its place away; its value is taken down when it comes after all."""
    release, returned = threading.Event(), threading.Event()
    seen = []

    def hangs_at_first(params):
        if params == first:
            assert release.wait(PATIENCE)
            returned.set()
        return bowl(params)

    def note(optimizer, trial):
        seen.append((trial.id, trial.state))
        if trial.id == 3:
            time.sleep(max(optimizer.trials[0].asked + 0.11 - time.time(), 0.0))
        if trial.id == 0:
            release.set()
            assert returned.wait(PATIENCE)

    first = il.Optimizer(SPACE, seed=5).ask().params
    with ThreadPoolExecutor(3) as executor:
        options = {"n_trials": 12, "batch_size": 2, "executor": executor, "seed": 5}
        result = minimize(hangs_at_first, SPACE, expire=0.1, callbacks=[note], **options)
    assert result.stopped == "n_trials"
    assert seen.count((0, "expired")) == 1
    assert sorted(number for number, _ in seen) == list(range(12))
    assert states(result) == ["complete"] * 12


def test_waiting_for_its_turn_lets_no_trial_expire():
    def outlasts(params):
        time.sleep(0.02)
        return bowl(params)

    result = minimize(outlasts, SPACE, n_trials=6, batch_size=3, expire=0.01)
    assert states(result) == ["complete"] * 6


def test_nothing_but_expired_trials_ends_the_run():
    release = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        options = {"n_trials": 50, "batch_size": 2, "executor": executor, "max_failures": 2}
        result = minimize(lambda p: release.wait(PATIENCE), SPACE, expire=0.1, **options)
        release.set()
    assert result.stopped.startswith("failures: ")
    assert "no result within 0.1 seconds" in result.stopped
    assert states(result) == ["expired"] * 2


def test_callbacks_see_every_trial_in_the_main_thread():
    seen = []

    def note(optimizer, trial):
        assert optimizer.trials[trial.id] == trial
        seen.append((trial.id, trial.state, threading.current_thread()))

    with ThreadPoolExecutor(2) as executor:
        options = {"n_trials": 8, "batch_size": 2, "executor": executor, "seed": 0}
        result = minimize(fails_on_the_left, SPACE, callbacks=[note], **options)
    told = sorted((number, state) for number, state, _ in seen)
    assert told == [(trial.id, trial.state) for trial in result.trials]
    assert {thread for *_, thread in seen} == {threading.main_thread()}


def test_a_callback_may_end_the_run():
    seen = []

    def enough(optimizer, trial):
        if trial.id == 4:
            raise StopIteration

    callbacks = [enough, lambda optimizer, trial: seen.append(trial.id)]
    result = minimize(bowl, SPACE, n_trials=20, batch_size=3, callbacks=callbacks)
    assert result.stopped == "callback"
    assert states(result) == ["complete"] * 5 + ["cancelled"]
    assert result.trials[5].error == "stopped before it finished"
    assert seen == [0, 1, 2, 3, 4]


class Recording(ThreadPoolExecutor):
    """Keeps the futures it gives out."""

    def __init__(self, workers):
        super().__init__(workers)
        self.futures = []

    def submit(self, *call):
        self.futures.append(super().submit(*call))
        return self.futures[-1]


def test_errors_of_callbacks_leave_the_optimizer_in_order():
    """Two are done when the callback raises: both have their values; the third is cancelled."""
    release = threading.Event()
    optimizer = il.Optimizer(SPACE, seed=0)

    def hangs_at_the_third(params):
        if optimizer.trials[2].params == params:
            release.wait(PATIENCE)
        return bowl(params)

    def raises(optimizer, trial):
        assert not wait(executor.futures[:2], PATIENCE).not_done
        raise LookupError("on purpose")

    with Recording(4) as executor:
        options = {"n_trials": 9, "batch_size": 3, "executor": executor}
        with pytest.warns(RuntimeWarning, match="LookupError: on purpose"):
            minimize(hangs_at_the_third, optimizer, callbacks=[raises], **options)
        release.set()
    assert [trial.state for trial in optimizer.trials] == ["complete", "complete", "cancelled"]
    assert [trial.value for trial in optimizer.trials[:2]] == [
        bowl(trial.params) for trial in optimizer.trials[:2]
    ]
    assert optimizer.trials[2].error == "stopped before it finished"
    assert states(minimize(bowl, optimizer, n_trials=4)) == ["complete"] * 6


def test_a_callback_may_tell_trials_itself():
    def meddles(optimizer, trial):
        for other in optimizer.pending:
            optimizer.tell(other, 5.0)

    result = minimize(bowl, SPACE, n_trials=4, batch_size=2, callbacks=[meddles])
    assert states(result) == ["complete"] * 4
    assert [trial.value for trial in result.trials][1::2] == [5.0, 5.0]


# Ctrl-C

SCRIPT = """
    import sys, threading, time
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    import innerloop as il
    from innerloop.run.optimize import minimize

    def f(params):
        time.sleep(0.005)
        return params["x"] ** 2

    def ready(optimizer, trial):
        if trial.id == 5:
            print("ready", flush=True)

    if __name__ == "__main__":
        kind = sys.argv[1]
        pools = {"threads": ThreadPoolExecutor, "processes": ProcessPoolExecutor}
        executor = pools[kind](2) if kind in pools else None
        space = il.Space({"x": il.Real(0.0, 1.0)})
        options = {"n_trials": 100_000, "batch_size": 3, "initial": 100_000, "progress": False}
        result = minimize(f, space, executor=executor, callbacks=[ready], **options)
        if executor is not None:
            executor.shutdown()
        complete = [trial for trial in result.trials if trial.state == "complete"]
        assert len(complete) >= 4, result
        assert all(trial.value == f(trial.params) for trial in complete)
        cut_off = [trial for trial in result.trials if trial.state == "cancelled"]
        errors = {trial.error for trial in cut_off}
        assert errors <= {"stopped before it finished"}, errors
        assert len(complete) + len(cut_off) == len(result.trials)
        print(result.stopped, len(result.optimizer.pending), len(cut_off) <= 3)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals as POSIX has them")
@pytest.mark.parametrize(
    ("kind", "everyone"),
    [("serial", True), ("threads", True), ("processes", True), ("processes", False)],
)
def test_ctrl_c_returns_what_was_told(kind, everyone, tmp_path):
    """A terminal sends the signal to the whole group of processes, `kill` to one of them."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(script), kind]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stdout.readline() == "ready\n"
        (os.killpg if everyone else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert out == "interrupted 0 True\n", err
    assert process.returncode == 0


def test_ctrl_c_inside_f_without_executor():
    calls = []

    def interrupted(params):
        calls.append(params)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return bowl(params)

    result = minimize(interrupted, SPACE, n_trials=20, batch_size=3)
    assert result.stopped == "interrupted"
    assert states(result) == ["complete"] * 3 + ["cancelled"] * 3
    assert {trial.error for trial in result.trials[3:]} == {"stopped before it finished"}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_waits_until_an_ask_is_complete():
    class Pressing(il.Optimizer):
        def ask(self, n=None, *, fixed=None):
            signal.raise_signal(signal.SIGINT)
            return super().ask(n, fixed=fixed)

    result = minimize(bowl, Pressing(SPACE), n_trials=5, batch_size=2)
    assert result.stopped == "interrupted"
    assert states(result) == ["cancelled"] * 2


def test_a_third_ctrl_c_does_not_wait():
    class Hanging(il.Optimizer):
        def ask(self, n=None, *, fixed=None):
            for _ in range(3):
                signal.raise_signal(signal.SIGINT)
            raise AssertionError("nobody came")

    result = minimize(bowl, Hanging(SPACE), n_trials=5)
    assert (result.stopped, result.trials) == ("interrupted", ())


def test_ctrl_c_again_while_cleaning_up():
    class Pressing(ThreadPoolExecutor):
        """Somebody presses Ctrl-C whenever a future is cancelled."""

        def submit(self, *arguments):
            future = super().submit(*arguments)
            cancel = future.cancel
            future.cancel = lambda: (signal.raise_signal(signal.SIGINT), cancel())[1]
            return future

    def press(optimizer, trial):
        if trial.id == 0:
            signal.raise_signal(signal.SIGINT)

    with Pressing(1) as executor:
        options = {"n_trials": 20, "batch_size": 4, "executor": executor}
        result = minimize(bowl, SPACE, callbacks=[press], **options)
    assert result.stopped == "interrupted"
    assert result.optimizer.pending == ()
    assert result.trials[0].value == bowl(result.trials[0].params)
    assert len(result.trials) == 4


def test_handlers_of_others_stay():
    def own(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, own)
    try:
        result = minimize(lambda params: signal.raise_signal(signal.SIGINT), SPACE, n_trials=3)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.stopped == "interrupted"


def test_runs_in_other_threads():
    """Signals can be handled in the main thread only; a run elsewhere does without."""
    with ThreadPoolExecutor(1) as executor:
        result = executor.submit(minimize, bowl, SPACE, n_trials=5).result(PATIENCE)
    assert states(result) == ["complete"] * 5


# What is shown


def test_results_can_be_read():
    result = minimize(six, SIX, n_trials=2, seed=0)
    assert isinstance(result, Result)
    assert repr(result) == (
        f"Result(best value {result.value:.6g} at {result.params}, 2 trials, stopped='n_trials')"
    )
    first, second, third = str(result).splitlines()
    assert first == f"best value {result.value:.6g} at {result.params}"
    assert second.startswith("2 trials in 0.")
    assert third == "stopped: n_trials"


BAR = """
    import sys
    import innerloop as il
    from innerloop.run.optimize import minimize

    values = iter([3.0, 0.125, None, 2.0, 1.0, 1.0])
    space = il.Space({"x": il.Real(0.0, 1.0)})
    minimize(lambda params: next(values), space, n_trials=6, progress=None, initial=6)
    print("done")
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_the_progress_bar_fits_a_terminal(tmp_path):
    """On a terminal of 80 columns the last bar shows counts, best value, failures and times."""
    pytest.importorskip("rich", reason="pip install rich")
    shown = on_a_terminal(BAR, tmp_path)
    rows = [row for row in shown if "/6" in row]
    assert all(len(row) <= 80 for row in rows)
    last = rows[-1]
    assert last.split()[0] == "6/6"
    for part in ("best 0.125", "1 failed", "ask ", " ms", "0:00:0"):
        assert part in last
    assert "…" not in last
    assert shown[-1] == "done"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_without_rich_there_is_no_bar(tmp_path):
    hide = "import sys; sys.modules['rich'] = None\n"
    insist = "minimize(lambda params: 1.0, space, n_trials=6, progress=True)\n"
    shown = on_a_terminal(hide + textwrap.dedent(BAR) + insist, tmp_path)
    assert shown[0] == "done"
    assert "pip install rich" in shown[-1]


def on_a_terminal(code, tmp_path):
    """What a script writes to a terminal of 80 columns, by rows, without colors."""
    import pty
    import re
    import termios

    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    settings = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**settings, "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that nobody can write to it any more
                break
            if not part:
                break
            written += part
        process.wait(PATIENCE)
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode())
    return [row.rstrip() for row in re.split(r"[\r\n]+", plain) if row.strip()]


def test_the_bar_can_be_had_without_a_terminal(capsys):
    pytest.importorskip("rich", reason="pip install rich")
    minimize(bowl, SPACE, n_trials=3, progress=True)
    assert "3/3" in capsys.readouterr().err
    minimize(bowl, SPACE, n_trials=3)
    assert capsys.readouterr().err == ""


# Arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_trials": 0}, "n_trials must be an integer of 1 or more, got 0"),
        ({"n_trials": 2.5}, "n_trials must be an integer"),
        ({"batch_size": 0}, "batch_size must be an integer of 1 or more"),
        ({"refill": 1}, "refill must be True or False"),
        ({"resume": "no"}, "resume must be True or False"),
        ({"timeout": 0.0}, "timeout must be above 0"),
        ({"max_failures": -1}, "max_failures must be an integer"),
        ({"callbacks": print}, "callbacks must be a list of functions"),
        ({"callbacks": [3]}, "a callback must be a function"),
        ({"executor": 4}, "executor must have a method submit, got 4"),
        ({"progress": "yes"}, "progress must be True, False or None"),
        ({"fixed": {"z": 1}}, "fixed names 'z'"),
        ({"acquisition": "best"}, "acquisition must be one of"),
        ({"seed": -1}, "seed must be an integer of 0 or more"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    def never(params):
        raise AssertionError("must not be called")

    with pytest.raises(il.InputError, match=message):
        minimize(never, SPACE, **{"n_trials": 3, **arguments})


def test_an_optimizer_brings_its_own_settings():
    optimizer = il.Optimizer(SPACE, direction="maximize")
    with pytest.raises(il.InputError, match="minimize needs an optimizer of that direction"):
        minimize(bowl, optimizer, n_trials=1)
    with pytest.raises(il.InputError, match="leave out acquisition, seed"):
        maximize(bowl, optimizer, n_trials=1, acquisition="ucb", seed=1)
    with pytest.raises(il.InputError, match="f must be a function"):
        maximize("f", optimizer, n_trials=1)
    with pytest.raises(il.InputError, match="space must be a Space or an Optimizer"):
        minimize(bowl, {"x": il.Real(0, 1)}, n_trials=1)
    assert optimizer.trials == ()
