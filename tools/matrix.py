"""Runs a fast part of the tests on a wheel: with every Python it is for, and with old packages.

    python tools/matrix.py dist/innerloop-*.whl

One environment more has the oldest Python and the oldest packages that pyproject.toml allows.
Environments stay in .venv-matrix/ until something else should be in them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parents[1]
PLACE = TOP / ".venv-matrix"
# One part of the suite that passes through every layer, and needs nothing but the extra `study`.
TESTS = (
    "tests/test_surrogate.py",
    "tests/test_maximizers.py",
    "tests/test_space_toml.py",
    "tests/test_states.py",
    "tests/test_optimizer.py",
    "tests/test_optuna_settings.py",
    "tests/test_output.py",
    "tests/test_studies.py",
    "tests/test_cli.py",
)
TEST_TOOLS = ("hypothesis", "pytest", "pytest-xdist")
SHOWN = ("numpy", "scipy", "threadpoolctl", "cmaes", "optuna", "typer", "rich")
VERSIONS = f"""
import platform, sys
from importlib.metadata import version
import innerloop

assert innerloop.__file__.startswith(sys.prefix), innerloop.__file__
print(platform.python_version(), *map(version, {SHOWN}))
"""


@dataclass(frozen=True)
class Cell:
    """An environment: its name, a version of Python, and what is installed beside the wheel."""

    name: str
    python: str
    requirements: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a cell: versions by the order of the table, tests by their end, seconds."""

    name: str
    versions: tuple[str, ...]
    passed: int
    skipped: int
    failed: int
    installing: float
    testing: float


def main(wheel: Path) -> None:
    """Fill the cells that there is a Python for, and print a table of what came of them."""
    outcomes = []
    for cell in planned():
        interpreter = find_python(cell.python)
        if interpreter is None:
            print(
                f"{cell.name}: skipped, there is no Python {cell.python} that can make "
                f"environments: `pyenv install {cell.python}`, or "
                f"`apt install python{cell.python}-venv`"
            )
            continue
        print(f"{cell.name}: {interpreter}", flush=True)
        outcomes.append(fill(cell, interpreter, wheel.resolve()))
    if not outcomes:
        sys.exit("there is no Python to test with")
    print(table(outcomes))
    if any(outcome.failed or not outcome.passed for outcome in outcomes):
        sys.exit(1)


def planned() -> list[Cell]:
    """The oldest Python with the oldest packages, and every Python with the newest."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["study"]]
    tools = [line for line in extras["dev"] if re.split(r"[\[<>=]", line)[0] in TEST_TOOLS]
    pattern = r"Programming Language :: Python :: (3\.\d+)"
    pythons = [m[1] for line in project["classifiers"] if (m := re.fullmatch(pattern, line))]
    oldest = [requirement.replace(">=", "==") for requirement in needed]
    return [
        Cell(f"{pythons[0]}, oldest packages", pythons[0], (*oldest, *tools)),
        *(Cell(python, python, (*needed, *tools)) for python in pythons),
    ]


def find_python(version: str) -> Path | None:
    """An interpreter of a version that can make environments: of pyenv's, or on the path."""
    # What pyenv has on the path are shims, and some of these stand for nothing.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    places = [*pyenv.glob(f"{version}.*/bin"), *map(Path, folders)]
    for found in (place / f"python{version}" for place in places):
        if found.is_file() and ran(found, "-c", "import ensurepip, venv").returncode == 0:
            return found
    return None


def fill(cell: Cell, interpreter: Path, wheel: Path) -> Outcome:
    """Install the wheel into the cell's environment, and test it there."""
    start = time.monotonic()
    python = environment(cell, interpreter)
    must(python, *INSTALL, "--no-deps", "--force-reinstall", str(wheel))
    must(python, "-m", "pip", "check")
    versions = tuple(must(python, "-c", VERSIONS).split())
    between = time.monotonic()
    counts = tested(python)
    return Outcome(cell.name, versions, *counts, between - start, time.monotonic() - between)


def environment(cell: Cell, interpreter: Path) -> Path:
    """The Python of an environment that holds what the cell requires; a stamp remembers it."""
    place = PLACE / cell.name.replace(", ", "-").replace(" ", "-")
    python, stamp = place / "bin" / "python", place / "installed"
    wanted = "\n".join((str(interpreter), *cell.requirements))
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(place, ignore_errors=True)
        must(interpreter, "-m", "venv", str(place))
        must(python, *INSTALL, *cell.requirements)
        stamp.write_text(wanted)
    return python


def tested(python: Path) -> tuple[int, int, int]:
    """How many tests passed, were skipped and failed; of those that failed, what they said."""
    report = python.parents[1] / "tests.xml"
    report.unlink(missing_ok=True)
    options = ("-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider")
    done = ran(python, "-m", "pytest", *options, f"--junitxml={report}", *TESTS)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
    if not report.exists():
        return 0, 0, 0
    (suite,) = ElementTree.parse(report).getroot()
    number = {key: int(suite.attrib[key]) for key in ("tests", "skipped", "failures", "errors")}
    failed = number["failures"] + number["errors"]
    return number["tests"] - number["skipped"] - failed, number["skipped"], failed


def table(outcomes: list[Outcome]) -> str:
    """A line for each outcome, its columns as wide as they have to be."""
    head = ("cell", "python", *SHOWN, "passed", "skipped", "failed", "install", "tests")
    rows = [head]
    for one in outcomes:
        counts = (str(one.passed), str(one.skipped), str(one.failed))
        rows.append(
            (one.name, *one.versions, *counts, f"{one.installing:.0f} s", f"{one.testing:.0f} s")
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def must(python: Path, *arguments: str) -> str:
    """What Python prints; if it fails, that ends everything, with all that it has said."""
    done = ran(python, *arguments)
    if done.returncode:
        sys.exit(f"{python} {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


def ran(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with arguments, at the top of the repository, where no variable leads to `src/`."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    clean |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = (str(python), *arguments)
    return subprocess.run(command, cwd=TOP, env=clean, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
