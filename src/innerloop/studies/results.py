"""Results from CSV files, told row by row; what is wrong is reported with its line."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from innerloop.errors import InputError
from innerloop.studies.errors import StudyError
from innerloop.studies.study import Study


class Row(NamedTuple):
    """A row of a file: its line, and the texts in the columns id and value."""

    line: int
    id: str
    value: str


class Told(NamedTuple):
    """What came of a file: ids that were told now or had the same value before, and complaints."""

    told: list[int]
    known: list[int]
    complaints: list[str]


def rows(file: TextIO, source: str) -> Iterator[Row]:
    """The rows of a file with the columns id and value; others are ignored.

    The first column called id and the last called value count: parameters may have these names.
    """
    reader = csv.reader(file)
    try:
        header = [name.strip().removeprefix("\ufeff") for name in next(reader, [])]
        for name in ("id", "value"):
            if name not in header:
                raise StudyError(
                    f"{source}, line 1: the first line must name the columns, 'id' and 'value' "
                    f"among them, got {','.join(header) or 'nothing'!r}"
                )
        first, last = header.index("id"), len(header) - 1 - header[::-1].index("value")
        for cells in reader:
            if any(cell.strip() for cell in cells):
                padded = [cell.strip() for cell in cells] + [""] * len(header)
                yield Row(reader.line_num, padded[first], padded[last])
    except (csv.Error, UnicodeDecodeError) as error:
        raise StudyError(f"{source}, line {reader.line_num + 1}: not CSV: {error}") from error


def tell_file(study: Study, path: str) -> Told:
    """Tell every row of a file that can be told; "-" is stdin."""
    if path == "-":
        return tell_rows(study, sys.stdin, "stdin")
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            return tell_rows(study, file, path)
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from error


def tell_rows(study: Study, file: TextIO, source: str) -> Told:
    """Tell every row that can be told."""
    told, known, complaints = [], [], []
    for row in list(rows(file, source)):
        try:
            number, value = _trial(row), _value(row)
            record = study.record(number)
            if record.state == "complete" and record.value == value:
                known.append(number)
            else:
                study.tell(number, value)
                told.append(number)
        except InputError as error:
            complaints.append(f"{source}, line {row.line}: {error}")
    return Told(told, known, complaints)


def _trial(row: Row) -> int:
    if not (row.id.isascii() and row.id.isdigit()):
        raise InputError(f"id must be the number of a trial, got {row.id!r}")
    return int(row.id)


def _value(row: Row) -> float:
    if not row.value:
        raise InputError(f"trial {row.id} has no value yet and stays as it is")
    try:
        value = float(row.value)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"the value of trial {row.id} must be a number, got {row.value!r}; "
            "'innerloop tell --failed' tells that a trial failed"
        )
    return value
