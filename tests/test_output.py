"""Text from outside, as the commands print it: to people, to files, to spreadsheets."""

import csv
import io
import json
import os
import re
import subprocess

import pytest

from commands import INNERLOOP, call
from innerloop import Choice, Real, Space
from innerloop.studies.create import create_study

TITLE, TURNED = "\x1b]0;owned\x07\x9b31m", "\u202ednammoc\u2066\x7f"
HOSTILE = Space(
    {
        "id": Choice([f"a{TITLE}", f"b{TURNED}"]),
        f"=p{TITLE}": Choice(
            ["=1+1", "-2", "+3", "@SUM(1)", "\tx", "\rx", "'quoted", "plain", " =1"]
        ),
        "value": Real(-3.0, -1.0),
    }
)
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    study = create_study(f"sqlite:///{folder}/innerloop.db", f"s{TITLE}", space=HOSTILE, seed=0)
    for k in range(12):
        record = study.ask()
        if k % 4 == 0:
            study.hand_out(record.id)
        elif k % 4 == 1:
            study.fail(record.id, f"no\n{TITLE}{TURNED}")
        else:
            study.tell(record.id, -0.5 - k)
    return folder, study


def test_nothing_from_outside_is_obeyed_by_a_terminal(hostile):
    folder, study = hostile
    name = ["--study", study.name]
    lines = [["trials", *name], ["best", *name], ["studies"], ["report", *name]]
    lines += [["run", *name, "-n", "1", "--", "echo", "1"]]
    for line in lines:
        said = "".join(call(folder, *line))
        assert not OBEYED.search(said), (line, said)
    shown = call(folder, "trials", *name)[0]
    assert "=p\\x1b]0;owned\\x07\\x9b31m" in shown
    assert "\\u202ednammoc\\u2066\\x7f" in shown
    _, err = call(folder, "best", "--study", f"none{TITLE}", status=1)
    assert not OBEYED.search(err)
    text = call(folder, "trials", "-f", "json", *name)[0]
    assert not OBEYED.search(text)
    assert [r["params"] for r in json.loads(text)] == [r.params for r in study.records()]


def test_csv_on_a_terminal_and_in_a_file(hostile):
    folder, study = hostile
    line = [*INNERLOOP, "trials", "-f", "csv", "--study", study.name]
    ours, its = os.openpty()
    process = subprocess.Popen(line, cwd=folder, stdout=its)
    os.close(its)
    seen = b""
    while more := _read(ours):
        seen += more
    process.wait()
    os.close(ours)
    assert b"owned" in seen
    assert not OBEYED.search(seen.decode().replace("\r\n", "\n"))
    assert TITLE in subprocess.run(line, cwd=folder, capture_output=True, text=True).stdout


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # all who could write have closed it
        return b""


def test_spreadsheets_see_no_formulas_and_what_is_printed_can_be_told(hostile):
    folder, study = hostile
    text = call(folder, "trials", "-f", "csv", "--study", study.name)[0]
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    cells = [each for row in (header, *rows) for each in row]
    formulas = [each for each in cells if each.lstrip()[:1] in ("=", "+", "-", "@")]
    assert formulas
    assert all(float(each) < 0 for each in formulas)  # numbers, and nothing else
    assert not [each for each in cells if each[:1] in ("\t", "\r")]
    # One apostrophe was put in front where there is one, so that texts can be had back.
    records, column = study.records(), header.index(f"'=p{TITLE}")
    plain = [row[column].removeprefix("'") for row in rows]
    assert plain == [record.params[f"=p{TITLE}"] for record in records]
    values = {r.id: r.value for r in records}
    (folder / "all.csv").write_text(text, newline="")
    _, err = call(folder, "tell", "all.csv", "--study", study.name, status=1)
    assert "told 0, 6 had been told before" in err
    assert err.count("has no value yet") == 6  # none was taken from the parameter of that name
    assert {r.id: r.value for r in study.records()} == values


def test_characters_that_a_terminal_lacks(tmp_path):
    space = Space({"é": Choice(["ü", "\N{SNOWMAN}"])})
    create_study(f"sqlite:///{tmp_path}/innerloop.db", "ß", space=space, seed=0).ask()
    line = [*INNERLOOP, "trials", "--study", "ß"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(line, cwd=tmp_path, env=ascii_only, capture_output=True, check=True)
    assert b"\\xe9" in ran.stdout
