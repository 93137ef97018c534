"""Which of many observations a posterior is given, so that it costs no more as they grow.

A posterior given n observations costs n^3 once and n^2 for each query. With thousands of them it is
given a part: the best ones and some of all the others. That is enough to say where queries may go,
and too little to say what is known there, since observations near a query may be missing. So those
are added where queries went, and the search goes on, until the belief at the queries is that of all
observations near them.

What all observations say of a single point is what the part says together with the nearest of the
others, by the kernel's own distance: given these, the rest hardly matters (Vecchia 1988).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.types import Array

# What is known of a point is what a part and so many of the observations next to it say; to tell
# whether a part lacks something there, fewer will do.
_NEAREST, _NEXT = 400, 150
# A part lacks something where these would make its standard deviation smaller by this share.
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


def nearest(
    gp: GaussianProcess, X: Array, x: Array, number: int, *, but: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The observations next to a point, by the distance of the kernel.

    Args:
        gp: the prior.
        X: (n, d), where f was observed.
        x: (d,).
        number: how many.
        but: numbers of observations that are not wanted.

    Returns:
        Their numbers, (number,), or all of them if they are fewer.
    """
    others = np.ones(len(X), dtype=np.bool_)
    others[but] = False
    rows = np.flatnonzero(others)
    if len(rows) <= number:
        return rows
    differences = gp.kernel.scaled(X[rows] - x).points
    squares = np.vecdot(differences, differences)
    return rows[np.argpartition(squares, number)[:number]]


def missing(
    posterior: Posterior, rows: NDArray[np.intp], X: Array, noise: Array, Xq: Array
) -> NDArray[np.intp]:
    """Which observations make a difference at queries, and are missing in a posterior.

    Args:
        posterior: given some of the observations.
        rows: numbers of these.
        X: (n, d), where all observations were made.
        noise: (n,), variances of their noise.
        Xq: (q, d), queries.

    Returns:
        Numbers of observations; none where the posterior is as sure as it would be with others.
    """
    sd = np.sqrt(posterior.marginals(Xq)[1])
    found = [np.zeros(0, dtype=np.intp)]
    for x, unsure in zip(Xq, sd, strict=True):
        new = nearest(posterior.gp, X, x, _NEXT, but=rows)
        # What came out there does not matter for how sure it would be.
        better = posterior.condition(X[new], np.zeros(len(new)), noise[new])
        if len(new) and unsure > (1.0 + _TOO_UNSURE) * np.sqrt(better.marginals(x[None])[1][0]):
            found.append(new)
    return np.unique(np.concatenate(found))


def marginals_nearby(
    posterior: Posterior, rows: NDArray[np.intp], X: Array, y: Array, noise: Array, Xq: Array
) -> tuple[Array, Array]:
    """Mean and variance of f at each point by itself, given those that are next to it as well.

    Args:
        posterior: given some of the observations.
        rows: numbers of these.
        X: (n, d), where f was observed.
        y: (n,), what was observed.
        noise: (n,), variances of the observations' noise.
        Xq: (N, d), points.

    Returns:
        Means (N,) and variances (N,).
    """
    moments = np.empty((2, len(Xq)))
    for i, x in enumerate(Xq):
        new = nearest(posterior.gp, X, x, _NEAREST, but=rows)
        mean, variance = posterior.condition(X[new], y[new], noise[new]).marginals(x[None])
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
