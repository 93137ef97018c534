"""Tables as spreadsheets write them, read by numbers written out by hand."""

import csv
import io
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import call
from innerloop.errors import InputError, StudyError
from innerloop.studies.tables import Numbers, read_text, table_of
from test_cli import trials

SPACE = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n'
LINES = [["id", "note", "value"], ["0", "first", "0.5"], ["2", "", "-3e-2"], ["1", "a", "1.25"]]
VALUES = {0: 0.5, 1: 1.25, 2: -0.03}


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    call(tmp_path, "ask", "-n", "4", "--space", "space.toml", "--seed", "1")
    return tmp_path


def table(text, names=("id", "value")):
    return table_of(text, "r.csv", names, lambda columns: set(names) <= set(columns), "them")


def written(lines, separator, end="\n", quoted=csv.QUOTE_MINIMAL):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoted).writerows(lines)
    return text.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\n\r\n", "\r"])
def test_files_of_any_spreadsheet(separator, decimal, encoding, end, tmp_path):
    lines = [[cell.replace(".", decimal) for cell in line] for line in LINES]
    for quoted in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        (tmp_path / "r.csv").write_bytes(written(lines, separator, end, quoted).encode(encoding))
        found = table(read_text(str(tmp_path / "r.csv")))
        assert found.columns == LINES[0]
        numbers = Numbers.of(found.texts([2]), found.separator)
        rows = {int(row.cells[0]): numbers.read(row.cells[2]) for row in found.rows}
        assert rows == VALUES


def test_a_spreadsheet_that_comes_back(asked):
    text = "\ufeffsep=;\r\nvalue;who;x;id\r\n0,5;Ann;0,3;0\r\n\r\n;;;\r\n1,234;;;3\r\n;Bob;;1\r\n"
    (asked / "r.csv").write_text(text, newline="")
    _, err = call(asked, "tell", "r.csv", status=1)
    assert "told 2\n" in err
    assert "ignored: 'who'; outcomes are 'value'" in err
    assert "r.csv, line 7: trial 1 has no value yet" in err
    assert [each["value"] for each in trials(asked)] == [0.5, None, None, 1.234]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,value\n0,0,5\n", "r.csv, line 2: there are 3 cells below 2 columns"),
        ('id,value\n0,"1,234"\n', "r.csv, line 2: '1,234' may be 1.234 or 1234"),
        ("id\tvalue\n0\t1,234\n", "r.csv, line 2: '1,234' may be 1.234 or 1234"),
        ("id;value\n0;1.234\n1;1,5\n", "r.csv, line 2: '1.234' may be 1.234 or 1234"),
        ("id;value\n0;1,234\n1;1.5\n", "r.csv, line 2: '1,234' may be 1.234 or 1234"),
        ("id;value\n0;1.234,5\n", "the value of trial 0 must be a number, got '1.234,5'"),
        ("id,value,value\n0,1,2\n", "r.csv, line 1: the column 'value' is there twice"),
        ("id,value,id\n0,1,0\n", "r.csv, line 1: the column 'id' is there twice"),
        ("id,value,;id;value;\n0,1,0\n", "there may be commas or semicolons between cells"),
        ("id|value\n0|1\n", "the first line must name the columns, 'id' and 'value' among them"),
        ("", "got nothing"),
    ],
)
def test_what_is_not_clear_is_refused(text, words, asked):
    (asked / "r.csv").write_text(text)
    before = trials(asked)
    _, err = call(asked, "tell", "r.csv", status=1)
    assert words in err
    assert trials(asked)[0] == before[0]


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(";\t,"),
    st.sampled_from(".,"),
)
def test_a_number_is_read_as_it_was_written_or_refused(values, separator, decimal):
    texts = [repr(value).replace(".", decimal) for value in values]
    numbers = Numbers.of(texts, separator)
    for value, text in zip(values, texts, strict=True):
        try:
            assert numbers.read(text) == value
        except InputError:  # three decimals, and no other number that would tell
            assert decimal == ","
            assert len(text.partition(",")[2]) == 3


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_not(text):
    numbers = Numbers.of([text])
    try:
        value = numbers.read(text)
    except InputError:
        return
    try:
        assert math.isnan(value) or value == float(text.replace(",", "."))
    except ValueError:
        pytest.fail(f"{text!r} is no number")


@given(st.text(st.sampled_from("id,;\t\"value0\r\n'. 5"), max_size=60))
def test_any_file_gives_a_table_or_one_clear_error(text):
    try:
        found = table(text)
    except StudyError as error:
        said = str(error)
    else:
        said = "r.csv, line"
        for row in found.rows:
            assert (row.complaint is None) == (len(row.cells) == len(found.columns))
    assert "r.csv, line" in said


@pytest.mark.parametrize("arguments", [["none.csv"], ["0", "value=3"], ["--failed", "0"]])
def test_telling_creates_no_database(arguments, tmp_path):
    _, err = call(tmp_path, "tell", *arguments, status=1)
    assert "none.csv: No such file" in err or "there is no such database" in err
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_not_there_changes_nothing(asked):
    before = trials(asked)
    _, err = call(asked, "tell", "none.csv", "--failed", "1", status=1)
    assert "cannot read none.csv: No such file" in err
    assert trials(asked) == before
