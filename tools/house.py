"""How the house is built: the way from `minimize` to the kernel, and which package imports which.

    python tools/house.py

prints the frames that a run passes on its way to the kernel, and the packages in the order of
their imports. It ends with status 1 if a package imports one above it, or if two import each other.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import innerloop as il

PACKAGE = Path(il.__file__).parent
# Where covariances are computed, whoever asks for them.
KERNEL, PROFILE = "surrogate/kernels.py", "profile"


class Call(NamedTuple):
    """A frame of the package: its file, from the package on, and its function."""

    file: str
    function: str


def ways_to_the_kernel() -> Counter[tuple[Call, ...]]:
    """The frames from `minimize` to each call of the kernel in a run, and how often there were."""
    ways: Counter[tuple[Call, ...]] = Counter()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and _call(frame) == Call(KERNEL, PROFILE):
            ways[_way(frame)] += 1

    minimize = il.minimize  # loaded before anybody looks
    space = il.Space({"x": il.Real(-1.0, 1.0), "y": il.Real(0.0, 1.0)})
    sys.setprofile(look)
    try:
        minimize(lambda p: p["x"] ** 2 + p["y"], space, n_trials=16, batch_size=4, seed=0)
    finally:
        sys.setprofile(None)
    return ways


def _way(frame: FrameType | None) -> tuple[Call, ...]:
    """The frames down to the kernel, from `minimize` on."""
    calls: list[Call] = []
    while frame is not None and _call(frame).file == KERNEL:
        frame = frame.f_back
    while frame is not None:
        calls.append(_call(frame))
        frame = frame.f_back
    calls = calls[::-1]
    return tuple(calls[next(i for i, call in enumerate(calls) if call.function == "minimize") :])


def _call(frame: FrameType) -> Call:
    file = Path(frame.f_code.co_filename)
    inside = file.is_relative_to(PACKAGE)
    return Call(str(file.relative_to(PACKAGE)) if inside else file.name, frame.f_code.co_name)


def imports() -> dict[str, set[str]]:
    """Which of the packages and modules at the top each of them imports."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != PACKAGE / "__init__.py":
            name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
            found.setdefault(name, set()).update(imported(path) - {name})
    return found


def imported(path: Path) -> set[str]:
    """The packages and modules at the top of the package that a file imports, also when called."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "innerloop":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("innerloop."):
            names.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("innerloop.")}
    return names


def imports_of_files() -> dict[str, set[str]]:
    """Which other files each file of the package imports, also when called; as module names.

    Imports for type checkers alone are left out.
    """
    names = {_module(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text())
        typing = {id(n) for part in tree.body if _is_for_types(part) for n in ast.walk(part)}
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and id(n) not in typing]
        modules = {str(node.module) for node in nodes}
        modules |= {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
        found[name] = modules & names.keys() - {name}
    del found["innerloop"]  # loads what it has names of when these are used
    return {name: needs - {"innerloop"} for name, needs in found.items()}


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _module(path: Path) -> str:
    parts = ("innerloop", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def in_order(graph: dict[str, set[str]]) -> list[list[str]]:
    """Storeys of the house from the ground up: each imports those below; raises if there is none.

    A circle of imports has no order.
    """
    left, storeys = dict(graph), []
    while left:
        free = sorted(name for name, needs in left.items() if not needs & left.keys())
        if not free:
            raise ValueError(f"these import each other in a circle: {sorted(left)}")
        storeys.append(free)
        left = {name: needs for name, needs in left.items() if name not in free}
    return storeys


def main() -> None:
    ways = ways_to_the_kernel()
    searching = {way: n for way, n in ways.items() if any(c.function == "suggest" for c in way)}
    learning = {way: n for way, n in ways.items() if way not in searching}
    for title, some in (("choosing a batch", searching), ("learning", learning)):
        usual = max(some, key=lambda way: some[way])
        deepest = max(some, key=len)
        for kind, way in (("most travelled", usual), ("deepest", deepest)):
            files = len({call.file for call in way})
            print(f"{title}, {kind} way: {len(way)} frames in {files} files, {some[way]} times")
            for call in way:
                print(f"    {call.file:36} {call.function}")
    graph = imports()
    print("packages and modules, from the ground up, and what each imports:")
    for storey in in_order(graph):
        for name in storey:
            print(f"    {name:14} {' '.join(sorted(graph[name]))}")


if __name__ == "__main__":
    main()
