"""Functions of the standard normal that stay accurate far below zero.

    phi, Phi        density and distribution function
    h(u)            = phi(u) + u Phi(u), the expected positive part of N(u, 1)
    mills(t)        = Phi(-t) / phi(t) for t >= 0

h(u) - h(-u) = u, so one evaluation of mills(|u|) serves both signs.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, ndtr

from innerloop.types import Array

_SQRT_2PI = np.sqrt(2.0 * np.pi)
# Up to here the density is far from underflow.
_DIRECT_UP_TO = 30.0
# Beyond this, 1 - t mills(t) loses more digits than its series in 1 / t^2 does.
_SERIES_FROM = 60.0
# Logarithms of h that differ by less have lost too many digits in h(a) - h(b).
_CLOSE = 1e-4
_TINY = np.finfo(np.float64).tiny


def phi(u: Array) -> Array:
    """Standard normal density.

    Args:
        u: any shape.

    Returns:
        phi(u), of the same shape.
    """
    density: Array = u * u
    density *= -0.5
    np.exp(density, out=density)
    density *= 1.0 / _SQRT_2PI
    return density


def positive_part(u: Array) -> tuple[Array, Array, Array]:
    """Expected positive part of N(u, 1), and its derivatives.

    Args:
        u: any shape.

    Returns:
        h(u), Phi(u) = h'(u), and phi(u) = h(u) - u Phi(u), of the same shape.
    """
    below: Array = ndtr(u)
    density = phi(u)
    return u * below + density, below, density


def mills(t: Array) -> Array:
    """Mills ratio of the standard normal.

    Args:
        t: 0 or above, any shape.

    Returns:
        Phi(-t) / phi(t), of the same shape.
    """
    ratio: Array = np.sqrt(0.5 * np.pi) * erfcx(t * np.sqrt(0.5))
    return ratio


def log_positive_part(u: Array) -> tuple[Array, Array, Array]:
    """Logarithm of h(u), finite for u down to -1e6 and on (Ament et al. 2023).

        h(u) = max(u, 0) + phi(t) (1 - t mills(t)),   t = |u|

    Args:
        u: any shape.

    Returns:
        log h(u), and the ratios Phi(u) / h(u) and phi(u) / h(u), of the same shape.
    """
    t = np.abs(u)
    ratio = mills(t)
    deficit = 1.0 - t * ratio
    density = phi(t)
    h = np.maximum(u, 0.0)
    h += density * deficit
    tail = density * ratio
    below = np.where(u < 0.0, tail, 1.0 - tail)
    if t.max(initial=0.0) > _DIRECT_UP_TO:
        return _log_positive_part_far_below(u, t, ratio, deficit, density, h, below)
    return np.log(h), below / h, density / h


def _log_positive_part_far_below(
    u: Array, t: Array, ratio: Array, deficit: Array, density: Array, h: Array, below: Array
) -> tuple[Array, Array, Array]:
    """The same where phi(t) underflows or 1 - t mills(t) cancels: phi(t) is divided out."""
    far = u < -_DIRECT_UP_TO
    deficit = _one_minus_t_mills(t, deficit)
    h, below = np.where(far, 1.0, h), np.where(far, ratio, below)
    log_far = -0.5 * t * t - np.log(_SQRT_2PI) + np.log(np.where(far, deficit, 1.0))
    log_h = np.where(far, log_far, np.log(h))
    divisor = np.where(far, deficit, h)
    return log_h, below / divisor, np.where(far, 1.0, density) / divisor


def _one_minus_t_mills(t: Array, deficit: Array) -> Array:
    """1 - t mills(t), by 1/t^2 - 3/t^4 + 15/t^6 - ... where the difference has cancelled."""
    v = 1.0 / np.maximum(t * t, _SERIES_FROM**2)
    series = v * (1.0 - v * (3.0 - v * (15.0 - v * (105.0 - v * 945.0))))
    return np.where(t > _SERIES_FROM, series, deficit)


def log_below(u: Array) -> tuple[Array, Array]:
    """Logarithm of Phi(u), accurate far below zero.

    Args:
        u: any shape.

    Returns:
        log Phi(u), and its derivative phi(u) / Phi(u), of the same shape.
    """
    t = np.abs(u)
    ratio = mills(t)
    log_density = -0.5 * t * t - np.log(_SQRT_2PI)
    density = np.exp(log_density)
    negative = u < 0.0
    above = np.where(negative, 1.0, 1.0 - density * ratio)
    log_p = np.where(negative, log_density + np.log(ratio), np.log1p(-density * ratio))
    slope = np.where(negative, 1.0 / ratio, density / above)
    return log_p, slope


def log_difference(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """log(h(a) - h(b)) for a > b, with two ratios to that difference, accurate far below zero.

    h(a) - h(b) is the integral of Phi from b to a. b may be -inf, where h is 0. Close to each other
    the values cancel, and the integral is its width times the integrand half way, up to the square
    of their logarithms' difference.

    Args:
        a: any shape.
        b: of the same shape, below a.

    Returns:
        log(h(a) - h(b)), (Phi(a) - Phi(b)) / (h(a) - h(b)) and (phi(a) - phi(b)) / (h(a) - h(b)).
    """
    log_a, below_a, density_a = log_positive_part(a)
    finite = np.isfinite(b)
    log_b, below_b, density_b = log_positive_part(np.where(finite, b, a))
    log_share = np.where(finite, log_b - log_a, -np.inf)  # of h(b) in h(a), at most 0
    share, rest = np.exp(log_share), -np.expm1(log_share)
    close = log_share > -_CLOSE
    rest = np.where(close, 1.0, rest)
    value = log_a + np.log(rest)
    below = (below_a - share * below_b) / rest
    density = (density_a - share * density_b) / rest
    if close.any():
        middle = 0.5 * (a + np.where(close, b, a))
        log_middle, slope = log_below(middle)
        width = np.where(close, a - np.where(close, b, 0.0), 1.0)
        value = np.where(close, np.log(np.maximum(width, _TINY)) + log_middle, value)
        below = np.where(close, slope, below)
        density = np.where(close, -middle * slope, density)
    return value, below, density
