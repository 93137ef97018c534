"""Limits that are not linear: whether points meet them, and the way back for those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.newton import newton
from innerloop.types import Array

if TYPE_CHECKING:
    from innerloop.domain.domain import Domain

# Pulled points are this close to where the way becomes free, in parts of the way; so many places on
# it are looked at together, if there are few points, or at one time.
_CLOSEST, _PLACES, _MOST_PLACES = 2.0**-40, 15, 512
# A discrete value that differs counts as much as this in a distance.
_DISCRETE = 10.0


class Limit(Protocol):
    """A function of queries that may not be above 0."""

    @property
    def columns(self) -> NDArray[np.bool_]:
        """The coordinates that it depends on: (d,)."""

    @property
    def is_costly(self) -> bool:
        """Whether queries are valued one after the other, by a call of a function for each."""

    def excess(self, X: Array, slack: float) -> Array:
        """By how much queries are beyond the limit.

        Args:
            X: (R, d), points.
            slack: by how much continuous coordinates may be outside.

        Returns:
            Numbers that are 0 or less where the limit is met, (R,).
        """

    def linearized(self, X: Array) -> tuple[Array, Array]:
        """The function as it is near queries, less than 0 where 1e-9 away from the limit.

        Args:
            X: (R, d), points.

        Returns:
            Its values (R,) and its slopes (R, d).
        """


@dataclass(frozen=True, eq=False)
class Curved:
    """What limits leave of a domain.

    Args:
        linear: the domain without them.
        limits: which are not linear.
        points: (N, d), points that meet them.
    """

    linear: Domain
    limits: tuple[Limit, ...]
    points: Array

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """Coordinates that are in a limit or in an inequality: (d,)."""
        columns = [self.linear.linked, *(limit.columns for limit in self.limits)]
        linked = np.asarray(np.any(columns, axis=0))
        if self.linear.conditions is not None:  # what applies goes with what makes it apply
            linked[self.linear.conditions.columns] = True
        return linked

    def contains(self, X: Array, slack: float) -> NDArray[np.bool_]:
        """Whether points (R, d) meet all limits, by as much as `slack` allows: (R,)."""
        return meets(self.limits, X, slack)

    def with_levels(self, count: int) -> Curved:
        """The same in a domain with one more coordinate, see `Domain.with_levels`."""
        limits = tuple(_OfOthers(limit) for limit in self.limits)
        return Curved(self.linear.with_levels(count), limits, wider(self.points))

    def inside(self, X: Array) -> Array:
        """Points of the domain near points X (R, d) of its linear part.

        Newton's method finds where a limit is met with the least move. Where it does not, points
        are pulled towards one that is known, as little as is needed.
        """
        Y = X.copy()
        outside = np.flatnonzero(~self.contains(X, 0.0))
        if len(outside):
            Y[outside] = newton(self.linear, self.limits, X[outside])
            stuck = outside[~self.contains(Y[outside], 0.0)]
            if len(stuck):
                Y[stuck] = self._pulled(X[stuck])
        return Y

    def _pulled(self, X: Array) -> Array:
        """Points of the domain on the way from X (R, d) to known ones: (R, d)."""
        known = self.points[self._nearest(X)]
        fixed = self.linked & ~self.linear.continuous
        differs = np.flatnonzero((X[:, fixed] != known[:, fixed]).any(axis=1))
        if len(differs):
            X[differs] = self._with_values_of(known[differs], X[differs], fixed)
        way = np.where(self.linked, known - X, 0.0)
        far, step = np.ones((len(X), 1)), 1.0
        costly = any(limit.is_costly for limit in self.limits)
        number = 1 if costly else max(1, min(_PLACES, _MOST_PLACES // len(X)))
        shares = np.arange(number, 0, -1) / (number + 1)
        while step > _CLOSEST:
            places = far - step * shares
            tried = X[:, None] + places[..., None] * way[:, None]
            inside = self.contains(tried.reshape(-1, X.shape[1]), 0.0).reshape(places.shape)
            first = np.where(inside, places, far).min(axis=1, keepdims=True)
            far, step = first, step / (number + 1)
        # All the way, rounding may not be in between.
        return np.where(self.linked & (far == 1.0), known, X + far * way)

    def _with_values_of(self, known: Array, X: Array, columns: NDArray[np.bool_]) -> Array:
        """X (R, d) with the discrete values of known points, within the linear part."""
        moved = self.linear.followed(np.where(columns, known, X))
        outside = ~self.linear.contains(moved)
        return np.where(self.linked & outside[:, None], known, moved)

    def _nearest(self, X: Array) -> NDArray[np.intp]:
        """The known point nearest to each of X (R, d), of those with its discrete values: (R,)."""
        weights = np.where(self.linear.continuous, 1.0, _DISCRETE) * self.linked
        a, b = X * weights, self.points * weights
        return np.asarray(np.argmin((b**2).sum(axis=1) - 2.0 * a @ b.T, axis=1))


@dataclass(frozen=True)
class _OfOthers:
    """A limit of all coordinates but the last."""

    limit: Limit

    @property
    def columns(self) -> NDArray[np.bool_]:
        """The coordinates that it depends on: (d,)."""
        return np.append(self.limit.columns, False)

    @property
    def is_costly(self) -> bool:
        """Whether queries are valued one after the other."""
        return self.limit.is_costly

    def excess(self, X: Array, slack: float) -> Array:
        """By how much queries (R, d) are beyond the limit: (R,)."""
        return self.limit.excess(X[:, :-1], slack)

    def linearized(self, X: Array) -> tuple[Array, Array]:
        """The function as it is near queries (R, d): its values (R,) and its slopes (R, d)."""
        values, slopes = self.limit.linearized(X[:, :-1])
        return values, wider(slopes)


def wider(rows: Array) -> Array:
    """Rows (R, d) with one more coordinate, which is 0: (R, d + 1)."""
    return np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)


def meets(limits: tuple[Limit, ...], X: Array, slack: float) -> NDArray[np.bool_]:
    """Whether points meet limits.

    Args:
        limits: some of them.
        X: (R, d), points.
        slack: by how much continuous coordinates may be outside.

    Returns:
        Whether they do, (R,).
    """
    inside = np.ones(len(X), dtype=bool)
    for limit in limits:
        rows = np.flatnonzero(inside)
        inside[rows] = limit.excess(X[rows], slack) <= 0.0
    return inside
