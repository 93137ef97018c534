"""The chance that an evaluation succeeds, learned from those that did and those that failed.

    log-odds(x) = base + weight sum_i s_i exp(-1/2 sum_k (x_k - x_ik)^2 / reach_k^2),  s_i = 1 or -1

A failure among successes is an accident; failures on their own are a place to keep away from.
Where one or a few coordinates alone tell successes from failures, the others have no say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from innerloop.types import Array

_WEIGHT = 2.0
# In the unit cube: where all coordinates count, times sqrt(d), as distances grow like that; and
# where a few do.
_REACH, _REACHES = 0.15, (0.08, 0.2, 0.5)
# So many coordinates may be told to count, by so many evaluations; fewer failures say nothing.
_MOST_COORDINATES, _MOST_POINTS, _FEWEST_FAILURES = 3, 96, 2


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance of success near evaluations that succeeded or failed.

    Args:
        points: (n, d), where they were.
        signs: (n,), 1 for success and -1 for failure.
        inverse: (d,), 1 / reach of each coordinate, 0 for those that have no say.
    """

    points: Array
    signs: Array
    inverse: Array

    @staticmethod
    def of(succeeded: Array, failed: Array) -> Chance:
        """Learn which coordinates tell successes from failures.

        Args:
            succeeded: (s, d), points that did.
            failed: (f, d), points that did not.

        Returns:
            The chance near all of them.
        """
        signs = np.concatenate([np.ones(len(succeeded)), -np.ones(len(failed))])
        points = np.concatenate([succeeded, failed])
        return Chance(points, signs, _inverse_reaches(points, signs))

    @property
    def failed(self) -> Array:
        """The points that failed: (f, d)."""
        failed: Array = self.points[self.signs < 0.0]
        return failed

    @property
    def base(self) -> float:
        """Log-odds where nothing was evaluated: as often as evaluations succeed on the whole."""
        return float(_base(self.signs))

    def log(self, X: Array) -> tuple[Array, Array]:
        """Logarithm of the chance, and its gradient.

        Args:
            X: (N, d), where to evaluate.

        Returns:
            (N,) and (N, d).
        """
        difference = (X[:, None] - self.points) * self.inverse
        weights = _WEIGHT * self.signs * np.exp(-0.5 * (difference**2).sum(axis=-1))
        odds = self.base + weights.sum(axis=1)
        slope = -(weights[..., None] * difference).sum(axis=1) * self.inverse
        return -np.logaddexp(0.0, -odds), expit(-odds)[:, None] * slope


def _base(signs: Array, left_out: Array | float = 0.0) -> Array:
    """Log-odds of success on the whole, without evaluations of the signs that are left out."""
    n, total = len(signs), signs.sum()
    succeeded = 0.5 * (n + total) - (np.asarray(left_out) > 0.0)
    failed = 0.5 * (n - total) - (np.asarray(left_out) < 0.0)
    odds: Array = np.log((succeeded + 1.0) / (failed + 1.0))
    return odds


def _inverse_reaches(points: Array, signs: Array) -> Array:
    """1 / reach of each coordinate (d,).

    That of the few by which each evaluation is predicted best from the others, if they do so
    clearly better than all coordinates together, and than none.
    """
    d = points.shape[1]
    everywhere = np.full(d, 1.0 / (_REACH * np.sqrt(max(d, 1))))
    if d == 1 or (signs < 0.0).sum() < _FEWEST_FAILURES or (signs > 0.0).sum() == 0:
        return everywhere
    some = np.unique(np.linspace(0, len(points) - 1, _MOST_POINTS).round().astype(int))
    squares = (points[some, None] - points[some]) ** 2  # (n, n, d)
    signs = signs[some]
    together = np.exp(-0.5 * (squares * everywhere**2).sum(axis=-1))
    best = _surprise(np.stack([together, np.zeros_like(together)]), signs).min()
    single = [np.exp(-0.5 * squares / reach**2).transpose(2, 0, 1) for reach in _REACHES]
    kernels = np.concatenate(single)  # (3 d, n, n)
    inverse, together = np.zeros(d), np.ones_like(together)
    clearly = 1.0 + np.log(len(kernels))  # of so many, one fits by chance
    for _ in range(_MOST_COORDINATES):
        losses = _surprise(together * kernels, signs)
        losses.reshape(-1, d)[:, inverse > 0.0] = np.inf
        first = int(np.argmin(losses))
        if losses[first] >= best - clearly:
            break
        inverse[first % d] = 1.0 / _REACHES[first // d]
        best, together = losses[first], together * kernels[first]
    return inverse if inverse.any() else everywhere


def _surprise(kernels: Array, signs: Array) -> Array:
    """-sum_i log p(s_i | the others), for weights (k, n, n) of evaluations on each other: (k,)."""
    odds = _WEIGHT * (kernels @ signs - kernels.diagonal(axis1=1, axis2=2) * signs)
    surprise: Array = np.logaddexp(0.0, -signs * (odds + _base(signs, signs))).sum(axis=1)
    return surprise
