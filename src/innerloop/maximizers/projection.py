"""The nearest points of {x : low <= x <= high, A x <= b}, for many points at once.

low, high: (d,), or (R, d) where every row has bounds of its own; A: (k, d) with rows of length 1
at most, b: (k,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from innerloop.checks import Array

# What rounding makes of a limit that is met.
_ROUNDING = 1e-13
_NEWTON_STEPS = 12
# Keeps sides that are parallel to each other from making a system singular.
_RIDGE = 1e-13


def nearest(X: Array, low: Array, high: Array, A: Array, b: Array) -> Array:
    """The nearest point to each of X (R, d), up to rounding; within low and high in any case.

    It is clip(x - A^T t) with t >= 0, and t_i = 0 where a_i x < b_i. Newton's method finds which
    t are above 0 in a few steps, for all rows together; rows where it does not are solved one by
    one.
    """
    low, high = np.broadcast_to(low, X.shape), np.broadcast_to(high, X.shape)
    Y = np.minimum(np.maximum(X, low), high)
    rows = np.flatnonzero((Y @ A.T > b + _ROUNDING).any(axis=1))
    t = np.zeros((len(rows), b.size))
    for _ in range(_NEWTON_STEPS):
        x, lowest, highest = X[rows], low[rows], high[rows]
        moved = x - t @ A
        Y[rows] = within = np.minimum(np.maximum(moved, lowest), highest)
        over = within @ A.T - b
        wrong = (np.where(t > 0.0, np.abs(over), over) > _ROUNDING).any(axis=1)
        if not wrong.any():
            return Y
        moving = (lowest <= moved) & (moved <= highest) & (lowest < highest)
        rows, t = rows[wrong], t[wrong]
        t = _newton(t, over[wrong], moving[wrong], A)
    for row in rows:
        Y[row] = _nearest_one(X[row], low[row], high[row], A, b)
    return Y


def _newton(t: Array, over: Array, moving: NDArray[np.bool_], A: Array) -> Array:
    """One step of t (R, k) towards a . clip(x - A^T t) = b for the sides that are in the way."""
    active = (t > 0.0) | (over > 0.0)
    slope = (A * moving[:, None, :]) @ A.T
    slope *= active[:, :, None] & active[:, None, :]
    diagonal = np.arange(t.shape[1])
    slope[:, diagonal, diagonal] += np.where(active, _RIDGE, 1.0)
    step = np.linalg.solve(slope, np.where(active, over, 0.0)[..., None])[..., 0]
    return np.maximum(t + step, 0.0)


def _nearest_one(x: Array, low: Array, high: Array, A: Array, b: Array) -> Array:
    """The nearest point to x (d,) by least squares with coefficients >= 0.

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


def pulled(X: Array, anchor: Array, A: Array, b: Array, slack: float) -> Array:
    """X (R, d), moved towards points of the domain (R, d) or (d,) where outside by over `slack`."""
    over = X @ A.T - b
    if (over <= slack).all():
        return X
    depth = np.maximum(b - anchor @ A.T, 0.0)
    share = np.where(over > slack, over / np.maximum(over + depth, slack), 0.0).max(axis=-1)
    inside: Array = X + share[:, None] * (anchor - X)
    return inside
