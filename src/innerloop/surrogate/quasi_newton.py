"""Minimization of a smooth function of few parameters within bounds, from known curvature.

A dense BFGS method (Nocedal and Wright 2006, chapter 6) that starts from a given matrix instead
of the identity, and keeps parameters within a box by projection; several searches go on in
lockstep. Hyperparameter fits use it: their expected information matrix is so good a first guess
that a fit takes a third of the evaluations that L-BFGS-B needs, which has to learn the same
matrix step by step. Where a function gives its curvature at every point, nothing is learned: this
is then Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

_SUFFICIENT_DECREASE = 1e-4
_LONGEST_STEP = 2.0
_SHORTEST_FRACTION = 1e-6
# Added to diagonals of Hessians, and this share too, so that steps stay finite where they vanish.
_LEAST_CURVATURE, _LEAST_SHARE = 1e-3, 1e-10
# A smaller product of a step with its curvature is rounding error, and may underflow.
_SMALLEST_PRODUCT = 1e-250


class Found(NamedTuple):
    """What a function says of points (S, p).

    Args:
        values: (S,).
        grads: (S, p).
        notes: (S,), something to keep with each.
        hessians: (S, p, p), symmetric positive semi-definite curvature; None to have it learned
            from gradients.
    """

    values: Array
    grads: Array
    notes: Array
    hessians: Array | None = None

    def only(self, rows: NDArray[np.intp]) -> Found:
        """Some of the points."""
        values, grads, notes, hessians = self
        known = None if hessians is None else hessians[rows]
        return Found(values[rows], grads[rows], notes[rows], known)


class Descents(NamedTuple):
    """Where S searches have got to.

    Args:
        x: (S, p).
        values: (S,), of the function there.
        grads: (S, p), its gradients.
        notes: (S,), what the function notes about x.
        hessians: B (S, p, p), approximate second derivatives, symmetric positive semi-definite.
        ended: (S,), whether there is nothing more to gain.
    """

    x: Array
    values: Array
    grads: Array
    notes: Array
    hessians: Array
    ended: NDArray[np.bool_]

    def only(self, rows: NDArray[np.intp]) -> Descents:
        """Some of the searches."""
        x, values, grads, notes, hessians, ended = self
        return Descents(
            x[rows], values[rows], grads[rows], notes[rows], hessians[rows], ended[rows]
        )


def advance(
    function: Callable[[Array], Found],
    descents: Descents,
    bounds: Array,
    *,
    evaluations: int = 100,
    tolerance: float = 1e-9,
    stop: Callable[[], bool] = lambda: False,
) -> Descents:
    """Go on with searches, all in lockstep.

    Steps are taken if they meet the condition of sufficient decrease (Nocedal and Wright 2006,
    eq. 3.4, with c_1 = 1e-4), and shortened by interpolation if they do not (section 3.5).

    Args:
        function: takes points (S, p) to what it finds there.
        descents: where the searches are.
        bounds: (p, 2), lowest and highest values.
        evaluations: after so many all searches pause.
        tolerance: a search ends when a step gains less than this, relative to the value.
        stop: asked before each evaluation; all searches pause when it says so.

    Returns:
        Where the searches have got to.
    """
    low, high = bounds.T
    x, values, grads = descents.x.copy(), descents.values.copy(), descents.grads.copy()
    notes, hessians = descents.notes.copy(), descents.hessians.copy()
    ended = descents.ended.copy()
    # A fraction of 0 stands for a direction that is not there yet.
    directions, fractions = np.zeros_like(x), np.zeros_like(values)
    for _ in range(evaluations):
        rows = np.flatnonzero(~ended & (fractions == 0.0))
        if rows.size:
            directions[rows] = _directions(x[rows], grads[rows], hessians[rows], low, high)
            fractions[rows] = 1.0
            gains = -np.vecdot(grads[rows], directions[rows])
            ended[rows] = gains <= tolerance * np.maximum(1.0, np.abs(values[rows]))
        rows = np.flatnonzero(~ended)
        if not rows.size or stop():
            break
        steps = np.clip(x[rows] + fractions[rows, None] * directions[rows], low, high) - x[rows]
        new_values, new_grads, new_notes, known = function(x[rows] + steps)
        predicted = np.vecdot(grads[rows], steps)
        taken = new_values <= values[rows] + _SUFFICIENT_DECREASE * predicted
        taken &= predicted < 0.0
        if not taken.all():
            fractions[rows] *= _shrinkage(new_values - values[rows], predicted)
            ended[rows] = ~taken & (fractions[rows] < _SHORTEST_FRACTION)
            rows, steps, new_values = rows[taken], steps[taken], new_values[taken]
            new_grads, new_notes = new_grads[taken], new_notes[taken]
            known = None if known is None else known[taken]
        changes = new_grads - grads[rows]
        hessians[rows] = _updated(hessians[rows], steps, changes) if known is None else known
        ended[rows] = values[rows] - new_values <= tolerance * np.maximum(1.0, np.abs(new_values))
        x[rows] += steps
        values[rows], grads[rows], notes[rows] = new_values, new_grads, new_notes
        fractions[rows] = 0.0
    return Descents(x, values, grads, notes, hessians, ended)


def _shrinkage(increases: Array, predicted: Array) -> Array:
    """The minimum of the parabola through both values and the slope, kept well inside."""
    curving = increases - predicted
    # Otherwise the value is not finite, or the bounds have bent the step so that it leads up.
    sound = (predicted < 0.0) & (curving > 0.0) & (curving < np.inf)
    parabola = np.divide(-0.5 * predicted, curving, where=sound, out=np.zeros_like(curving))
    return np.clip(parabola, 0.1, 0.5)


def _directions(x: Array, grads: Array, hessians: Array, low: Array, high: Array) -> Array:
    """The quasi-Newton steps (S, p) of the parameters that are not held at a bound.

    Held are those that their own gradient pushes out, and those that the step would push out.
    """
    at_low, at_high = x <= low, x >= high
    held = (at_low & (grads > 0.0)) | (at_high & (grads < 0.0))
    matrix, slopes = hessians.copy(), -grads
    diagonals = np.einsum("sii->si", matrix)
    diagonals += _LEAST_CURVATURE + _LEAST_SHARE * diagonals
    while True:
        if held.any():
            matrix[held] = 0.0
            matrix.swapaxes(1, 2)[held] = 0.0
            diagonals[held] = 1.0
            slopes[held] = 0.0
        directions = np.linalg.solve(matrix, slopes[:, :, None])[:, :, 0]
        out = (at_low & (directions < 0.0)) | (at_high & (directions > 0.0))
        if not out.any():
            break
        held |= out
    longest = np.maximum(np.abs(directions).max(axis=1, keepdims=True), _LONGEST_STEP)
    return np.asarray(directions * (_LONGEST_STEP / longest))


def _updated(hessians: Array, steps: Array, changes: Array) -> Array:
    """BFGS updates of B (S, p, p) for steps s (S, p) and changes y of the gradient (S, p).

        B <- B - B s s^T B / s^T B s + y y^T / s^T y        (Nocedal and Wright 2006, eq. 6.19)

    Where s^T y < 0.2 s^T B s, the function curving down, y is damped by Powell's rule (procedure
    18.2).
    """
    along = (hessians @ steps[:, :, None])[:, :, 0]
    expected, seen = np.vecdot(steps, along), np.vecdot(steps, changes)
    sound = expected > _SMALLEST_PRODUCT
    damped = sound & (seen < 0.2 * expected)
    if damped.any():
        share = np.divide(0.8 * expected, expected - seen, where=damped, out=np.ones_like(seen))
        changes = share[:, None] * changes + (1.0 - share)[:, None] * along
        seen = np.vecdot(steps, changes)
    # Rounding error has nothing to teach.
    sound &= seen > 0.1 * _SMALLEST_PRODUCT
    if not sound.all():
        expected, seen = np.where(sound, expected, np.inf), np.where(sound, seen, np.inf)
    updated: Array = hessians + changes[:, :, None] * (changes / seen[:, None])[:, None, :]
    updated -= along[:, :, None] * (along / expected[:, None])[:, None, :]
    return updated
