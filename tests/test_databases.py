"""One study and many processes, in a SQLite file and on a PostgreSQL server of our own."""

import gc
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from pwd import getpwnam

import optuna
import pytest

from commands import INNERLOOP
from innerloop import InputError, Integer, Real, Space
from innerloop.cli.views import summary_of
from innerloop.errors import StorageError
from innerloop.optimizer.goals import Goals
from innerloop.studies.create import create_study
from innerloop.studies.storage import open_storage
from innerloop.studies.study import open_study

optuna.logging.set_verbosity(optuna.logging.CRITICAL)

NUMBERS = itertools.count()
SPACE = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n'
TARGET = """\
import os, time

def loss(params):
    value = (params["x"] - 0.3) ** 2
    file = os.open("evaluated.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{params['x']!r} {value!r}\\n".encode())
    os.close(file)
    return value

def slow(params):
    time.sleep(0.3)
    return loss(params)

def outcomes(params):
    loss(params)
    return {"yield": params["x"], "cost": params["x"] ** 2, "heat": 2 * params["x"]}
"""
GOALS = Goals.of({"yield": "maximize", "cost": "minimize"}, ["heat <= 1"])
OUTCOMES = f"""\
outcome_constraints = ["heat <= 1"]
{SPACE}
[objectives]
yield = "maximize"
cost = "minimize"
"""
# What is slow to import is imported once; from there on every process is on its own.
FORKING = """\
import os, sys
import alembic.command, optuna, scipy.optimize, scipy.stats, sqlalchemy
import innerloop.studies.run, innerloop.integrations.optuna
from innerloop.cli.main import main

for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        main(sys.argv[2:])
statuses = []
while True:
    try:
        statuses.append(os.waitstatus_to_exitcode(os.wait()[1]))
    except ChildProcessError:
        sys.exit(max(statuses))
"""

# Each asks and tells at once, without a pause, so that all of them ask at the same moments.
ASKING = """\
import os, sys
import alembic.command, optuna, scipy.optimize, scipy.stats, sqlalchemy
import innerloop.integrations.optuna
from innerloop.studies.study import open_study

children = []
for _ in range(int(sys.argv[1])):
    children.append(os.fork())
    if not children[-1]:
        study = open_study(sys.argv[3], "s")
        for _ in range(int(sys.argv[2])):
            record = study.ask()
            study.tell(record.id, (record.params["a"] - 2) ** 2 + (record.params["b"] - 3) ** 2)
        os._exit(0)
sys.exit(max(os.waitpid(child, 0)[1] for child in children))
"""


class Server:
    """PostgreSQL in a folder of its own, on a port of this machine that nothing else uses."""

    def __init__(self, binaries, folder, user):
        self.binaries, self.folder, self.user = binaries, folder, user
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._call("initdb", "--auth=trust", "--username=tester", "--no-sync")

    def start(self):
        options = f"-F -h 127.0.0.1 -p {self.port} -c unix_socket_directories=''"
        self._call("pg_ctl", "start", "--wait", f"--log={self.folder}/log", f"--options={options}")

    def stop(self):
        self._call("pg_ctl", "stop", "--wait", "--mode=immediate")

    def new_database(self, name):
        import psycopg

        about = f"host=127.0.0.1 port={self.port} user=tester dbname=postgres"
        with psycopg.connect(about, autocommit=True) as connection:
            connection.execute(f"create database {name}")
        return f"postgresql+psycopg://tester@127.0.0.1:{self.port}/{name}"

    def _call(self, name, *arguments):
        as_whom = {} if self.user is None else {"user": self.user, "extra_groups": []}
        line = [self.binaries / name, f"--pgdata={self.folder}/data", *arguments]
        # Not a pipe, which the server would hold open.
        with tempfile.TemporaryFile() as said:
            run = subprocess.run(line, cwd=self.folder, stdout=said, stderr=said, **as_whom)
            said.seek(0)
            assert run.returncode == 0, said.read().decode()


def cannot_test(how):
    """Where everything is to be tested a test must not be skipped."""
    if os.environ.get("CI"):
        pytest.fail(how)
    pytest.skip(how)


# Connections of threads that have ended are left to the garbage collector, which warns of them
# whenever it runs: here, and not in some other test.
pytestmark = pytest.mark.filterwarnings("ignore:.* was deleted while still open:ResourceWarning")


@pytest.fixture(autouse=True)
def garbage():
    yield
    gc.collect()


@pytest.fixture(scope="session")
def server():
    pytest.importorskip("psycopg", reason="pip install 'innerloop[postgres]'")
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *map(Path, os.get_exec_path())]
    binaries = next((p for p in places if (p / "initdb").exists()), None)
    if binaries is None:
        cannot_test("to test on a server: apt install postgresql")
    user = "postgres" if os.geteuid() == 0 else None  # a server refuses to run as root
    # Not pytest's folder, which is closed to other users.
    with tempfile.TemporaryDirectory() as folder:
        if user is not None:
            os.chown(folder, getpwnam(user).pw_uid, -1)
        made = Server(binaries, Path(folder), user)
        made.start()
        yield made
        made.stop()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "outcomes.toml").write_text(OUTCOMES)
    (tmp_path / "target.py").write_text(TARGET)
    return tmp_path


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, folder):
    if request.param == "sqlite":
        return f"sqlite:///{folder}/study.db"
    return request.getfixturevalue("server").new_database(f"d{next(NUMBERS)}")


def trials(folder, url):
    line = [*INNERLOOP, "trials", "-f", "json", "--storage", url]
    return json.loads(subprocess.run(line, cwd=folder, capture_output=True, check=True).stdout)


def test_eight_processes_make_80_trials_together(folder, url):
    line = [sys.executable, "-c", FORKING, "8"]
    line += ["run", "target.py:loss", "--space", "space.toml", "-n", "80", "--storage", url]
    run = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    records = trials(folder, url)
    assert [record["id"] for record in records] == list(range(len(records)))
    # Of trials that were asked for at the same moment some may have been one too many.
    surplus = [record for record in records if record["lost"]]
    assert {record["state"] for record in surplus} <= {"failed"}
    assert Counter(r["state"] for r in records if not r["lost"]) == {"complete": 80}
    summary = summary_of(open_study(url, "default"))
    kinds = ("complete", "failed", "lost", "running")
    assert [summary[kind] for kind in kinds] == [80, 0, len(surplus), 0]
    told = Counter((r["params"]["x"], r["value"]) for r in records if r["state"] == "complete")
    lines = (folder / "evaluated.txt").read_text().splitlines()
    assert told == Counter(tuple(map(float, line.split())) for line in lines)


def test_processes_with_several_outcomes_lose_nothing(folder, url):
    line = [sys.executable, "-c", FORKING, "4"]
    line += ["run", "target.py:outcomes", "--space", "outcomes.toml", "-n", "32", "--storage", url]
    run = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    done = [record for record in trials(folder, url) if not record["lost"]]
    assert [record["state"] for record in done] == ["complete"] * 32
    points = [record["params"]["x"] for record in done]
    lines = (folder / "evaluated.txt").read_text().splitlines()
    assert sorted(points) == sorted(float(line.split()[0]) for line in lines)
    theirs = optuna.load_study(study_name="default", storage=url).trials
    for record, x in zip(done, points, strict=True):
        assert record["outcomes"] == {"yield": x, "cost": x**2, "heat": 2 * x}
        assert record["feasible"] == (2 * x <= 1)
        trial = theirs[record["id"]]
        assert (trial.values, trial.constraints) == ([x, x**2], {"heat": 2 * x - 1})


def told_at_once(tellers, number, parts):
    """What each of several threads raised that told parts of a trial at the same moment."""
    barrier, raised = threading.Barrier(len(tellers)), [None] * len(tellers)

    def work(k):
        barrier.wait()
        try:
            tellers[k].tell(number, parts[k])
        except InputError as error:
            raised[k] = error
        finally:  # connections are closed by the threads that made them
            tellers[k].optuna._storage.remove_session()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(tellers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_parts_that_are_told_at_the_same_moment_make_a_whole(url):
    study = create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0, goals=GOALS)
    tellers = [open_study(url, "s") for _ in GOALS.names]
    for k in range(8):
        number = study.ask().id
        parts = [{name: float(k + j)} for j, name in enumerate(GOALS.names)]
        assert told_at_once(tellers, number, parts) == [None] * 3
        record = study.record(number)
        assert record.state == "complete"
        assert record.outcomes == {"yield": k, "cost": k + 1.0, "heat": k + 2.0}


def test_of_two_that_tell_the_same_outcome_one_is_refused(url):
    study = create_study(url, "s", space=Space({"x": Real(0, 1)}), seed=0, goals=GOALS)
    tellers = [open_study(url, "s") for _ in range(3)]
    for _ in range(5):
        number = study.ask().id
        raised = told_at_once(tellers, number, [{"cost": value} for value in range(3)])
        (kept,) = [value for value, error in enumerate(raised) if error is None]
        assert study.record(number).outcomes == {"cost": float(kept)}
        assert sum(f"was told {float(kept)} before, and keeps it" in str(e) for e in raised) == 2


def test_processes_that_ask_at_the_same_moment_take_different_points(url):
    study = create_study(url, "s", space=Space({"a": Integer(0, 7), "b": Integer(0, 7)}), seed=0)
    subprocess.run([sys.executable, "-c", ASKING, "6", "5", url], check=True, timeout=200)
    points = Counter(tuple(record.params.values()) for record in study.records())
    assert len(points) == 30
    assert max(points.values()) == 1


def test_processes_that_start_together_agree_on_the_study(url):
    space, seeds = Space({"x": Real(0, 1)}), []
    open_storage(url, writing=True)
    for name in "abc":
        barrier = threading.Barrier(6)

        def create(name=name, barrier=barrier):
            barrier.wait()
            seeds.append((name, create_study(url, name, space=space).seed))

        threads = [threading.Thread(target=create) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seeds) == 18
    assert set(seeds) == {(name, open_study(url, name).seed) for name in "abc"}


def test_a_url_of_postgresql_needs_no_driver_in_it(server):
    url = server.new_database("plain")
    for start in ("postgresql:", "postgres:"):
        study = create_study(
            url.replace("postgresql+psycopg:", start), "s", space=Space({"x": Real(0, 1)}), seed=3
        )
        study.tell(study.ask().id, 0.5)
    assert [r.value for r in open_study(url, "s").records()] == [0.5, 0.5]
    with pytest.raises(StorageError, match='database "none" does not exist'):
        open_storage(url.replace("/plain", "/none"), writing=True)


def test_a_missing_driver_is_named():
    line = ["studies", "--storage", "postgresql+psycopg://me:secret@127.0.0.1/d"]
    code = (
        f"import sys\nsys.modules['psycopg'] = None\nfrom innerloop.cli.main import main\n{line=}"
    )
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nmain(line)"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert run.stderr == (
        "innerloop: postgresql+psycopg://me:***@127.0.0.1/d: the driver of the database is "
        "missing: pip install 'innerloop[postgres]'\n"
    )


def wait_for_trials(url, number):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        study = open_study(url, "default", writing=False)
        if sum(record.state == "complete" for record in study.records()) >= number:
            return
        time.sleep(0.1)
    raise AssertionError(f"not {number} values after a minute")


def test_a_server_that_goes_away_loses_nothing(folder, server):
    url = server.new_database("interrupted")
    create_study(url, "default", space=Space({"x": Real(0, 1)}), seed=0)
    line = [*INNERLOOP, "run", "target.py:slow", "-n", "8", "-p", "3", "--storage", url]
    process = subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True)
    wait_for_trials(url, 1)
    server.stop()
    try:
        _, err = process.communicate(timeout=60)
    finally:
        server.start()
    assert process.returncode == 1, err
    assert "Traceback" not in err
    said = err.splitlines()[-1]
    assert said.startswith(f"innerloop: {url}: ")
    # What could not be stored was named, and can be told by hand.
    named = re.findall(r"trial (\d+) = (\S+?)[, ]", said)
    rows = "\n".join(["id,value", *map(",".join, named)])
    tell = [*INNERLOOP, "tell", "-", "--storage", url]
    subprocess.run(tell, input=rows, text=True, check=True, capture_output=True)
    told = values(trials(folder, url))
    assert told.items() >= {int(number): float(value) for number, value in named}.items()
    subprocess.run(line, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    after = trials(folder, url)
    assert values(after).items() >= told.items()
    assert Counter(r["state"] for r in after if not r["lost"]) == {"complete": 8}
    computed = (folder / "evaluated.txt").read_text().split()[1::2]
    assert set(values(after).values()) <= set(map(float, computed))


def values(records):
    return {r["id"]: r["value"] for r in records if r["state"] == "complete"}


def test_a_connection_that_was_closed_is_made_again(server):
    study = create_study(server.new_database("idle"), "s", space=Space({"x": Real(0, 1)}), seed=0)
    record = study.ask()
    server.stop()
    server.start()
    assert study.tell(record.id, 1.5).value == 1.5
