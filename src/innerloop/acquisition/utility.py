"""What a myopic maximal utility is: l(Y) = max over the batch of a pointwise utility (section 3.2).

A utility says how outcomes are graded and knows nothing of kernels or Gaussian processes:

    value, slope     the pointwise utility of outcomes Y, and its derivative
    gain             expected gain of one more outcome over what a state already holds (eq. 11)
    log_gain         the logarithm of the gain, where it is never negative
    bar, reward      what an outcome must exceed to gain anything, and what it gains then

Outcomes are split as Y = mean + residual, because UCB grades the residual on its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.acquisition.normal import phi
from innerloop.errors import InputError
from innerloop.types import Array

# Nodes of the quadrature for the gain of a utility that has no closed form: the trapezoid rule
# converges faster than any power where the integrand is smooth, and as h^2 across its kinks.
_NODES = np.linspace(-6.0, 6.0, 97)
_NODE_WEIGHTS = phi(_NODES) / phi(_NODES).sum()
# Keeps (mean - floor) / sd finite where the belief is certain.
_SMALLEST_SD = 1e-150


class Gain(NamedTuple):
    """Expected gain per state, with its derivatives; every array broadcasts to (R, m).

    Args:
        value: the gain itself (eq. 11), or its logarithm.
        d_mean: derivative in the mean under the data alone.
        d_shift: derivative in the shift of each state.
        d_sd: derivative in the standard deviation.
    """

    value: Array
    d_mean: Array
    d_shift: Array
    d_sd: Array


class Beside(NamedTuple):
    """What draws hold before a batch comes in.

    Args:
        value: (m,), its utility.
        floor: (m, ...), what a utility needs to know of it.
    """

    value: Array
    floor: Array


class Utility(ABC):
    """A pointwise utility of outcomes; the utility of a batch is its maximum (section 3.2).

        l(Y) = max_i l^(y_i)        l(Y, y) - l(Y) = max(l^(y) - l(Y), 0)        (eq. 10)

    so that the gain of one more outcome is an improvement, which makes l submodular (eq. 8).
    Subclasses give `value`, and `slope` if they know it. All else has a numerical default. What a
    utility can do is said by its class attributes.
    """

    outcomes: int = 1
    """K, how many outcomes a query has; if several, arrays of them end in an axis of that size."""
    objectives: int = 1
    """How many of the outcomes are objectives; they come first."""
    empty: float = -np.inf
    """Utility of the empty batch; where that is finite, utilities are normalized (appendix A.3)."""
    most: float = np.inf
    """Most that a batch can be worth."""
    floats_per_gain: int = _NODES.size
    """Floats that the gain in one state takes: the nodes of its quadrature, 1 for closed forms."""
    monotone: bool = False
    """Whether the gain only grows with a state's mean and falls with what the state holds.

    Then there are optimistic gains to choose lazily by.
    """
    has_log_gain: bool = False
    """Whether `log_gain` is there."""
    can_refine: bool = True
    """Whether joint ascent improves batches: not if the joint form is a relaxation."""
    holds_best: bool = False
    """Whether the observations that may be the best are held before anything else."""

    @abstractmethod
    def value(self, Y: Array) -> Array:
        """Pointwise utility of outcomes.

        Args:
            Y: outcomes, any shape.

        Returns:
            Their utilities, of the same shape.
        """

    def slope(self, Y: Array) -> Array:
        """Derivative of `value`, pointwise; central differences unless overridden.

        Args:
            Y: outcomes, any shape.

        Returns:
            Derivatives, of the same shape.
        """
        step = np.cbrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(Y))
        up, down = Y + step, Y - step
        difference: Array = (self._of(self.value, up) - self._of(self.value, down)) / (up - down)
        return difference

    def grade(self, mean: Array, residual: Array) -> Array:
        """Pointwise utility of the outcomes mean + residual.

        Args:
            mean: of the outcomes, any shape.
            residual: what outcomes differ from it by, of a shape that goes with it.

        Returns:
            Utilities, of their common shape.
        """
        return self._of(self.value, mean + residual)

    def grade_and_slopes(self, mean: Array, residual: Array) -> tuple[Array, Array, Array]:
        """Pointwise utility of the outcomes mean + residual, with its derivatives.

        Args:
            mean: of the outcomes, any shape.
            residual: what outcomes differ from it by, of a shape that goes with it.

        Returns:
            Utilities, and their derivatives in the mean and in the residual.
        """
        Y = mean + residual
        slope = self._of(self.slope, Y)
        return self._of(self.value, Y), slope, slope

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Expected gain of one more outcome over what each state holds (eq. 11).

            E[max(l^(y) - floor, 0)],   y ~ N(mean + shift, sd^2)

        Here by quadrature over the outcome.

        Args:
            mean: (R, 1), under the data alone.
            shift: (R, m), by which each state moves it.
            sd: (R, 1), shared by all states.
            floor: (m,), the utility each state already holds, or None for the empty batch, whose
                gain is the expected utility itself (eq. 9).

        Returns:
            The gain in each state, with its derivatives.
        """
        center, residual = mean[..., None], shift[..., None] + sd[..., None] * _NODES
        excess, d_center, d_residual = self.grade_and_slopes(center, residual)
        weights = _NODE_WEIGHTS
        if floor is not None:
            excess = excess - floor[:, None]
            weights = weights * (excess > 0.0)
        d_residual = weights * d_residual
        return Gain(
            (weights * excess).sum(axis=-1),
            (weights * d_center).sum(axis=-1),
            d_residual.sum(axis=-1),
            (d_residual * _NODES).sum(axis=-1),
        )

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of `gain` per state, with the derivatives of that logarithm.

        Args:
            mean: (R, 1), under the data alone.
            shift: (R, m), by which each state moves it.
            sd: (R, 1), shared by all states.
            floor: (m,), the utility each state already holds, or None for the empty batch.

        Returns:
            The logarithm of the gain in each state, with its derivatives.
        """
        raise InputError(f"{type(self).__name__} has no gain in log space")

    def bar(self, floor: Array | None) -> Array | None:
        """The outcome above which something is gained, by state.

        Args:
            floor: (m,), the utility each state already holds, or None for the empty batch.

        Returns:
            Outcomes (m,); None if there is no such bar.
        """
        return None

    def are_best(self, Y: Array) -> NDArray[np.bool_]:
        """Which of n points make up what a batch of all of them is worth.

        Args:
            Y: outcomes in D draws, (D, n) or (D, n, K).

        Returns:
            Whether they do, (D, n); in every draw the one of the largest utility, if there is only
            one that counts.
        """
        grades = self._of(self.value, Y)
        best = grades.argmax(axis=1)[:, None]
        return np.asarray(best == np.arange(grades.shape[1])) & (grades > self.empty)

    def verge(self, mean: Array, sd: Array) -> Array:
        """With several outcomes, those from which on something is gained, nearest to the mean.

        Args:
            mean: (N, K).
            sd: (N, K), the unit of distances.

        Returns:
            Outcomes (N, K), the mean where something is gained already.
        """
        return mean

    def reward(self, excess: Array) -> Array:
        """What outcomes gain that exceed the bar.

        Args:
            excess: by how much they do, any shape.

        Returns:
            Gains of the same shape, nothing up to 0.
        """
        return np.maximum(excess, 0.0)

    def together(self, Y: Array, beside: Beside | None = None) -> Array:
        """With several outcomes, the utility of whole batches, for the joint form.

        Args:
            Y: outcomes (R, q, m, K), of q queries in m draws.
            beside: what the draws hold besides, from `held_by`.

        Returns:
            Utilities, (R, m), of what is held too.
        """
        raise InputError(f"{type(self).__name__} has no joint form")

    def together_and_slopes(self, Y: Array, beside: Beside | None = None) -> tuple[Array, Array]:
        """The same with its derivatives.

        Args:
            Y: outcomes (R, q, m, K), of q queries in m draws.
            beside: what the draws hold besides, from `held_by`.

        Returns:
            Utilities (R, m), and their derivatives in the outcomes, (R, q, m, K).
        """
        raise InputError(f"{type(self).__name__} has no joint form")

    def held_by(self, Y: Array) -> Beside:
        """What draws hold of points that are beside a batch, for `together`.

        Args:
            Y: outcomes (p, m, K), of p points in m draws.

        Returns:
            Their utility in each draw, and what is left to gain.
        """
        raise InputError(f"{type(self).__name__} has no joint form")

    def floats_together(self, q: int) -> int:
        """Floats that `together` takes in one draw.

        Args:
            q: how many queries.

        Returns:
            The size of its largest arrays.
        """
        return q * self.outcomes

    def with_pending(self) -> Utility:
        """The utility to maximize where there are pending points: as a rule, the same one."""
        return self

    def marginal(self, mean: ArrayLike, var: ArrayLike) -> Array:
        """Acquisition value of a single query, q = 1 (eq. 1).

        Args:
            mean: of the outcome, (...); with several outcomes, (..., K).
            var: its variance, of the same shape.

        Returns:
            Values, (...).
        """
        center = checks.floats("mean", mean)
        sd = np.sqrt(checks.non_negative("var", var))
        center, sd = np.broadcast_arrays(center, np.maximum(sd, _SMALLEST_SD))
        if self.outcomes > 1:
            K = self.outcomes
            if center.ndim == 0 or center.shape[-1] != K:
                raise InputError(f"mean must have shape (..., {K}), got {center.shape}")
            center, sd = center.reshape(-1, 1, K), sd.reshape(-1, 1, K)
            with np.errstate(over="ignore", invalid="ignore"):  # slopes, where there is no variance
                gain = self.gain(center, np.zeros_like(center), sd, self.nothing_held())
            return gain.value.reshape(np.shape(mean)[:-1])
        one_state = center.reshape(-1, 1), np.zeros((center.size, 1)), sd.reshape(-1, 1)
        return self.gain(*one_state, self.nothing_held()).value.reshape(center.shape)

    def hold(
        self,
        floor: Array | None,
        mean: Array,
        residual: Array,
        counts: NDArray[np.bool_] | None = None,
    ) -> Array:
        """What states hold after p more outcomes.

        Args:
            floor: (m,), the utility each state already holds, or None for the empty batch.
            mean: (p, 1), under the data alone.
            residual: (p, m), what outcomes differ from it by in each state.
            counts: (p, m), which of the outcomes there are; by default all.

        Returns:
            The utility each state holds, (m,).
        """
        grades = self.grade(mean, residual)
        if counts is not None:
            grades = np.where(counts, grades, self.empty)
        best: Array = grades.max(axis=0)
        return best if floor is None else np.maximum(floor, best)

    def _of(self, pointwise: Callable[[Array], Array], Y: Array) -> Array:
        """`value` or `slope` at outcomes Y, or an error if it has not their shape."""
        name = f"{type(self).__name__}.{pointwise.__name__}(Y)"
        result, shape = pointwise(Y), Y.shape if self.outcomes == 1 else Y.shape[:-1]
        if isinstance(result, np.ndarray) and result.shape == shape:
            return result if result.dtype == np.float64 else checks.floats(name, result)
        raise InputError(
            f"{name} must be an array of shape {shape} "
            f"for Y of shape {Y.shape}, got {checks.shown(result)}"
        )

    def nothing_held(self) -> Array | None:
        """What the one state before any outcome holds, (1,); None if that has no utility."""
        return np.full(1, self.empty) if np.isfinite(self.empty) else None
