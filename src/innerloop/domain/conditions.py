"""Coordinates that apply only where others have certain values, and are at rest elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.discrete import Discrete
from innerloop.types import Array


class Need(NamedTuple):
    """Values that other coordinates have to have.

    Args:
        block: these coordinates.
        allowed: (count,), which of their values.
    """

    block: Discrete
    allowed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Condition:
    """Coordinates that apply where all needs are met.

    Args:
        columns: which coordinates.
        rest: where they are elsewhere.
        block: what values they take, if these are discrete.
        needs: also those of the coordinates that are in them.
    """

    columns: slice
    rest: tuple[float, ...]
    block: Discrete | None
    needs: tuple[Need, ...]

    def applies(self, X: Array) -> NDArray[np.bool_]:
        """Where the coordinates apply.

        Args:
            X: (..., d), points.

        Returns:
            Whether they do, (...).
        """
        applies = np.ones(X.shape[:-1], dtype=bool)
        for block, allowed in self.needs:
            applies &= allowed[block.number(X[..., block.columns])]
        return applies


@dataclass(frozen=True, eq=False)
class Conditions:
    """Which coordinates apply where.

    Args:
        each: those of parents before those of their children.
    """

    each: tuple[Condition, ...]

    @cached_property
    def columns(self) -> list[int]:
        """All coordinates that have conditions or are in them."""
        found = [each.columns for each in self.each]
        found += [need.block.columns for each in self.each for need in each.needs]
        return sorted({k for columns in found for k in range(columns.start, columns.stop)})

    @cached_property
    def blocks(self) -> tuple[Discrete, ...]:
        """Coordinates that have conditions and take some values only."""
        return tuple(each.block for each in self.each if each.block is not None)

    def held(self, X: Array) -> Array:
        """Points with the coordinates that do not apply at rest.

        Args:
            X: (..., d), points.

        Returns:
            Points, (..., d).
        """
        Y = X.copy()
        for each in self.each:
            applies = each.applies(X)[..., None]
            Y[..., each.columns] = np.where(applies, X[..., each.columns], each.rest)
        return Y

    def are_met(self, X: Array, slack: float) -> NDArray[np.bool_]:
        """Whether the coordinates that do not apply are at rest.

        Args:
            X: (..., d), points.
            slack: how far away from there is nothing.

        Returns:
            Whether they are, (...).
        """
        return np.asarray((np.abs(X - self.held(X)) <= slack).all(axis=-1))

    def moving(self, directions: Array, X: Array) -> Array:
        """Directions without coordinates that do not apply.

        Args:
            directions: (..., d).
            X: (..., d), points where they begin.

        Returns:
            Directions, (..., d).
        """
        within = directions.copy()
        for each in self.each:
            within[..., each.columns] *= each.applies(X)[..., None]
        return within

    def begun(self, X: Array, moved: Array, generator: np.random.Generator) -> Array:
        """Points with random values of the coordinates that did not apply before.

        Args:
            X: (N, d), points as they were.
            moved: (N, d), the same with other values of some coordinates.
            generator: what to draw with.

        Returns:
            Points, (N, d).
        """
        Y = moved.copy()
        for each in self.each:
            new = np.flatnonzero(each.applies(Y) & ~each.applies(X))
            if each.block is None:
                Y[new, each.columns] = generator.random((len(new), len(each.rest)))
            else:
                Y[new, each.columns] = each.block.draw(len(new), generator)
        return Y
