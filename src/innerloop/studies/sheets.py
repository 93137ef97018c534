"""Trials as rows of tables: with a column for each parameter and each outcome, and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from innerloop.optimizer.goals import Goals
from innerloop.studies.records import Record

# Spreadsheets take texts that begin so for formulas.
_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# What a table has no columns for.
_LEFT_OUT = (
    "id",
    "state",
    "value",
    "prediction",
    "certificate",
    "outcomes",
    "noise_sds",
    "feasible",
    "predictions",
)


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


def row_of(record: Record, goals: Goals) -> dict[str, Any]:
    """A trial as people read it: its outcomes by name, and nothing of what a model expected.

    Args:
        record: the trial.
        goals: those of its study.

    Returns:
        Values by name; params are still together.
    """
    named: dict[str, Any] = {name: record.outcomes.get(name) for name in goals.names}
    if goals.constraints:
        named["feasible"] = record.feasible
    rest = {k: each for k, each in record.to_dict().items() if k not in _LEFT_OUT}
    return {"id": record.id, "state": record.state, **named, **rest}


def sheet_of(items: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> Sheet:
    """Items as a table: those with params have a column for each of them.

    Args:
        items: with about the same keys.
        columns: what there is when there are none.

    Returns:
        The table.
    """
    flat = [_flat(item) for item in items]
    names = list(dict.fromkeys(name for item in flat for name in item))
    names = names or [(name,) for name in columns]
    return Sheet(_titles(names), [[item.get(name) for name in names] for item in flat])


def exact(value: Any) -> str:
    """A value as it is.

    Args:
        value: plain data.

    Returns:
        Its text, none of what is not there.
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def csv_cell(value: Any) -> str:
    """A value as it can be read again.

    Texts that a spreadsheet would take for a formula, or that begin like those which are marked
    so, have an apostrophe in front. Numbers are as they are.

    Args:
        value: plain data.

    Returns:
        The text of a cell.
    """
    text = exact(value)
    begins_so = text.lstrip()[:1] in _FORMULAS or text[:1] in ("'", "\t", "\r", "\n")
    return f"'{text}" if isinstance(value, str) and text and begins_so else text


def _flat(item: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in item.items():
        if isinstance(value, Mapping):
            flat.update({(key, name): each for name, each in value.items()})
        else:
            flat[(key,)] = value
    return flat


def _titles(names: Sequence[tuple[str, ...]]) -> list[str]:
    """Titles of columns: params that are called like another column say that they are params."""
    own = {name[0] for name in names if len(name) == 1}
    return [".".join(name) if name[-1] in own else name[-1] for name in names]


def _csv_line(values: Sequence[Any]) -> str:
    """A row; cells with any kind of end of line in them are in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([csv_cell(value) for value in values])
    return text.getvalue().removesuffix("\r\n")
