"""Rows with mappings in them as columns and cells: one way for tables, CSV and data frames."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

#: The name of a column: a key of a row, or that of a mapping in it and a key of this.
Name = tuple[str, ...]
# Spreadsheets take texts that begin so for formulas.
_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class Sheet(NamedTuple):
    """A table.

    Args:
        titles: of the columns.
        rows: a value for each column, None where there is none.
    """

    titles: list[str]
    rows: list[list[Any]]

    def csv_lines(self) -> Iterator[str]:
        """Titles and rows as CSV, without the ends of lines."""
        yield _csv_line(self.titles)
        yield from map(_csv_line, self.rows)


def sheet_of(rows: Sequence[Mapping[str, Any]], keys: Sequence[str] = ()) -> Sheet:
    """Rows as a table.

    Args:
        rows: with about the same keys.
        keys: those of its columns where there are no rows.

    Returns:
        The table.
    """
    flats = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for each in flats for name in each))
    names = names or [(key,) for key in keys]
    return Sheet(titles(names), [[each.get(name) for name in names] for each in flats])


def flat(row: Mapping[str, Any]) -> dict[Name, Any]:
    """A row in which mappings have a column for each of their keys.

    Args:
        row: values by key, some of which are mappings.

    Returns:
        Values by name of the column.
    """
    columns: dict[Name, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            columns.update({(key, name): each for name, each in value.items()})
        else:
            columns[(key,)] = value
    return columns


def titles(names: Sequence[Name]) -> list[str]:
    """Titles of columns: params that are called like another column say that they are params.

    Args:
        names: of the columns, all different.

    Returns:
        As many titles, all different.
    """
    own = {name[0] for name in names if len(name) == 1}
    found = [".".join(name) if name[-1] in own else name[-1] for name in names]
    often = Counter(found)
    return [
        ".".join(name) if often[title] > 1 else title
        for name, title in zip(names, found, strict=True)
    ]


def exact(value: Any) -> str:
    """A value as it is.

    Args:
        value: plain data, or a time.

    Returns:
        Its text, none of what is not there.
    """
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return utc(value)
    return value if isinstance(value, str) else json.dumps(value)


def utc(moment: datetime.datetime) -> str:
    """A time as text.

    Args:
        moment: any time; local if it does not say so.

    Returns:
        ISO 8601 in UTC, to the millisecond.
    """
    return moment.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def csv_cell(value: Any) -> str:
    """A value as it can be read again.

    Texts that a spreadsheet would take for a formula, or that begin like those which are marked
    so, have an apostrophe in front. Numbers are as they are.

    Args:
        value: plain data, or a time.

    Returns:
        The text of a cell.
    """
    text = exact(value)
    begins_so = text.lstrip()[:1] in _FORMULAS or text[:1] in ("'", "\t", "\r", "\n")
    return f"'{text}" if isinstance(value, str) and text and begins_so else text


def _csv_line(values: Sequence[Any]) -> str:
    """A row; cells with any kind of end of line in them are in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([csv_cell(value) for value in values])
    return text.getvalue().removesuffix("\r\n")
