"""innerloop run on a Dask cluster, whose workers were started in another folder."""

import json
import os
import subprocess
from contextlib import chdir

import pytest

from clusters import local_cluster
from commands import INNERLOOP
from innerloop.studies.cluster import Remote
from innerloop.studies.targets import Function

SPACE = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n'


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """The address of a cluster; its two workers have a folder of their own."""
    with chdir(tmp_path_factory.mktemp("workers")), local_cluster(2) as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture
def run(tmp_path, workers):
    """Calls `innerloop run` on the cluster; gives status, message and the trials."""
    (tmp_path / "space.toml").write_text(SPACE)

    def call(*arguments):
        words = ["run", "--executor", workers, "-p", "2", "--space", "space.toml", *arguments]
        done = innerloop(tmp_path, *words)
        stored = innerloop(tmp_path, "trials", "-f", "json")
        trials = json.loads(stored.stdout) if stored.returncode == 0 else []
        return done.returncode, done.stderr, trials

    return call


def innerloop(folder, *arguments):
    command = [*INNERLOOP, *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )


def test_a_function_of_a_file_that_is_changed_between_runs(run, tmp_path):
    target = tmp_path / "target.py"
    # Slow enough that two trials run at a time.
    body = "    time.sleep(0.1)\n    return params['x'] + os.getpid()\n"
    target.write_text(f"import os\nimport time\n\ndef loss(params):\n{body}")
    status, err, trials = run("-n", "8", "target.py:loss")
    assert status == 0, err
    processes = {round(each["value"] - each["params"]["x"]) for each in trials}
    assert len(processes) == 2
    assert os.getpid() not in processes
    target.write_text("def loss(params):\n    return 3 * params['x']\n")
    status, err, after = run("-n", "12", "target.py:loss")
    assert status == 0, err
    assert after[:8] == trials
    for each in after[8:]:
        assert each["value"] == 3 * each["params"]["x"]


def test_a_command_runs_in_the_folder_of_the_run(run, tmp_path, workers):
    """Wherever the scheduler is said to be: by its address or in its file."""
    (tmp_path / "slope").write_text("-2")
    status, err, _ = run("-n", "2", "--", "echo $(cat slope)")
    assert status == 0, err
    address = workers.replace("dask://", "tcp://")
    (tmp_path / "scheduler.json").write_text(json.dumps({"address": address}))
    words = ("-n", "4", "--executor", "scheduler.json", "--", "echo $(cat slope)")
    status, err, trials = run(*words)
    assert status == 0, err
    assert [each["value"] for each in trials] == [-2.0] * 4


def test_failures_are_told(run, tmp_path):
    (tmp_path / "target.py").write_text("def loss(params):\n    return 1 / (params['x'] > 0.5)\n")
    status, err, trials = run("-n", "12", "target.py:loss")
    assert status == 0, err
    for each in trials:
        assert each["state"] == ("complete" if each["params"]["x"] > 0.5 else "failed")
    assert "ZeroDivisionError" in err


@pytest.mark.parametrize(
    ("target", "text", "words"),
    [
        ("none.py:loss", "", "cannot import none.py: there is no such file"),
        ("target.py:gain", "", "target.py has no 'gain'"),
        (
            "target.py:loss",
            "import nothing_like_it",
            "cannot import target.py: ModuleNotFoundError",
        ),
    ],
)
def test_targets_that_are_not_there(target, text, words, run, tmp_path):
    (tmp_path / "target.py").write_text(text)
    status, err, trials = run("-n", "4", target)
    assert status == 1
    assert words in err
    assert "on 2 of 2 workers of the Dask cluster" in err
    assert len(err.splitlines()) == 1
    assert trials == []


def test_a_worker_that_does_not_see_the_folder_of_the_run(tmp_path, monkeypatch):
    (tmp_path / "target.py").write_text("def loss(params):\n    return 2 * params['x']\n")
    monkeypatch.chdir(tmp_path)
    remote = Remote(Function("target.py:loss"), folder=str(tmp_path / "elsewhere"))
    assert remote.complaint() == ""
    assert remote({"x": 4.0}) == 8.0
