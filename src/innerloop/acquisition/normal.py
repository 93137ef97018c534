"""Functions of the standard normal that stay accurate far below zero.

    phi, Phi        density and distribution function
    h(u)            = phi(u) + u Phi(u), the expected positive part of N(u, 1)
    mills(t)        = Phi(-t) / phi(t) for t >= 0

h(u) - h(-u) = u, so one evaluation of mills(|u|) serves both signs.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, ndtr

from innerloop.checks import Array

_SQRT_2PI = np.sqrt(2.0 * np.pi)
# Beyond this, 1 - t mills(t) loses more digits than its series in 1 / t^2 does.
_SERIES_FROM = 60.0


def phi(u: Array) -> Array:
    """Standard normal density."""
    density: Array = u * u
    density *= -0.5
    np.exp(density, out=density)
    density *= 1.0 / _SQRT_2PI
    return density


def positive_part(u: Array) -> tuple[Array, Array, Array]:
    """h(u), Phi(u) = h'(u), and phi(u) = h(u) - u Phi(u)."""
    below: Array = ndtr(u)
    density = phi(u)
    return u * below + density, below, density


def mills(t: Array) -> Array:
    """Phi(-t) / phi(t) for t >= 0."""
    ratio: Array = np.sqrt(0.5 * np.pi) * erfcx(t * np.sqrt(0.5))
    return ratio


def log_positive_part(u: Array) -> tuple[Array, Array, Array]:
    """log h(u) with the ratios Phi(u) / h(u) and phi(u) / h(u), finite for u down to -1e6 and on.

    For u < 0, h(u) = phi(u) (1 - t mills(t)) with t = -u.
    """
    t = np.abs(u)
    ratio = mills(t)
    deficit = _one_minus_t_mills(t, ratio)
    log_density = -0.5 * t * t - np.log(_SQRT_2PI)
    density = np.exp(log_density)
    negative = u < 0.0
    # Above zero, h(u) = u + h(-u) and Phi(u) = 1 - Phi(-u); both are of moderate size.
    above = np.where(negative, 1.0, u + density * deficit)
    log_h = np.where(negative, log_density + np.log(deficit), np.log(above))
    below_ratio = np.where(negative, ratio / deficit, (1.0 - density * ratio) / above)
    density_ratio = np.where(negative, 1.0 / deficit, density / above)
    return log_h, below_ratio, density_ratio


def _one_minus_t_mills(t: Array, ratio: Array) -> Array:
    """1 - t mills(t), by 1/t^2 - 3/t^4 + 15/t^6 - ... where the difference would cancel."""
    deficit = 1.0 - t * ratio
    far = t > _SERIES_FROM
    if far.any():
        v = 1.0 / (t[far] * t[far])
        deficit[far] = v * (1.0 - v * (3.0 - v * (15.0 - v * (105.0 - v * 945.0))))
    return deficit


def log_below(u: Array) -> tuple[Array, Array]:
    """log Phi(u) and its derivative phi(u) / Phi(u), accurate far below zero."""
    t = np.abs(u)
    ratio = mills(t)
    log_density = -0.5 * t * t - np.log(_SQRT_2PI)
    density = np.exp(log_density)
    negative = u < 0.0
    above = np.where(negative, 1.0, 1.0 - density * ratio)
    log_p = np.where(negative, log_density + np.log(ratio), np.log1p(-density * ratio))
    slope = np.where(negative, 1.0 / ratio, density / above)
    return log_p, slope
