"""Minimization of a smooth function of few parameters within bounds, from known curvature.

A dense BFGS method that starts from a given curvature matrix instead of the identity, and keeps
parameters within a box by projection. Hyperparameter fits use it: their expected
information matrix is so good a first guess that a fit takes a third of the evaluations that
L-BFGS-B needs, which has to learn the same matrix step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from innerloop.checks import Array

_SUFFICIENT_DECREASE = 1e-4
_LONGEST_STEP = 2.0
_SHORTEST_FRACTION = 1e-6


class Minimum(NamedTuple):
    """Where the search ended, and the value there."""

    x: Array
    value: float


def minimize(
    function: Callable[[Array], tuple[float, Array]],
    x: Array,
    curvature: Array,
    bounds: Array,
    *,
    steps: int = 100,
    tolerance: float = 1e-9,
) -> Minimum:
    """Minimize a function that returns its value and gradient.

    x: (p,), within bounds (p, 2); curvature: (p, p), symmetric positive semi-definite. Ends when a
    step gains less than `tolerance` relative to the value, or after `steps` steps.
    """
    low, high = bounds.T
    value, grad = function(x)
    for _ in range(steps):
        direction = _direction(x, grad, curvature, low, high)
        if -grad @ direction <= tolerance * max(1.0, abs(value)):
            break
        fraction = 1.0
        while True:
            step = np.clip(x + fraction * direction, low, high) - x
            new_value, new_grad = function(x + step)
            predicted = grad @ step
            if new_value <= value + _SUFFICIENT_DECREASE * predicted:
                break
            # The minimum of the parabola through both values and the slope, kept well inside.
            parabola = -0.5 * predicted / (new_value - value - predicted)
            fraction *= float(np.clip(parabola, 0.1, 0.5))
            if not fraction >= _SHORTEST_FRACTION:  # true of NaN too
                return Minimum(x, value)
        curvature = _updated(curvature, step, new_grad - grad)
        gained = value - new_value
        x, value, grad = x + step, new_value, new_grad
        if gained <= tolerance * max(1.0, abs(value)):
            break
    return Minimum(x, value)


def _direction(x: Array, grad: Array, curvature: Array, low: Array, high: Array) -> Array:
    """The quasi-Newton step of the parameters that are not held at a bound by their gradient."""
    held = ((x <= low) & (grad > 0.0)) | ((x >= high) & (grad < 0.0))
    # A little is added where there is next to no curvature, so that the step stays finite.
    matrix = curvature + 1e-3 * np.eye(x.size)
    slope = -grad
    if held.any():
        matrix[held, :] = matrix[:, held] = 0.0
        matrix[held, held] = 1.0
        slope[held] = 0.0
    direction: Array = np.linalg.solve(matrix, slope).astype(np.float64, copy=False)
    direction *= min(1.0, _LONGEST_STEP / max(float(np.abs(direction).max()), 1e-300))
    return direction


def _updated(curvature: Array, step: Array, change: Array) -> Array:
    """BFGS update, damped where the function curves down (Powell's rule)."""
    along = curvature @ step
    expected, seen = step @ along, step @ change
    if expected <= 0.0:
        return curvature
    if seen < 0.2 * expected:
        share = 0.8 * expected / (expected - seen)
        change = share * change + (1.0 - share) * along
        seen = step @ change
    updated: Array = curvature + np.outer(change, change) / seen - np.outer(along, along) / expected
    return updated
