"""Small tables for notebooks: escaped text, a few rows, and no colours of their own."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

# Characters of a cell, columns and rows at most.
_LONGEST, _COLUMNS, _ROWS = 60, 12, 20


def table(
    caption: str,
    rows: Iterable[Sequence[object]],
    *,
    header: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Rows as HTML; what is too much of them is left out, and says so.

    Args:
        caption: what it is about.
        rows: of cells; numbers are shown to six digits.
        header: names of the columns.
        notes: lines below.

    Returns:
        A table, which looks as the page has tables look.
    """
    every = [list(row) for row in rows]
    shown = every[:_ROWS]
    left_out = [f"and {len(every) - _ROWS} more"] if len(every) > _ROWS else []
    widest = max(map(len, [header, *shown]), default=0)
    if widest > _COLUMNS:
        left_out.append(f"and {widest - _COLUMNS} more columns")
    head = f"<thead><tr>{_cells('th', header)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in shown)
    below = "".join(f"<div>{_text(line, 4 * _LONGEST)}</div>" for line in [*left_out, *notes])
    about = f"<div>{_text(caption, 4 * _LONGEST)}</div>"
    drawn = f"<table>{head}<tbody>{body}</tbody></table>"
    return f'<div>{about}<div style="overflow-x: auto">{drawn}</div>{below}</div>'


def _cells(tag: str, cells: Sequence[object]) -> str:
    return "".join(f"<{tag}>{_text(_word(cell), _LONGEST)}</{tag}>" for cell in cells[:_COLUMNS])


def _word(cell: object) -> str:
    """A cell in words."""
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _text(words: str, longest: int) -> str:
    """Words as text of a page, whatever they contain."""
    line = " ".join(words.split())
    return html.escape(line if len(line) <= longest else f"{line[: longest - 3]}...")
