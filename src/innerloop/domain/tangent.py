"""What of a gradient can be followed from points that are at limits: the part along these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from innerloop.types import Array

# A point this close to a limit is at it, in coordinates: lines that are left of it are too short to
# matter, and points that were moved onto it are closer by far.
_AT = 1e-7
# So often limits that a gradient leaves are let go, and others that it runs into are held.
_ROUNDS = 6
# What leads out by less, in parts of the gradient, is rounding.
_ROUNDING = 1e-9
# Keeps limits that touch each other from making a system singular.
_RIDGE = 1e-12


class Limits(NamedTuple):
    """Limits near points, as they are there.

    Args:
        over: (R, m), how far points are beyond them; below 0 within.
        slopes: (R, m, d), of that; 0 for coordinates that do not move.
    """

    over: Array
    slopes: Array


def along(
    grad: Array, X: Array, low: Array, high: Array, limits: Limits, normals: Array | None
) -> Array:
    """Gradients without what leads out of a domain: projected onto what is left of its directions.

    With the limits G that a point is at and that the gradient g leads out of,

        g - G^T t,    G G^T t = G g,    t >= 0

    (Nocedal and Wright 2006, section 16.5); limits with t < 0 are let go. Sides of the cube are
    limits whose coordinates are left out.

    Args:
        grad: (R, d), zero for coordinates that do not move.
        X: (R, d), points of the domain.
        low: (d,).
        high: (d,).
        limits: near the points.
        normals: (r, d), directions in which the domain has no extent; None without any.

    Returns:
        Gradients, (R, d).
    """
    size = np.linalg.norm(limits.slopes, axis=2)
    usable = np.isfinite(limits.over) & np.isfinite(size) & (size > 0.0)
    size = np.where(usable, size, 1.0)
    near = usable & (limits.over > -_AT * size)
    rows = np.where(near[..., None], limits.slopes / size[..., None], 0.0)
    planes = np.zeros((0, X.shape[1])) if normals is None else normals
    planes = np.broadcast_to(planes, (len(X), *planes.shape))
    small = _ROUNDING * np.abs(grad).max(axis=1, keepdims=True)
    active, free = np.zeros(near.shape, dtype=bool), np.ones(X.shape, dtype=bool)
    for _ in range(_ROUNDS):
        G = np.concatenate([np.where(active[..., None], rows, 0.0), planes], axis=1)
        t = _multipliers(G * free[:, None], grad * free)
        rest = grad - (np.swapaxes(G, 1, 2) @ t[..., None])[..., 0]
        within = np.where(free, rest, 0.0)
        out = np.where(X <= low, -rest, np.where(X >= high, rest, 0.0))
        left = active & (t[:, : active.shape[1]] < 0.0)
        met = near & ~active & ((rows @ within[..., None])[..., 0] > small)
        turned = np.where(free, out > small, out < -small)
        if not (left.any() or met.any() or turned.any()):
            break
        active, free = active & ~left | met, free ^ turned
    return within


def _multipliers(G: Array, grad: Array) -> Array:
    """t with G G^T t = G g, for slopes G (R, k, d) and gradients (R, d): (R, k)."""
    gram = G @ np.swapaxes(G, 1, 2)
    k = np.arange(gram.shape[1])
    diagonal = gram[:, k, k]
    gram[:, k, k] += np.where(diagonal > 1e-14, _RIDGE, 1.0)
    return np.asarray(np.linalg.solve(gram, G @ grad[..., None])[..., 0])
