"""Results of runs: a file of one line per run, to which lines are only ever added."""

from __future__ import annotations

import json
from pathlib import Path

Key = tuple[str, str, int]
Cells = dict[Key, dict]


def load(path: Path) -> Cells:
    """The last result of every task, method and seed.

    Lines are only ever added, so that several processes may share a file; one that forgets runs
    removes what came before it.
    """
    cells: Cells = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        record = json.loads(line)
        if "forget" in record:
            for key in record["forget"]:
                cells.pop(tuple(key), None)
        else:
            cells[record["task"], record["method"], record["seed"]] = record
    return cells


def append(path: Path, record: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
