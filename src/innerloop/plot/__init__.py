"""Pictures of a run with matplotlib: axes in, axes out, in the colours of the style in use."""

from innerloop.plot.convergence import convergence
from innerloop.plot.effects import contour, slices
from innerloop.plot.importance import importances
from innerloop.plot.trials import front, parallel_coordinates
from innerloop.plot.validation import calibration, predicted_against_observed

__all__ = [
    "calibration",
    "contour",
    "convergence",
    "front",
    "importances",
    "parallel_coordinates",
    "predicted_against_observed",
    "slices",
]
