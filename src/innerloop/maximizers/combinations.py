"""Points of a mixed domain that are known, with different levels, and where others have to go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from innerloop.checks import Array
from innerloop.maximizers.levels import Levels
from innerloop.maximizers.polytope import SLACK
from innerloop.maximizers.projection import Projection

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

# With more combinations than this, or more points to find for them, some have to do.
_ALL_LEVELS, _ALL_POINTS = 4096, 512
_SOME, _DRAWN, _ROUNDS = 256, 1024, 8
_MOST_NODES = 2000


@dataclass(frozen=True, eq=False)
class Combinations:
    """Levels that are in inequalities, and points of the domain (N, d), one per combination.

    complete: whether no other combination has a point.
    """

    levels: Levels
    points: Array
    complete: bool

    def allowed(self, wanted: Array) -> tuple[Array, NDArray[np.intp]]:
        """Combinations near those wanted (F, n), and the known points nearest to them: (F,)."""
        levels = self.levels
        if self.complete:
            index = self.known(wanted)[:, 0]
            return levels.levels(self.points[index]), index
        chosen, possible = levels.near(wanted)
        index = self.known(np.where(possible[:, None], chosen, wanted))[:, 0]
        return np.where(possible[:, None], chosen, levels.levels(self.points[index])), index

    def follow(self, X: Array, column: int) -> None:
        """Move the other levels of points X (R, d) to where they may be with that of a column."""
        place = np.flatnonzero(self.levels.columns == column)
        wanted = self.levels.levels(X)
        rows = np.flatnonzero(~self.levels.possible(wanted))
        if len(place) and len(rows):
            chosen, possible = self.levels.near(wanted[rows], int(place[0]))
            chosen = np.where(possible[:, None], chosen, wanted[rows])
            X[rows[:, None], self.levels.columns] = self.levels.positions(chosen)

    def moves(self, X: Array, number: int) -> tuple[NDArray[np.intp], Array]:
        """From points X (R, d) to known combinations near by: the owners (N,), and where (N, d)."""
        number = min(number + 1, len(self.points))
        index = self.known(self.levels.levels(X), number)
        owner = np.repeat(np.arange(len(X)), number)
        moved = X[owner]
        moved[:, self.levels.columns] = self.points[index.ravel()][:, self.levels.columns]
        return owner, moved

    def known(self, wanted: Array, number: int = 1) -> NDArray[np.intp]:
        """The known points whose levels are nearest to those wanted (F, n): (F, number)."""
        _, index = self._tree.query(self.levels.positions(wanted), k=number)
        return np.asarray(index, dtype=np.intp).reshape(len(wanted), number)

    @cached_property
    def _tree(self) -> cKDTree:
        from scipy.spatial import cKDTree  # slow to import

        return cKDTree(self.points[:, self.levels.columns])


def combinations(
    levels: Levels, centre: Array, A: Array, b: Array, low: Array, high: Array
) -> Combinations | None:
    """The combinations of a domain, or some of them; None if none is found.

    low, high: equal for all coordinates but those of the levels and continuous ones; centre: (d,),
    where the continuous ones would best be.
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
