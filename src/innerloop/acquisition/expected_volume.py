"""The expected volume that a normal outcome covers of boxes, and its derivatives.

    sum over boxes of prod_k s_k [h((m_k - l_k) / s_k) - h((m_k - u_k) / s_k)]

Boxes are those of `boxes.py`. Rounding does no harm however narrow they are: all that lies above
the lower corner of one is covered by some of them, so that the sum is at least prod_k s_k h(...) of
any lower corner, and differences of h are exact up to a few digits of that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from innerloop.acquisition.normal import log_difference, positive_part
from innerloop.types import Array

# Sums below this are taken in log space, before anything underflows.
_SMALLEST_SUM = 1e-100
# Beside one of this size in another state of the same query, smaller ones add less than a rounding.
_LARGE_SUM = 1e-80
# Boxes so many standard deviations above all outcomes add less than a rounding to such sums.
_OUT_OF_REACH = -24.0
# No part of the normal is this many standard deviations below its mean.
_LOWEST = -40.0


class LogVolume(NamedTuple):
    """Logarithms of expected volumes (R, m), and their derivatives in mean and sd, (R, m, M)."""

    value: Array
    d_mean: Array
    d_sd: Array


def log_expected_volume(
    mean: Array, sd: Array, boxes: Array, *, averaged: bool = False, plain: bool = False
) -> LogVolume:
    """The logarithm of the expected volume, exact wherever it is, unless that is not needed.

    Args:
        mean: (R, m, M).
        sd: (R, 1, M).
        boxes: (m, B, 2, M).
        averaged: whether volumes of a query are to be averaged over its states. Then one may be
            taken for 0 beside another that is larger by far.
        plain: whether volumes are wanted, not their logarithms. Then those below 1e-100 may be
            taken for 0.

    Returns:
        Logarithms, with derivatives.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total, d_mean, d_sd = _sums(mean, sd, boxes)
    far = ~((total > _SMALLEST_SUM) & (total < np.inf))
    any_far = far.any()
    nothing = None
    if any_far and (plain or averaged):
        nothing = total <= _SMALLEST_SUM
        if not plain:
            nothing &= total.max(axis=1, keepdims=True) > _LARGE_SUM
    if any_far:
        total[far] = 1.0
    scale = total[..., None] * sd
    d_mean /= scale
    d_sd /= scale
    value = np.log(total)
    value += np.log(sd).sum(axis=-1)
    if nothing is not None:
        value[nothing], d_mean[nothing], d_sd[nothing] = -np.inf, 0.0, 0.0
        far &= ~nothing
    if any_far and far.any():
        query, state = np.nonzero(far)
        found = _log_sums(mean[far][None], sd[query, 0][None], boxes[state % len(boxes)])
        value[far], d_mean[far], d_sd[far] = (each[0] for each in found)
    return LogVolume(value, d_mean, d_sd)


def _sums(mean: Array, sd: Array, boxes: Array) -> tuple[Array, Array, Array]:
    """sum_b prod_k D_kb (R, m) with D = h(a) - h(b), and the same with Phi or phi for one h."""
    M = mean.shape[-1]
    boxes = _within_reach(mean, sd, boxes) if M > 2 else boxes
    parts = [_differences(k, mean, sd, boxes) for k in range(M)]
    d_mean, d_sd = np.empty_like(mean), np.empty_like(mean)
    for k, (_, below, density) in enumerate(parts):
        others = [each[0] for j, each in enumerate(parts) if j != k]
        rest = others[0]
        for other in others[1:]:
            rest = rest * other
        below *= rest
        density *= rest
        d_mean[..., k], d_sd[..., k] = below.sum(axis=0), density.sum(axis=0)
    whole = rest * parts[-1][0]  # that of all but the last, times the last
    return whole.sum(axis=0), d_mean, d_sd


def _within_reach(mean: Array, sd: Array, boxes: Array) -> Array:
    """Those of the boxes (m, B, 2, M) that some outcome may reach into; with 3 objectives or more,
    there are many, and most are far from most outcomes."""
    highest = (mean - _OUT_OF_REACH * sd).max(axis=0)  # (m, M)
    near = np.ones(boxes.shape[1], dtype=bool)
    for k in range(mean.shape[-1]):
        near &= (boxes[:, :, 0, k] < highest[:, None, k]).any(axis=0)
    return boxes if near.all() else boxes[:, near]


def _differences(k: int, mean: Array, sd: Array, boxes: Array) -> tuple[Array, Array, Array]:
    """h(a) - h(b), Phi(a) - Phi(b) and phi(a) - phi(b) along coordinate k: (B, R, m) each."""
    M, center, scale = mean.shape[-1], mean[..., k], 1.0 / sd[..., k]
    a = center - np.ascontiguousarray(boxes[:, :, 0, k].T)[:, None]
    a *= scale
    parts = positive_part(a)
    if k == M - 1:  # without an upper end
        return parts
    if M == 2:  # strips one after the other: the upper end of one is the lower end of the next
        for each in parts:
            each[:-1] -= each[1:]
        return parts
    b = center - np.ascontiguousarray(boxes[:, :, 1, k].T)[:, None]
    b *= scale
    np.maximum(b, _LOWEST, out=b)
    for each, upper in zip(parts, positive_part(b), strict=True):
        each -= upper
    return parts


def _log_sums(mean: Array, sd: Array, boxes: Array) -> LogVolume:
    """The same as `log_expected_volume`, box by box in log space; sd: (R, m, M)."""
    s, center = sd[..., None, :], mean[..., None, :]
    lower, upper = boxes[:, :, 0], boxes[:, :, 1]
    full = np.asarray((upper > lower).all(axis=-1))  # (m, B)
    upper = np.where(full[..., None], upper, lower + 1.0)
    log_width, below, density = log_difference((center - lower) / s, (center - upper) / s)
    each = np.where(full, (log_width + np.log(s)).sum(axis=-1), -np.inf)  # (R, m, B)
    top = each.max(axis=-1, keepdims=True)
    shares = np.exp(each - top)
    total = shares.sum(axis=-1, keepdims=True)
    shares /= total
    d_mean = (shares[..., None] * below).sum(axis=-2) / sd
    d_sd = (shares[..., None] * density).sum(axis=-2) / sd
    return LogVolume((top + np.log(total))[..., 0], d_mean, d_sd)
