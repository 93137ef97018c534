"""The nearest points of {x : low <= x <= high, A x <= b}, for many points at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

# What rounding makes of a limit that is met.
_ROUNDING = 1e-13
_NEWTON_STEPS = 12
# Keeps sides that are parallel to each other from making a system singular.
_RIDGE = 1e-13


@dataclass(frozen=True, eq=False)
class Projection:
    """Moves some coordinates of points as little as possible until low <= x <= high, A x <= b.

    Args:
        low: (m,), lowest values of the coordinates that move.
        high: (m,), highest ones.
        columns: (m,), which coordinates these are.
        mixed: (j, m), the rows of A with two of them or more.
        in_mixed: (j,), the numbers of these rows.
        single: the rows with one, as its place, its coefficient and the number of the row.
        rest: (k, d), A without what moves.
        limits: b (k,).
    """

    low: Array
    high: Array
    columns: NDArray[np.intp]
    mixed: Array
    in_mixed: NDArray[np.intp]
    single: tuple[tuple[int, float, int], ...]
    rest: Array
    limits: Array

    @classmethod
    def of(
        cls, low: Array, high: Array, A: Array, b: Array, moving: NDArray[np.bool_] | None = None
    ) -> Projection:
        """The projection onto a domain.

        Args:
            low: (d,).
            high: (d,).
            A: (k, d), with rows of length 1 at most.
            b: (k,).
            moving: (d,), which coordinates move; by default all that are not fixed.

        Returns:
            What moves points there.
        """
        moves = (high > low) if moving is None else moving & (high > low)
        columns = np.flatnonzero(moves & (A != 0.0).any(axis=0))
        sides = A[:, columns]
        number = (sides != 0.0).sum(axis=1)
        places = [(int(np.flatnonzero(sides[i])[0]), int(i)) for i in np.flatnonzero(number == 1)]
        rest = A.copy()
        rest[:, columns] = 0.0
        return cls(
            low[columns],
            high[columns],
            columns,
            sides[number > 1],
            np.flatnonzero(number > 1),
            tuple((j, float(sides[i, j]), i) for j, i in places),
            rest,
            b,
        )

    def nearest(self, X: Array) -> Array:
        """The nearest point to each of X, up to rounding; what does not move is inside.

        It is clip(x - A^T t) with t >= 0, and t_i = 0 where a_i x < b_i. Newton's method finds
        which t are above 0 in a few steps, for all rows together; rows where it does not are
        solved one by one.

        Args:
            X: (R, d), points.

        Returns:
            Points, (R, d).
        """
        limits = self.limits - X @ self.rest.T
        x = X[:, self.columns]
        low, high = self._bounds(limits)
        b = limits[:, self.in_mixed]
        Y, rows = X.copy(), np.arange(len(X))
        found = np.minimum(np.maximum(x, low), high)
        t = np.zeros(b.shape)
        A = self.mixed
        for _ in range(_NEWTON_STEPS):
            moved = x[rows] - t @ A
            lowest, highest = low[rows], high[rows]
            found[rows] = within = np.minimum(np.maximum(moved, lowest), highest)
            over = within @ A.T - b[rows]
            wrong = (np.where(t > 0.0, np.abs(over), over) > _ROUNDING).any(axis=1)
            if not wrong.any():
                break
            free = (lowest <= moved) & (moved <= highest) & (lowest < highest)
            rows = rows[wrong]
            t = _newton(t[wrong], over[wrong], free[wrong], A)
        else:
            for row in rows:
                found[row] = _nearest_one(x[row], low[row], high[row], A, b[row])
        Y[:, self.columns] = found
        return Y

    def _bounds(self, limits: Array) -> tuple[Array, Array]:
        """Lowest and highest places (R, m), with inequalities of a single coordinate."""
        low, high = (np.tile(side, (len(limits), 1)) for side in (self.low, self.high))
        for j, coefficient, i in self.single:
            with np.errstate(over="ignore"):
                limit = limits[:, i] / coefficient
            # Where nothing is left, the bounds meet.
            side = np.minimum(np.maximum(limit, low[:, j]), high[:, j])
            (high if coefficient > 0.0 else low)[:, j] = side
        return low, high


def _newton(t: Array, over: Array, moving: NDArray[np.bool_], A: Array) -> Array:
    """One step of t (R, k) towards a . clip(x - A^T t) = b for the sides that are in the way."""
    held = t > 0.0
    # Sides that were gone beyond give way before others come in: two opposite ones cannot both.
    beyond = (held & (over < -_ROUNDING)).any(axis=1, keepdims=True)
    active = held | (over > 0.0) & ~beyond
    slope = (A * moving[:, None, :]) @ A.T
    slope *= active[:, :, None] & active[:, None, :]
    diagonal = np.arange(t.shape[1])
    slope[:, diagonal, diagonal] += np.where(active, _RIDGE, 1.0)
    step = np.linalg.solve(slope, np.where(active, over, 0.0)[..., None])[..., 0]
    return np.maximum(t + step, 0.0)


def _nearest_one(x: Array, low: Array, high: Array, A: Array, b: Array) -> Array:
    """The nearest point to x (m,) by least squares with coefficients >= 0.

    The shortest u with G u >= h is -r / r_0, where r and r_0 are the residuals of the least
    squares problem G^T w = 0, h . w = 1, w >= 0 (Lawson and Hanson, Solving least squares
    problems, chapter 23).
    """
    from scipy.optimize import nnls  # slow to import

    free = high > low
    start = np.where(free, x, low)
    eye = np.eye(int(free.sum()))
    G = np.vstack([-A[:, free], -eye, eye])
    h = np.concatenate([A @ start - b, (x - high)[free], (low - x)[free]])
    E, f = np.vstack([G.T, h]), np.append(np.zeros(len(eye)), 1.0)
    try:
        weights, _ = nnls(E, f)
    except RuntimeError:  # it gives up after so many rounds
        return np.minimum(np.maximum(start, low), high)
    residual = E @ weights - f
    if residual[-1] < -_ROUNDING:  # else there is no such point
        start[free] -= residual[:-1] / residual[-1]
    return np.minimum(np.maximum(start, low), high)


def pulled(X: Array, anchor: Array, columns: NDArray[np.intp], A: Array, b: Array) -> Array:
    """Points with some columns moved towards those of points inside, until they are within.

    Args:
        X: (R, d), points.
        anchor: (R, d), points inside.
        columns: which coordinates move.
        A: (k, d).
        b: (k,).

    Returns:
        Points, (R, d).
    """
    over, depth = X @ A.T - b, np.maximum(b - anchor @ A.T, 0.0)
    share = np.where(over > 0.0, over / np.maximum(over + depth, 1e-300), 0.0).max(axis=1)
    inside = X.copy()
    inside[:, columns] += share[:, None] * (anchor - X)[:, columns]
    return inside
