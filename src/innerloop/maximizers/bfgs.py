"""Batched quasi-Newton ascent with bounds: every restart has its own curvature, step and end.

All restarts move in lockstep: one evaluation of the objective serves them all. A restart whose
step does not gain enough shortens it while the others go on. Restarts that have converged leave
the batch, and those that lag behind are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer
from innerloop.maximizers.objective import Solution, best_first
from innerloop.types import Array

_SUFFICIENT_GAIN = 1e-4
# A first step is taken to promise a tenth of what there is to gain.
_FIRST_STEP_SHARE = 10.0
_LONGEST_STEP = 0.5
_SHORTEST_STEP = 1e-6
# Floats that whole inverse Hessians may take up.
_LARGEST_HESSIANS = 2**18
# Stands for -inf and NaN, so that differences of values stay numbers.
_WORST = -1e300
# What may be divided by: the largest steps over the smallest of these are finite.
_SMALLEST, _SMALLEST_SQUARE = 1e-300, 1e-280


@dataclass(frozen=True)
class BFGS(Maximizer):
    """Quasi-Newton ascent from many starts at once (Nocedal and Wright 2006, chapter 6).

    The inverse H of the Hessian of the negative objective is kept whole while q d is small, and
    block by block, one for each query, when it is large. With s the step and y by how much it has
    lessened the gradient,

        H <- (I - s y^T / s^T y) H (I - y s^T / s^T y) + s s^T / s^T y        (eq. 6.17)

    from H = s^T y / y^T y I after the first step (eq. 6.20). Steps along H times the gradient are
    taken if they gain 1e-4 of what the gradient promises (eq. 3.4), else shortened by interpolation
    (section 3.5). Bounds and inequalities are met by projection.

    Args:
        steps: lockstep evaluations at most.
        tolerance: a step that gains less than this, relative to the size of the values, is the
            last of its restart.
        patience: after so many evaluations, and again after as many, the worse half of the
            restarts is dropped.
        first_step: the length of the first step, in the largest coordinate.
    """

    steps: int = 100
    tolerance: float = 1e-5
    patience: int = 6
    first_step: float = 0.1

    starts = (8, 16)
    moves_discrete = False

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Maximize from `starts` until converged or the allowance is spent."""
        R = max(1, allowance.affordable(len(starts)))
        shape = starts.shape[1:]
        X = domain.project(starts[:R]).reshape(R, -1)
        with allowance.spending(R) as objective:
            value, grad = objective.value_and_grad(X.reshape(R, *shape))
        value, grad = _usable(X.reshape(R, *shape), value, grad, domain)
        state = _Restarts(X, value, grad.reshape(R, -1), domain, shape, self.first_step)
        ends: list[tuple[Array, Array]] = []
        for step in range(1, self.steps):
            live = state.size
            if live == 0 or allowance.affordable(live) < live:
                break
            trial = state.trial()
            there = trial.reshape(live, *shape)
            with allowance.spending(live) as objective:
                value, grad = objective.value_and_grad(there)
            value, grad = _usable(there, value, grad, domain)
            done = state.advance(trial, value, grad.reshape(live, -1), self.tolerance)
            if step % self.patience == 0 and live > 1:
                done |= state.value < np.median(state.value)
            if done.any():
                ends.append((state.X[done], state.value[done]))
                state.keep(~done)
        ends.append((state.X, state.value))
        points = np.concatenate([X for X, _ in ends]).reshape(-1, *shape)
        values = np.concatenate([value for _, value in ends])
        return best_first(points, np.where(values > _WORST, values, -np.inf))


def _usable(X: Array, value: Array, grad: Array, domain: Domain) -> tuple[Array, Array]:
    """Finite values and gradients: coordinates without a slope, or discrete, stay as they are."""
    usable = np.where(np.isfinite(grad) & domain.continuous, grad, 0.0)
    return np.fmax(value, _WORST), domain.along(usable, X)


class _Restarts:
    """Position, value, gradient, inverse Hessian and step of every restart; R shrinks as they end.

    X, grad, direction: (R, D) with D = q d; inverse Hessian: (R, B, w, w), of the negative
    objective and positive definite, in B blocks of width w. One block for all coordinates while
    they are few; one for each query when they are many, so that memory stays in proportion to q.
    """

    def __init__(
        self,
        X: Array,
        value: Array,
        grad: Array,
        domain: Domain,
        shape: tuple[int, ...],
        first_step: float,
    ) -> None:
        R, D = X.shape
        self.X, self.value, self.grad = X, value, grad
        self._domain, self._shape, self._first_step = domain, shape, first_step
        self._low, self._high = (np.tile(side, shape[0]) for side in (domain.low, domain.high))
        self._blocks = 1 if R * D * D <= _LARGEST_HESSIANS else shape[0]
        width = D // self._blocks
        self._inverse_hessian = np.empty((R, self._blocks, width, width))
        self._fresh: NDArray[np.bool_] | None = np.ones(R, dtype=bool)
        self._fraction = np.ones(R)
        self._reset(np.ones(R, dtype=bool))
        self._direction = self._ascent()
        # Values may have an offset of any size: what there is to gain shows in how the starts
        # differ, and in what the first step promises.
        promised = float(np.vecdot(grad, self._direction).max())
        self._worthwhile = max(float(np.ptp(value)), _FIRST_STEP_SHARE * promised)

    @property
    def size(self) -> int:
        """How many restarts are left."""
        return len(self.X)

    def trial(self) -> Array:
        """Where each restart would go next: (R, D)."""
        moved = self.X + self._fraction[:, None] * self._direction
        if self._domain.is_box:
            return np.minimum(np.maximum(moved, self._low), self._high)
        return self._domain.project(moved.reshape(-1, *self._shape)).reshape(moved.shape)

    def advance(
        self, trial: Array, value: Array, grad: Array, tolerance: float
    ) -> NDArray[np.bool_]:
        """Take or shorten the step of each restart; returns which of them have ended: (R,)."""
        step = trial - self.X
        predicted = np.vecdot(self.grad, step)
        gained = value - self.value
        taken = gained >= _SUFFICIENT_GAIN * np.maximum(predicted, 0.0)
        self._update(step, self.grad - grad, taken)
        ended = taken & (gained <= tolerance * self._scale(value))
        if taken.all():
            self.X, self.value, self.grad = trial, value, grad
            self._fraction = np.ones(len(value))
            self._direction = self._ascent()
        else:
            self._take_or_shorten(trial, value, grad, taken, predicted)
        still = np.abs(self._direction).max(axis=1) * self._fraction < _SHORTEST_STEP
        over: NDArray[np.bool_] = ended | still
        return over

    def _take_or_shorten(
        self, trial: Array, value: Array, grad: Array, taken: NDArray[np.bool_], predicted: Array
    ) -> None:
        """Where a step gained too little, go to the top of the parabola that it suggests."""
        lost = predicted - (value - self.value)
        curved = np.isfinite(lost) & (lost > _SMALLEST)
        top = np.where(curved, 0.5 * predicted / np.where(curved, lost, 1.0), 0.5)
        shorter = self._fraction * np.minimum(np.maximum(top, 0.1), 0.5)
        self._fraction = np.where(taken, 1.0, shorter)
        rows = taken[:, None]
        self.X, self.grad = np.where(rows, trial, self.X), np.where(rows, grad, self.grad)
        self.value = np.where(taken, value, self.value)
        if self._domain.is_box:
            self._direction = np.where(rows, self._ascent(), self._direction)
        else:
            # Projected onto a slanted side, only steps along the gradient are sure to ascend.
            self._reset(~taken)
            self._direction = self._ascent()

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Go on with some of the restarts only."""
        self.X, self.value, self.grad = self.X[live], self.value[live], self.grad[live]
        self._inverse_hessian, self._direction = self._inverse_hessian[live], self._direction[live]
        self._fraction = self._fraction[live]
        if self._fresh is not None:
            self._fresh = self._fresh[live]

    def _reset(self, rows: NDArray[np.bool_]) -> None:
        """Back to steps along the gradient, of a length that suits the unit cube."""
        width = self._inverse_hessian.shape[-1]
        slope = np.abs(self._free_gradient()[rows]).max(axis=1)
        length = (self._first_step / np.maximum(slope, _SMALLEST))[:, None, None, None]
        self._inverse_hessian[rows] = length * np.eye(width)

    def _scale(self, value: Array) -> Array:
        """The size against which gains are measured: that of the values, or of what may be won."""
        return np.minimum(np.abs(value), self._worthwhile)

    def _free_gradient(self) -> Array:
        """The gradient without what would push a coordinate out of its bounds."""
        held = (self.X <= self._low) & (self.grad < 0.0)
        held |= (self.X >= self._high) & (self.grad > 0.0)
        return np.where(held, 0.0, self.grad)

    def _ascent(self) -> Array:
        """Quasi-Newton direction over the free coordinates, of limited length: (R, D)."""
        free = self._free_gradient()
        R, width = len(free), self._inverse_hessian.shape[-1]
        # A gradient of length 1 first: neither product overflows, however steep or flat it is.
        slope = np.maximum(np.abs(free).max(axis=1, keepdims=True), _SMALLEST)
        along = self._inverse_hessian @ (free / slope).reshape(R, self._blocks, width, 1)
        direction: Array = along.reshape(free.shape) * (free != 0.0)
        longest = np.maximum(np.abs(direction).max(axis=1, keepdims=True), _SMALLEST)
        direction *= np.minimum(slope, _LONGEST_STEP / longest)
        return direction

    def _update(self, step: Array, change: Array, taken: NDArray[np.bool_]) -> None:
        """BFGS update of the inverse Hessian, block by block, where it stays positive definite.

        H <- (I - s y^T / s^T y) H (I - y s^T / s^T y) + s s^T / s^T y (Nocedal and Wright 2006, eq.
        6.17), multiplied out, for ascent: y is the gradient before less that after the step s.
        step, change: (R, D); taken: (R,).
        """
        R, width = len(step), self._inverse_hessian.shape[-1]
        s, y = step.reshape(R, self._blocks, width), change.reshape(R, self._blocks, width)
        sy, yy = np.vecdot(s, y), np.vecdot(y, y)
        # A change so small that its square underflows says nothing of the curvature.
        good = taken[:, None] & (yy > _SMALLEST_SQUARE)
        good &= sy > 1e-10 * np.sqrt(np.vecdot(s, s)) * np.sqrt(yy)
        if self._fresh is not None:
            # The first update brings the identity to the scale of the curvature that was seen.
            rescale = good & self._fresh[:, None]
            scale = np.where(rescale, sy / np.where(rescale, yy, 1.0), 1.0)
            unscaled = np.where(rescale[..., None, None], np.eye(width), self._inverse_hessian)
            self._inverse_hessian = scale[..., None, None] * unscaled
            self._fresh = self._fresh & ~taken
            if not self._fresh.any():
                self._fresh = None
        weight = good / np.where(good, sy, 1.0)
        Hy = (self._inverse_hessian @ y[..., None])[..., 0]
        pull = 0.5 * weight * (1.0 + weight * np.vecdot(y, Hy))
        half = (pull[..., None] * s - weight[..., None] * Hy)[..., None] * s[..., None, :]
        half += half.swapaxes(-1, -2)
        self._inverse_hessian = self._inverse_hessian + half
