"""Projected Adam ascent from many starts at once (section 4, "Maximizers")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer
from innerloop.maximizers.objective import Solution, best_first
from innerloop.types import Array

# Gains underflow long before they stop pointing somewhere: this must not drown their gradients.
_EPSILON = 1e-100
# The larger, the faster the average forgets the way to where the iterates have settled.
_LATENESS = 8.0


@dataclass(frozen=True)
class Adam(Maximizer):
    """Adam (Kingma and Ba 2015, algorithm 1), as ascent; all restarts in lockstep.

        m_t = beta1 m_t-1 + (1 - beta1) g_t        v_t = beta2 v_t-1 + (1 - beta2) g_t^2
        x_t = x_t-1 + learning_rate m^_t / (sqrt(v^_t) + epsilon),
        m^_t = m_t / (1 - beta1^t),                v^_t = v_t / (1 - beta2^t)

    The objective may be stochastic, with fresh draws at every evaluation. Then values seen on the
    way are not comparable, so the ends of all restarts and their starts are valued together in one
    last call, for which part of the allowance is held back: a lucky draw wins nothing.

    Args:
        learning_rate: length of a step in each coordinate, at most about.
        steps: lockstep evaluations at most.
        average: end at an average of the iterates, in which later ones count more (polynomial-decay
            averaging, Shamir and Zhang 2013), instead of the last one.
        beta1: memory of the gradient's average.
        beta2: memory of the average of its squares.
    """

    learning_rate: float = 1 / 40
    steps: int = 200
    average: bool = False
    beta1: float = 0.9
    beta2: float = 0.999

    starts = (32, 64)  # as in the paper's own runs
    draws, fresh_draws = 128, True
    moves_discrete = False

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
        m, v = np.zeros_like(X), np.zeros_like(X)
        for step in range(1, self.steps + 1):
            # One more step and the last call: R and 2 R.
            if step > 1 and allowance.affordable(3 * R) < 3 * R:
                break
            seen = X
            with allowance.spending(R) as objective:
                value, grad = objective.value_and_grad(X)
            grad = _usable(X, grad, domain)
            m = self.beta1 * m + (1.0 - self.beta1) * grad
            v = self.beta2 * v + (1.0 - self.beta2) * _squares(grad, domain)
            X = domain.project(X + self._step(m, v, step))
            share = (1.0 + _LATENESS) / (step + _LATENESS) if self.average else 1.0
            end = end + share * (X - end)
        if allowance.affordable(2 * R) < 2 * R:
            return best_first(seen, value)
        # Averages are feasible but for rounding errors.
        finalists = np.concatenate([domain.project(end), start])
        with allowance.spending(len(finalists)) as objective:
            return best_first(finalists, objective.value(finalists))

    def _step(self, m: Array, v: Array, t: int) -> Array:
        """The step of every coordinate; both averages started at zero, which is made up for."""
        unbiased_m = m / (1.0 - self.beta1**t)
        unbiased_v = v / (1.0 - self.beta2**t)
        return self.learning_rate * unbiased_m / (np.sqrt(unbiased_v) + _EPSILON)


def _usable(X: Array, grad: Array, domain: Domain) -> Array:
    """Gradients (R, q, d): zero where fixed or discrete, and for restarts with some not finite."""
    finite = np.isfinite(grad).all(axis=(1, 2), keepdims=True)
    moving = finite & domain.continuous & (domain.high > domain.low)
    return domain.along(np.where(moving, grad, 0.0), X)


def _squares(grad: Array, domain: Domain) -> Array:
    """Squares of the gradient (R, q, d); with inequalities their mean for each query (R, q, 1).

    Steps that are scaled by coordinate are no longer along the gradient. On a slanted side the
    projection would cancel them at points that are not optimal.
    """
    square: Array = grad**2
    return square if domain.is_box else square.mean(axis=-1, keepdims=True)
