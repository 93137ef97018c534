"""One optimizer in several threads: no id and no point is given out twice, and nothing is lost."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import innerloop as il
from innerloop.run.optimize import minimize

SPACE = il.Space({"x": il.Real(0.0, 1.0), "k": il.Integer(0, 10**6)})
THREADS = 5


def bowl(params):
    return (params["x"] - 0.3) ** 2 + params["k"] / 1e6


def in_threads(task, *, times=1):
    """What a task returns in each of some threads that begin together."""
    barrier = threading.Barrier(THREADS)

    def begin(number):
        barrier.wait(60.0)
        return [task() for _ in range(times)]

    with ThreadPoolExecutor(THREADS) as executor:
        return [each for part in executor.map(begin, range(THREADS)) for each in part]


def points(trials):
    return {tuple(trial.params.values()) for trial in trials}


def test_ten_thousand_asks_without_a_duplicate():
    space = il.Space({"x": il.Real(0.0, 1.0)})
    for seed in range(40):
        optimizer = il.Optimizer(space, seed=seed, initial=250)
        asked = in_threads(optimizer.ask, times=50)
        assert sorted(trial.id for trial in asked) == list(range(250))
        assert len(points(asked)) == 250
        assert {trial.id: trial for trial in asked} == dict(enumerate(optimizer.trials))


def test_a_finite_space_is_given_out_once():
    space = il.Space({"a": il.Integer(0, 24), "b": il.Choice(list("pqrs"))})
    optimizer = il.Optimizer(space, seed=0)
    asked = in_threads(optimizer.ask, times=20)
    assert len(points(asked)) == 100
    assert optimizer.exhausted


def test_asking_telling_and_looking_at_the_same_time(tmp_path):
    """Asks by the model; every value is that of its trial, and files are whole."""
    optimizer = il.Optimizer(SPACE, seed=0, initial=8)

    def work():
        trial = optimizer.ask()
        told = optimizer.tell(trial, bowl(trial.params))
        path = tmp_path / f"{trial.id}.json"
        optimizer.save(path)
        seen = il.Optimizer.load(path)
        assert optimizer.best.value <= told.value
        assert repr(optimizer).startswith("Optimizer(minimize")
        assert len(pickle.loads(pickle.dumps(optimizer)).trials) >= len(seen.trials) > trial.id
        return told

    told = in_threads(work, times=6)
    assert sorted(trial.id for trial in told) == list(range(30))
    assert len(points(told)) == 30
    assert all(trial.value == bowl(trial.params) for trial in optimizer.trials)


def test_two_runs_of_one_optimizer_share_the_work():
    """Each trial is evaluated once, though each run finds trials of the other pending."""
    optimizer, seen, lock = il.Optimizer(SPACE, seed=0), [], threading.Lock()

    def notes(params):
        with lock:
            seen.append(tuple(params.values()))
        return bowl(params)

    results = in_threads(lambda: minimize(notes, optimizer, n_trials=4))
    assert {result.stopped for result in results} == {"n_trials"}
    assert len(seen) == len(set(seen)) == len(optimizer.trials) == 4 * THREADS
    assert {trial.state for trial in optimizer.trials} == {"complete"}


def test_copies_have_their_own_trials_and_their_own_lock():
    optimizer = il.Optimizer(SPACE, seed=0, initial=4)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, bowl(trial.params))
    expected = optimizer.with_trials(optimizer.trials).ask(2)
    for make in (copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))):
        other = make(optimizer)
        with optimizer._lock, ThreadPoolExecutor(1) as executor:  # a thread that must not wait
            asked = executor.submit(other.ask, 2).result(60.0)
        assert [trial.params for trial in asked] == [trial.params for trial in expected]
        assert len(other.trials) == 8
        assert len(optimizer.trials) == 6
