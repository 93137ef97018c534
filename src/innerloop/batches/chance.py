"""The chance that an evaluation succeeds, learned from those that did and those that failed.

    log-odds(x) = base + weight sum_i s_i exp(-|x - x_i|^2 / (2 reach^2)),  s_i = 1 or -1

A failure among successes is an accident; failures on their own are a place to keep away from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from innerloop.checks import Array
from innerloop.maximizers.objective import Objective

_WEIGHT = 2.0
# In the unit cube, times sqrt(d), as distances grow like that.
_REACH = 0.15


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance of success near evaluations at points (n, d) with signs (n,): 1 or -1."""

    points: Array
    signs: Array

    @staticmethod
    def of(succeeded: Array, failed: Array) -> Chance:
        """Learned from points that succeeded (s, d) and that failed (f, d)."""
        signs = np.concatenate([np.ones(len(succeeded)), -np.ones(len(failed))])
        return Chance(np.concatenate([succeeded, failed]), signs)

    @property
    def base(self) -> float:
        """Log-odds where nothing was evaluated: as often as evaluations succeed on the whole."""
        succeeded = int((self.signs > 0).sum())
        return float(np.log((succeeded + 1) / (len(self.signs) - succeeded + 1)))

    def log(self, X: Array) -> tuple[Array, Array]:
        """Logarithm of the chance at X (N, d), and its gradient: (N,), (N, d)."""
        square = _REACH**2 * self.points.shape[1]
        difference = X[:, None] - self.points
        weights = _WEIGHT * self.signs * np.exp(-0.5 * (difference**2).sum(axis=-1) / square)
        odds = self.base + weights.sum(axis=1)
        slope = -(weights[..., None] * difference).sum(axis=1) / square
        return -np.logaddexp(0.0, -odds), expit(-odds)[:, None] * slope


@dataclass(frozen=True, eq=False)
class WithChance:
    """The logarithm of a gain of single queries, times the chance that it comes about."""

    log_gain: Objective
    chance: Chance

    def value(self, X: Array) -> Array:
        """Values (R,) of queries (R, 1, d)."""
        return self.log_gain.value(X) + self.chance.log(X[:, 0])[0]

    def value_and_grad(self, X: Array) -> tuple[Array, Array]:
        """Values (R,) and gradients (R, 1, d)."""
        value, grad = self.log_gain.value_and_grad(X)
        log_chance, slope = self.chance.log(X[:, 0])
        return value + log_chance, grad + slope[:, None]
