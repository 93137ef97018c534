"""Whether a posterior of ours says the same as a model of another library.

Models of other libraries are converted where they are Gaussian processes that a `Posterior` can be
too: it takes a small part of their time. What was recognized is not trusted but compared.
"""

from __future__ import annotations

import numpy as np

from innerloop.errors import NumericalError
from innerloop.sobol import sobol
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.model import Model
from innerloop.types import Array

_SETS, _OBSERVED = 16, 8


def equal_posterior(
    gp: GaussianProcess, X: Array, y: Array, model: Model, tolerance: float
) -> Posterior | None:
    """The posterior of gp given y (n,) at X (n, d), if it says what the model says; else None.

    Means and covariances of pairs of points are compared: of some that are spread over the unit
    cube, and of observations with those, in units of the prior's standard deviation.
    """
    try:
        posterior = gp.condition(X, y)
    except NumericalError:
        return None
    spread = sobol(2 * _SETS, posterior.d, np.random.default_rng(0))
    beside = np.stack([X[:_OBSERVED], spread[: len(X[:_OBSERVED])]], axis=1)
    pairs = np.concatenate([spread.reshape(_SETS, 2, -1), beside])
    ours, theirs = posterior.belief(pairs), model.belief(pairs)
    same_mean = np.abs(ours.mean - theirs.mean).max() <= tolerance * np.sqrt(posterior.scale)
    same_cov = np.abs(ours.cov - theirs.cov).max() <= tolerance * posterior.scale
    return posterior if same_mean and same_cov else None
