"""The commands, in processes of their own, on real files."""

import csv
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from datetime import datetime

import pytest

from commands import INNERLOOP, PATIENCE, WAIT_AT_GATE, Gate, call

SPACE = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n\n[y]\ntype = "real"\nlow = 0\nhigh = 1\n'
TARGET = (
    WAIT_AT_GATE
    + """\
import os, socket, time

def loss(params):
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2

def gated(params):
    wait_at_gate(params)
    return loss(params)

def picky(params):
    if params["x"] < 0.5:
        raise ValueError("too small")
    return loss(params)

def raises(params):
    raise ValueError("never works")

def hangs(params):
    time.sleep(60)
"""
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "target.py").write_text(TARGET)
    return tmp_path


def start(folder, *arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([*INNERLOOP, *map(str, arguments)], cwd=folder, **pipes)


def call_alone(folder, *arguments, status=0, text=None):
    """The same in a process of its own."""
    process = start(folder, *arguments, stdin=subprocess.PIPE)
    out, err = process.communicate(text, timeout=100)
    assert process.returncode == status, err
    assert "Traceback" not in err
    return out, err


def test_values_from_stdin(folder):
    call(folder, "ask", "--space", "space.toml")
    call_alone(folder, "tell", "-", text="id,value\n0,2.5\n")
    assert trials(folder)[0]["value"] == 2.5


def trials(folder, *arguments):
    return json.loads(call(folder, "trials", "-f", "json", *arguments)[0])


def counts(records):
    states = [record["state"] for record in records]
    return {state: states.count(state) for state in set(states)}


def test_help_loads_nothing_slow():
    code = (
        "import sys\nfrom innerloop.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "slow = ('numpy', 'scipy', 'optuna', 'sqlalchemy', 'innerloop.space.space')\n"
        "print([name for name in slow if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
    names = "run ask tell trials best front studies report dashboard demo"
    for name in names.split():
        assert re.search(rf"\b{name}\b", run.stdout)


def test_usage_errors_have_status_2(folder):
    call(folder, "run", status=2)
    call(folder, "run", "target.py:loss", "--", "echo 1", status=2)
    call(folder, "trials", "-f", "xml", status=2)
    call(folder, "tell", status=2)
    call(folder, "tell", "7", status=2)
    assert sorted(os.listdir(folder)) == ["space.toml", "target.py"]


def test_the_hand_run_path(folder):
    known = {}
    for round_ in range(3):
        do = call_alone if round_ == 1 else call
        start_ = ["--space", "space.toml", "--seed", "1"] if round_ == 0 else []
        asked, _ = do(folder, "ask", "-n", "4", "-f", "csv", *start_)
        rows = list(csv.DictReader(io.StringIO(asked)))
        assert [int(row["id"]) for row in rows] == [4 * round_ + k for k in range(4)]
        values = [(float(r["x"]) - 0.3) ** 2 + (float(r["y"]) - 0.6) ** 2 for r in rows]
        for row, value in zip(rows, values, strict=True):
            row["value"] = repr(value)
        whole = _csv(rows)
        rows[1]["value"], rows[2]["value"] = "", "0,1o"
        (folder / "batch.csv").write_text(_csv(rows))
        _, err = do(folder, "tell", "batch.csv", status=1)
        assert "batch.csv, line 3: trial" in err
        assert "batch.csv, line 4: " in err
        assert "told 2" in err
        assert counts(trials(folder)) == {"complete": 4 * round_ + 2, "running": 2}
        (folder / "whole.csv").write_text(whole)
        _, err = do(folder, "tell", "whole.csv")
        assert "told 2, 2 had been told before" in err
        known.update({int(r["id"]): v for r, v in zip(rows, values, strict=True)})
        assert {r["id"]: r["value"] for r in trials(folder)} == known
    best = json.loads(call(folder, "best", "-f", "json")[0])
    assert best[0]["value"] == min(known.values())


def _csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def test_formats(folder):
    call(folder, "run", "target.py:picky", "--space", "space.toml", "-n", "6", "--seed", "1")
    records = trials(folder)
    assert set(counts(records)) == {"complete", "failed"}
    for record in records:
        assert list(record) == [
            "id", "state", "value", "params", "started", "finished", "error", "lost",
            "prediction", "certificate",
        ]  # fmt: skip
        assert (record["value"] is None) == (record["state"] == "failed")
        started, finished = (datetime.fromisoformat(record[k]) for k in ("started", "finished"))
        assert started <= finished
        assert started.utcoffset().total_seconds() == 0
        assert abs(started.timestamp() - time.time()) < 600
    assert "too small" in next(r["error"] for r in records if r["error"])
    rows = list(csv.DictReader(io.StringIO(call(folder, "trials", "-f", "csv")[0])))
    assert [float(r["x"]) for r in rows] == [r["params"]["x"] for r in records]
    table = call(folder, "trials")[0].splitlines()
    assert len(table) == 7
    assert table[0].split()[:5] == ["id", "state", "value", "x", "y"]
    studies = json.loads(call(folder, "studies", "-f", "json")[0])
    assert [(s["name"], s["complete"] + s["failed"]) for s in studies] == [("default", 6)]


def test_resumed_equals_straight(folder):
    line = ["run", "target.py:loss", "--space", "space.toml", "--seed", "3"]
    call_alone(folder, *line, "--study", "straight", "-n", "40")
    call_alone(folder, *line, "--study", "resumed", "-n", "20")
    call_alone(folder, *line, "--study", "resumed", "-n", "40")
    both = [trials(folder, "--study", name) for name in ("straight", "resumed")]
    assert len(both[0]) == 40
    told = [[(r["params"], r["value"]) for r in records] for records in both]
    assert told[0] == told[1]


def told_at(records):
    """Values of the trials that are complete, by their points."""
    done = [record for record in records if record["state"] == "complete"]
    return {(r["params"]["x"], r["params"]["y"]): r["value"] for r in done}


def test_killed_at_any_moment_and_resumed(folder):
    """Before any value, between values, and while one is on its way."""
    line = ["run", "target.py:gated", "--space", "space.toml", "--seed", "0", "-n", "16", "-p", "2"]
    told, lost = {}, 0
    with Gate(folder) as gate:
        for values, on_its_way in [(0, False), (0, True), (1, False), (6, True), (2, False)]:
            process = start(folder, *line)
            gate.arrive()
            gate.arrive()
            returned = set()
            for _ in range(values):
                returned.add(gate.let_through())
                gate.arrive()  # values are stored before the next trial starts
            last = {gate.let_through()} if on_its_way else set()
            process.kill()
            process.communicate()
            records, running = trials(folder), set(gate.waiting)
            gate.forget()
            new = told_at(records).keys() - told.keys()
            assert returned <= new <= returned | last
            assert told.items() <= told_at(records).items()
            open_ones = [r["params"] for r in records if r["state"] == "running"]
            # A trial may have been asked for after the last value, and not have started.
            assert {(p["x"], p["y"]) for p in open_ones} >= running | (last - new)
            assert len(open_ones) == 2 if not last & new else len(open_ones) in (1, 2)
            told, lost = told_at(records), lost + len(open_ones)
            assert all(r["lost"] for r in records if r["state"] == "failed")
    call_alone(folder, *line)
    records = trials(folder)
    assert counts(records) == {"complete": 16, "failed": lost}
    assert told.items() <= told_at(records).items()
    for (x, y), value in told_at(records).items():
        assert value == (x - 0.3) ** 2 + (y - 0.6) ** 2
    assert len(told_at(records)) == 16


def test_ctrl_c_keeps_what_was_told(folder):
    line = ["run", "target.py:gated", "--space", "space.toml", "-n", "500", "-p", "2"]
    with Gate(folder) as gate:
        process = start(folder, *line, start_new_session=True)
        gate.arrive()
        gate.arrive()
        point = gate.let_through()
        gate.arrive()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    records = trials(folder)
    assert counts(records) == {"complete": 1, "failed": 2}
    assert list(told_at(records)) == [point]
    assert all(record["lost"] for record in records if record["state"] == "failed")


def test_targets_that_fail(folder):
    line = ["run", "--space", "space.toml", "-n", "3", "--max-failures", "2"]
    _, err = call(folder, *line, "target.py:raises", status=1)
    assert "failures in a row at 2 different places" in err
    assert "--max-failures sets: ValueError: never works" in err
    hanging = [*line, "--trial-timeout", "0.3", "--study"]
    _, err = call(folder, *hanging, "a", "target.py:hangs", status=1)
    assert "no value within 0.3 seconds" in err
    _, err = call(folder, *hanging, "b", "--", "sleep 60 {x}", status=1)
    assert "no value within 0.3 seconds" in err
    _, err = call(folder, *line, "--study", "c", "--", "true {x}", status=1)
    assert "the command printed nothing" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--space", "space.toml", "none.py:f"], "cannot import none.py: there is no such file"),
        (["--space", "space.toml", "target.py:none"], "target.py has no 'none'"),
        (["--space", "none.toml", "target.py:loss"], "cannot read none.toml: No such file"),
        (["--space", "bad.toml", "target.py:loss"], "bad.toml, line 3: parameter 'x': low"),
        (["--space", "space.toml", "--", "echo {z}"], "names {z}"),
        (["target.py:loss"], "innerloop.db: there is no such database"),
        (["--storage", "sqlite:////proc/a.db", "--space", "space.toml", "target.py:loss"],
         "may not be written to"),
        (["--storage", "sqlite:///none/a.db", "--space", "space.toml", "target.py:loss"],
         "the folder does not exist"),
        (["--storage", "sqlite:///target.py", "--space", "space.toml", "target.py:loss"],
         "that file is something else"),
        (["--executor", "dask://127.0.0.1:9", "--space", "space.toml", "target.py:loss"],
         "no Dask scheduler answers at dask://127.0.0.1:9"),
    ],
)  # fmt: skip
def test_one_clear_line(arguments, words, folder):
    (folder / "bad.toml").write_text('[x]\ntype = "real"\nlow = "a"\nhigh = 1\n')
    if "dask" in str(arguments):
        pytest.importorskip("distributed")
    out, err = call(folder, "run", "-n", "1", *arguments, status=1)
    assert words in err
    assert out == ""
    assert [line for line in err.splitlines() if line.startswith("innerloop: ")] == (
        err.splitlines()[-1:]
    )
    assert (folder / "target.py").read_text() == TARGET


def test_a_full_disk_names_what_could_not_be_stored(folder):
    line = ["run", "target.py:loss", "--space", "space.toml", "--seed", "0"]
    call(folder, *line, "-n", "3")
    before = trials(folder)
    size = (folder / "innerloop.db").stat().st_size

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    process = start(folder, *line, "-n", "2000", preexec_fn=small_disk)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 1, err
    assert out == ""
    assert "innerloop.db: the disk is full" in err
    assert "Traceback" not in err
    after = trials(folder)
    assert after[:3] == before
    call(folder, *line, "-n", len(after) + 2)
    assert "running" not in counts(trials(folder))


def test_failed_by_hand(folder):
    call(folder, "ask", "-n", "2", "--space", "space.toml")
    call(folder, "tell", "--failed", "1")
    assert [r["state"] for r in trials(folder)] == ["running", "failed"]
    _, err = call(folder, "tell", "--failed", "1", "--failed", "5", status=1)
    assert "trial 1 was told to have failed before" in err
    assert "there is no trial 5" in err


def test_a_finite_space_is_exhausted(folder):
    (folder / "few.toml").write_text('[k]\ntype = "integer"\nlow = 1\nhigh = 5\n')
    _, err = call(folder, "run", "--space", "few.toml", "-n", "50", "-p", "2", "--", "echo {k}")
    assert "every point of the space has been tried" in err
    assert sorted(r["value"] for r in trials(folder)) == [1, 2, 3, 4, 5]


def test_threads_and_timeout(folder):
    line = ["run", "target.py:loss", "--space", "space.toml", "-n", "100000", "-p", "3"]
    _, err = call(folder, *line, "--executor", "threads", "--timeout", "1")
    assert "stopped after 1.0 seconds" in err
    records = trials(folder)
    assert counts(records)["complete"] >= 2
    assert "running" not in counts(records)
    call(folder, *line, "--executor", "threads", "--trial-timeout", "1", status=2)
    call(folder, *line, "--executor", "carrier-pigeons", status=2)


def test_the_demo_finds_the_minimum_and_reports(tmp_path):
    out, err = call_alone(tmp_path, "demo")
    assert out == ""
    best = json.loads(call(tmp_path, "best", "--study", "demo", "-f", "json")[0])[0]
    # The smallest value of Hartmann's function, from the literature.
    assert best["value"] - -3.32237 < 0.01
    assert len(trials(tmp_path, "--study", "demo")) == 64
    page = (tmp_path / "report.html").read_text()
    assert "</html>" in page
    assert "report.html" in err


def test_what_the_model_expected_is_kept_and_reported(folder):
    call(
        folder,
        "run",
        "target.py:loss",
        "--space",
        "space.toml",
        "-n",
        "16",
        "--seed",
        "1",
        "-p",
        "2",
    )
    chosen = [record for record in trials(folder) if record["prediction"]]
    assert 0 < len(chosen) < 16  # the first ones are spread evenly
    for record in chosen:
        assert record["prediction"]["sd"] >= 0
        assert 0 < record["certificate"]["fraction"] <= 1
    call(folder, "report", "-o", "page.html")
    assert 'id="certificates"' in (folder / "page.html").read_text()
    header = call(folder, "trials", "-f", "csv")[0].splitlines()[0]
    assert "sd" not in header.split(",")


def test_reports(folder):
    call(folder, "ask", "--space", "space.toml")
    _, err = call(folder, "report", "-o", "page.html")
    assert "page.html" in err
    assert "</html>" in (folder / "page.html").read_text()
    _, err = call(folder, "report", "-o", "none/page.html", status=1)
    assert "cannot write none/page.html: No such file" in err
