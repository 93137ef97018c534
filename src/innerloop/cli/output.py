"""Printing: data on stdout as a table, as CSV or as JSON; messages on stderr.

What is printed may come from outside: from a database, a space, a command that was run. People
see nothing of it that a terminal would obey; files and programs get data as they are.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from innerloop.cli.options import Format
from innerloop.columns import flat, titles

# Controls, marks that turn the direction of text, halves of characters, ends of lines.
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
# They belong to the spelling of some languages, and join emoji.
_JOINERS = "\u200c\u200d"
# Spreadsheets take texts that begin so for formulas.
_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def message(text: str) -> None:
    """A line for the person at the terminal."""
    print(safe(text), file=sys.stderr)


def show(items: Sequence[Mapping[str, Any]], form: Format, columns: Sequence[str] = ()) -> None:
    """Print items that have the same keys; columns: what to print when there are none."""
    if form is Format.json:
        # JSON in ASCII leaves out all that a terminal would obey but one.
        print(json.dumps(list(items), indent=1).replace("\x7f", "\\u007f"))
        return
    rows = [flat(item) for item in items]
    names = list(dict.fromkeys(name for item in rows for name in item))
    names = names or [(name,) for name in columns]
    if form is Format.csv:
        print(_csv_line(titles(names)))
        for item in rows:
            print(_csv_line([item.get(name) for name in names]))
    else:
        _table(titles(names), [[cell(item.get(name)) for name in names] for item in rows])


def safe(text: str) -> str:
    """A text in one line with nothing in it that a terminal would obey: escapes are spelt out."""
    return "".join(_spelt(each) if _is_obeyed(each) else each for each in text)


def cell(value: Any) -> str:
    """A value as people read it."""
    return f"{value:.6g}" if isinstance(value, float) else _exact(value)


def csv_cell(value: Any) -> str:
    """A value as it can be read again.

    Texts that a spreadsheet would take for a formula, or that begin like those which are marked
    so, have an apostrophe in front. Numbers are as they are.
    """
    text = _exact(value)
    begins_so = text.lstrip()[:1] in _FORMULAS or text[:1] in ("'", "\t", "\r", "\n")
    return f"'{text}" if isinstance(value, str) and text and begins_so else text


def _exact(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _is_obeyed(character: str) -> bool:
    return unicodedata.category(character) in _OBEYED and character not in _JOINERS


def _spelt(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _csv_line(values: Sequence[Any]) -> str:
    """A row; cells with any kind of end of line in them are in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([csv_cell(value) for value in values])
    line = text.getvalue().removesuffix("\r\n")
    return safe(line) if sys.stdout.isatty() else line


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [[safe(_last_line(text)) for text in row] for row in (heads, *rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def _last_line(text: str) -> str:
    """The line of an error that says most."""
    return (text.strip().splitlines() or [""])[-1]
