"""The four myopic maximal utilities of Table 1: EI, PI, SR and UCB."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from innerloop import checks
from innerloop.acquisition.normal import log_below, log_positive_part, positive_part
from innerloop.acquisition.utility import Gain, Utility
from innerloop.errors import InputError
from innerloop.types import Array


@dataclass(frozen=True)
class ExpectedImprovement(Utility):
    """By how much a batch improves on a threshold (Table 1).

        l^(y) = max(y - threshold, 0)

    Args:
        threshold: alpha of the paper, as a rule the best outcome so far.
    """

    threshold: float

    empty = 0.0
    floats_per_gain = 1
    monotone = has_log_gain = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", checks.scalar("threshold", self.threshold))

    def value(self, Y: Array) -> Array:
        excess: Array = Y - self.threshold
        return np.maximum(excess, 0.0, out=excess)

    def slope(self, Y: Array) -> Array:
        return (self.threshold < Y).astype(np.float64)

    def grade_and_slopes(self, mean: Array, residual: Array) -> tuple[Array, Array, Array]:
        excess = residual + (mean - self.threshold)
        np.maximum(excess, 0.0, out=excess)
        slope = (excess > 0.0).astype(np.float64)
        return excess, slope, slope

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Expected improvement on the best of the threshold and of what a state holds (eq. 18).

            s h(u),   u = (m_i - b_i) / s,   b_i = max(threshold, fantasies of state i)

        where m_i = mean + shift_i, s = sd and h(u) = phi(u) + u Phi(u).
        """
        h, below, density = positive_part(self._standardized(mean, shift, sd, floor))
        return Gain(sd * h, below, below, density)

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of the expected improvement, log s + log h(u) (Ament et al. 2023)."""
        u = self._standardized(mean, shift, sd, floor)
        log_h, below_ratio, density_ratio = log_positive_part(u)
        slope = below_ratio / sd
        return Gain(np.log(sd) + log_h, slope, slope, density_ratio / sd)

    def bar(self, floor: Array | None) -> Array | None:
        return None if floor is None else self.threshold + floor

    def _standardized(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Array:
        """u = (m_i - b_i) / s, (R, m)."""
        held = 0.0 if floor is None else floor
        u: Array = (mean - self.threshold + (shift - held)) / sd
        return u


@dataclass(frozen=True)
class ProbabilityOfImprovement(Utility):
    """Whether an outcome exceeds a threshold, relaxed to a sigmoid (eq. 6).

        l^(y) = 1 / (1 + exp(-(y - threshold) / temperature))

    The relaxation concerns the joint form only. Closed forms (`marginal`, `gain`) are exact.

    Args:
        threshold: alpha of the paper, as a rule the best outcome so far.
        temperature: tau of the paper, in the units of the outcomes.
    """

    threshold: float
    temperature: float = 1e-2

    empty = 0.0
    most = 1.0
    floats_per_gain = 1
    monotone = has_log_gain = True
    can_refine = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", checks.scalar("threshold", self.threshold))
        temperature = checks.positive_scalar("temperature", self.temperature)
        object.__setattr__(self, "temperature", temperature)

    def value(self, Y: Array) -> Array:
        relaxed: Array = expit((Y - self.threshold) / self.temperature)  # eq. 6
        return relaxed

    def slope(self, Y: Array) -> Array:
        p = self.value(Y)
        return p * (1.0 - p) / self.temperature

    def hold(
        self,
        floor: Array | None,
        mean: Array,
        residual: Array,
        counts: NDArray[np.bool_] | None = None,
    ) -> Array:
        above = mean + residual > self.threshold
        if counts is not None:
            above &= counts
        best: Array = above.max(axis=0).astype(np.float64)
        return best if floor is None else np.maximum(floor, best)

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Probability of improvement (eq. 11).

            Phi(u),   u = (m_i - threshold) / s

        in states with no fantasy above the threshold, else 0.
        """
        u = (mean - self.threshold + shift) / sd
        _, below, density = positive_part(u)
        still_open = 1.0 if floor is None else 1.0 - floor
        slope = still_open * density / sd
        return Gain(still_open * below, slope, slope, -u * slope)

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of the probability, log Phi(u); -inf where a fantasy is above the threshold."""
        u = (mean - self.threshold + shift) / sd
        log_p, slope = log_below(u)
        if floor is not None:
            log_p = np.where(floor > 0.0, -np.inf, log_p)
        slope = slope / sd
        return Gain(log_p, slope, slope, -u * slope)

    def bar(self, floor: Array | None) -> Array | None:
        """The threshold; out of reach where a fantasy is above it."""
        return None if floor is None else np.where(floor > 0.0, np.inf, self.threshold)

    def reward(self, excess: Array) -> Array:
        return (excess > 0.0).astype(np.float64)


@dataclass(frozen=True)
class SimpleRegret(Utility):
    """The best outcome of the batch: the pointwise utility is the outcome itself (Table 1)."""

    floats_per_gain = 1
    monotone = True

    def value(self, Y: Array) -> Array:
        return Y

    def slope(self, Y: Array) -> Array:
        return np.ones_like(Y)

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Expected improvement on the best fantasy of each state (eq. 11).

            s h((m_i - b_i) / s),   b_i = max of the fantasies of state i

        and the mean for the empty batch.
        """
        if floor is None:
            one = np.ones_like(shift)
            return Gain(mean + shift, one, one, np.zeros_like(shift))
        h, below, density = positive_part((mean + (shift - floor)) / sd)
        return Gain(sd * h, below, below, density)

    def with_pending(self) -> Utility:
        """Noisy EI: what is gained over pending points is the same, and known in log space."""
        return NoisyExpectedImprovement()


@dataclass(frozen=True)
class NoisyExpectedImprovement(SimpleRegret):
    """By how much a batch improves on the best of f so far, which noise keeps from being known.

    The best so far is itself fantasized (Letham et al. 2019): the observations that may be it are
    held before anything else, so that each state has a threshold of its own. `suggest` sees to
    that.
    """

    has_log_gain = True
    holds_best = True

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of the expected improvement on the best that a state holds (Ament et al. 2023).

            log s + log h((m_i - b_i) / s)

        where b_i is what state i holds.
        """
        if floor is None:
            raise InputError("noisy EI needs observations to improve on: fix some by `extend`")
        log_h, below_ratio, density_ratio = log_positive_part((mean + (shift - floor)) / sd)
        slope = below_ratio / sd
        return Gain(np.log(sd) + log_h, slope, slope, density_ratio / sd)

    def bar(self, floor: Array | None) -> Array | None:
        return floor


@dataclass(frozen=True)
class UpperConfidenceBound(Utility):
    """Upper confidence bound as an expectation, so that it has a parallel form (eq. 7, 14-17).

        l^(y) = mean + sqrt(beta pi / 2) |y - mean|,        E[l^(y)] = mean + sqrt(beta) sd

    Args:
        beta: the square of how many standard deviations the bound of one query is above the mean.
    """

    beta: float = 2.0

    floats_per_gain = 1
    monotone = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", checks.positive_scalar("beta", self.beta))

    @property
    def spread(self) -> float:
        """The factor sqrt(beta pi / 2) on the residuals (eq. 7)."""
        return float(np.sqrt(0.5 * self.beta * np.pi))

    def value(self, Y: Array) -> Array:
        raise InputError(
            "UpperConfidenceBound grades residuals around a mean: use grade(mean, residual)"
        )

    def grade(self, mean: Array, residual: Array) -> Array:
        return mean + self.spread * np.abs(residual)  # eq. 7

    def grade_and_slopes(self, mean: Array, residual: Array) -> tuple[Array, Array, Array]:
        grades = self.grade(mean, residual)
        return grades, np.ones_like(residual), self.spread * np.sign(residual)

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Expected gain of a folded normal over what a state holds (eq. 11).

            c s [h((delta - t) / s) + h((-delta - t) / s)] for t > 0, else c (E|delta + s z| - t)

        delta is the shift, s the sd, c = sqrt(beta pi / 2), t = (b_i - mean) / c. Both cases are
        one expression in max(t, 0).
        """
        c = self.spread
        t = np.zeros_like(shift) if floor is None else (floor - mean) / c
        edge = np.maximum(t, 0.0)
        h_up, below_up, density_up = positive_part((shift - edge) / sd)
        h_down, below_down, density_down = positive_part((-shift - edge) / sd)
        value = c * (sd * (h_up + h_down))
        value += mean if floor is None else c * np.maximum(-t, 0.0)
        d_mean = np.where(t > 0.0, below_up + below_down, 1.0)
        return Gain(value, d_mean, c * (below_up - below_down), c * (density_up + density_down))
