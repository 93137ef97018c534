"""Printing: data on stdout as a table, as CSV or as JSON; messages on stderr.

What is printed may come from outside: from a database, a space, a command that was run. People
see nothing of it that a terminal would obey; files and programs get data as they are.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from innerloop.cli.options import Format
from innerloop.columns import exact, sheet_of

# Controls, marks that turn the direction of text, halves of characters, ends of lines.
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
# They belong to the spelling of some languages, and join emoji.
_JOINERS = "\u200c\u200d"


def message(text: str) -> None:
    """A line for the person at the terminal."""
    print(safe(text), file=sys.stderr)


def show(items: Sequence[Mapping[str, Any]], form: Format, columns: Sequence[str] = ()) -> None:
    """Print items that have the same keys; columns: what to print when there are none."""
    if form is Format.json:
        # JSON in ASCII leaves out all that a terminal would obey but one.
        print(json.dumps(list(items), indent=1).replace("\x7f", "\\u007f"))
        return
    sheet = sheet_of(items, columns)
    if form is Format.csv:
        for line in sheet.csv_lines():
            print(safe(line) if sys.stdout.isatty() else line)
    else:
        _table(sheet.titles, [list(map(cell, row)) for row in sheet.rows])


def safe(text: str) -> str:
    """A text in one line with nothing in it that a terminal would obey: escapes are spelt out."""
    return "".join(_spelt(each) if _is_obeyed(each) else each for each in text)


def cell(value: Any) -> str:
    """A value as people read it."""
    return f"{value:.6g}" if isinstance(value, float) else exact(value)


def _is_obeyed(character: str) -> bool:
    return unicodedata.category(character) in _OBEYED and character not in _JOINERS


def _spelt(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [[safe(_last_line(text)) for text in row] for row in (titles, *rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(titles))]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def _last_line(text: str) -> str:
    """The line of an error that says most."""
    return (text.strip().splitlines() or [""])[-1]
