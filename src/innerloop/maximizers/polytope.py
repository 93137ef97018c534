"""Points of {x : low <= x <= high, A x <= b}: the nearest ones, random ones, and the middle.

low, high: (d,), or (R, d) where every row has bounds of its own; A: (k, d), b: (k,).
"""

from __future__ import annotations

import numpy as np

from innerloop.checks import Array
from innerloop.maximizers.discrete import Discrete, Ordinal

_SWEEPS = 200
_TOLERANCE = 1e-10
_LEVEL_TOLERANCE = 1e-9


def nearest(X: Array, low: Array, high: Array, A: Array, b: Array) -> Array:
    """The nearest point is clip(X - A^T t), t >= 0: ascent of the dual in one t_i at a time."""
    low, high = np.broadcast_to(low, X.shape), np.broadcast_to(high, X.shape)
    multipliers = np.zeros((len(X), b.size))
    for _ in range(_SWEEPS):
        before = multipliers.copy()
        for i, a in enumerate(A):
            multipliers[:, i] = 0.0
            multipliers[:, i] = _multiplier(X - multipliers @ A, low, high, a, b[i])
        if np.abs(multipliers - before).max(initial=0.0) < _TOLERANCE:
            break
    return np.minimum(np.maximum(X - multipliers @ A, low), high)


def _multiplier(X: Array, low: Array, high: Array, a: Array, limit: float) -> Array:
    """The smallest t >= 0 for which a . clip(X - t a) <= limit: (R, d) -> (R,).

    That is piecewise linear in t and falls, with breaks where a coordinate meets a bound.
    """
    moving = a != 0.0
    breaks = [(X - side)[:, moving] / a[moving] for side in (low, high)]
    t = np.sort(np.maximum(np.hstack([np.zeros((len(X), 1)), *breaks]), 0.0), axis=1)
    moved = X[:, None] - t[..., None] * a
    over = np.minimum(np.maximum(moved, low[:, None]), high[:, None]) @ a - limit
    rows, right = np.arange(len(X)), np.minimum((over > 0.0).sum(axis=1), t.shape[1] - 1)
    left = np.maximum(right - 1, 0)
    fall = over[rows, left] - over[rows, right]
    share = np.clip(over[rows, left] / np.where(fall > 0.0, fall, 1.0), 0.0, 1.0)
    root = t[rows, left] + share * (t[rows, right] - t[rows, left])
    return np.where(right > 0, root, 0.0)


def hit_and_run(
    start: Array, low: Array, high: Array, A: Array, b: Array, generator: np.random.Generator
) -> Array:
    """Points reached from `start` (R, d) by steps to random places on random lines: (R, d)."""
    X = start
    size, d = X.shape
    sides = np.vstack([A, np.eye(d), -np.eye(d)])
    limits = np.concatenate([b, high, -low])
    moving = high > low
    for _ in range(10 + 2 * d):
        direction = generator.standard_normal((size, d)) * moving
        speed, room = direction @ sides.T, np.maximum(limits - X @ sides.T, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            time = room / speed
        ahead = np.where(speed > 1e-12, time, np.inf).min(axis=1, keepdims=True)
        behind = np.where(speed < -1e-12, time, -np.inf).max(axis=1, keepdims=True)
        stuck = ~(np.isfinite(ahead) & np.isfinite(behind))
        step = behind + (ahead - behind) * generator.random((size, 1))
        X = X + np.where(stuck, 0.0, step) * direction
    return X


def one_by_one(
    start: Array,
    low: Array,
    high: Array,
    A: Array,
    b: Array,
    discrete: tuple[Discrete, ...],
    generator: np.random.Generator,
) -> Array:
    """Points reached from `start` (R, d) by redrawing one coordinate after the other: (R, d).

    Discrete coordinates go to any of the levels that the inequalities leave them, given the
    others; categories are in no inequality.
    """
    X = start.copy()
    ordinal = {block.column: block for block in discrete if isinstance(block, Ordinal)}
    categories = [block for block in discrete if not isinstance(block, Ordinal)]
    inside = {c for block in categories for c in range(block.columns.start, block.columns.stop)}
    free = [j for j in range(low.size) if high[j] > low[j] and j not in inside]
    for _ in range(10 + 2 * len(free)):
        for j in free:
            floor, ceiling = _interval(X, j, low[j], high[j], A, b)
            share = generator.random(len(X))
            if j not in ordinal:
                X[:, j] = floor + share * (ceiling - floor)
                continue
            here, span = ordinal[j].level(X[:, j]), ordinal[j].count - 1
            if not A[:, j].any():
                floor, ceiling = np.zeros(len(X)), np.ones(len(X))
            lowest = np.minimum(np.ceil(floor * span - _LEVEL_TOLERANCE), here)
            highest = np.maximum(np.floor(ceiling * span + _LEVEL_TOLERANCE), here)
            chosen = np.minimum(lowest + np.floor(share * (highest - lowest + 1.0)), highest)
            X[:, j] = ordinal[j].position(chosen)
    for category in categories:
        X[:, category.columns] = category.draw(len(X), generator)
    return X


def _interval(X: Array, j: int, low: float, high: float, A: Array, b: Array) -> tuple[Array, Array]:
    """Between which values coordinate j may lie, given the others: (R,), (R,)."""
    floor, ceiling = np.full(len(X), low), np.full(len(X), high)
    room = b - X @ A.T
    for i in np.flatnonzero(A[:, j]):
        limit = X[:, j] + np.maximum(room[:, i], 0.0) / A[i, j]
        if A[i, j] > 0.0:
            ceiling = np.minimum(ceiling, limit)
        else:
            floor = np.maximum(floor, limit)
    return floor, np.maximum(ceiling, floor)


def middle(
    A: Array, b: Array, low: Array, high: Array, discrete: tuple[Discrete, ...] = ()
) -> Array | None:
    """The point farthest from all sides over the free continuous coordinates; None if none is.

    Discrete coordinates are at one of their levels, by mixed-integer programming.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    d = low.size
    unit, is_level = np.ones(d), np.zeros(d, dtype=bool)
    for block in discrete:
        is_level[block.columns] = True
        if isinstance(block, Ordinal):
            unit[block.column] = 1.0 / (block.count - 1)
    # Maximize the distance r to every side: a . x + r |a| <= b, and r <= x - low, high - x.
    free = (high > low) & ~is_level
    sides = np.hstack([A * unit, np.linalg.norm(A[:, free], axis=1, keepdims=True)])
    eye = np.hstack([np.eye(d), np.ones((d, 1))])[free]
    rows = np.vstack([sides, eye, np.hstack([-eye[:, :d], eye[:, d:]])])
    limits = np.concatenate([b, high[free], -low[free]])
    result = milp(
        np.append(np.zeros(d), -1.0),
        constraints=LinearConstraint(rows, ub=limits),
        bounds=Bounds(np.append(low / unit, 0.0), np.append(high / unit, 1.0 if free.any() else 0)),
        integrality=np.append(is_level, False).astype(int),
    )
    if result.x is None:
        return None
    point: Array = np.where(is_level, np.rint(result.x[:d]), result.x[:d]) * unit
    for block in discrete:
        point[block.columns] = block.snap(point[block.columns])
    return point
