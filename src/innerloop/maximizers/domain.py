"""Where queries may lie: the unit cube, cut by linear inequalities, with some coordinates fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.checks import Array
from innerloop.errors import InputError

_SWEEPS = 200
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Domain:
    """{x : low <= x <= high, A x <= b}, a part of the unit cube.

    low, high: (d,), equal where a coordinate is fixed; A: (k, d), b: (k,); interior: (d,), a point
    as far from all sides as can be.
    """

    low: Array
    high: Array
    A: Array
    b: Array
    interior: Array

    @property
    def d(self) -> int:
        """Dimension of the queries."""
        return int(self.low.size)

    @property
    def is_box(self) -> bool:
        """Whether there are no linear inequalities."""
        return self.b.size == 0

    def contains(self, X: Array, slack: float = 1e-9) -> NDArray[np.bool_]:
        """Whether points (..., d) lie within, up to `slack`: (...)."""
        inside = np.all((self.low - slack <= X) & (X <= self.high + slack), axis=-1)
        return np.asarray(inside & np.all(X @ self.A.T <= self.b + slack, axis=-1))

    def project(self, X: Array) -> Array:
        """The nearest point of the domain to each of X (..., d)."""
        clipped: Array = np.minimum(np.maximum(X, self.low), self.high)
        if self.is_box or self.contains(clipped, 0.0).all():
            return clipped
        return self._pull_inside(self._nearest(X.reshape(-1, self.d))).reshape(X.shape)

    def sample(self, size: int, generator: np.random.Generator) -> Array:
        """Points spread over the domain: (size, d)."""
        X = self.low + (self.high - self.low) * generator.random((size, self.d))
        if self.is_box:
            return X
        inside = self.contains(X, 0.0)
        if (
            inside.all() or inside.mean() > 0.5
        ):  # keep what falls within, and redraw the rest along random lines
            X[~inside] = self._hit_and_run(int((~inside).sum()), generator)
            return X
        return self._hit_and_run(size, generator)

    def _hit_and_run(self, size: int, generator: np.random.Generator) -> Array:
        """Points reached from the interior by steps to random places on random lines."""
        X = np.tile(self.interior, (size, 1))
        sides = np.vstack([self.A, np.eye(self.d), -np.eye(self.d)])
        limits = np.concatenate([self.b, self.high, -self.low])
        moving = self.high > self.low
        for _ in range(10 + 2 * self.d):
            direction = generator.standard_normal((size, self.d)) * moving
            speed, room = direction @ sides.T, np.maximum(limits - X @ sides.T, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                time = room / speed
            ahead = np.where(speed > 1e-12, time, np.inf).min(axis=1, keepdims=True)
            behind = np.where(speed < -1e-12, time, -np.inf).max(axis=1, keepdims=True)
            stuck = ~(np.isfinite(ahead) & np.isfinite(behind))
            step = behind + (ahead - behind) * generator.random((size, 1))
            X = X + np.where(stuck, 0.0, step) * direction
        return self._pull_inside(X)

    def _nearest(self, X: Array) -> Array:
        """The nearest point is clip(X - A^T t), t >= 0: ascent of the dual in one t_i at a time."""
        multipliers = np.zeros((len(X), self.b.size))
        for _ in range(_SWEEPS):
            before = multipliers.copy()
            for i, a in enumerate(self.A):
                multipliers[:, i] = 0.0
                multipliers[:, i] = self._multiplier(X - multipliers @ self.A, a, self.b[i])
            if np.abs(multipliers - before).max() < _TOLERANCE:
                break
        return np.minimum(np.maximum(X - multipliers @ self.A, self.low), self.high)

    def _multiplier(self, X: Array, a: Array, limit: float) -> Array:
        """The smallest t >= 0 for which a . clip(X - t a) <= limit: (R, d) -> (R,).

        That is piecewise linear in t and falls, with breaks where a coordinate meets a bound.
        """
        moving = a != 0.0
        breaks = [(X - side)[:, moving] / a[moving] for side in (self.low, self.high)]
        t = np.sort(np.maximum(np.hstack([np.zeros((len(X), 1)), *breaks]), 0.0), axis=1)
        X_t = np.minimum(np.maximum(X[:, None] - t[..., None] * a, self.low), self.high)
        over = X_t @ a - limit
        rows, right = np.arange(len(X)), np.minimum((over > 0.0).sum(axis=1), t.shape[1] - 1)
        left = np.maximum(right - 1, 0)
        fall = over[rows, left] - over[rows, right]
        share = np.clip(over[rows, left] / np.where(fall > 0.0, fall, 1.0), 0.0, 1.0)
        root = t[rows, left] + share * (t[rows, right] - t[rows, left])
        return np.where(right > 0, root, 0.0)

    def _pull_inside(self, X: Array) -> Array:
        """Move points that are outside by a rounding error towards the interior, until within."""
        X = np.minimum(np.maximum(X, self.low), self.high)
        over = X @ self.A.T - self.b
        depth = self.b - self.A @ self.interior
        share = np.where(over > 0.0, over / np.maximum(over + depth, 1e-300), 0.0).max(
            axis=-1, initial=0.0
        )
        pulled: Array = X + share[..., None] * (self.interior - X)
        return pulled


def make_domain(
    d: int,
    *,
    inequalities: tuple[ArrayLike, ArrayLike] | None = None,
    fixed: Mapping[int, float] | None = None,
) -> Domain:
    """The unit cube with A x <= b for `inequalities` = (A, b), and coordinates fixed by index."""
    low, high = np.zeros(d), np.ones(d)
    for index, value in (fixed or {}).items():
        if not 0 <= index < d or not 0.0 <= value <= 1.0:
            raise InputError(
                f"fixed maps coordinates 0 to {d - 1} to values in [0, 1], got {index}: {value}"
            )
        low[index] = high[index] = value
    if inequalities is None:
        return Domain(low, high, np.zeros((0, d)), np.zeros(0), 0.5 * (low + high))
    A = checks.points("A in inequalities", inequalities[0], d)
    b = checks.vector("b in inequalities", inequalities[1], A.shape[0])
    return Domain(low, high, A, b, _interior(A, b, low, high))


def _interior(A: Array, b: Array, low: Array, high: Array) -> Array:
    """The point farthest from all sides, over the coordinates that are free."""
    from scipy.optimize import linprog  # slow to import

    free = high > low
    d = low.size
    # Maximize the distance r to every side: a . x + r |a| <= b, and r <= x - low, high - x.
    sides = np.hstack([A, np.linalg.norm(A[:, free], axis=1, keepdims=True)])
    eye = np.hstack([np.eye(d), np.ones((d, 1))])[free]
    rows = np.vstack([sides, eye, np.hstack([-eye[:, :d], eye[:, d:]])])
    limits = np.concatenate([b, high[free], -low[free]])
    objective = np.append(np.zeros(d), -1.0)
    bounds = [*zip(low, high, strict=True), (0.0, None if free.any() else 0.0)]
    result = linprog(objective, A_ub=rows, b_ub=limits, bounds=bounds)
    if result.x is None:
        raise InputError(
            f"no point of the unit cube meets the {b.size} linear inequalities "
            f"with {int((~free).sum())} coordinates fixed"
        )
    point: Array = result.x[:d]
    return point
