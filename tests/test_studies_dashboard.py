"""Optuna's dashboard of a study, served for real."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from urllib.error import URLError

import optuna
import pytest

from commands import INNERLOOP
from innerloop import Integer, Real, Space
from innerloop.studies.create import create_study

optuna.logging.set_verbosity(optuna.logging.CRITICAL)


@pytest.fixture
def study(tmp_path):
    space = Space({"x": Real(0, 1), "k": Integer(1, 5)})
    study = create_study(f"sqlite:///{tmp_path}/innerloop.db", "shown", space=space, seed=0)
    for _ in range(3):
        record = study.ask()
        study.tell(record.id, record.params["x"] + record.params["k"])
    study.fail(study.ask().id, "diverged")
    study.ask()
    return study


@pytest.fixture
def port():
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def fetch(port, path):
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as page:
                return page.read().decode()
        except URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_the_dashboard_shows_what_the_study_has(study, port, tmp_path):
    pytest.importorskip("optuna_dashboard", reason="pip install optuna-dashboard")
    process = subprocess.Popen(
        [*INNERLOOP, "dashboard", "--port", str(port)], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    try:
        assert "<html" in fetch(port, "/dashboard")
        (about,) = json.loads(fetch(port, "/api/studies"))["study_summaries"]
        assert about["study_name"] == "shown"
        shown = json.loads(fetch(port, f"/api/studies/{about['study_id']}?after=0"))["trials"]
    finally:
        process.terminate()
        process.wait()
    for trial, record in zip(shown, study.records(), strict=True):
        assert trial["number"] == record.id
        assert trial["state"] == {"failed": "Fail"}.get(record.state, record.state.capitalize())
        assert trial.get("values") == (None if record.value is None else [record.value])
        params = {each["name"]: float(each["param_external_value"]) for each in trial["params"]}
        assert params == record.params


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("sys.modules['optuna_dashboard'] = None", "pip install optuna-dashboard"),
        ("import socket; s = socket.socket(); s.bind(('127.0.0.1', {port})); s.listen()",
         "cannot listen at 127.0.0.1:{port}: "),
    ],
)  # fmt: skip
def test_a_dashboard_that_cannot_be_served(before, words, study, port, tmp_path):
    if "cannot" in words:
        pytest.importorskip("optuna_dashboard", reason="pip install optuna-dashboard")
    code = f"import sys\n{before}\nfrom innerloop.cli.main import main\n"
    code += "main(['dashboard', '--port', '{port}'])"
    line = [sys.executable, "-c", code.format(port=port)]
    run = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1, run.stderr
    assert words.format(port=port) in run.stderr.splitlines()[-1]
