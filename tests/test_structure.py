"""Imports point down the layers only, and every public name can be had from the package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import innerloop as il

PACKAGE = Path(il.__file__).parent
# From the bottom up. A module may import from its own layer and from those below it.
LAYERS = [
    "errors",
    "types",
    "atomic",
    "checks",
    "linalg",
    "domain",
    "surrogate",
    "acquisition",
    "maximizers",
    "batches",
    "space",
    "optimizer",
    "run",
    "integrations",
    "studies",
    "report",
    "cli",
]


def imported_layers(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("innerloop"):
            parts = node.module.split(".")[1:]
            yield from [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("innerloop."))


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_point_down(path):
    if path == PACKAGE / "__init__.py":
        return
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert layer in LAYERS, f"{layer} has no place among the layers"
    above = LAYERS[LAYERS.index(layer) + 1 :]
    assert not set(imported_layers(path)) & set(above)


def test_every_public_name_is_there():
    for name in il.__all__:
        assert getattr(il, name).__module__.startswith("innerloop")
    assert set(il.__all__) == set(il._HOME)
    assert set(il.__all__) <= set(dir(il))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = il.nonsense


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, innerloop; print([m for m in ('scipy', 'numpy') if m in sys.modules])"
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
        assert not set(imported_layers(path)) & {"surrogate", "acquisition"}, path.name
