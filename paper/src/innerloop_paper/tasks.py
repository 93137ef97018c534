"""What is optimized: a function on the unit cube, its maximum, and what is known of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from innerloop import GaussianProcess, InputError
from innerloop_paper import functions, synthetic
from innerloop_paper.arrays import Array

#: Tasks that are drawn from a prior: the same draws, with the prior known and withheld.
DRAWN = ("synthetic", "withheld")
#: Points that every run starts from.
INITIAL = 3
_FUNCTIONS: dict[str, tuple[Callable[[Array], Array], int | None]] = {
    "branin": (functions.branin, 2),
    "hartmann-3": (functions.hartmann, 3),
    "hartmann-6": (functions.hartmann, 6),
    "levy": (functions.levy, None),
}
NAMES = (*DRAWN, *_FUNCTIONS)


@dataclass(frozen=True, eq=False)
class Task:
    """A function of points (N, d), to be maximized, and its largest value.

    prior: what it was drawn from, if that is known; otherwise hyperparameters are learned.
    """

    d: int
    function: Callable[[Array], Array]
    maximum: float
    prior: GaussianProcess | None


def make_task(name: str, d: int, trial: int, maximum: float | None = None) -> Task:
    """The task of that name; maximum: that of the draw of a trial, found beforehand."""
    if name in DRAWN:
        drawn = synthetic.draw(d, trial)
        if maximum is None:
            raise InputError(f"{name} is a draw from a prior: its maximum must be found first")
        known = synthetic.prior(d) if name == "synthetic" else None
        return Task(d, lambda X: drawn(X)[0], maximum, known)
    check_dimension(name, d)
    return Task(d, _FUNCTIONS[name][0], functions.MAXIMA[name], None)


def check_dimension(name: str, d: int) -> None:
    """Raise an error if there is no task of that name with d inputs."""
    if name not in NAMES:
        raise InputError(f"task must be one of {', '.join(NAMES)}, got {name!r}")
    only = None if name in DRAWN else _FUNCTIONS[name][1]
    if only not in (None, d):
        raise InputError(f"{name} has {only} dimensions, got d = {d}")


def initial_points(d: int, trial: int) -> Array:
    """Where every method of a trial begins: (3, d)."""
    return np.random.default_rng([d, trial, 2]).random((INITIAL, d))


def noise(d: int, trial: int, evaluations: int) -> Array:
    """Errors of the first observations of a trial, the same for all methods: (evaluations,)."""
    generator = np.random.default_rng([d, trial, 3])
    return generator.normal(0.0, math.sqrt(synthetic.NOISE), evaluations)
