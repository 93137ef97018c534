"""Where the largest of many sums is likely to be: softmax(a_k + b_l), averaged over l.

The exponential of a sum is a product, so with A = exp(a) and E = exp(b)

    Z = A E^T,   chance = A * (1/(l Z) E),

and all that is summed over pairs (k, l), in the pullback too, is a matrix product. Only where
Z underflows, because a_k and b_l have their largest entries far apart, are pairs gone through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

# The products lose nothing that matters, nor do their inverses overflow, above this.
_SMALLEST_PRODUCT = 1e-250
# Floats that pairs may take up at a time.
_WORKSPACE = 2**20

Pullback = Callable[[Array], tuple[Array, Array]]


def mean_softmax(a: Array, b: Array) -> tuple[Array, Pullback]:
    """Average of softmax(a_k + b_l) over l, the relaxed event of eq. 13, and its pullback.

        1/L sum_l softmax(a_k + b_l)

    Args:
        a: (R, m, B).
        b: (R, L, B).

    Returns:
        The averages (R, m, B), and a function that takes their gradient (R, m, B) to those of a and
        b.
    """
    A, E = _scaled_exp(a), _scaled_exp(b)
    weights = A @ E.swapaxes(-1, -2)
    apart = np.flatnonzero(weights.min(axis=(1, 2)) < _SMALLEST_PRODUCT)
    weights[apart] = 1.0
    np.divide(1.0 / b.shape[1], weights, out=weights)
    chance = weights @ E
    chance *= A
    for rows in _shards(apart, a, b):
        chance[rows] = _events(a[rows], b[rows]).mean(axis=2)

    def pullback(d_chance: Array) -> tuple[Array, Array]:
        # Events sum to 1, so that a constant makes no difference; without it less cancels.
        slope = d_chance - (chance * d_chance).sum(axis=-1, keepdims=True)
        sloped = A * slope
        expected = sloped @ E.swapaxes(-1, -2)
        expected *= weights
        expected *= weights
        expected *= b.shape[1]
        d_a = chance * slope - A * (expected @ E)
        d_b = E * (weights.swapaxes(-1, -2) @ sloped - expected.swapaxes(-1, -2) @ A)
        for rows in _shards(apart, a, b):
            d_a[rows], d_b[rows] = _pair_by_pair(a[rows], b[rows], slope[rows])
        return d_a, d_b

    return chance, pullback


def _scaled_exp(x: Array) -> Array:
    """exp(x) in units of its largest entry along the last axis."""
    scaled: Array = x - x.max(axis=-1, keepdims=True)
    return np.exp(scaled, out=scaled)


def _pair_by_pair(a: Array, b: Array, slope: Array) -> tuple[Array, Array]:
    """The pullback of a slope (R, m, B), from all pairs of a row of a and one of b."""
    d_sums = _events(a, b)
    d_sums *= slope[:, :, None, :] - d_sums @ slope[..., None]
    d_sums *= 1.0 / b.shape[1]
    return d_sums.sum(axis=2), d_sums.sum(axis=1)


def _events(a: Array, b: Array) -> Array:
    """softmax(a_k + b_l) for all pairs: (R, m, l, B)."""
    events = _scaled_exp(a[:, :, None, :] + b[:, None, :, :])
    events /= events.sum(axis=-1, keepdims=True)
    return events


def _shards(rows: NDArray[np.intp], a: Array, b: Array) -> Iterator[NDArray[np.intp]]:
    """As many of the rows at a time as memory should hold with all their pairs."""
    size = max(1, _WORKSPACE // (a.shape[1] * b.shape[1] * b.shape[2]))
    return (rows[i : i + size] for i in range(0, len(rows), size))
