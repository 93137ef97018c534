"""What maximizers know of the world: objectives over query sets, and what they return."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array


class Objective(Protocol):
    """A function of R query sets at once, X (R, q, d), to be maximized."""

    def value(self, X: Array) -> Array:
        """Values (R,)."""

    def value_and_grad(self, X: Array) -> tuple[Array, Array]:
        """Values (R,) and gradients (R, q, d)."""


class Prepared(Protocol):
    """Query sets whose beliefs are at hand, so that more draws cost no more linear algebra."""

    def total(self, first: int, last: int) -> Array:
        """Sum of the utility over draws first to last - 1: (R,)."""

    def keep(self, rows: NDArray[np.intp]) -> Prepared:
        """The same for some of the sets, by index."""


class SampledObjective(Objective, Protocol):
    """An objective that is an average over m draws, which can be taken a few at a time."""

    @property
    def draws(self) -> int:
        """m, the number of draws."""

    def prepare(self, X: Array) -> Prepared:
        """Everything about X (R, q, d) that does not depend on how many draws are used."""


class Solution(NamedTuple):
    """Where a maximizer ended: query sets X (R, q, d) and their values (R,), best first."""

    X: Array
    value: Array


def best_first(X: Array, value: Array) -> Solution:
    """Query sets in descending order of value."""
    order = np.argsort(-value, kind="stable")
    return Solution(X[order], value[order])
