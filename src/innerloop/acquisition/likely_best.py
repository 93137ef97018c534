"""Which observations may be the best so far, when noise keeps that from being known."""

from __future__ import annotations

import numpy as np

from innerloop import linalg
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.types import Array

_DRAWS = 256
# Observations that are looked at, and that are kept at most.
_LOOKED_AT, _KEPT = 64, 16
_OPTIMISM = 3.0


def likely_best(posterior: Posterior, generator: np.random.Generator) -> Array:
    """The observed points that are the best one in some draws of f, most often first.

    Args:
        posterior: the belief given the data.
        generator: what to draw with.

    Returns:
        Points, (k, d).
    """
    distinct = np.unique(posterior.X, axis=0)
    mean, variance = posterior.marginals(distinct)
    hopeful = np.argsort(-(mean + _OPTIMISM * np.sqrt(variance)), kind="stable")[:_LOOKED_AT]
    points = distinct[hopeful]
    belief = posterior.belief(points)
    factor = linalg.cholesky(belief.cov, posterior.gp.kernel.variance)
    draws = belief.mean + generator.standard_normal((_DRAWS, len(points))) @ factor.T
    times = np.bincount(np.argmax(draws, axis=1), minlength=len(points))
    order = np.argsort(-times, kind="stable")
    return points[order[times[order] > 0][:_KEPT]]
