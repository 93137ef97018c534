"""Results from CSV files, told row by row; what is wrong is reported with its line."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from innerloop.errors import InputError, StudyError
from innerloop.studies.study import Study

# Ids of more digits are not those of trials, and may be more than Python reads.
_LONGEST_ID = 18
_SHOWN = 60


class Row(NamedTuple):
    """A row of a file.

    Args:
        line: the number of its first line.
        id: the text in that column.
        value: the text in that column.
        complaint: what is wrong, if the row cannot be read.
    """

    line: int
    id: str = ""
    value: str = ""
    complaint: str | None = None


class Told(NamedTuple):
    """What came of a file.

    Args:
        told: ids of trials that were told now.
        known: ids of trials that had the same value before.
        complaints: what is wrong, with the line that it is in.
    """

    told: list[int]
    known: list[int]
    complaints: list[str]


def rows(file: TextIO, source: str) -> Iterator[Row]:
    """The rows of a file with the columns id and value; others are ignored.

    The first column called id and the last called value count: parameters may have these names.

    Args:
        file: CSV, whose first line names the columns; a StudyError if it does not.
        source: what to call it in errors.

    Returns:
        The rows, from the second line on.
    """
    lines = _Lines(file)
    reader = csv.reader(lines)
    header = [name.strip().removeprefix("\ufeff") for name in _cells(reader, source) or []]
    for name in ("id", "value"):
        if name not in header:
            raise StudyError(
                f"{source}, line 1: the first line must name the columns, 'id' and 'value' "
                f"among them, got {_short(','.join(header)) if header else 'nothing'}"
            )
    first, last = header.index("id"), len(header) - 1 - header[::-1].index("value")
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield Row(line, complaint=f"not CSV: {error}")
            if reader.line_num > line:  # what follows may be the rest of a cell, not rows
                return
            continue
        if cells is None:
            return
        if lines.ended:
            yield Row(line, complaint="a quote is never closed, so that no row begins after it")
        elif any(cell.strip() for cell in cells):
            padded = [cell.strip() for cell in cells] + [""] * len(header)
            yield Row(line, padded[first], padded[last])


class _Lines:
    """The lines of a file; ended: whether there were none left when one more was wanted."""

    def __init__(self, file: TextIO) -> None:
        self._file, self.ended = file, False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        for line in self._file:
            return line
        self.ended = True
        raise StopIteration


def _cells(reader: Iterator[list[str]], source: str) -> list[str] | None:
    """The first row."""
    try:
        return next(reader, None)
    except csv.Error as error:
        raise StudyError(f"{source}, line 1: not CSV: {error}") from error


def tell_file(study: Study, path: str) -> Told:
    """Tell every row of a file that can be told.

    Args:
        study: one that has the trials.
        path: that of the file; "-" is stdin.

    Returns:
        What was told, and what was wrong.
    """
    if path == "-":
        # What is not UTF-8 concerns the row that it is in.
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="")
        return tell_rows(study, sys.stdin, "stdin")
    try:
        with Path(path).open(encoding="utf-8", errors="replace", newline="") as file:
            return tell_rows(study, file, path)
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from error


def tell_rows(study: Study, file: TextIO, source: str) -> Told:
    """Tell every row that can be told.

    Args:
        study: one that has the trials.
        file: CSV with the columns id and value.
        source: what to call it in errors.

    Returns:
        What was told, and what was wrong.
    """
    told, known, complaints = [], [], []
    for row in list(rows(file, source)):
        try:
            if row.complaint is not None:
                raise InputError(row.complaint)
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


def _short(text: str) -> str:
    """A text as it is shown in a complaint."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def _trial(row: Row) -> int:
    if not (row.id.isascii() and row.id.isdigit()):
        raise InputError(f"id must be the number of a trial, got {_short(row.id)}")
    digits = row.id.lstrip("0") or "0"
    if len(digits) > _LONGEST_ID:
        raise InputError(f"there is no trial {_short(row.id)}")
    return int(digits)


def _value(row: Row) -> float:
    if not row.value:
        raise InputError(f"trial {row.id} has no value yet and stays as it is")
    try:
        value = float(row.value)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"the value of trial {row.id} must be a number, got {_short(row.value)}; "
            "'innerloop tell --failed' tells that a trial failed"
        )
    return value
