"""The experiments know of innerloop what anybody may know: its public names."""

import ast
from pathlib import Path

import pytest

import innerloop
import innerloop.maximizers
import innerloop_paper

PACKAGE = Path(innerloop_paper.__file__).parent
PUBLIC = {
    "innerloop": set(innerloop.__all__),
    "innerloop.maximizers": set(innerloop.maximizers.__all__),
}


def is_of_innerloop(module):
    return module.split(".")[0] == "innerloop"


def private_uses(source):
    """Every use of innerloop in a module that is not of a public name."""
    tree = ast.parse(source)
    modules = {}  # what names stand for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if is_of_innerloop(alias.name):
                    if alias.name not in PUBLIC:
                        yield f"import {alias.name}"
                    whole = alias.name if alias.asname else "innerloop"
                    modules[alias.asname or "innerloop"] = whole
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and is_of_innerloop(node.module):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in PUBLIC:
                    modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                elif alias.name not in PUBLIC.get(node.module, ()):
                    yield f"from {node.module} import {alias.name}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        module = ast.unparse(node.value)
        name, _, rest = module.partition(".")
        whole = ".".join(filter(None, [modules.get(name, ""), rest]))
        is_public = node.attr in PUBLIC.get(whole, ()) or f"{whole}.{node.attr}" in PUBLIC
        if name in modules and whole in PUBLIC and not is_public:
            yield f"{whole}.{node.attr}"
        elif is_private(node.attr) and not is_own(node.value):
            yield ast.unparse(node)


def is_private(name):
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def is_own(value):
    """Whether it is `self` or `cls`; `os._exit` is documented, private as it looks."""
    return isinstance(value, ast.Name) and value.id in ("self", "cls", "os")


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_only_public_names_are_used(path):
    assert list(private_uses(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import innerloop.linalg",
        "import innerloop.linalg as la",
        "from innerloop import checks",
        "from innerloop import _HOME",
        "from innerloop import *",
        "from innerloop.types import Array",
        "from innerloop.maximizers import named",
        "from innerloop.maximizers.adam import Adam",
        "def f():\n    from innerloop.atomic import write_text",
        "import innerloop as il\nil._HOME",
        "import innerloop as il\nil.linalg.cholesky",
        "import innerloop\ninnerloop.maximizers.named",
        "from innerloop import maximizers as m\nm.ALIASES",
        "from innerloop import Posterior\ndef f(p: Posterior):\n    p._unit",
    ],
)
def test_private_names_are_found(source):
    assert len(list(private_uses(source))) >= 1


@pytest.mark.parametrize(
    "source",
    [
        "import innerloop as il\nil.suggest",
        "from innerloop import Budget, measured_budget",
        "from innerloop.maximizers import Adam",
        "import innerloop.maximizers\ninnerloop.maximizers.Adam",
        "from innerloop_paper.cells import Cell",
        "class A:\n    def f(self):\n        return self._g",
    ],
)
def test_public_names_pass(source):
    assert list(private_uses(source)) == []
