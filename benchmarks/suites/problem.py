"""What an optimizer is told of a task, and the task with its function.

Nothing here needs more than NumPy, so that it loads in every rival's environment.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from task_parameters import Options, Parameters, Point, Range, Whole, at_fractions

KINDS = {kind.__name__: kind for kind in (Range, Whole, Options)}


@dataclass(frozen=True)
class Problem:
    """A function to minimize, as optimizers know it: its parameters, and whether it is noisy."""

    parameters: Parameters
    noise: bool = False

    @property
    def d(self) -> int:
        return len(self.parameters)

    @property
    def has_choices(self) -> bool:
        return any(isinstance(kind, Options) for kind in self.parameters.values())

    def decode(self, u: np.ndarray) -> Point:
        """The point at fractions u (d,) of the parameters' ranges."""
        return at_fractions(u.tolist(), self.parameters)

    def to_plain(self) -> dict:
        """As plain data, ready for JSON."""
        parameters = {
            name: {"kind": type(kind).__name__, **asdict(kind)}
            for name, kind in self.parameters.items()
        }
        return {"parameters": parameters, "noise": self.noise}

    @classmethod
    def from_plain(cls, plain: dict) -> Problem:
        parameters = {}
        for name, fields in plain["parameters"].items():
            kind = KINDS[fields.pop("kind")]
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            parameters[name] = kind(**values)
        return cls(parameters, plain["noise"])


@dataclass(frozen=True)
class Task:
    """A problem with its function.

    evaluate: of a point, the value that is observed, and what the score is made of: how far the
    value without noise is above the optimum, where that is known.
    """

    problem: Problem
    evaluate: Callable[[Point], tuple[float, float]]

    def __call__(self, point: Point) -> tuple[float, float]:
        for name, kind in self.problem.parameters.items():
            if not kind.contains(point[name]):
                raise ValueError(f"{name} must be in {kind}, got {point[name]!r}")
        observed, score = self.evaluate(point)
        return float(observed), float(score)
