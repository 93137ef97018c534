"""How the house is built: imports point down, the way to the kernel is short, the map is true."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import innerloop as il

PACKAGE = Path(il.__file__).parent
TOP = Path(__file__).parents[1]
# From the bottom up. A module may import from its own layer and from those below it.
LAYERS = [
    "errors",
    "types",
    "atomic",
    "optional",
    "columns",
    "checks",
    "frames",
    "linalg",
    "sobol",
    "domain",
    "surrogate",
    "acquisition",
    "maximizers",
    "batches",
    "space",
    "optimizer",
    "insight",
    "run",
    "integrations",
    "studies",
    "report",
    "plot",
    "cli",
]
MOST_FRAMES, MOST_FILES = 14, 9


def load_house():
    spec = importlib.util.spec_from_file_location("house", TOP / "tools" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOUSE = load_house()


@pytest.mark.parametrize(
    "path",
    sorted(set(PACKAGE.rglob("*.py")) - {PACKAGE / "__init__.py"}),
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_imports_point_down(path):
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert layer in LAYERS, f"{layer} has no place among the layers"
    above = LAYERS[LAYERS.index(layer) + 1 :]
    assert not HOUSE.imported(path) & set(above)


def test_files_do_not_import_each_other_in_a_circle():
    HOUSE.in_order(HOUSE.imports_of_files())
    with pytest.raises(ValueError, match=re.escape("in a circle: ['a', 'b']")):
        HOUSE.in_order({"a": {"b"}, "b": {"a", "c"}, "c": set()})


def test_the_way_from_minimize_to_the_kernel_is_short():
    ways = HOUSE.ways_to_the_kernel()
    assert any(call.function == "suggest" for way in ways for call in way)
    for way in ways:
        assert len(way) <= MOST_FRAMES, way
        assert len({call.file for call in way}) <= MOST_FILES, way


def test_the_map_shows_every_file():
    text = (TOP / "docs" / "design.md").read_text()
    drawn = re.search(r"```text\nsrc/innerloop/\n(.*?)```", text, re.DOTALL).group(1)
    shown, package = set(), ""
    for line in drawn.splitlines():
        indent, name = re.match(r"( *)(\S+)", line).groups()
        if len(indent) == 2:
            package = name if name.endswith("/") else ""
        if name.endswith(".py") and len(indent) in (2, 4):
            shown.add(f"{package}{name}" if len(indent) == 4 else name)
    files = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")}
    assert shown == {path for path in files if not path.endswith("__init__.py")}


def test_every_public_name_is_there():
    for name in il.__all__:
        assert getattr(il, name).__module__.startswith("innerloop")
    assert set(il.__all__) == set(il._HOME)
    assert set(il.__all__) <= set(dir(il))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = il.nonsense


def test_importing_the_package_loads_nothing_heavy():
    heavy = ("scipy", "numpy", "matplotlib", "pandas", "polars")
    code = f"import sys, innerloop; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_slow_parts_of_scipy_are_loaded_when_used():
    code = (
        "import sys, innerloop as il; il.fit([[0.1], [0.7]], [0.0, 1.0]); "
        "print([m for m in ('scipy.stats', 'scipy.optimize') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_maximizers_know_nothing_of_what_they_maximize():
    for path in (PACKAGE / "maximizers").glob("*.py"):
        assert not HOUSE.imported(path) & {"surrogate", "acquisition"}, path.name
