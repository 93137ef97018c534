"""Projected Adam ascent from many starts at once (section 4, "Maximizers")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.domain import Domain
from innerloop.maximizers.objective import Solution, best_first

_SLOPE_MEMORY = 0.9
_SQUARE_MEMORY = 0.999
# Gains underflow long before they stop pointing somewhere: this must not drown their gradients.
_SMALLEST_SLOPE = 1e-100
# The larger, the faster the average forgets the way to where the iterates have settled.
_LATENESS = 8.0


@dataclass(frozen=True)
class Adam:
    """Gradient ascent with steps of equal size in every coordinate; all restarts in lockstep.

    The objective may be stochastic, with fresh draws at every evaluation. Then values seen on the
    way are not comparable, so the ends of all restarts and their starts are valued together in one
    last call, for which part of the allowance is held back: a lucky draw wins nothing.

    learning_rate: length of a step in each coordinate, at most about; steps: lockstep evaluations
    at most; average: end at the (Polyak) average of the later iterates instead of the last one.
    """

    learning_rate: float = 1 / 40
    steps: int = 200
    average: bool = False

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Maximize from `starts` until `steps` are taken or the allowance is spent."""
        R = max(1, allowance.affordable(len(starts)))
        start = seen = end = X = domain.project(starts[:R])
        value = np.full(R, -np.inf)
        slope, square = np.zeros_like(X), np.zeros_like(X)
        for step in range(1, self.steps + 1):
            # One more step and the last call: R and 2 R.
            if step > 1 and allowance.affordable(3 * R) < 3 * R:
                break
            seen = X
            value, grad = allowance.value_and_grad(X)
            grad = _usable(grad, domain)
            slope = _SLOPE_MEMORY * slope + (1.0 - _SLOPE_MEMORY) * grad
            square = _SQUARE_MEMORY * square + (1.0 - _SQUARE_MEMORY) * _squares(grad, domain)
            X = domain.project(X + self._step(slope, square, step))
            share = (1.0 + _LATENESS) / (step + _LATENESS) if self.average else 1.0
            end = end + share * (X - end)
        if allowance.affordable(2 * R) < 2 * R:
            return best_first(seen, value)
        # Averages are feasible but for rounding errors.
        finalists = np.concatenate([domain.project(end), start])
        return best_first(finalists, allowance.value(finalists))

    def _step(self, slope: Array, square: Array, step: int) -> Array:
        """The step of every coordinate; both averages started at zero, which is made up for."""
        expected_slope = slope / (1.0 - _SLOPE_MEMORY**step)
        expected_square = square / (1.0 - _SQUARE_MEMORY**step)
        return self.learning_rate * expected_slope / (np.sqrt(expected_square) + _SMALLEST_SLOPE)


def _usable(grad: Array, domain: Domain) -> Array:
    """Gradients (R, q, d): zero where fixed or discrete, and for restarts with some not finite."""
    finite = np.isfinite(grad).all(axis=(1, 2), keepdims=True)
    return np.where(finite & domain.continuous & (domain.high > domain.low), grad, 0.0)


def _squares(grad: Array, domain: Domain) -> Array:
    """Squares of the gradient (R, q, d); with inequalities their mean for each query (R, q, 1).

    Steps that are scaled by coordinate are no longer along the gradient. On a slanted side the
    projection would cancel them at points that are not optimal.
    """
    square: Array = grad**2
    return square if domain.is_box else square.mean(axis=-1, keepdims=True)
