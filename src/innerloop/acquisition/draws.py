"""Base draws z ~ N(0, I) for the reparameterization Y = mean + L z (eq. 3)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from innerloop import checks
from innerloop.sobol import sobol
from innerloop.types import Array, Seed


def iid_normal(m: int, q: int, seed: Seed = None) -> Array:
    """Independent base draws from N(0, I_q).

    Args:
        m: how many draws.
        q: their dimension.
        seed: an integer, a generator, or None for a random one.

    Returns:
        Draws z, (m, q).
    """
    shape = checks.count("m", m), checks.count("q", q)
    return checks.generator(seed).standard_normal(shape)


def sobol_normal(m: int, q: int, seed: Seed = None) -> Array:
    """Quasi-random base draws from N(0, I_q), by a scrambled Sobol sequence.

    Best with m a power of two; otherwise the first m points of the next power of two.

    Args:
        m: how many draws.
        q: their dimension.
        seed: an integer, a generator, or None for a random one.

    Returns:
        Draws z, (m, q).
    """
    m, q = checks.count("m", m), checks.count("q", q)
    return _normal(sobol(m, q, checks.generator(seed)))


def reflected_sobol_normal(m: int, q: int, generator: np.random.Generator) -> Array:
    """Like `sobol_normal`, in a fraction of its time: cached draws, some columns negated.

    Args:
        m: how many draws.
        q: their dimension.
        generator: what decides which columns are negated.

    Returns:
        Draws z, (m, q).
    """
    signs = 1.0 - 2.0 * generator.integers(2, size=q)
    return _cached_sobol_normal(m, q) * signs


@lru_cache(maxsize=32)
def _cached_sobol_normal(m: int, q: int) -> Array:
    """`sobol_normal` with one seed, once: (m, q)."""
    return sobol_normal(m, q, seed=0)


def _normal(uniform: Array) -> Array:
    # The sequence may contain an exact 0, whose normal quantile is infinite.
    """Standard normal quantiles of numbers in [0, 1], any shape."""
    half_cell = 2.0**-54
    draws: Array = ndtri(np.clip(uniform, half_cell, 1.0 - half_cell))
    return draws


class FreshDraws:
    """New independent draws at every call, for stochastic ascent (section 4, "Maximizers").

    Pass an instance in place of the array z. Two instances with the same seed give the same
    sequence of draws.

    Args:
        m: how many draws at every call.
        q: their dimension.
        seed: an integer, a generator, or None for a random one.
        outcomes: K, how many outcomes there are.
    """

    shape: tuple[int, ...]

    def __init__(self, m: int, q: int, seed: Seed = None, *, outcomes: int = 1) -> None:
        self.shape = checks.count("m", m), checks.count("q", q)
        if checks.count("outcomes", outcomes) > 1:
            self.shape += (outcomes,)
        self._generator = checks.generator(seed)

    def __call__(self) -> Array:
        """The next draws z, (m, q), or (m, q, K)."""
        return self._generator.standard_normal(self.shape)
