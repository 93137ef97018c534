"""How large the packages are: files, lines, and lines of code without docstrings and comments.

python tools/sizes.py src/innerloop [paper/src/innerloop_paper] [--before DIR]
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

IGNORED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.tokenize(io.BytesIO(text.encode()).readline):
        if token.type not in IGNORED:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def sizes(folder: Path) -> dict[str, Counter[str]]:
    """Files, lines and lines of code by package."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        name = f"{parts[0]}/" if len(parts) > 1 else "(top)"
        text = path.read_text()
        counts = {"files": 1, "lines": text.count("\n"), "code": code_lines(text)}
        found.setdefault(name, Counter()).update(counts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", type=Path, help="the same folder of another version")
    arguments = parser.parse_args()
    versions = [sizes(f) for f in (arguments.before, arguments.folder) if f is not None]
    print("package | " + " | ".join("files lines code" for _ in versions))
    for name in sorted({name for each in versions for name in each}):
        rows = [each.get(name, Counter()) for each in versions]
        print(f"{name:14} | " + " | ".join(_row(row) for row in rows))
    totals = [sum(each.values(), Counter()) for each in versions]
    print(f"{'all':14} | " + " | ".join(_row(row) for row in totals))


def _row(row: Counter[str]) -> str:
    return f"{row['files']:5} {row['lines']:6} {row['code']:6}"


if __name__ == "__main__":
    main()
