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
    """Coordinates (N, k, w) that N points might take, and which of them are moves: (N, k)."""

    places: Array
    possible: NDArray[np.bool_]


@dataclass(frozen=True)
class Ordinal:
    """A coordinate with `count` levels from 0 to 1.

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
        """Coordinates of levels 0 to count - 1, any shape."""
        share = np.asarray(level, dtype=np.float64) / (self.count - 1)
        if self.ratio == 1.0:
            return share
        return np.asarray(np.log1p(share * (self.ratio - 1.0)) / np.log1p(self.ratio - 1.0))

    def level(self, u: Array) -> NDArray[np.int64]:
        """The level nearest to each coordinate, any shape."""
        u = np.minimum(np.maximum(u, 0.0), 1.0)
        if self.ratio == 1.0:
            return np.rint(u * (self.count - 1)).astype(np.int64)
        share = np.expm1(u * np.log(self.ratio)) / (self.ratio - 1.0)
        below = np.floor(share * (self.count - 1)).astype(np.int64)
        below = np.minimum(np.maximum(below, 0), self.count - 2)
        nearer = self.position(below + 1) - u < u - self.position(below)
        return np.asarray(below + nearer)

    def snap(self, coordinates: Array) -> Array:
        """The nearest valid coordinates: (..., 1) -> (..., 1)."""
        return self.position(self.level(coordinates))

    def quantile(self, u: Array) -> Array:
        """Coordinates to which u in [0, 1) leads, any shape: uniform to levels, or along the scale.

        Levels that are evenly spaced are equally likely; others by the room they have.
        """
        if self.ratio != 1.0:
            return self.snap(u)
        return self.position(np.minimum(np.floor(u * self.count), self.count - 1))

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Coordinates of random levels: (size, 1)."""
        return self.quantile(generator.random((size, 1)))

    def moves(self, coordinates: Array, generator: np.random.Generator) -> Moves:
        """Where to go in one move from each of (N, 1)."""
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
    """`count` consecutive coordinates of which one is 1 and the others are 0."""

    first: int
    count: int

    @property
    def columns(self) -> slice:
        """Its place among the coordinates."""
        return slice(self.first, self.first + self.count)

    def snap(self, coordinates: Array) -> Array:
        """The category of the largest coordinate: (..., count) -> (..., count)."""
        vertices: Array = np.eye(self.count)[np.argmax(coordinates, axis=-1)]
        return vertices

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Random categories, all equally likely: (size, count)."""
        drawn: Array = np.eye(self.count)[generator.integers(self.count, size=size)]
        return drawn

    def moves(self, coordinates: Array, generator: np.random.Generator) -> Moves:
        """To every other category than that of each of (N, count)."""
        here = np.argmax(coordinates, axis=-1)[:, None]
        places = np.broadcast_to(np.eye(self.count), (len(here), self.count, self.count))
        return Moves(places, np.arange(self.count) != here)


Discrete = Ordinal | OneHot
