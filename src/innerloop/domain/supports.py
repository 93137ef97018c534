"""Which of some coordinates may be away from their zeros together: these are a support."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

Present = NDArray[np.bool_]

# With more sets than this on the way, supports are not listed.
_MOST_SETS = 2**16


class Exchanges(NamedTuple):
    """Supports one exchange away from others.

    Args:
        owner: (N,), which support each comes from.
        present: (N, n), what it has.
    """

    owner: NDArray[np.intp]
    present: Present


@dataclass(frozen=True, eq=False)
class Supports:
    """Which of n coordinates may be away from their zeros together.

    Supports are as large as may be: a coordinate of one may still be at its zero, unless it is
    switched.

    Args:
        columns: (n,), which coordinates.
        zeros: (n,), where they are if they are absent.
        lowest: (n,), where they begin if they are present.
        switched: (n,), which of them have a gap between zero and there.
        groups: (g, n), sets of them of which some only may be present.
        most: (g,), how many of each.
    """

    columns: NDArray[np.intp]
    zeros: Array
    lowest: Array
    switched: Present
    groups: Present
    most: NDArray[np.intp]

    def present(self, X: Array, slack: float = 0.0) -> Present:
        """Which coordinates of points are away from their zeros.

        Args:
            X: (R, d), points.
            slack: how far away is nothing.

        Returns:
            Which, (R, n).
        """
        return np.asarray(np.abs(X[:, self.columns] - self.zeros) > slack)

    def allowed(self, present: Present) -> Present:
        """Which sets of coordinates may be present together.

        Args:
            present: (..., n).

        Returns:
            Which of them, (...).
        """
        return np.asarray((present @ self.groups.T.astype(np.intp) <= self.most).all(axis=-1))

    def completed(self, present: Present, order: NDArray[np.intp]) -> Present:
        """Supports that have what sets have, and as much more as may be.

        Args:
            present: (R, n), sets that are allowed.
            order: (R, n), in which coordinates are added; those switched are not.

        Returns:
            Supports, (R, n).
        """
        completed, rows = present.copy(), np.arange(len(present))
        for column in order.T:
            more = completed.copy()
            more[rows, column] |= ~self.switched[column]
            completed = np.where(self.allowed(more)[:, None], more, completed)
        return completed

    def everything(self, limit: int) -> Present | None:
        """All supports, in order.

        Args:
            limit: how many there may be.

        Returns:
            Supports (N, n); None if they are, or might be, more than the limit.
        """
        sets = np.zeros((1, len(self.columns)), dtype=bool)
        for column in range(len(self.columns)):
            more = sets.copy()
            more[:, column] = True
            sets = np.concatenate([sets, more[self.allowed(more)]])
            if len(sets) > _MOST_SETS:
                return None
        order = np.tile(np.arange(len(self.columns)), (len(sets), 1))
        sets = sets[(self.completed(sets, order) == sets).all(axis=1)]
        return None if len(sets) > limit else sets[np.lexsort(~sets.T[::-1])]

    def exchanges(self, present: Present, limit: int, generator: np.random.Generator) -> Exchanges:
        """Supports in which one coordinate takes the place of another, or is switched on or off.

        Args:
            present: (R, n), what others have.
            limit: how many for each of them; some at random, if there are more.
            generator: what to draw with.

        Returns:
            These supports.
        """
        moved = present[:, None] ^ self._flips
        both = (present[:, None] & self._flips).sum(axis=2) == 1
        singles = self._flips.sum(axis=1) == 1
        possible = self.allowed(moved) & np.where(singles, True, both)
        keys = np.where(possible, generator.random(possible.shape), np.inf)
        chosen = np.argsort(keys, axis=1)[:, :limit]
        owner, place = np.nonzero(np.take_along_axis(possible, chosen, axis=1))
        return Exchanges(owner, moved[owner, chosen[owner, place]])

    def distances(self, X: Array, present: Present) -> Array:
        """Squared distances of points to where the coordinates of supports may be.

        Args:
            X: (R, d), points.
            present: (M, n), supports.

        Returns:
            Distances, (R, M).
        """
        absent, there = self.costs(X)
        return there @ present.T.astype(np.float64) + absent @ (~present).T.astype(np.float64)

    def costs(self, X: Array) -> tuple[Array, Array]:
        """Squared distances of the coordinates of points to where they are absent or present.

        Args:
            X: (R, d), points.

        Returns:
            To their zeros (R, n), and to the nearest places if they are present (R, n).
        """
        x = X[:, self.columns]
        nearest = np.minimum(np.maximum(x, self.lowest), 1.0)
        return (x - self.zeros) ** 2, (x - nearest) ** 2

    def nearest(self, X: Array) -> Present:
        """Supports near points: what is farthest from its zero is present, as far as may be.

        Args:
            X: (R, d), points.

        Returns:
            Supports, (R, n).
        """
        absent, there = self.costs(X)
        order = np.argsort(there - absent, axis=1, kind="stable")
        present, rows = np.zeros(absent.shape, dtype=bool), np.arange(len(X))
        for column in order.T:
            more = present.copy()
            wanted = ~self.switched[column] | (there[rows, column] < absent[rows, column])
            more[rows, column] = wanted
            present = np.where(self.allowed(more)[:, None], more, present)
        return present

    @cached_property
    def _flips(self) -> Present:
        """What an exchange changes: one coordinate that is switched, or two: (f, n)."""
        eye = np.eye(len(self.columns), dtype=bool)
        first, second = np.triu_indices(len(eye), 1)
        return np.concatenate([eye[self.switched], eye[first] | eye[second]])
