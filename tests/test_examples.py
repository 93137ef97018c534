"""Every example runs, says something, and keeps the promises in its docstring."""

import ast
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
# inner_loop.py draws a picture for the documentation, into its folder.
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "inner_loop")
INSTALLED_AS = {"sklearn": "scikit-learn"}
OPTIONAL = ("distributed", "matplotlib", "sklearn")


def run(path, folder):
    """What an example prints, run in a folder of its own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            package = node.module.split(".")[0]
            if package in OPTIONAL:
                name = INSTALLED_AS.get(package, package)
                pytest.importorskip(package, reason=f"pip install {name}")
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120.0,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert f"python examples/{path.name}" in docstring
    printed = run(path, tmp_path)
    assert len(printed.splitlines()) >= 4
    pictures = re.findall(r"`(\w+\.png)`", docstring)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(pictures)
    check = CHECKS.get(path.stem)
    if check is not None:
        check(printed)


def numbers(pattern, printed):
    """The numbers that follow a pattern."""
    return [float(text) for text in re.findall(rf"{pattern}\s*(-?[\d.]+\d(?:e-?\d+)?)", printed)]


def check_hartmann(printed):
    assert numbers("regret", printed)[0] <= 0.01


def check_accuracy_and_speed(printed):
    *front, within = zip(numbers("accuracy", printed), numbers("questions", printed), strict=True)
    assert len(front) >= 8
    # Sorted by how much is asked, each one is better than those that ask less.
    assert all(one[0] < other[0] for one, other in pairwise(front))
    assert within[1] <= 100.0
    assert within[0] >= 0.97 * max(accuracy for accuracy, asked in front if asked <= 100.0)


def check_tuning(printed):
    default, tuned = numbers("accuracy", printed)
    assert default < tuned <= 1.0


def check_simulator(printed):
    first, best = numbers("profit", printed)
    assert first < best
    assert numbers("most in any trial:", printed)[0] <= 6.0


def check_mixed_space(printed):
    random, _, suggested = numbers("heat sinks", printed)
    assert suggested < random


def check_by_hand(printed):
    assert printed.count("knocked over") == 1
    assert len(numbers("grade ", printed)) == 23
    best = numbers("its grade was", printed)[0]
    assert best >= 9.0


def check_dask(printed):
    value, smallest = numbers("best value", printed)[0], numbers("there is:", printed)[0]
    assert smallest - 1e-6 <= value < smallest + 0.1
    shares = re.findall(r"\d+: (\d+)", printed)
    assert len(shares) == 4
    assert sum(map(int, shares)) == 48


CHECKS = {
    "accuracy_and_speed": check_accuracy_and_speed,
    "by_hand": check_by_hand,
    "constrained_simulator": check_simulator,
    "dask_cluster": check_dask,
    "hartmann": check_hartmann,
    "mixed_space": check_mixed_space,
    "tune_model": check_tuning,
}
