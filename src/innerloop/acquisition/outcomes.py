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
from innerloop.acquisition.boxes import boxes_of, cut, dominated, non_dominated
from innerloop.acquisition.expected_volume import log_expected_volume
from innerloop.acquisition.feasibility import (
    is_feasible,
    log_feasible,
    relaxed,
)
from innerloop.acquisition.normal import log_positive_part
from innerloop.acquisition.unions import (
    draws_last,
    number_of_corners,
    volume_and_slopes,
    volume_of_union,
)
from innerloop.acquisition.utility import Beside, Gain, Utility
from innerloop.errors import InputError
from innerloop.types import Array


@dataclass(frozen=True)
class FeasibleImprovement(Utility):
    """By how much the best feasible outcome of a batch improves on a threshold.

        l^(y, c) = max(y - threshold, 0) [c_1 <= 0] ... [c_C <= 0]

    Without a threshold, as long as nothing feasible is known: whether there is a feasible one,

        l^(y, c) = [c_1 <= 0] ... [c_C <= 0].

    The joint form relaxes each [c <= 0] to 1 / (1 + exp(c / temperature)), as that of PI does.
    Closed forms (`marginal`, `gain`) are exact.

    Args:
        threshold: the best feasible outcome so far; None if there is none.
        constraints: C, how many of the outcomes after the objective have to be 0 or below.
        temperature: of the relaxation, in the units of the constraints.
        noisy: whether noise keeps the best so far from being known. Then `suggest` holds the
            observations that may be it, so that each state has a threshold of its own; that which
            is given is for states in which nothing feasible was observed.
    """

    threshold: float | None
    constraints: int = 1
    temperature: float = 1e-2
    noisy: bool = False

    empty = 0.0
    has_log_gain = monotone = True

    def __post_init__(self) -> None:
        temperature = checks.positive_scalar("temperature", self.temperature)
        object.__setattr__(self, "temperature", temperature)
        if self.threshold is not None:
            object.__setattr__(self, "threshold", checks.scalar("threshold", self.threshold))
        checks.count("constraints", self.constraints)
        outcomes = 1 + self.constraints
        object.__setattr__(self, "outcomes", outcomes)
        object.__setattr__(self, "holds_best", bool(self.noisy))
        object.__setattr__(self, "floats_per_gain", 4 * outcomes)
        if self.threshold is None:
            object.__setattr__(self, "most", 1.0)

    def value(self, Y: Array) -> Array:
        feasible = is_feasible(Y, 1)
        if self.threshold is None:
            return feasible.astype(np.float64)
        return np.where(feasible, np.maximum(Y[..., 0] - self.threshold, 0.0), 0.0)

    def verge(self, mean: Array, sd: Array) -> Array:
        Y = np.minimum(mean, 0.0)
        Y[:, 0] = mean[:, 0] if self.threshold is None else np.maximum(mean[:, 0], self.threshold)
        return Y

    def together(self, Y: Array, beside: Beside | None = None) -> Array:
        best: Array = self._relaxed(Y).max(axis=1)
        return best if beside is None else np.maximum(best, beside.value)

    def together_and_slopes(self, Y: Array, beside: Beside | None = None) -> tuple[Array, Array]:
        grades, chances = self._relaxed(Y), relaxed(Y[..., 1:], self.temperature)
        best: Array = grades.max(axis=1)
        if beside is not None:
            best = np.maximum(best, beside.value)
        won = np.where(grades == best[:, None], grades, 0.0)
        slopes = np.zeros_like(Y)
        if self.threshold is not None:
            slopes[..., 0] = (won > 0.0) * chances.prod(axis=-1)
        slopes[..., 1:] = won[..., None] * (chances - 1.0) / self.temperature
        return best, slopes

    def held_by(self, Y: Array) -> Beside:
        best = self._relaxed(Y).max(axis=0)
        return Beside(best, best)

    def _relaxed(self, Y: Array) -> Array:
        """Improvements of outcomes (..., K) times how feasible they are: (...)."""
        feasible: Array = relaxed(Y[..., 1:], self.temperature).prod(axis=-1)
        if self.threshold is None:
            return feasible
        return np.maximum(Y[..., 0] - self.threshold, 0.0) * feasible

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        return _exponential(self.log_gain(mean, shift, sd, floor))

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of the expected feasible improvement on what a state holds.

            log s h((m_i - b_i) / s) + sum_k log Phi(-m_ki / s_k),   b_i = threshold + floor_i

        and -inf in states that hold a feasible outcome, if that is all that was asked for.
        """
        held = np.zeros(1) if floor is None else floor
        value, d_center, d_sd = log_feasible(mean, shift, sd, objectives=1)
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

    The joint form relaxes each [c <= 0] to 1 / (1 + exp(c / temperature)), as that of PI does. The
    product w of these is one more coordinate of what a point covers, of the volume of all (z, t)
    with z <= y and t <= w. Closed forms (`marginal`, `gain`) are exact.

    Args:
        front: (P, M), feasible outcomes so far; those that others dominate, or that are not above
            the reference, make no difference. P may be 0.
        reference: (M,), the worst outcome of interest in every objective.
        constraints: how many of the outcomes after the objectives have to be 0 or below.
        temperature: of the relaxation, in the units of the constraints.
        noisy: whether noise keeps the front from being known. Then `suggest` holds the observations
            that may be on it, so that each state has a front of its own, beside that which is
            given: the points that are known without noise, if there are any.
    """

    front: Array
    reference: Array
    constraints: int = 0
    temperature: float = 1e-2
    noisy: bool = False
    boxes: Array = field(init=False, repr=False)

    empty = 0.0
    has_log_gain = monotone = True

    def __init__(
        self,
        front: ArrayLike,
        reference: ArrayLike,
        constraints: int = 0,
        temperature: float = 1e-2,
        noisy: bool = False,
    ) -> None:
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
        warmth = checks.positive_scalar("temperature", temperature)
        object.__setattr__(self, "temperature", warmth)
        object.__setattr__(self, "noisy", bool(noisy))
        object.__setattr__(self, "holds_best", bool(noisy))
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
        return np.where(is_feasible(Y, M), volume, 0.0)

    def are_best(self, Y: Array) -> NDArray[np.bool_]:
        M = self.objectives
        above = (Y[..., :M] > self.reference).all(axis=-1) & is_feasible(Y, M)
        points = np.where(above[..., None], Y[..., :M], -np.inf)
        return np.asarray(above & ~dominated(points))

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
        feasible = is_feasible(Y, M)
        feasible = feasible if counts is None else feasible & counts
        left = self.nothing_held() if floor is None else floor
        left = np.broadcast_to(left, (Y.shape[1], *left.shape[1:]))
        for points, usable in zip(Y[..., :M], feasible, strict=True):
            left = cut(left, np.where(usable[:, None], points, -np.inf))
        return left

    def verge(self, mean: Array, sd: Array) -> Array:
        Y, M = np.minimum(mean, 0.0), self.objectives
        corners = np.maximum(self.boxes[:, 0], mean[:, None, :M])  # (N, B, M)
        away = (((corners - mean[:, None, :M]) / sd[:, None, :M]) ** 2).sum(axis=-1)
        Y[:, :M] = corners[np.arange(len(mean)), away.argmin(axis=1)]
        return Y

    def together(self, Y: Array, beside: Beside | None = None) -> Array:
        volume = volume_of_union(self._points(Y), self._left(beside))
        return volume if beside is None else volume + beside.value

    def together_and_slopes(self, Y: Array, beside: Beside | None = None) -> tuple[Array, Array]:
        M = self.objectives
        value, by_point = volume_and_slopes(self._points(Y), self._left(beside))
        slopes = np.empty((Y.shape[-1], *Y.shape[:-1]))  # outcomes first, each in one piece
        slopes[:M] = by_point[:, :M].transpose(1, 2, 0, 3)
        if self.constraints:
            met = np.moveaxis(relaxed(Y[..., M:], self.temperature), -1, 0)
            by_chance = by_point[:, M].swapaxes(0, 1) * met.prod(axis=0)
            slopes[M:] = by_chance * (met - 1.0) / self.temperature
        value = value if beside is None else value + beside.value
        return value, np.moveaxis(slopes, 0, -1)

    def held_by(self, Y: Array) -> Beside:
        """The volume that points add in each draw, and the boxes that they leave of the front."""
        M, value, floor = self.objectives, np.zeros(Y.shape[1]), self.nothing_held()
        for y in Y:
            point = y[:, :M].T[None, :, None]
            added = volume_of_union(point, draws_last(floor))[0]
            value += np.where(is_feasible(y, M), added, 0.0)
            floor = self.hold(floor, y[None], np.zeros_like(y[None]))
        return Beside(value, floor)

    def floats_together(self, q: int) -> int:
        corners = number_of_corners(q, self.objectives + (self.constraints > 0))
        return corners * (len(self.boxes) + 8) * (self.objectives + 2)

    def _points(self, Y: Array) -> Array:
        """Objectives of outcomes (R, q, m, K), and how feasible they are: (q, M + 1, R, m)."""
        M = self.objectives
        points = np.moveaxis(Y[..., :M], -1, 0)
        if self.constraints:
            chance = relaxed(Y[..., M:], self.temperature).prod(axis=-1)
            points = np.concatenate([points, chance[None]])
        return points.transpose(2, 0, 1, 3)

    def _left(self, beside: Beside | None) -> Array:
        """The boxes there are in every draw: (B, 2, M, 1, m), or (B, 2, M, 1, 1)."""
        return draws_last(self.nothing_held() if beside is None else beside.floor)

    def gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        return _exponential(self._log_gain(mean, shift, sd, floor, plain=True))

    def log_gain(self, mean: Array, shift: Array, sd: Array, floor: Array | None) -> Gain:
        """Logarithm of the expected volume that a query adds in each state, exact for any front.

            sum over boxes of prod_k s_k [h((m_k - l_k) / s_k) - h((m_k - u_k) / s_k)]

        times the chance of being feasible.
        """
        return self._log_gain(mean, shift, sd, floor, plain=False)

    def _log_gain(
        self, mean: Array, shift: Array, sd: Array, floor: Array | None, plain: bool
    ) -> Gain:
        """The same, also where only the gain itself is wanted."""
        M = self.objectives
        boxes = self.nothing_held() if floor is None else floor
        # A small volume that is feasible may count for more than a large one that is not.
        volume = log_expected_volume(
            mean[..., :M] + shift[..., :M],
            sd[..., :M],
            boxes,
            averaged=self.constraints == 0,
            plain=plain,
        )
        if not self.constraints:
            return Gain(volume.value, volume.d_mean, volume.d_mean, volume.d_sd)
        value, d_center, d_sd = log_feasible(mean, shift, sd, objectives=M)
        d_center[..., :M], d_sd[..., :M] = volume.d_mean, volume.d_sd
        return Gain(value + volume.value, d_center, d_center, d_sd)


def _exponential(log: Gain) -> Gain:
    """Gains from their logarithms."""
    value = np.exp(log.value)
    by_outcome = value[..., None]
    d_center = by_outcome * log.d_mean
    return Gain(value, d_center, d_center, by_outcome * log.d_sd)


def _best_of(points: Array, reference: Array) -> Array:
    """Points (P, M) above the reference that no other dominates, each once."""
    inside = np.unique(points[(points > reference).all(axis=1)], axis=0)
    best: Array = inside[non_dominated(inside)]
    return best
