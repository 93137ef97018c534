"""Points that fill a domain evenly where a Sobol sequence of the cube has none inside."""

from __future__ import annotations

import numpy as np

from innerloop.domain.domain import Domain
from innerloop.types import Array

# So many random points stand for the domain, and so many of them may be chosen.
_DRAWN, _CHOSEN = 1024, 256


def evenly(domain: Domain, sobol: Array, size: int, generator: np.random.Generator) -> Array:
    """The first of an even choice of points: each brings those before it nearest to all.

    The next point x is the one that is lowest in

        mean_j |x - y_j| - 1/(n + 1) sum_i |x - x_i|,

    with y_j random points of the domain and x_i the n points that were chosen: greedy support
    points (Mak and Joseph 2018). Coordinates that are in no constraint are those of a sequence.

    Args:
        domain: where points lie.
        sobol: (N, d), points of the cube.
        size: how many there should be.
        generator: what to draw with; always the same number of draws.

    Returns:
        Points, (n, d): so many, or as many as there are.
    """
    linked = domain.linked
    Y = domain.sample(_DRAWN, generator)[:, linked]
    apart = _distances(Y)
    near, far, chosen = apart.mean(axis=1), np.zeros(_DRAWN), []
    for n in range(min(size, _CHOSEN, len(sobol))):
        chosen.append(int(np.argmin(near - far / (n + 1))))
        far += apart[chosen[-1]]
    X = sobol[: len(chosen)].copy()
    X[:, linked] = Y[chosen]
    return X


def _distances(Y: Array) -> Array:
    """Euclidean distances between points (N, m), one coordinate after the other: (N, N)."""
    squares = np.zeros((len(Y), len(Y)))
    for y in Y.T:
        squares += (y[:, None] - y) ** 2
    return np.sqrt(squares)
