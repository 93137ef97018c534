"""Other hyperparameters that explain the observations about as well: their posterior, by weights.

Hyperparameters are drawn around the mode from a t-distribution with the curvature that the
posterior has there, and have weights, their density over that of the draw (importance sampling).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from innerloop import linalg
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.surrogate.posing import pose
from innerloop.surrogate.priors import DEFAULT
from innerloop.types import Array

# Degrees of freedom of the draws: their tails are wider than those of the posterior.
_FREEDOM = 5.0


class Alternatives(NamedTuple):
    """Surrogates with weights.

    Args:
        surrogates: S of them.
        log_weights: (S,), whose exponentials have the evidence of y as their sum, up to a factor
            that depends on the number of hyperparameters alone.
    """

    surrogates: tuple[GaussianProcess, ...]
    log_weights: Array


def alternatives(
    gp: GaussianProcess,
    X: ArrayLike,
    y: ArrayLike,
    *,
    size: int,
    generator: np.random.Generator,
    noise: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    reach: ArrayLike | None = None,
    smallest_noise: float = 1e-8,
) -> Alternatives:
    """Surrogates with hyperparameters around a mode of their posterior, which is one of them.

        theta_i ~ t(mode, H^-1),   weight_i = p(y, theta_i) / (S t(theta_i))

    Args:
        gp: the surrogate at the mode.
        X: (n, d), where f was observed.
        y: (n,), what was observed.
        size: S, how many.
        generator: what to draw with.
        noise: known noise variance, a number or (n,); learned if None.
        groups: as `fit` has it.
        reach: as `fit` has it.
        smallest_noise: as `fit` has it.

    Returns:
        Surrogates with weights.
    """
    posed = pose(
        X,
        y,
        kernel=type(gp.kernel),
        noise=noise,
        groups=groups,
        reach=reach,
        axes=gp.kernel.axes,
        priors=DEFAULT,
        smallest_noise=smallest_noise,
    )
    objective, mode = posed.objective, posed.theta(gp)
    p = len(mode)
    with linalg.one_blas_thread():
        # W^T W = H^-1 where W is the inverse of a Cholesky factor of H.
        W = linalg.whitener(objective.information(mode[None])[0], 1.0)
        u = generator.standard_normal((size, p))
        u *= np.sqrt(_FREEDOM / generator.chisquare(_FREEDOM, (size, 1)))
        u[0] = 0.0
        theta = objective.within_bounds(mode + u @ W)
        found = objective.evaluate(theta)
    log_density = -0.5 * (_FREEDOM + p) * np.log1p(np.vecdot(u, u) / _FREEDOM)
    log_density -= np.log(np.diagonal(W)).sum()
    # In the units of y, whose density is that of standardized values over scale^n.
    units = len(objective.values) * np.log(posed.scale)
    surrogates = map(posed.surrogate, theta, found.notes.tolist())
    return Alternatives(tuple(surrogates), -found.values - units - log_density - np.log(size))


def resampled(weights: Array, size: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """How often each of several things is drawn, by systematic resampling.

    Args:
        weights: log weights (S,).
        size: how many draws.
        generator: what to draw with.

    Returns:
        Counts (S,) whose sum is the size.
    """
    shares = np.cumsum(np.exp(weights - logsumexp(weights)))
    ticks = (np.arange(size) + generator.random()) / size
    chosen = np.minimum(np.searchsorted(shares, ticks), len(weights) - 1)
    return np.bincount(chosen, minlength=len(weights)).astype(np.intp)
