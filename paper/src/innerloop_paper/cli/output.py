"""Printing: data on stdout as a table, as CSV or as JSON; messages on stderr."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated

import typer


class Format(str, Enum):  # noqa: UP042 (typer shows the values of these)
    """How data are printed."""

    table = "table"
    csv = "csv"
    json = "json"


Formatted = Annotated[Format, typer.Option("-f", "--format", help="How to print.")]


def message(text: str) -> None:
    """A line for the person at the terminal."""
    print(" ".join(text.split()), file=sys.stderr)


def show(rows: Sequence[Mapping[str, object]], form: Format) -> None:
    """Print rows, of which there are some, with the same keys."""
    if form is Format.json:
        print(json.dumps(list(rows), indent=1))
        return
    lines = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    if form is Format.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
        return
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def duration(seconds: float) -> str:
    """A time span in the unit that suits it."""
    for limit, unit, size in ((120.0, "s", 1.0), (7200.0, "min", 60.0), (172800.0, "h", 3600.0)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400.0:.1f} d"
