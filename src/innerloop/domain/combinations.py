"""Points of a mixed domain that are known, with different levels, and where others have to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.levels import Levels
from innerloop.domain.polytope import SLACK
from innerloop.domain.projection import Projection
from innerloop.types import Array

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

# With more combinations than this, or more points to find for them, some have to do.
_ALL_LEVELS, _ALL_POINTS = 4096, 512
_SOME, _DRAWN, _ROUNDS = 256, 1024, 8
_MOST_NODES = 2000


@dataclass(frozen=True, eq=False)
class Combinations:
    """Points of a domain that are known, one for each combination of levels in inequalities.

    Args:
        levels: those that are in inequalities.
        points: (N, d), points of the domain.
        complete: whether no other combination has a point.
    """

    levels: Levels
    points: Array
    complete: bool

    def allow(self, X: Array) -> None:
        """Move the levels of points X (R, d), where they are impossible, to possible ones near."""
        wanted = self.levels.levels(X)
        rows = np.flatnonzero(~self.levels.possible(wanted))
        if not len(rows):
            return
        wanted = wanted[rows]
        if not self.complete:
            chosen, possible = self.levels.near(wanted)
            X[rows[possible, None], self.levels.columns] = self.levels.positions(chosen[possible])
            rows, wanted = rows[~possible], wanted[~possible]
        known = self.points[self.nearest(wanted)[:, 0]]
        X[rows[:, None], self.levels.columns] = known[:, self.levels.columns]

    def follow(self, moved: Mapping[int, Array]) -> bool:
        """Move other levels of points so that those that went to a new one can stay there.

        Args:
            moved: points (N, d) by the column that has moved; changed in place.

        Returns:
            Whether that is impossible for most of them.
        """
        total = stuck = 0
        for j, column in enumerate(self.levels.columns.tolist()):
            wanted = self.levels.levels(moved[column])
            rows = np.flatnonzero(~self.levels.possible(wanted))
            chosen, possible = self.levels.near(wanted[rows], first=j)
            chosen = np.where(possible[:, None], chosen, wanted[rows])
            moved[column][rows[:, None], self.levels.columns] = self.levels.positions(chosen)
            total += len(wanted)
            stuck += int((~possible).sum())
        return 2 * stuck > total

    def moves(self, X: Array, number: int) -> tuple[NDArray[np.intp], Array]:
        """From points X (R, d) to known combinations near by: the owners (N,), and where (N, d)."""
        number = min(number + 1, len(self.points))
        index = self.nearest(self.levels.levels(X), number)
        owner = np.repeat(np.arange(len(X)), number)
        moved = X[owner]
        moved[:, self.levels.columns] = self.points[index.ravel()][:, self.levels.columns]
        return owner, moved

    def nearest(self, wanted: Array, number: int = 1) -> NDArray[np.intp]:
        """The known points whose levels are nearest to those wanted (F, n): (F, number)."""
        _, index = self._tree.query(self.levels.positions(wanted), k=number)
        return np.asarray(index, dtype=np.intp).reshape(len(wanted), number)

    @cached_property
    def _tree(self) -> cKDTree:
        """The coordinates of known combinations, to be searched for near ones."""
        from scipy.spatial import cKDTree  # slow to import

        return cKDTree(self.points[:, self.levels.columns])


def combinations(
    levels: Levels, centre: Array, A: Array, b: Array, low: Array, high: Array
) -> Combinations | None:
    """The combinations of a domain, or some of them; None if none is found.

    Args:
        levels: those that are in inequalities.
        centre: (d,), where the continuous coordinates would best be.
        A: (k, d).
        b: (k,).
        low: (d,), lowest coordinates.
        high: (d,), equal to low for all coordinates but those of the levels and continuous ones.

    Returns:
        Levels with points that are known.
    """
    moves = high > low
    moves[levels.columns] = False
    continuous = bool((A[:, moves] != 0.0).any())
    found = levels.everything(_ALL_POINTS if continuous else _ALL_LEVELS)
    complete = found is not None
    if found is None:
        found = _some(levels, centre)
    points = np.tile(centre, (len(found), 1))
    points[:, levels.columns] = levels.positions(found)
    if continuous:
        points = Projection.of(low, high, A, b, moves).nearest(points)
        points = points[(points @ A.T <= b + SLACK).all(axis=1)]
    if len(points):
        return Combinations(levels, points, complete)
    return None


def _some(levels: Levels, centre: Array) -> Array:
    """Some possible combinations, always the same: (N, n)."""
    generator = np.random.default_rng(0)
    wanted, possible = levels.near(levels.levels(centre)[None])
    found = wanted[possible]
    for _ in range(_ROUNDS):
        found = np.unique(np.concatenate([found, levels.draw(_DRAWN, generator)]), axis=0)
        if len(found) >= _SOME:
            break
    return found if len(found) else _by_programming(levels)


def _by_programming(levels: Levels) -> Array:
    """A possible combination by integer programming, for what cannot be found at random: (1, n)."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    # The solver takes a part in a million for nothing: no step may be as small as that.
    steps = np.where(levels.costs == 0.0, np.inf, np.abs(levels.costs)).min(axis=1)
    scale = 1.0 / np.where(np.isfinite(steps), steps, 1.0)
    result = milp(
        np.zeros(len(levels.top)),
        constraints=LinearConstraint(levels.costs * scale[:, None], ub=levels.limits * scale),
        bounds=Bounds(np.zeros(len(levels.top)), levels.top),
        integrality=np.ones(len(levels.top), dtype=np.int64),
        options={"node_limit": _MOST_NODES},
    )
    found = np.zeros((0, len(levels.top))) if result.x is None else np.rint(result.x)[None]
    return found[levels.possible(found)]
