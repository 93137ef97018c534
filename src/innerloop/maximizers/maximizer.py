"""What a maximizer is: a search, and what it wants to be given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from innerloop import checks
from innerloop.domain.domain import Domain
from innerloop.errors import InputError
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.objective import Solution
from innerloop.types import Array

# How far outside of its domain a query may be by rounding.
_SLACK = 1e-6


class Maximizer(ABC):
    """A search for query sets of large value; all are called alike, and hold settings only.

    What a maximizer wants of whoever calls it is said by these class attributes. Those that are
    frozen dataclasses can be saved with an `Optimizer`.
    """

    starts: ClassVar[tuple[int, int]] = (16, 64)
    """Starts that it wants: for one query of a greedy batch, and for all queries at once."""
    draws: ClassVar[int] = 256
    """Draws that a Monte Carlo estimate should have."""
    fresh_draws: ClassVar[bool] = False
    """Whether it wants new draws at every evaluation, rather than fixed ones."""
    moves_discrete: ClassVar[bool] = True
    """Whether it moves discrete coordinates; if not, moves of these alternate with its searches."""

    @abstractmethod
    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Maximize from `starts` until converged or the allowance is spent.

        Args:
            allowance: the objective, and what may be spent on it.
            starts: (R, q, d), query sets within the domain, best first.
            domain: where queries may lie.
            generator: for whatever is drawn at random.

        Returns:
            At least one query set, best first, and never one that was not evaluated.
        """


def search(
    maximizer: Maximizer,
    allowance: Allowance,
    starts: Array,
    domain: Domain,
    generator: np.random.Generator,
) -> Solution:
    """What a maximizer finds, or an error that says what it should have returned.

    Args:
        maximizer: which may be of somebody's own.
        allowance: the objective, and what may be spent on it.
        starts: (R, q, d), query sets within the domain, best first.
        domain: where queries may lie.
        generator: for whatever is drawn at random.

    Returns:
        At least one query set of the domain, best first.
    """
    found, (_, q, d) = maximizer(allowance, starts, domain, generator), starts.shape
    name = type(maximizer).__name__
    expected = f"a Solution with X of shape (R, {q}, {d}) and value of shape (R,), R >= 1"
    checks.instance(f"what {name} returns", found, Solution, expected)
    X, value = (np.asarray(each) for each in found)
    if X.ndim != 3 or X.shape[1:] != (q, d) or value.shape != X.shape[:1] or not len(X):
        got = f"X of shape {X.shape} and value of shape {value.shape}"
        raise InputError(f"what {name} returns must be {expected}, got {got}")
    if not value[0] == value.max():  # or one of them is not a number
        raise InputError(f"what {name} returns must be best first, got values {value[:3]}, ...")
    if not ((domain.low - _SLACK <= X) & (X <= domain.high + _SLACK)).all():
        raise InputError(f"what {name} returns must be of the domain, got queries outside of it")
    return Solution(X, value)
