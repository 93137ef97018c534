"""Utilities of several outcomes: objectives to be maximized, constraints met at 0 and below.

Outcomes are independent given the inputs, objectives first. In every fantasy state an outcome at a
query is N(m_k, s_k^2), so that the expected gain of one more query is a product of one-dimensional
terms, or a sum of such products. All of them are worked out as logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.acquisition.boxes import boxes_of, cut
from innerloop.acquisition.normal import log_below, log_difference, log_positive_part
from innerloop.acquisition.utility import Gain, Utility
from innerloop.errors import InputError
from innerloop.types import Array


@dataclass(frozen=True)
class FeasibleImprovement(Utility):
    """By how much the best feasible outcome of a batch improves on a threshold.

        l^(y, c) = max(y - threshold, 0) [c_1 <= 0] ... [c_C <= 0]

    Without a threshold, as long as nothing feasible is known: whether there is a feasible one,

        l^(y, c) = [c_1 <= 0] ... [c_C <= 0].

    Args:
        threshold: the best feasible outcome so far; None if there is none.
        constraints: C, how many of the outcomes after the objective have to be 0 or below.
    """

    threshold: float | None
    constraints: int = 1

    empty = 0.0
    has_log_gain = True
    has_joint_form = can_refine = False

    def __post_init__(self) -> None:
        if self.threshold is not None:
            object.__setattr__(self, "threshold", checks.scalar("threshold", self.threshold))
        checks.count("constraints", self.constraints)
        outcomes = 1 + self.constraints
        object.__setattr__(self, "outcomes", outcomes)
        object.__setattr__(self, "floats_per_gain", 4 * outcomes)
        if self.threshold is None:
            object.__setattr__(self, "most", 1.0)

    def value(self, Y: Array) -> Array:
        feasible = _feasible(Y, 1)
        if self.threshold is None:
            return feasible.astype(np.float64)
        return np.where(feasible, np.maximum(Y[..., 0] - self.threshold, 0.0), 0.0)

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        return _exponential(self.log_gain(mean, shift, sd, floor))

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of the expected feasible improvement on what a state holds.

            log s h((m_i - b_i) / s) + sum_k log Phi(-m_ki / s_k),   b_i = threshold + floor_i

        and -inf in states that hold a feasible outcome, if that is all that was asked for.
        """
        held = np.zeros(1) if floor is None else floor
        value, d_center, d_sd = _log_feasible(mean, shift, sd, objectives=1)
        if self.threshold is None:
            with np.errstate(divide="ignore"):
                value = value + np.log(1.0 - held)
            return Gain(value, d_center, d_center, d_sd)
        s = sd[..., 0]
        u = (mean[..., 0] + shift[..., 0] - self.threshold - held) / s
        log_h, below, density = log_positive_part(u)
        d_center[..., 0], d_sd[..., 0] = below / s, density / s
        return Gain(value + np.log(s) + log_h, d_center, d_center, d_sd)


@dataclass(frozen=True, eq=False)
class HypervolumeImprovement(Utility):
    """The volume that the feasible outcomes of a batch add to what a front dominates.

        l(Y) = volume{z >= reference : z <= y for some feasible y of Y, not for any of the front}

    It is a measure of what is covered, hence monotone and submodular, also in expectation, so that
    the guarantee of greedy choice and the bound of the certificate hold.

    Args:
        front: (P, M), feasible outcomes so far; those that others dominate, or that are not above
            the reference, make no difference. P may be 0.
        reference: (M,), the worst outcome of interest in every objective.
        constraints: how many of the outcomes after the objectives have to be 0 or below.
    """

    front: Array
    reference: Array
    constraints: int = 0
    boxes: Array = field(init=False, repr=False)

    empty = 0.0
    has_log_gain = True
    has_joint_form = can_refine = False

    def __init__(self, front: ArrayLike, reference: ArrayLike, constraints: int = 0) -> None:
        corner = checks.floats("reference", reference)
        if corner.ndim != 1 or corner.size < 2:
            raise InputError(
                f"reference must have shape (M,) with 2 objectives or more, got {corner.shape}"
            )
        points = checks.floats("front", front)
        points = np.zeros((0, corner.size)) if points.size == 0 else points
        if points.ndim != 2 or points.shape[1] != corner.size:
            raise InputError(f"front must have shape (P, {corner.size}), got {points.shape}")
        if constraints != 0:
            checks.count("constraints", constraints)
        object.__setattr__(self, "front", points.copy())
        object.__setattr__(self, "reference", corner.copy())
        object.__setattr__(self, "constraints", int(constraints))
        boxes = boxes_of(_best_of(points, corner), corner)
        object.__setattr__(self, "boxes", boxes)
        object.__setattr__(self, "objectives", corner.size)
        object.__setattr__(self, "outcomes", corner.size + int(constraints))
        # A few for every box and objective, with room for those that fantasies cut.
        object.__setattr__(self, "floats_per_gain", 8 * (len(boxes) + 8) * corner.size)

    def value(self, Y: Array) -> Array:
        M = self.objectives
        inside = np.minimum(Y[..., None, :M], self.boxes[:, 1]) - self.boxes[:, 0]
        volume = np.maximum(inside, 0.0).prod(axis=-1).sum(axis=-1)
        return np.where(_feasible(Y, M), volume, 0.0)

    def nothing_held(self) -> Array:
        """The boxes of the front: (1, B, 2, M)."""
        return self.boxes[None]

    def hold(
        self,
        floor: Array | None,
        mean: Array,
        residual: Array,
        counts: NDArray[np.bool_] | None = None,
    ) -> Array:
        """The boxes that each state has left: (m, B, 2, M)."""
        Y, M = mean + residual, self.objectives
        feasible = _feasible(Y, M)
        feasible = feasible if counts is None else feasible & counts
        left = self.nothing_held() if floor is None else floor
        left = np.broadcast_to(left, (Y.shape[1], *left.shape[1:]))
        for points, usable in zip(Y[..., :M], feasible, strict=True):
            left = cut(left, np.where(usable[:, None], points, -np.inf))
        return left

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        return _exponential(self.log_gain(mean, shift, sd, floor))

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of the expected volume that a query adds in each state, exact for any front.

            sum over boxes of prod_k s_k [h((m_k - l_k) / s_k) - h((m_k - u_k) / s_k)]

        times the chance of being feasible.
        """
        M = self.objectives
        boxes = self.nothing_held() if floor is None else floor
        value, d_center, d_sd = _log_feasible(mean, shift, sd, objectives=M)
        s = sd[..., None, :M]
        center = (mean[..., :M] + shift[..., :M])[..., None, :]  # (R, m, 1, M)
        lower, upper = boxes[:, :, 0], boxes[:, :, 1]
        full = np.asarray((upper > lower).all(axis=-1))  # (m, B)
        upper = np.where(full[..., None], upper, lower + 1.0)
        log_width, below, density = log_difference((center - lower) / s, (center - upper) / s)
        each = np.where(full, (log_width + np.log(s)).sum(axis=-1), -np.inf)  # (R, m, B)
        top = each.max(axis=-1, keepdims=True)
        shares = np.exp(each - top)
        total = shares.sum(axis=-1, keepdims=True)
        shares /= total
        d_center[..., :M] = (shares[..., None] * below).sum(axis=-2) / s[..., 0, :]
        d_sd[..., :M] = (shares[..., None] * density).sum(axis=-2) / s[..., 0, :]
        value = value + (top + np.log(total))[..., 0]
        return Gain(value, d_center, d_center, d_sd)


def _feasible(Y: Array, objectives: int) -> NDArray[np.bool_]:
    """Whether outcomes (..., K) meet all constraints: (...)."""
    return np.asarray((Y[..., objectives:] <= 0.0).all(axis=-1))


def _log_feasible(
    mean: Array, shift: Array, sd: Array, objectives: int
) -> tuple[Array, Array, Array]:
    """log prod_k Phi(-m_k / s_k) over the constraints (R, m), with derivatives (R, m, K).

    In the mean or shift of every outcome, and in its sd; zeros for objectives.
    """
    center = mean + shift
    d_center, d_sd = np.zeros_like(center), np.zeros_like(center)
    s = sd[..., objectives:]
    v = -center[..., objectives:] / s
    log_p, slope = log_below(v)
    d_center[..., objectives:] = -slope / s
    d_sd[..., objectives:] = -v * slope / s
    return log_p.sum(axis=-1), d_center, d_sd


def _exponential(log: Gain) -> Gain:
    """Gains from their logarithms."""
    value = np.exp(log.value)
    by_outcome = value[..., None]
    d_center = by_outcome * log.d_mean
    return Gain(value, d_center, d_center, by_outcome * log.d_sd)


def _best_of(points: Array, reference: Array) -> Array:
    """Points (P, M) above the reference that no other dominates, each once."""
    inside = np.unique(points[(points > reference).all(axis=1)], axis=0)
    at_least = np.asarray((inside[:, None] >= inside).all(axis=2))
    np.fill_diagonal(at_least, False)
    best: Array = inside[~at_least.any(axis=0)]
    return best
