"""Which observations may be the best so far, when noise keeps that from being known."""

from __future__ import annotations

import numpy as np

from innerloop import linalg
from innerloop.acquisition.utility import Utility
from innerloop.errors import InputError
from innerloop.surrogate.model import Surrogate
from innerloop.types import Array

_DRAWS = 256
# Observations that are looked at, and that are kept at most: one can be the best, and many can be
# on a front.
_LOOKED_AT, _KEPT = 64, 16
_LOOKED_AT_FOR_FRONT, _KEPT_FOR_FRONT = 128, 32
_OPTIMISM = 3.0
_SLACK = 1e-9


def likely_best(
    posteriors: tuple[Surrogate, ...], utility: Utility, generator: np.random.Generator
) -> Array:
    """The observed points that are the best one, or on the front, in some draws, most often first.

    Args:
        posteriors: the beliefs given the data, one for each outcome.
        utility: what says which are best.
        generator: what to draw with.

    Returns:
        Points, (k, d).
    """
    several = len(posteriors) > 1
    if not all(len(each.X) for each in posteriors):
        raise InputError(
            f"{type(utility).__name__} is about the best of what was observed: "
            "models need an attribute X, the points (n, d)"
        )
    points = _hopeful(posteriors, utility, _LOOKED_AT_FOR_FRONT if several else _LOOKED_AT)
    # What was observed beside the unit cube cannot be chosen, however good it is.
    inside = np.all((points >= -_SLACK) & (points <= 1.0 + _SLACK), axis=-1)
    points = points[inside] if inside.any() else points[-1:]
    draws = [_drawn(each, points, generator) for each in posteriors]
    times = utility.are_best(np.stack(draws, axis=-1) if several else draws[0]).sum(axis=0)
    order = np.argsort(-times, kind="stable")
    best: Array = points[order[times[order] > 0][: _KEPT_FOR_FRONT if several else _KEPT]]
    return best


def _hopeful(posteriors: tuple[Surrogate, ...], utility: Utility, number: int) -> Array:
    """Observed points that could be worth most, if all went well for them: (n, d)."""
    if len(posteriors) == 1:
        return _most_hopeful(posteriors[0], number)
    points = np.unique(np.concatenate([each.X for each in posteriors]), axis=0)
    if len(points) <= number:
        return points
    beliefs = [each.marginals(points) for each in posteriors]
    good = [1.0 if k < utility.objectives else -1.0 for k in range(len(posteriors))]
    hopes = [
        sign * mean + _OPTIMISM * np.sqrt(variance)
        for sign, (mean, variance) in zip(good, beliefs, strict=True)
    ]
    # How many are expected to be better in every way.
    known = np.stack([sign * mean for sign, (mean, _) in zip(good, beliefs, strict=True)], axis=-1)
    beaten = (known[:, None] > np.stack(hopes, axis=-1)).all(axis=-1).sum(axis=0)
    return points[np.argsort(beaten, kind="stable")[:number]]


def _most_hopeful(posterior: Surrogate, number: int) -> Array:
    """The same for one outcome, whose belief at the observations is at hand: (n, d)."""
    points, first = np.unique(posterior.X, axis=0, return_index=True)
    hope = posterior.fitted[first] + _OPTIMISM * np.sqrt(posterior.fitted_variance[first])
    return points[np.argsort(-hope, kind="stable")[:number]]


def _drawn(posterior: Surrogate, points: Array, generator: np.random.Generator) -> Array:
    """Draws of f at points (n, d): (D, n)."""
    belief = posterior.unchecked_belief(points)
    factor = linalg.cholesky(belief.cov, posterior.scale)
    return belief.mean + generator.standard_normal((_DRAWS, len(points))) @ factor.T
