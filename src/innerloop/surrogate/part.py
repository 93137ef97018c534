"""Which of many observations a posterior is given, so that it costs no more as they grow.

A posterior given n observations costs n^3 once and n^2 for each query. With tens of thousands of
them it is given a part: the best ones and some of all the others. That is enough to say where
queries may go, and too little to say what is known there, since observations near a query may be
missing. So those are added where queries went, and the search goes on, until the belief at the
queries is that of all observations near them.

What all observations say of a single point is taken from the nearest of them, by the kernel's own
distance (Vecchia 1988: given these, others hardly matter).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.types import Array

# What is known of a point is what so many observations next to it say.
_NEAREST = 400
# So many of the nearest are added to a part at a time, for each query.
_ADDED = 100
# A part is good enough at a query if its standard deviation is larger by no more than this share.
_TOO_UNSURE = 0.05
# Numbers of a covariance matrix at a time.
_AT_A_TIME = 4_000_000


def promising(y: Array, size: int) -> NDArray[np.intp]:
    """Which observations to begin with: the best quarter of them, and others at random.

    Args:
        y: (n,), observations; large is good.
        size: how many, less than n.

    Returns:
        Their numbers, ascending: (size,).
    """
    order = np.argsort(-y, kind="stable")
    best, others = np.split(order, [size // 4])
    rest = np.random.default_rng(0).choice(others, size - len(best), replace=False)
    return np.sort(np.concatenate([best, rest])).astype(np.intp)


def nearest(gp: GaussianProcess, X: Array, x: Array, number: int) -> NDArray[np.intp]:
    """The observations next to a point, by the distance of the kernel.

    Args:
        gp: the prior.
        X: (n, d), where f was observed.
        x: (d,).
        number: how many.

    Returns:
        Their numbers, (number,), or all of them if they are fewer.
    """
    if len(X) <= number:
        return np.arange(len(X))
    differences = gp.kernel.scaled(X - x).points
    squares = np.vecdot(differences, differences)
    return np.argpartition(squares, number)[:number].astype(np.intp)


def missing(posterior: Posterior, X: Array, noise: Array, Xq: Array) -> NDArray[np.intp]:
    """Which observations near queries make a difference there, and are missing in a posterior.

    Args:
        posterior: given some of the observations.
        X: (n, d), where all observations were made.
        noise: (n,), variances of their noise.
        Xq: (q, d), queries.

    Returns:
        Numbers of observations, which are none where the posterior is as sure as with all of them.
    """
    sd = np.sqrt(posterior.marginals(Xq)[1])
    known = {x.tobytes() for x in posterior.X}
    found: set[int] = set()
    for x, unsure in zip(Xq, sd, strict=True):
        rows = nearest(posterior.gp, X, x, _NEAREST)
        variance = _given_some(posterior.gp, X, np.zeros(len(X)), noise, rows).marginals(x[None])[1]
        if unsure > (1.0 + _TOO_UNSURE) * np.sqrt(variance[0]):
            closest = rows[nearest(posterior.gp, X[rows], x, _ADDED)]
            found.update(int(i) for i in closest if X[i].tobytes() not in known)
    return np.array(sorted(found), dtype=np.intp)


def _given_some(
    gp: GaussianProcess, X: Array, y: Array, noise: Array, rows: NDArray[np.intp]
) -> Posterior:
    """The belief given some observations, with the noise that each has."""
    return GaussianProcess(gp.kernel, gp.mean, noise[rows]).condition(X[rows], y[rows])


def marginals_nearby(
    gp: GaussianProcess, X: Array, y: Array, noise: Array, Xq: Array
) -> tuple[Array, Array]:
    """Mean and variance of f at each point by itself, given the observations next to it.

    Args:
        gp: the prior, with one noise variance.
        X: (n, d), where f was observed.
        y: (n,), what was observed.
        noise: (n,), variances of the observations' noise.
        Xq: (N, d), points.

    Returns:
        Means (N,) and variances (N,).
    """
    moments = np.empty((2, len(Xq)))
    for i, x in enumerate(Xq):
        rows = nearest(gp, X, x, _NEAREST)
        mean, variance = _given_some(gp, X, y, noise, rows).marginals(x[None])
        moments[:, i] = mean[0], variance[0]
    return moments[0], moments[1]


def means(posterior: Posterior, X: Array) -> Array:
    """Posterior means at many points.

    Args:
        posterior: the belief.
        X: (N, d), points.

    Returns:
        Means, (N,).
    """
    weights = posterior.residuals @ posterior.whitener  # K^-1 (y - mean)
    step = max(_AT_A_TIME // posterior.n, 1)
    blocks = [X[i : i + step] for i in range(0, len(X), step)]
    found = [posterior.gp.kernel(block, posterior.X) @ weights for block in blocks]
    return posterior.gp.mean + np.concatenate(found)
