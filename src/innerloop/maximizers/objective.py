"""What maximizers know of the world: objectives over query sets, and what they return."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array


class Objective(Protocol):
    """A function of R query sets at once, to be maximized."""

    def value(self, X: Array) -> Array:
        """Values of query sets.

        Args:
            X: (R, q, d), query sets.

        Returns:
            Values, (R,).
        """

    def value_and_grad(self, X: Array) -> tuple[Array, Array]:
        """Values of query sets, and their gradients.

        Args:
            X: (R, q, d), query sets.

        Returns:
            Values (R,) and gradients (R, q, d).
        """


class Prepared(Protocol):
    """Query sets whose beliefs are at hand, so that more draws cost no more linear algebra."""

    def total(self, first: int, last: int) -> Array:
        """Sum of the utility over some of the draws.

        Args:
            first: the first of them.
            last: one more than the last of them.

        Returns:
            Sums, (R,).
        """

    def keep(self, rows: NDArray[np.intp]) -> Prepared:
        """The same for some of the sets.

        Args:
            rows: (n,), which ones.

        Returns:
            These sets.
        """


class SampledObjective(Objective, Protocol):
    """An objective that is an average over m draws, which can be taken a few at a time."""

    @property
    def draws(self) -> int:
        """m, the number of draws."""

    def prepare(self, X: Array) -> Prepared:
        """Everything about query sets that does not depend on how many draws are used.

        Args:
            X: (R, q, d), query sets.

        Returns:
            What takes numbers of draws to sums of utilities.
        """


class Solution(NamedTuple):
    """Where a maximizer ended, best first.

    Args:
        X: (R, q, d), query sets.
        value: (R,), their values.
    """

    X: Array
    value: Array


def best_first(X: Array, value: Array) -> Solution:
    """Query sets in descending order of value.

    Args:
        X: (R, q, d), query sets.
        value: (R,), their values.

    Returns:
        The same, in order.
    """
    order = np.argsort(-value, kind="stable")
    return Solution(X[order], value[order])
