"""Coordinates that take some values only: levels in order, or one of several categories.

Both kinds say where they may be (`snap`), how to draw them (`draw`), and where to go from a
given place in one move (`moves`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

# From a level: to every other one if they are few, else to near ones, far ones and random ones.
_ALL_LEVELS = 9
_STRIDES = np.array([1, 2, 4, 16, 64, 1024])
_RANDOM_LEVELS = 2


class Moves(NamedTuple):
    """Where N points might go in one move.

    Args:
        places: (N, k, w), coordinates that they might take.
        possible: (N, k), which of these are moves.
    """

    places: Array
    possible: NDArray[np.bool_]


@dataclass(frozen=True)
class Ordinal:
    """A coordinate with levels in order, from 0 to 1.

    Args:
        column: its place among the coordinates.
        count: how many levels it has.
        ratio: 1 for evenly spaced levels; high / low where evenly spaced values are seen through
            their logarithm.
    """

    column: int
    count: int
    ratio: float = 1.0

    @property
    def columns(self) -> slice:
        """Its place among the coordinates."""
        return slice(self.column, self.column + 1)

    def position(self, level: NDArray[np.integer] | Array) -> Array:
        """Coordinates of levels.

        Args:
            level: from 0 to count - 1, any shape.

        Returns:
            Coordinates of the same shape.
        """
        share = np.asarray(level, dtype=np.float64) / (self.count - 1)
        if self.ratio == 1.0:
            return share
        return np.asarray(np.log1p(share * (self.ratio - 1.0)) / np.log1p(self.ratio - 1.0))

    def level(self, u: Array) -> NDArray[np.int64]:
        """The level nearest to each coordinate.

        Args:
            u: coordinates, any shape.

        Returns:
            Levels from 0 to count - 1, of the same shape.
        """
        u = np.minimum(np.maximum(u, 0.0), 1.0)
        if self.ratio == 1.0:
            return np.rint(u * (self.count - 1)).astype(np.int64)
        share = np.expm1(u * np.log(self.ratio)) / (self.ratio - 1.0)
        below = np.floor(share * (self.count - 1)).astype(np.int64)
        below = np.minimum(np.maximum(below, 0), self.count - 2)
        nearer = self.position(below + 1) - u < u - self.position(below)
        return np.asarray(below + nearer)

    def number(self, coordinates: Array) -> NDArray[np.int64]:
        """The numbers of the values nearest to coordinates.

        Args:
            coordinates: (..., 1).

        Returns:
            Levels, (...).
        """
        return self.level(coordinates[..., 0])

    def snap(self, coordinates: Array) -> Array:
        """The nearest valid coordinates.

        Args:
            coordinates: (..., 1).

        Returns:
            Coordinates of levels, (..., 1).
        """
        return self.position(self.level(coordinates))

    def quantile(self, u: Array) -> Array:
        """Coordinates to which uniform numbers lead: to levels, or along the scale.

        Levels that are evenly spaced are equally likely; others by the room they have.

        Args:
            u: numbers in [0, 1), any shape.

        Returns:
            Coordinates of levels, of the same shape.
        """
        if self.ratio != 1.0:
            return self.snap(u)
        return self.position(np.minimum(np.floor(u * self.count), self.count - 1))

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Coordinates of random levels.

        Args:
            size: how many.
            generator: what to draw with.

        Returns:
            Coordinates, (size, 1).
        """
        return self.quantile(generator.random((size, 1)))

    def moves(self, coordinates: Array, generator: np.random.Generator) -> Moves:
        """Where to go in one move from each of N places.

        Args:
            coordinates: (N, 1).
            generator: what to draw with, where there are too many levels to list.

        Returns:
            Levels near by, some far ones and some random ones; all others if they are few.
        """
        here = self.level(coordinates)
        if self.count <= _ALL_LEVELS:
            levels = np.broadcast_to(np.arange(self.count), (len(here), self.count))
        else:
            jumps = generator.integers(self.count, size=(len(here), _RANDOM_LEVELS))
            levels = np.concatenate([here - _STRIDES, here + _STRIDES, jumps], axis=1)
        possible = (levels >= 0) & (levels < self.count) & (levels != here)
        inside = np.minimum(np.maximum(levels, 0), self.count - 1)
        return Moves(self.position(inside)[..., None], possible)


@dataclass(frozen=True)
class OneHot:
    """Consecutive coordinates of which one is 1 and the others are 0: a category.

    Args:
        first: the place of the first among the coordinates.
        count: how many there are.
    """

    first: int
    count: int

    @property
    def columns(self) -> slice:
        """Its place among the coordinates."""
        return slice(self.first, self.first + self.count)

    def number(self, coordinates: Array) -> NDArray[np.int64]:
        """The numbers of the categories of the largest coordinates.

        Args:
            coordinates: (..., count).

        Returns:
            From 0 to count - 1, (...).
        """
        return np.asarray(np.argmax(coordinates, axis=-1), dtype=np.int64)

    def snap(self, coordinates: Array) -> Array:
        """The category of the largest coordinate.

        Args:
            coordinates: (..., count).

        Returns:
            Coordinates of categories, (..., count).
        """
        vertices: Array = np.eye(self.count)[np.argmax(coordinates, axis=-1)]
        return vertices

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Random categories, all equally likely.

        Args:
            size: how many.
            generator: what to draw with.

        Returns:
            Coordinates, (size, count).
        """
        drawn: Array = np.eye(self.count)[generator.integers(self.count, size=size)]
        return drawn

    def moves(self, coordinates: Array, generator: np.random.Generator) -> Moves:
        """To every other category than that of each of N places.

        Args:
            coordinates: (N, count).
            generator: not needed here.

        Returns:
            All categories, of which all but one are moves.
        """
        here = np.argmax(coordinates, axis=-1)[:, None]
        places = np.broadcast_to(np.eye(self.count), (len(here), self.count, self.count))
        return Moves(places, np.arange(self.count) != here)


Discrete = Ordinal | OneHot
