"""Pages for the shell, word by word: their files are written and their commands are run."""

import csv
import io
import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from commands import call
from test_databases import folder, garbage, server, url  # noqa: F401 (fixtures)

pytestmark = pytest.mark.filterwarnings("ignore:.* was deleted while still open:ResourceWarning")
DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def followed(page, where):
    """Do what a page says in a folder; what every command has printed, by its line."""
    printed = {}
    for language, title, text in BLOCK.findall((DOCS / page).read_text()):
        if title:
            (where / title).write_text(text)
        for line in text.splitlines() if language == "sh" else ():
            words = shlex.split(line)
            assert words[0] == "innerloop"
            out, err = call(where, *words[1 : words.index(">") if ">" in words else None])
            if ">" in words:
                (where / words[-1]).write_text(out)
            printed[line] = out + err
    return printed


def test_every_step_from_an_empty_spreadsheet_to_the_third_batch(folder, url, monkeypatch):  # noqa: F811
    monkeypatch.setenv("INNERLOOP_STORAGE", url)
    printed = followed("laboratory.md", folder)
    for number in (1, 2, 3):
        rows = list(csv.DictReader(io.StringIO((folder / f"batch{number}.csv").read_text())))
        assert len(rows) == 4
        for row in rows:
            water, ethanol, acetone = (float(row[n]) for n in ("water", "ethanol", "acetone"))
            assert water + ethanol + acetone == pytest.approx(1.0, abs=1e-9)
            assert acetone <= 0.6
            assert acetone * float(row["temperature"]) <= 24.0 * (1 + 1e-9)
            assert row["value"] == ""
    assert "ignored: 'remark'" in printed["innerloop tell batch1-done.csv"]
    assert "1 of them outside" in printed["innerloop add notebook.csv"]
    assert "41.5" in printed["innerloop history"]
    assert "forget" in printed["innerloop history"]

    records = {each["id"]: each for each in json.loads(call(folder, "trials", "-f", "json")[0])}
    states = {id: each["state"] for id, each in records.items()}
    assert states == {
        **dict.fromkeys((0, 2, 3, 4, 5, 6, 8, 9, 10), "complete"),
        **{1: "forgotten", 7: "failed"},
        **dict.fromkeys(range(11, 15), "running"),
    }
    assert records[0]["value"] == 45.1
    assert records[1]["value"] == 38.2
    assert {records[id]["params"]["load"] for id in range(11)} == {0.05}
    assert not any(each.get("outside") for each in records.values())
    (best,) = json.loads(call(folder, "best", "-f", "json")[0])
    assert best["id"] not in (1, 7)
    assert "<html" in (folder / "report.html").read_text()


def test_a_simulator_that_is_run_as_a_command(tmp_path, monkeypatch):
    monkeypatch.delenv("INNERLOOP_STORAGE", raising=False)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    followed("recipes/simulator.md", tmp_path)
    trials = json.loads(call(tmp_path, "trials", "-f", "json")[0])
    assert [each["state"] for each in trials] == ["complete"] * 16
    for each in trials:
        x, y = each["params"]["x"], each["params"]["y"]
        assert each["value"] == pytest.approx((x - 1.0) ** 2 + 10.0 * (y - x**2) ** 2)
    assert "<html" in (tmp_path / "report.html").read_text()
