"""innerloop-paper: runs that are killed and resumed, on processes and on a Dask cluster."""

import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import LocalCluster

from innerloop_paper import runner
from innerloop_paper.cli.scope import chosen_scale, jobs_of
from innerloop_paper.store import Store
from innerloop_paper.table import from_csv, to_csv
from innerloop_paper.workers import cluster, processes

COMMAND = (sys.executable, "-m", "innerloop_paper")
# Figure 4 in a few seconds: one trial and next to no inner budget.
SMALL = ["--trials", "1", "--budget", "32"]
SCALE = chosen_scale("small", 1, [32], None)
PATIENCE = 120.0  # seconds until something that should have happened is taken to have not


def paper(*arguments, **options):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def contents(folder):
    """Every file of results, without the seconds that things took."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            head, _, body = path.read_text().partition("\n")
            rows = {k: v for k, v in from_csv(body).items() if not k.endswith("_seconds")}
            found[str(path.relative_to(folder))] = (head, to_csv(rows))
    return found


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("straight")
    done = paper("run", "4", *SMALL, "--results", folder, "-p", 2)
    assert done.returncode == 0, done.stderr
    assert "22 are to be computed" in done.stderr
    assert re.search(r"about .* of CPU time: .* if 2 workers each have a core", done.stderr)
    assert len(contents(folder)) == 22  # 21 cells and a maximum
    return folder


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def no_longer_there(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.skipif(os.name != "posix", reason="kills process groups")
def test_killed_and_resumed_equals_straight(straight, tmp_path):
    """Killed at random moments, the whole group or the main process alone."""
    moments = sorted(random.Random(0).sample(range(1, 21), 2))
    command = [*COMMAND, "run", "4", *SMALL]
    for k, moment in enumerate(moments):
        with subprocess.Popen(
            [*command, "--results", str(tmp_path), "-p", "2"],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            wait_until(lambda moment=moment: len(list(tmp_path.rglob("*.csv"))) >= moment)
            (os.killpg if k % 2 else os.kill)(process.pid, signal.SIGKILL)
        # Workers do not outlive the process that started them.
        wait_until(lambda process=process: no_longer_there(process.pid))
    before = contents_of_whole_files(tmp_path)
    assert moments[-1] <= len(before) < 22
    done = paper("run", "4", *SMALL, "--results", tmp_path, "-p", 2)
    assert done.returncode == 0, done.stderr
    after = contents_of_whole_files(tmp_path)
    assert {name: after[name] for name in before} == before  # nothing was computed twice
    remove_unfinished(tmp_path)
    assert contents(tmp_path) == contents(straight)
    again = paper("run", "4", *SMALL, "--results", tmp_path)
    assert "of which 0 are to be computed" in again.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_an_interrupted_run_ends_at_once_and_keeps_what_it_has(tmp_path):
    """Ctrl-C goes to all processes of a terminal; workers leave it to the one that waits."""
    command = [*COMMAND, "run", "4", "--results"]
    with subprocess.Popen(
        [*command, str(tmp_path), "-p", "2", "--budget", str(2**20)],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        wait_until(lambda: len(list(tmp_path.rglob("*.csv"))) >= 1)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    wait_until(lambda: no_longer_there(process.pid))
    assert len(contents(tmp_path)) >= 1


def contents_of_whole_files(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*.csv")}


def remove_unfinished(folder):
    """Hidden files that a killed process was about to rename; nobody reads them."""
    for path in folder.rglob(".*"):
        path.unlink()


def test_a_killed_process_of_the_pool_is_made_up_for(straight, tmp_path):
    store, done = Store(tmp_path), []
    with processes(2) as workers:

        def kill_one(job):
            done.append(job)
            if len(done) in (3, 9):
                os.kill(next(iter(workers._pool._processes)), signal.SIGKILL)

        assert runner.run(jobs_of(["4"], SCALE), store, workers, done=kill_one) == []
    assert len(done) == len(set(done)) == 22
    assert contents(tmp_path) == contents(straight)


def test_a_killed_worker_of_a_cluster_is_made_up_for(straight, tmp_path):
    done = []
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any free port
            silence_logs=logging.CRITICAL,
        ) as local,
        cluster(local.scheduler_address) as workers,
    ):
        victim = next(iter(workers._client.run(os.getpid).values()))

        def kill_one(job):
            done.append(job)
            if len(done) == 5:
                os.kill(victim, signal.SIGKILL)

        jobs = jobs_of(["4"], SCALE)
        assert runner.run(jobs, Store(tmp_path), workers, done=kill_one) == []
    assert len(done) == len(set(done)) == 22
    assert contents(tmp_path) == contents(straight)


def test_plot_page_status_and_pack(straight, tmp_path):
    done = paper("plot", "4", *SMALL, "--results", straight, "-o", tmp_path / "figures")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figures" / "figure_4.svg").read_text().startswith("<?xml")
    packed = tmp_path / "results.tar.xz"
    assert paper("pack", "4", *SMALL, "--results", straight, "-o", packed).returncode == 0
    done = paper("page", *SMALL, "--results", packed, "-o", tmp_path / "results.md")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "results.md").read_text()
    assert "21 runs of Bayesian optimization" in page
    assert "![Figure 4](images/figure_4.svg)" in page
    assert (tmp_path / "images" / "figure_4.svg").exists()
    done = paper("status", "3", "4", *SMALL, "--results", packed, "-f", "json")
    third, fourth = json.loads(done.stdout)
    assert (fourth["jobs"], fourth["done"], fourth["cpu_minutes_left"]) == (21, 21, 0.0)
    assert (third["jobs"], third["done"]) == (14, 0)
    assert third["cpu_minutes_left"] > 0


def test_list_names_every_figure():
    figures = json.loads(paper("list", "-f", "json").stdout)
    assert [each["figure"] for each in figures] == ["1bc", "1d", "2", "3", "4", "5", "6", "7", "8"]
    assert all(each["small"] <= each["laptop"] <= each["paper"] for each in figures)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "9"], "there is no figure '9': all or some of 1bc, 1d"),
        (["run", "3", "--scale", "huge"], "--scale must be one of small, laptop, paper"),
        (["run", "3", "--clock", "sun"], "clock must be one of cpu, evaluations"),
        (["run", "4", *SMALL, "--scheduler", "tcp://127.0.0.1:9"], "no Dask scheduler answers"),
        (["plot", "3", "--results", "nowhere"], "there are no results of figure 3 in nowhere"),
        (["plot", "1bc", "--as", "gif", "--results", "nowhere"], "no results"),
        (["page", "--results", "nowhere"], "there are no results in nowhere"),
        (["page", "--results", "nowhere.tar.xz"], "cannot read the results in nowhere.tar.xz"),
    ],
)
def test_mistakes_are_explained(arguments, message, tmp_path):
    done = paper(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
