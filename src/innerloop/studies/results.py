"""Results by hand: rows of CSV files, with the lines of what is wrong; or one trial."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

from innerloop.errors import InputError, StudyError
from innerloop.optimizer.trials import check_names
from innerloop.studies.records import Record
from innerloop.studies.study import Study

# Ids of more digits are not those of trials, and may be more than Python reads.
_LONGEST_ID = 18
_SHOWN = 60


class Row(NamedTuple):
    """A row of a file.

    Args:
        line: the number of its first line.
        id: the text in that column.
        told: the texts in those of outcomes that are not empty, by name.
        complaint: what is wrong, if the row cannot be read.
    """

    line: int
    id: str = ""
    told: Mapping[str, str] = MappingProxyType({})
    complaint: str | None = None


class Told(NamedTuple):
    """What came of a file.

    Args:
        told: ids of trials that were told now.
        known: ids of trials that had the same outcomes before.
        waiting: ids of trials that were told now and lack some outcome.
        complaints: what is wrong, with the line that it is in.
        ignored: columns that a study with several outcomes knows nothing of.
    """

    told: list[int]
    known: list[int]
    waiting: list[int]
    complaints: list[str]
    ignored: list[str]


def rows(file: TextIO, source: str, names: Sequence[str]) -> tuple[list[str], Iterator[Row]]:
    """The columns of a file, and its rows with the columns id and those of outcomes.

    The first column called id and the last of each outcome count: parameters may have these names.

    Args:
        file: CSV, whose first line names the columns; a StudyError if it does not.
        source: what to call it in errors.
        names: of the outcomes, of which the file may have some.

    Returns:
        The names in the first line, and the rows, from the second line on.
    """
    lines = _Lines(file)
    reader = csv.reader(lines)
    header = [name.strip().removeprefix("\ufeff") for name in _cells(reader, source) or []]
    # Spreadsheets are kept from taking names for formulas by an apostrophe.
    header = [c[1:] if c.startswith("'") and c[1:] in names else c for c in header]
    outcomes = {name: k for k, name in enumerate(header) if name in names}
    if "id" not in header or not outcomes:
        raise StudyError(
            f"{source}, line 1: the first line must name the columns, 'id' and "
            f"{' or '.join(map(repr, names))} "
            f"among them, got {_short(','.join(header)) if header else 'nothing'}"
        )
    return header, _rows(reader, lines, header, outcomes)


def _rows(
    reader: Any, lines: _Lines, header: Sequence[str], outcomes: Mapping[str, int]
) -> Iterator[Row]:
    """The rows after the first one, given the places of outcomes."""
    first = header.index("id")
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
            told = {name: padded[k] for name, k in outcomes.items() if padded[k]}
            yield Row(line, padded[first], told)


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
        file: CSV with the columns id and those of outcomes.
        source: what to call it in errors.

    Returns:
        What was told, and what was wrong.
    """
    columns, found = rows(file, source, study.goals.names)
    every = Told([], [], [], [], _unknown(study, columns))
    for row in list(found):
        try:
            _tell(study, row, every)
        except InputError as error:
            every.complaints.append(f"{source}, line {row.line}: {error}")
    return every


def tell_one(study: Study, id: str, told: Sequence[str]) -> Told:
    """Tell what came of one trial.

    Args:
        study: one that has the trial.
        id: its number.
        told: texts such as "yield=71".

    Returns:
        What was told, and what was wrong.
    """
    every, texts = Told([], [], [], [], []), dict[str, str]()
    try:
        for text in told:
            name, equals, value = text.rpartition("=")
            if not equals or not value.strip():
                raise InputError(f"an outcome is told as name=value, got {_short(text)}")
            if name.strip() in texts:
                raise InputError(f"{name.strip()!r} is there twice")
            texts[name.strip()] = value.strip()
        check_names(texts, study.goals.names)
        _tell(study, Row(1, id, texts), every)
    except InputError as error:
        every.complaints.append(str(error))
    return every


def _unknown(study: Study, columns: Sequence[str]) -> list[str]:
    """Columns that may be misspelt outcomes."""
    if study.goals.is_plain:
        return []
    params = study.space.names if study.space is not None else ()
    known = {field.name for field in fields(Record)} | {*study.goals.names, *params}
    return [name for name in columns if name and name.removeprefix("params.") not in known]


def _tell(study: Study, row: Row, every: Told) -> None:
    """Tell a row, and note what came of it; an InputError if that cannot be."""
    if row.complaint is not None:
        raise InputError(row.complaint)
    number = _trial(row)
    told = {name: _value(row, name) for name in row.told}
    if not told:
        names = " or ".join(study.goals.names)
        raise InputError(f"trial {row.id} has no {names} yet and stays as it is")
    record = study.record(number)
    new = {name: each for name, each in told.items() if record.outcomes.get(name) != each}
    if not new and record.state in ("complete", "running"):
        every.known.append(number)
        return
    if study.tell(number, new or told).state == "running":
        every.waiting.append(number)
    every.told.append(number)


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


def _value(row: Row, name: str) -> float:
    try:
        value = float(row.told[name])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"the {name} of trial {row.id} must be a number, got {_short(row.told[name])}; "
            "'innerloop tell --failed' tells that a trial failed"
        )
    return value
