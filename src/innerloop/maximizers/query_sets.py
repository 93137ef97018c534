"""What several maximizers do with query sets: draw them, keep the best of them, flatten them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.domain import Domain
from innerloop.maximizers.objective import Solution, best_first
from innerloop.types import Array


def draw(size: int, q: int, domain: Domain, generator: np.random.Generator) -> Array:
    """Query sets spread over the domain.

    Args:
        size: how many.
        q: queries in each.
        domain: where queries may lie.
        generator: what to draw with.

    Returns:
        Query sets, (size, q, d).
    """
    if size == 0:
        return np.zeros((0, q, domain.d))
    return domain.sample(size * q, generator).reshape(size, q, domain.d)


def fill_up(starts: Array, size: int, domain: Domain, generator: np.random.Generator) -> Array:
    """The first of the starts, and draws from the domain where they are too few.

    Args:
        starts: (R, q, d), query sets.
        size: how many are wanted.
        domain: where queries may lie.
        generator: what to draw with.

    Returns:
        Query sets, (size, q, d).
    """
    chosen = domain.project(starts[:size])
    return np.concatenate([chosen, draw(size - len(chosen), chosen.shape[1], domain, generator)])


def best_of(size: int, *solutions: tuple[Array, Array]) -> Solution:
    """The best of several solutions, best first; earlier ones first among equals.

    Args:
        size: how many are kept at most.
        *solutions: query sets (R, q, d) with their values (R,).

    Returns:
        The best query sets.
    """
    best = best_first(*(np.concatenate(arrays) for arrays in zip(*solutions, strict=True)))
    return Solution(best.X[:size], best.value[:size])


@dataclass(frozen=True, eq=False)
class FreeCoordinates:
    """The D = q * (free coordinates of a query) numbers that make up a query set of q queries.

    Args:
        domain: where queries may lie.
        q: queries in a set.
    """

    domain: Domain
    q: int

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which coordinates of a query may move: (d,)."""
        return self.domain.high > self.domain.low

    @property
    def size(self) -> int:
        """D, which is 0 if every coordinate is fixed."""
        return self.q * int(self.free.sum())

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper ends of all numbers: (D,), (D,)."""
        free = self.free
        return np.tile(self.domain.low[free], self.q), np.tile(self.domain.high[free], self.q)

    def flatten(self, X: Array) -> Array:
        """The free numbers of query sets: (R, q, d) -> (R, D)."""
        return X[..., self.free].reshape(len(X), self.size)

    def query_sets(self, flat: Array) -> Array:
        """The feasible query sets nearest to flat vectors: (R, D) -> (R, q, d)."""
        X = np.tile(self.domain.low, (len(flat), self.q, 1))
        X[..., self.free] = flat.reshape(len(flat), self.q, -1)
        return self.domain.project(X)
