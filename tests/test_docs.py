"""The Python blocks of the documentation run, those of one file in order in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "recipes").glob("*.md")),
]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Python blocks of a page, each with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    namespace: dict[str, object] = {"__name__": page.stem}
    for line, block in blocks(page):
        # Blank lines in front make tracebacks point at the line of the page.
        code = compile("\n" * line + block, str(page), "exec", dont_inherit=True)
        exec(code, namespace)


def test_pages_with_code_are_found() -> None:
    assert {"README.md", "index.md", "guide.md"} <= {page.name for page in PAGES if blocks(page)}
