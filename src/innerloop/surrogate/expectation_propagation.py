"""Yes or no as a belief over a latent function: expectation propagation for a probit likelihood.

    f ~ N(mean, K),   p(s_i | f) = Phi(s_i f(x_i)),   s_i = 1 or -1

Every factor of the likelihood is replaced by a normal one, its site, such that the approximate
posterior has the mean and the variance that it would have with the true factor in place of that
site (Rasmussen and Williams 2006, section 3.6). All sites are brought up to date at once, and
several prior covariances are treated together. A site is no sharper than the likelihood, whose
curvature is at most 1: nothing here is ill-conditioned, however the points lie.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from innerloop import linalg
from innerloop.types import Array

# Where f varies much, the first rounds move next to nothing.
_FEWEST_ROUNDS, _ROUNDS = 4, 60
# Updates at once overshoot where points are alike and f varies much: so much of each is taken.
_DAMPING = 0.6
_LEAST_PRECISION = 1e-10
_LOG_ROOT_2_PI = 0.5 * np.log(2.0 * np.pi)


class Sites(NamedTuple):
    """Normal factors in place of the likelihood, for S priors.

    Args:
        precision: (S, n).
        shift: (S, n), precision times where the site is, less the prior mean.
    """

    precision: Array
    shift: Array


class Evidence(NamedTuple):
    """What S priors make of the data.

    Args:
        log: (S,), the approximate logarithm of p(s).
        d_mean: (S,), its gradient in the prior mean.
        d_covariance: (S, n, n), its gradient in the prior covariance, symmetric.
        sites: at which it was taken.
    """

    log: Array
    d_mean: Array
    d_covariance: Array
    sites: Sites


def evidence(
    K: Array,
    mean: Array,
    signs: Array,
    *,
    start: Sites | None = None,
    tolerance: float = 1e-6,
) -> Evidence:
    """Sites that agree with one another, and the evidence there with its gradient.

    Args:
        K: (S, n, n), prior covariances.
        mean: (S,), prior means.
        signs: (n,), 1 or -1.
        start: sites to go on from; by default none.
        tolerance: sites are good enough once they would move by less. The evidence is stationary in
            them: its error is of the order of the square.

    Returns:
        The evidence, and the sites.
    """
    S, n, _ = K.shape
    blank = Sites(np.full((S, n), _LEAST_PRECISION), np.zeros((S, n)))
    sites = blank if start is None else start
    fewest = _FEWEST_ROUNDS if start is None else 0
    for i in range(_ROUNDS):
        posterior = _posterior(K, sites)
        cavity = _cavity(posterior, sites)
        target = _matched(cavity, mean, signs)
        moves = Sites(*(a - b for a, b in zip(target, sites, strict=True)))
        if i >= fewest and max(np.abs(each).max() for each in moves) < tolerance:
            break
        sites = Sites(*(a + _DAMPING * b for a, b in zip(sites, moves, strict=True)))
    else:
        posterior = _posterior(K, sites)
    return _evidence(posterior, mean, signs, sites)


class _Normal(NamedTuple):
    """Marginals of the approximate posterior, less the prior mean, and what they came from.

    mean, variance: (S, n). within: R (S, n, n), (K + 1 / precision)^-1. log_determinant: (S,), of
    1 + precision K. weights: b (S, n), with K b the mean.
    """

    mean: Array
    variance: Array
    within: Array
    log_determinant: Array
    weights: Array


def _posterior(K: Array, sites: Sites) -> _Normal:
    """The prior times the sites, normalized."""
    roots = np.sqrt(sites.precision)
    B = roots[:, :, None] * K * roots[:, None]
    linalg.diagonals(B)[...] += 1.0
    log_determinant, inverse = linalg.log_determinants_and_inverses(B, np.ones(len(K)))
    # By the covariance roots^-1 (1 - B^-1) roots^-1, which has no differences of large numbers as
    # K - K R K has, where f varies much. Next to a blank site the latter is about K.
    prior, share = linalg.diagonals(K), 1.0 - linalg.diagonals(inverse)
    scaled = sites.shift / roots
    solved = (inverse @ scaled[..., None])[..., 0]
    mean, weights = (scaled - solved) / roots, roots * solved
    inverse *= roots[:, :, None]
    inverse *= roots[:, None]
    direct = prior - ((K @ inverse) * K).sum(axis=-1)
    variance = np.where(sites.precision * prior > 1.0, share / sites.precision, direct)
    return _Normal(mean, np.maximum(variance, 1e-12), inverse, log_determinant, weights)


def _cavity(posterior: _Normal, sites: Sites) -> tuple[Array, Array]:
    """Marginals without each one's own site, less the prior mean: mean and variance, (S, n)."""
    left = np.maximum(1.0 - sites.precision * posterior.variance, 1e-12)
    variance = posterior.variance / left
    return (posterior.mean - posterior.variance * sites.shift) / left, variance


def _matched(cavity: tuple[Array, Array], mean: Array, signs: Array) -> Sites:
    """Sites that give each marginal the moments it has with its true factor (eq. 3.58)."""
    at, variance = cavity
    _, ratio, u = _tilted(cavity, mean, signs)
    # The share of the cavity's precision by which a marginal is sharper with the factor.
    curvature = ratio * (u + ratio) / (1.0 + variance)
    left = np.maximum(1.0 - curvature * variance, 1e-12)
    precision = np.maximum(curvature / left, _LEAST_PRECISION)
    slope = signs * ratio / np.sqrt(1.0 + variance)
    return Sites(precision, precision * at + slope * (1.0 + precision * variance))


def _tilted(cavity: tuple[Array, Array], mean: Array, signs: Array) -> tuple[Array, Array, Array]:
    """log Phi(u), its derivative and u, of the chance of each sign given the others: (S, n)."""
    at, variance = cavity
    u = signs * (at + mean[:, None]) / np.sqrt(1.0 + variance)
    log_chance = log_ndtr(u)
    return log_chance, np.exp(-0.5 * u**2 - _LOG_ROOT_2_PI - log_chance), u


def _evidence(posterior: _Normal, mean: Array, signs: Array, sites: Sites) -> Evidence:
    """The approximate evidence (eq. 3.65, as in 3.73 and 3.74), and its gradient (eq. 5.27)."""
    cavity = at, variance = _cavity(posterior, sites)
    precision, shift = sites
    log_chance = _tilted(cavity, mean, signs)[0]
    together = 1.0 + precision * variance
    log = log_chance.sum(axis=1) - 0.5 * posterior.log_determinant
    log += 0.5 * np.log(together).sum(axis=1)
    log += 0.5 * (shift * (posterior.mean - shift * variance / together)).sum(axis=1)
    log += 0.5 * (at * (precision * at - 2.0 * shift) / together).sum(axis=1)
    b = posterior.weights
    d_covariance = 0.5 * (b[:, :, None] * b[:, None] - posterior.within)
    return Evidence(log, b.sum(axis=1), d_covariance, sites)
