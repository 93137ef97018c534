"""Tables that spreadsheets write: commas, semicolons or tabs between cells; decimal commas."""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from innerloop.errors import InputError, StudyError

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# What Excel reads in a first line of its own, as the mark between cells.
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")
_WITH_COMMA = re.compile(r"[-+]?(\d+,\d*|,\d+)([eE][-+]?\d+)?")
_WITH_POINT = re.compile(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?")
# 1,234 and 1.234: a fraction, or a mark between thousands.
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")
_SHOWN = 60


class Row(NamedTuple):
    """A row of a table.

    Args:
        line: the number of its first line.
        cells: the texts in it without blanks around them, as many as there are columns.
        complaint: what is wrong, if the row cannot be read.
    """

    line: int
    cells: Sequence[str] = ()
    complaint: str | None = None


class Table(NamedTuple):
    """Rows below the names of their columns.

    Args:
        columns: their names.
        rows: those that are not blank.
        separator: what stands between cells.
    """

    columns: list[str]
    rows: list[Row]
    separator: str

    def texts(self, columns: Iterable[int]) -> list[str]:
        """All cells in some columns that are not empty.

        Args:
            columns: their places.

        Returns:
            The texts.
        """
        places = list(columns)
        return [row.cells[k] for row in self.rows if row.cells for k in places if row.cells[k]]


class Numbers(NamedTuple):
    """How the numbers of a table are written.

    Args:
        point: whether the point in 1.234 is a decimal point.
        comma: whether the comma in 1,234 is a decimal comma.
    """

    point: bool = True
    comma: bool = False

    @staticmethod
    def of(texts: Iterable[str], separator: str = ",") -> Numbers:
        """How some numbers are written.

        Args:
            texts: the numbers, and maybe others.
            separator: what stands between cells: where it is a semicolon, commas are decimal.

        Returns:
            What can be told from them.
        """
        points, commas = [], []
        for text in texts:
            if _WITH_POINT.fullmatch(text):
                points.append(text)
            elif _WITH_COMMA.fullmatch(text):
                commas.append(text)
        certain = any(not _THOUSANDS.fullmatch(text) for text in commas)
        return Numbers(not commas, not points and (certain or separator == ";"))

    def read(self, text: str) -> float:
        """A number.

        Args:
            text: as it is written.

        Returns:
            The number, NaN if it is none; an InputError if it may be one of two.
        """
        is_known = self.comma if "," in text else self.point
        if _THOUSANDS.fullmatch(text) and not is_known:
            plain = text.replace(",", ".")
            raise InputError(
                f"{text!r} may be {plain} or {plain.replace('.', '')}: write all numbers with the "
                "same decimal mark, and nothing between thousands"
            )
        try:
            return float(text.replace(",", ".") if _WITH_COMMA.fullmatch(text) else text)
        except ValueError:
            return math.nan


def noise_columns(outcomes: Sequence[str]) -> dict[str, str]:
    """Columns with the standard deviation of the noise in outcomes.

    Args:
        outcomes: their names.

    Returns:
        Which outcome each column is about, by its title.
    """
    if len(outcomes) == 1:
        return {"noise_sd": outcomes[0]}
    return {f"noise_sd.{name}": name for name in outcomes}


def short(text: str) -> str:
    """A text as it is shown in a complaint.

    Args:
        text: of any length.

    Returns:
        Its beginning, in quotes.
    """
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def read_text(path: str) -> str:
    """The text of a file; a character that cannot be read concerns the row that it is in.

    Args:
        path: that of the file; "-" is stdin.

    Returns:
        The text; a StudyError if there is none.
    """
    if path == "-":
        if not isinstance(sys.stdin, io.TextIOWrapper):
            return sys.stdin.read()
        return _decoded(sys.stdin.buffer.read())
    try:
        return _decoded(Path(path).read_bytes())
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from error


def table_of(
    text: str,
    source: str,
    names: Sequence[str],
    fits: Callable[[Sequence[str]], bool],
    wanted: str,
) -> Table:
    """The table in a text, whose first line names the columns.

    Args:
        text: the whole file.
        source: what to call it in errors.
        names: of columns that count, each of which may be there once.
        fits: whether columns are among those that are needed, by which the mark between cells is
            known.
        wanted: what is said of these in errors.

    Returns:
        The table; a StudyError if no mark between cells gives such columns, or more than one.
    """
    told = _SEPARATOR_LINE.match(text)
    body, first = (text[told.end() :], 2) if told else (text, 1)
    marks = [told[1]] if told else list(_SEPARATORS)
    headers = {mark: _header(body, mark, f"{source}, line {first}", names) for mark in marks}
    fitting = [mark for mark, header in headers.items() if fits(header)]
    if not fitting:
        got = short(body.splitlines()[0]) if body.strip() else "nothing"
        raise StudyError(
            f"{source}, line {first}: the first line must name the columns, {wanted} among them, "
            f"got {got}"
        )
    if len(fitting) > 1:
        between = " or ".join(_SEPARATORS[mark] for mark in fitting)
        raise StudyError(f"{source}, line {first}: there may be {between} between cells")
    (mark,) = fitting
    columns = headers[mark]
    for name in names:
        if columns.count(name) > 1:
            raise StudyError(f"{source}, line {first}: the column {name!r} is there twice")
    return Table(columns, list(_rows(body, mark, len(columns), first)), mark)


def _decoded(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", errors="replace")
    return raw.decode("utf-8-sig", errors="replace")


def _header(text: str, mark: str, where: str, names: Sequence[str]) -> list[str]:
    """The first row, if there is such a mark between cells."""
    try:
        cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=mark), [])
    except csv.Error as error:
        raise StudyError(f"{where}: not CSV: {error}") from error
    titles = [cell.strip().removeprefix("\ufeff") for cell in cells]
    # Spreadsheets are kept from taking names for formulas by an apostrophe.
    return [title[1:] if title[:1] == "'" and title[1:] in names else title for title in titles]


def _rows(text: str, mark: str, width: int, first: int) -> Iterator[Row]:
    """The rows after the first one."""
    lines = _Lines(text)
    reader: Any = csv.reader(lines, delimiter=mark)
    next(reader, None)
    while True:
        line = first + reader.line_num
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield Row(line, complaint=f"not CSV: {error}")
            if first - 1 + reader.line_num > line:  # what follows may be in a cell, not in rows
                return
            continue
        if cells is None:
            return
        if lines.ended:
            yield Row(line, complaint="a quote is never closed, so that no row begins after it")
        elif any(cell.strip() for cell in cells):
            yield _row(line, [cell.strip() for cell in cells], width)


def _row(line: int, cells: list[str], width: int) -> Row:
    """A row with so many cells, if it has no more."""
    if any(cells[width:]):
        return Row(
            line,
            complaint=f"there are {len(cells)} cells below {width} columns: what has a comma or "
            "the like in it must be in quotes",
        )
    return Row(line, (cells + [""] * width)[:width])


class _Lines:
    """The lines of a text; ended: whether there were none left when one more was wanted."""

    def __init__(self, text: str) -> None:
        self._lines, self.ended = io.StringIO(text, newline=""), False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            return line
        self.ended = True
        raise StopIteration
