"""Boxes that make up what a front does not dominate, cut by one more point at a time.

A box is a pair of corners: lower and upper, (2, M), the upper one possibly infinite. Outcomes are
to be maximized. What lies above a reference and is not dominated by a set of points is a union of
disjoint boxes [lower, upper); each further point takes away from every box what it dominates and
leaves at most M disjoint boxes of it. In the last coordinate no box has an upper end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

_TINY = np.finfo(np.float64).tiny


def above(reference: Array) -> Array:
    """The one box of all that lies above a reference (M,): (1, 2, M)."""
    return np.stack([reference, np.full_like(reference, np.inf)])[None]


def cut(boxes: Array, points: Array) -> Array:
    """Boxes without what one more point dominates in each of m sets.

    Where a point y reaches into a box [l, u), the k-th piece that is left of it has z_k >= y_k and
    z_j < y_j for all j < k.

    Args:
        boxes: (m, B, 2, M); those with an upper corner that is not above the lower one are empty.
        points: (m, M), -inf for none.

    Returns:
        Boxes (m, B', 2, M), the smaller sets with empty ones. With two objectives, strips along the
        first one in their order, each up to the next; empty ones come first.
    """
    m, B, _, M = boxes.shape
    lower, upper = boxes[:, :, 0], boxes[:, :, 1]
    y = points[:, None]
    reached = (y > lower).all(axis=2) & (upper > lower).all(axis=2)
    if not reached.any():
        return boxes
    # Pieces (m, B, M, M): the first M for the piece, the second for its coordinates.
    piece, coordinate = np.arange(M)[:, None], np.arange(M)
    lowers = np.where(piece == coordinate, np.maximum(lower, y)[:, :, None], lower[:, :, None])
    uppers = np.where(coordinate < piece, np.minimum(upper, y)[:, :, None], upper[:, :, None])
    pieces = np.stack([lowers, uppers], axis=3).reshape(m, B * M, 2, M)
    is_left = np.repeat(reached, M, axis=1) & (pieces[:, :, 1] > pieces[:, :, 0]).all(axis=2)
    together = np.concatenate([boxes, pieces], axis=1)
    kept = np.concatenate([~reached & (upper > lower).all(axis=2), is_left], axis=1)
    # Full ones first, so that all sets can be cut to the size of the largest.
    order = np.argsort(~kept, axis=1, kind="stable")[:, : int(kept.sum(axis=1).max())]
    chosen: Array = np.take_along_axis(together, order[:, :, None, None], axis=1)
    empty = ~np.take_along_axis(kept, order, axis=1)
    chosen[empty] = 0.0
    return chosen if M > 2 else _in_order(chosen, empty)


def _in_order(strips: Array, empty: NDArray[np.bool_]) -> Array:
    """Strips (m, B, 2, 2) by their lower end, after empty ones (m, B) at the end of all."""
    start = np.where(empty, np.inf, strips[:, :, 0, 0])
    strips[..., 0] = np.where(empty[..., None], start.min(axis=1)[:, None, None], strips[..., 0])
    order = np.argsort(np.where(empty, -np.inf, start), axis=1, kind="stable")
    sorted_strips: Array = np.take_along_axis(strips, order[:, :, None, None], axis=1)
    return sorted_strips


def boxes_of(front: Array, reference: Array) -> Array:
    """What lies above a reference (M,) and is not dominated by points (P, M): boxes (B, 2, M)."""
    boxes: Array = above(reference)[None]
    # Points in the middle of the front first: then few boxes are cut twice.
    height = front - reference
    height /= np.maximum(height.max(axis=0, initial=0.0), _TINY)
    for point in front[np.argsort(-height.min(axis=1), kind="stable")]:
        boxes = cut(boxes, point[None])
    whole: Array = boxes[0]
    return whole


def volume(points: Array, reference: Array) -> float:
    """The volume between points (P, M) and a reference (M,) below them."""
    boxes: Array = above(reference)[None]
    total = 0.0
    for point in points[np.argsort(-points[:, 0], kind="stable")]:
        inside = np.minimum(point, boxes[0, :, 1]) - boxes[0, :, 0]
        total += float(np.maximum(inside, 0.0).prod(axis=1).sum())
        boxes = cut(boxes, point[None])
    return total


def non_dominated(points: Array) -> list[int]:
    """Rows of points (n, M), larger is better, that no other dominates; equal ones all stay."""
    at_least = np.asarray((points[:, None] >= points).all(axis=2))
    better = np.asarray((points[:, None] > points).any(axis=2))
    dominated = (at_least & better).any(axis=0)
    return [int(i) for i in np.flatnonzero(~dominated)]
