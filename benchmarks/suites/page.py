"""Tables of Markdown, and the place of a page where they go."""

from __future__ import annotations

from pathlib import Path


def table(heading: list[str], rows: list[list[object]]) -> list[str]:
    """The lines of a table, with an empty one before and after."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [heading, *rows]]
    return ["", lines[0], "|" + "---|" * len(heading), *lines[1:], ""]


def put(path: Path, name: str, lines: list[str]) -> None:
    """Replace what is between the two marks of a name on a page."""
    text = path.read_text()
    begin, end = f"<!-- figures of {name} -->", f"<!-- end of {name} -->"
    if begin not in text or end not in text:
        raise SystemExit(f"{path} needs the lines {begin} and {end}")
    before, after = text.split(begin)[0], text.split(end)[1]
    body = "\n".join(lines).strip()
    path.write_text(f"{before}{begin}\n\n{body}\n\n{end}{after}")
