"""Points near by that meet limits which are not linear, by Newton's method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from innerloop.types import Array

if TYPE_CHECKING:
    from innerloop.domain.curved import Limit
    from innerloop.domain.domain import Domain

_NEWTON_STEPS = 8
# The last steps are the shortest ones from where the others have led: these converge faster.
_SHORTEST = 4
# So often sides of the linear part that a step crosses become limits of the step.
_SIDES = 3
# Steps aim this far beyond the distance that is to be kept, in coordinates.
_REACHED = 4e-10
# Keeps limits that touch each other from making a system singular.
_RIDGE = 1e-12
# No step is longer: far away a linear function says little.
_LONGEST = 0.5


def newton(linear: Domain, limits: tuple[Limit, ...], X: Array) -> Array:
    """Points near by that meet limits, if Newton's method finds some.

    With g and G the functions and their slopes at y, the next point nearest to x is

        y <- x - G^T t,    G G^T t = g + G (x - y),    t >= 0,

    over the limits that are or were not met, moved into the linear part (Nocedal and Wright 2006,
    section 18.1). Coordinates that a step takes beyond their ends stop there, and the others move
    instead; inequalities that it crosses become limits. In the last steps x = y.

    Args:
        linear: the domain without limits.
        limits: some of them.
        X: (R, d), points of the linear part.

    Returns:
        Points of the linear part, (R, d).
    """
    moving = linear.continuous & (linear.high > linear.low)
    Y, rows = X.copy(), np.arange(len(X))
    held = np.zeros((len(X), len(limits)), dtype=bool)
    for remaining in reversed(range(_NEWTON_STEPS)):
        found = [limit.linearized(Y[rows]) for limit in limits]
        g = np.stack([value for value, _ in found], axis=1)
        slopes = np.stack([slope for _, slope in found], axis=1)
        held |= g > 0.0
        usable = held & np.isfinite(g) & np.isfinite(slopes).all(axis=2)
        G = linear.in_plane(np.where(usable[..., None] & moving, slopes, 0.0))
        going = usable.any(axis=1) & (g > _REACHED * np.abs(slopes).sum(axis=2)).any(axis=1)
        if not going.any():
            break
        rows, held = rows[going], held[going]
        y, g, usable = Y[rows], np.where(usable, g, 0.0)[going], usable[going]
        ahead = (X[rows] - y) * (remaining >= _SHORTEST)
        step = _step(g, G[going], ahead)
        steep = np.where(usable[..., None] & moving, slopes[going], 0.0)
        step = _within_sides(linear, y, step, g, steep, ahead)
        longest = np.maximum(np.abs(step).max(axis=1, keepdims=True), _LONGEST)
        Y[rows] = linear.project(y + step * (_LONGEST / longest))
    return Y


def _step(g: Array, G: Array, ahead: Array) -> Array:
    """The least change of ways ahead (R, d) that meets g + G step <= 0: (R, d)."""
    gap = g + (G @ ahead[..., None])[..., 0]
    return np.asarray(ahead - (np.swapaxes(G, 1, 2) @ _multipliers(G, gap)[..., None])[..., 0])


def _within_sides(
    linear: Domain, Y: Array, step: Array, g: Array, steep: Array, ahead: Array
) -> Array:
    """Steps (R, d) from points Y (R, d) that end at sides of the linear part which they crossed.

    g, steep: limits (R, k) with their slopes (R, k, d), as they are in the cube. ahead: ways that
    steps should be like, (R, d).
    """
    A, b = linear.one_sided
    moving = linear.continuous & (linear.high > linear.low)
    slopes, room = A * moving, Y @ A.T - b
    stopped, crossed = np.zeros(Y.shape, dtype=bool), np.zeros(room.shape, dtype=bool)
    step, rows = step.copy(), np.arange(len(Y))
    for _ in range(_SIDES):
        there = Y[rows] + step[rows]
        beyond = ((there < linear.low) | (there > linear.high)) & moving & ~stopped[rows]
        over = (there @ A.T > b + _REACHED) & ~crossed[rows]
        more = beyond.any(axis=1) | over.any(axis=1)
        rows = rows[more]
        if not len(rows):
            break
        stopped[rows] |= beyond[more]
        crossed[rows] |= over[more]
        ends = np.minimum(np.maximum(Y[rows] + step[rows], linear.low), linear.high) - Y[rows]
        sides = np.where(crossed[rows, :, None], slopes, 0.0)
        step[rows] = _with_stops(
            linear.normals,
            np.concatenate([g[rows], np.where(crossed[rows], room[rows], 0.0)], axis=1),
            np.concatenate([steep[rows], sides], axis=1),
            ahead[rows],
            np.where(stopped[rows], ends, np.nan),
        )
    return step


def _with_stops(normals: Array | None, g: Array, steep: Array, ahead: Array, ends: Array) -> Array:
    """Steps (R, d) of which some coordinates are given: others meet limits and equations.

    ends: (R, d), those that are given; else NaN.
    """
    stopped = ~np.isnan(ends)
    stops = np.where(stopped, ends, 0.0)
    G, ahead = np.where(stopped[:, None], 0.0, steep), np.where(stopped, 0.0, ahead)
    if normals is not None:
        N = np.where(stopped[:, None], 0.0, normals)
        across = np.linalg.pinv(N, rcond=_RIDGE**0.5)
        G = G - (G @ across) @ N
        ahead = ahead - (across @ (N @ ahead[..., None] + (stops @ normals.T)[..., None]))[..., 0]
    return _step(g + (steep @ stops[..., None])[..., 0], G, ahead) + stops


def _multipliers(G: Array, gap: Array) -> Array:
    """t >= 0 with G G^T t = gap, for slopes G (R, k, d) and gaps (R, k): (R, k)."""
    gram = G @ np.swapaxes(G, 1, 2)
    k = np.arange(gram.shape[1])
    size = gram[:, k, k]
    gram[:, k, k] += np.where(size > 0.0, _RIDGE * size, 1.0)
    return np.asarray(np.maximum(np.linalg.solve(gram, gap[..., None])[..., 0], 0.0))
