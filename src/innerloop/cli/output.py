"""Printing: data on stdout as a table, as CSV or as JSON; messages on stderr."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from innerloop.cli.options import Format


def message(text: str) -> None:
    """A line for the person at the terminal."""
    print(text, file=sys.stderr)


def show(items: Sequence[Mapping[str, Any]], form: Format, columns: Sequence[str] = ()) -> None:
    """Print items that have the same keys; columns: what to print when there are none."""
    if form is Format.json:
        json.dump(list(items), sys.stdout, indent=1)
        print()
        return
    flat = [_flat(item) for item in items]
    names = list(dict.fromkeys(name for item in flat for name in item))
    names = names or [(name,) for name in columns]
    if form is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(_titles(names))
        writer.writerows([cell(item.get(name), exact=True) for name in names] for item in flat)
    else:
        _table(_titles(names), [[cell(item.get(name)) for name in names] for item in flat])


def cell(value: Any, *, exact: bool = False) -> str:
    """A value as text; exact: so that it can be read again."""
    if value is None:
        return ""
    if isinstance(value, float) and not exact:
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)


def _flat(item: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Items with params have a column for each of them."""
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in item.items():
        if isinstance(value, Mapping):
            flat.update({(key, name): each for name, each in value.items()})
        else:
            flat[(key,)] = value
    return flat


def _titles(names: Sequence[tuple[str, ...]]) -> list[str]:
    return [name[-1] for name in names]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [list(titles), *([_one_line(text) for text in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(titles))]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def _one_line(text: str) -> str:
    """The last line, with nothing in it that a terminal would obey."""
    lines = text.strip().splitlines() or [""]
    return "".join(each if each.isprintable() else "?" for each in lines[-1])
