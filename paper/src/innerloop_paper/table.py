"""Results as columns, and as CSV that is read back exactly."""

from __future__ import annotations

import csv
import io
from typing import Any

#: Columns of equal length: whole numbers, floats and strings.
Table = dict[str, list[Any]]


def to_csv(table: Table) -> str:
    """A line of names and a line for every row; floats with all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(
        [repr(value) if isinstance(value, float) else value for value in row]
        for row in zip(*table.values(), strict=True)
    )
    return text.getvalue()


def from_csv(text: str) -> Table:
    """What `to_csv` wrote."""
    names, *rows = csv.reader(io.StringIO(text))
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: _parsed(list(column)) for name, column in zip(names, columns, strict=True)}


def _parsed(column: list[str]) -> list[Any]:
    """Whole numbers if all are, else floats if all are, else strings."""
    for kind in (int, float):
        try:
            return [kind(value) for value in column]
        except ValueError:
            continue
    return list(column)
