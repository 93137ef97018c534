"""Runs on a Dask cluster, one of whose workers is killed, and under MPI."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import innerloop as il
from clusters import local_cluster
from innerloop.run.dask_client import DaskExecutor
from innerloop.run.optimize import minimize

SPACE = il.Space({"x": il.Real(-1.0, 1.0), "y": il.Real(0.0, 1.0), "k": il.Integer(1, 3)})
PATIENCE = 60.0  # seconds until something that should have happened is taken to have not


def chance(params):
    """A number in [0, 1) that looks random, but is the same wherever it is computed."""
    return hashlib.sha256(repr(sorted(params.items())).encode()).digest()[0] / 256.0


def bowl(params):
    return params["x"] ** 2 + (params["y"] - 0.3) ** 2 + params["k"]


def erratic(params):
    luck = chance(params)
    time.sleep(0.01 * luck)
    if luck < 0.1:
        raise RuntimeError("bad luck")
    return bowl(params)


class Watched(il.Optimizer):
    """Remembers how many trials were pending after every ask."""

    after = ()

    def ask(self, n=None, *, fixed=None):
        asked = super().ask(n, fixed=fixed)
        self.after = (*self.after, len(self.pending))
        return asked


@pytest.fixture(scope="module")
def client():
    with local_cluster(2, threads_per_worker=4) as cluster, cluster.get_client() as client:
        yield client


def test_a_worker_is_killed_midway(client):
    """200 trials, 8 always pending, none twice and none lost."""
    victim = next(iter(client.run(os.getpid).values()))
    told = []

    def kill(optimizer, trial):
        told.append(trial.id)
        if len(told) == 100:
            os.kill(victim, signal.SIGKILL)

    optimizer = Watched(SPACE, seed=1, seconds=0.01)
    options = {"n_trials": 200, "batch_size": 8, "executor": client}
    result = minimize(erratic, optimizer, callbacks=[kill], timeout=PATIENCE, **options)
    assert victim not in client.run(os.getpid).values()
    assert result.stopped == "n_trials"
    assert sorted(told) == list(range(200))
    assert set(optimizer.after[:-1]) == {8}  # the last ask starts those that are left
    assert len({tuple(trial.params.values()) for trial in result.trials}) == 200
    for trial in result.trials:
        if chance(trial.params) < 0.1:
            assert "RuntimeError: bad luck" in trial.error
        else:
            assert trial.value == bowl(trial.params)
    assert 5 < len(result.failures) < 50


def nanoseconds(params):
    return time.perf_counter_ns()


class Keeping:
    """An executor that keeps its futures, and with them what Dask knows of their calls."""

    def __init__(self, executor):
        self.executor, self.kept = executor, []

    def submit(self, *call):
        self.kept.append(self.executor.submit(*call))
        return self.kept[-1]


def test_a_scheduler_by_its_address(client, tmp_path):
    """As the command takes it, too; the run ends its own client and no other."""
    address, path = client.scheduler.address, tmp_path / "scheduler"
    # What a scheduler writes of itself; the client's own way fails once it has known some keys.
    path.write_text(json.dumps({"type": "Scheduler", "address": address}))
    for said in (address, address.replace("tcp://", "dask://"), str(path)):
        result = minimize(bowl, SPACE, n_trials=3, executor=said, seed=0, progress=False)
        assert [trial.value for trial in result.trials] == [bowl(t.params) for t in result.trials]
    assert client.status == "running"
    (tmp_path / "other.json").write_text("[]")
    for said, words in (
        (str(tmp_path / "none.json"), "cannot read .*none.json: No such file"),
        (str(tmp_path / "other.json"), "other.json is not the file of a Dask scheduler"),
    ):
        with pytest.raises(il.InputError, match=words):
            minimize(bowl, SPACE, n_trials=3, executor=said)


def test_repeated_runs_are_evaluated_again(client):
    """Dask knows calls by their arguments; two runs with one seed share none of them."""
    executor = Keeping(client.get_executor())
    options = {"n_trials": 3, "batch_size": 3, "seed": 0, "executor": executor}
    first, second = minimize(nanoseconds, SPACE, **options), minimize(nanoseconds, SPACE, **options)
    assert [trial.params for trial in first.trials] == [trial.params for trial in second.trials]
    values = {trial.value for result in (first, second) for trial in result.trials}
    assert len(values) == 6


def test_results_of_a_killed_worker_are_computed_again(client):
    """Dask's own executor may take a result that is on its way for an error."""
    workers = client.run(os.getpid)
    executor = DaskExecutor(client)
    futures = [executor.submit(pow, 2, k) for k in range(40)]
    os.kill(next(iter(workers.values())), signal.SIGKILL)
    assert [future.result(PATIENCE) for future in futures] == [2**k for k in range(40)]


def test_failures_and_cancelled_calls_of_a_cluster(client):
    executor = DaskExecutor(client)
    with pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 1, 0).result(PATIENCE)
    waiting = [executor.submit(time.sleep, 0.2) for _ in range(30)]
    assert waiting[-1].cancel()
    assert waiting[-1].cancelled()
    assert waiting[0].result(PATIENCE) is None


def exits_on_the_left(params):
    if params["x"] < 0.0:
        sys.exit(4)
    return bowl(params)


def test_exits_end_no_worker_of_a_cluster(client):
    """Dask's workers would end by them, and be sent the same call again."""
    before = client.run(os.getpid)
    options = {"n_trials": 12, "batch_size": 4, "executor": client, "seed": 0}
    result = minimize(exits_on_the_left, SPACE, timeout=PATIENCE, max_failures=None, **options)
    assert before.items() <= client.run(os.getpid).items()
    assert result.stopped == "n_trials"
    for trial in result.trials:
        assert (trial.state == "failed") == (trial.params["x"] < 0.0)
    assert len(result.failures) >= 3
    for trial in result.failures:
        assert "SystemExit: 4" in trial.error.splitlines()[-1]
        assert "in exits_on_the_left" in trial.error


SCRIPT = """
    import os
    from mpi4py.futures import MPIPoolExecutor
    import innerloop as il
    from innerloop.run.optimize import minimize

    def f(params):
        if params["x"] < 0.2:
            raise ValueError("too far left")
        return params["x"] ** 2 + 1e-12 * os.getpid()

    if __name__ == "__main__":
        space = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
        with MPIPoolExecutor() as executor:
            # In which order results come differs, and so may how many failures come in a row.
            options = {"batch_size": 4, "max_failures": None, "executor": executor, "seed": 0}
            result = minimize(f, space, n_trials=20, **options)
        for trial in result.trials:
            assert (trial.state == "failed") == (trial.params["x"] < 0.2), trial
        assert all("too far left" in trial.error for trial in result.failures)
        pids = {round(1e12 * (t.value - t.params["x"] ** 2)) for t in result.trials if t.value}
        assert os.getpid() not in pids
        print(result.stopped, len(result.trials), len(result.failures) > 0)
"""


def test_mpi(tmp_path):
    pytest.importorskip("mpi4py", reason="pip install mpi4py mpich")
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec: pip install mpich")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert run.stdout == "n_trials 20 True\n", run.stderr
