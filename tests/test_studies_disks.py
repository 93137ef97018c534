"""Databases on disks that are full or may not be written to, and databases that are locked."""

import gc
import io
import json
import os
import sqlite3
import subprocess
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from commands import INNERLOOP
from innerloop.cli.main import main

SPACE = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n'
TARGET = "def loss(params):\n    return (params['x'] - 0.3) ** 2\n"
# A database with its tables and no trial takes about 150 KiB, and its journal up to as much.
SIZE = "512k"


@pytest.fixture
def disk(tmp_path):
    """A small disk with a space and a target beside it, on which a study is started."""
    if os.geteuid() != 0:
        pytest.skip("to test a full disk: only root may mount one")
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SIZE},mode=777", "innerloop-test", str(place)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"to test a full disk: mount was refused: {mounted.stderr.strip()}")
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "target.py").write_text(TARGET)
    try:
        call(
            place, "run", "../target.py:loss", "--space", "../space.toml", "-n", "3", "--seed", "0"
        )
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


class Said(NamedTuple):
    stdout: str
    stderr: str


def call(folder, *arguments, status=0):
    """What a command printed, called here: what counts is what it leaves on disk."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(map(str, arguments)))
        except SystemExit as end:
            ended = end.code or 0
    gc.collect()  # closes the database
    assert ended == status, err.getvalue()
    return Said(out.getvalue(), err.getvalue())


def trials(folder, *arguments):
    return json.loads(call(folder, "trials", "-f", "json", *arguments).stdout)


def fill(disk):
    """Leave no byte."""
    room = os.statvfs(disk)
    (disk / "big").write_bytes(bytes(room.f_bavail * room.f_bsize))
    assert os.statvfs(disk).f_bavail == 0


def test_a_full_disk(disk):
    call(disk, "ask", "-n", "2")
    before = trials(disk)
    assert [r["state"] for r in before] == ["complete"] * 3 + ["running"] * 2
    fill(disk)
    line = ["run", "../target.py:loss", "-n", "9"]
    for arguments in (line, ["tell", "../batch.csv"], ["tell", "--failed", "3"]):
        (disk.parent / "batch.csv").write_text("id,value\n3,0.5\n4,0.25\n")
        run = call(disk, *arguments, status=1)
        assert run.stdout == ""
        assert run.stderr.splitlines()[-1].startswith(
            "innerloop: sqlite:///innerloop.db: the disk is full"
        )
        # Reading goes on, and everything is as it was.
        assert trials(disk) == before
    (disk / "big").unlink()
    assert "told 2" in call(disk, "tell", "../batch.csv").stderr
    call(disk, *line)
    after = trials(disk)
    assert after[:3] == before[:3]
    assert [r["value"] for r in after[3:5]] == [0.5, 0.25]
    assert [r["state"] for r in after] == ["complete"] * 9


def test_a_disk_that_fills_during_a_run(disk):
    room = os.statvfs(disk)
    (disk / "ballast").write_bytes(bytes((room.f_bavail - 8) * room.f_bsize))
    before = trials(disk)
    line = ["run", "../target.py:loss", "-n", "400"]
    # In a process of its own, so that what it was doing is known to have ended with it.
    command = [*INNERLOOP, *line]
    run = subprocess.run(command, cwd=disk, capture_output=True, text=True, timeout=100)
    assert run.returncode == 1, run.stderr
    assert "Traceback" not in run.stderr
    said = run.stderr.splitlines()[-1]
    assert "sqlite:///innerloop.db: the disk is full" in said
    after = trials(disk)
    assert after[:3] == before
    told = [r for r in after if r["state"] == "complete"]
    assert all(r["value"] == (r["params"]["x"] - 0.3) ** 2 for r in told)
    (disk / "ballast").unlink()
    call(disk, *line[:-1], len(told) + 2)
    states = [r["state"] for r in trials(disk) if not r["lost"]]
    assert states == ["complete"] * (len(told) + 2)


def test_a_disk_that_may_not_be_written_to(disk):
    call(disk, "ask")
    before = trials(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    (disk.parent / "batch.csv").write_text("id,value\n3,0.5\n")
    for arguments in (["run", "../target.py:loss"], ["ask"], ["tell", "../batch.csv"]):
        run = call(disk, *arguments, status=1)
        assert "sqlite:///innerloop.db: it may not be written to" in run.stderr
        assert run.stdout == ""
    # Looking at it needs no writing.
    assert trials(disk) == before
    assert call(disk, "best").stdout
    assert (
        "cannot write report.html: Read-only file system" in call(disk, "report", status=1).stderr
    )
    call(disk, "report", "-o", "../report.html")
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    call(disk, "tell", "../batch.csv")
    assert trials(disk)[3]["value"] == 0.5


def test_a_locked_database(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "target.py").write_text(TARGET)
    (tmp_path / "batch.csv").write_text("id,value\n0,0.5\n")
    call(tmp_path, "ask", "--space", "space.toml")
    before = trials(tmp_path)
    other = sqlite3.connect(tmp_path / "innerloop.db")
    other.execute("BEGIN EXCLUSIVE")
    storage = ["--storage", "sqlite:///innerloop.db?timeout=0.3"]
    for arguments in (
        ["run", "target.py:loss", "-n", "3"],
        ["tell", "batch.csv"],
        ["ask"],
        ["trials"],
    ):
        began = time.monotonic()
        run = call(tmp_path, *arguments, *storage, status=1)
        assert "another process keeps it locked (database is locked)" in run.stderr
        assert run.stdout == ""
        # Much less than the minute that is waited for others by default.
        assert time.monotonic() - began < 30
    other.rollback()
    other.close()
    assert trials(tmp_path) == before
    call(tmp_path, "tell", "batch.csv")
    assert trials(tmp_path)[0]["value"] == 0.5
