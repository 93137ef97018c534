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
    m, _, _, M = boxes.shape
    full = reached = np.ones(boxes.shape[:2], dtype=bool)
    for k in range(M):  # one coordinate at a time: reductions over a short last axis are slow
        full = full & (boxes[:, :, 1, k] > boxes[:, :, 0, k])
        reached = reached & (points[:, None, k] > boxes[:, :, 0, k])
    reached &= full
    if not reached.any():
        return boxes
    kept = full & ~reached
    pieces, owners = _pieces(boxes, points, *np.nonzero(reached))
    uncut, added = kept.sum(axis=1), np.bincount(owners, minlength=m)
    left = np.zeros((m, int((uncut + added).max()), 2, M))
    state, box = np.nonzero(kept)
    left[state, (np.cumsum(kept, axis=1) - 1)[kept]] = boxes[state, box]
    # Pieces come state by state, and follow what was not cut.
    rank = np.arange(len(owners)) - (np.cumsum(added) - added)[owners]
    left[owners, uncut[owners] + rank] = pieces
    if M > 2:
        return left
    return _in_order(left, np.arange(left.shape[1]) >= (uncut + added)[:, None])


def _pieces(
    boxes: Array, points: Array, state: NDArray[np.intp], box: NDArray[np.intp]
) -> tuple[Array, NDArray[np.intp]]:
    """What is left of boxes (N,) that points reach into: (n, 2, M), and their states (n,)."""
    M = points.shape[1]
    lower, upper, y = boxes[state, box, 0], boxes[state, box, 1], points[state]
    # (N, M, M): the first M for the piece, the second for its coordinates.
    piece, coordinate = np.arange(M)[:, None], np.arange(M)
    lowers = np.where(piece == coordinate, y[:, None], lower[:, None])
    uppers = np.where(coordinate < piece, np.minimum(upper, y)[:, None], upper[:, None])
    is_left = (uppers > lowers).all(axis=2)
    pieces = np.stack([lowers[is_left], uppers[is_left]], axis=1)
    return pieces, np.repeat(state, is_left.sum(axis=1))


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
    # Strips of two objectives lie side by side already.
    return whole if len(reference) == 2 else merged(whole)


def merged(boxes: Array) -> Array:
    """Boxes (B, 2, M) with neighbours that make up one box together as one: (B', 2, M)."""
    M = boxes.shape[2]
    before = len(boxes) + 1
    while len(boxes) < before:
        before = len(boxes)
        for k in range(M):
            boxes = _merged_along(boxes, k)
    return boxes


def _merged_along(boxes: Array, k: int) -> Array:
    """Boxes in rows along coordinate k, each row from its first lower to its last upper end."""
    rest = np.delete(boxes, k, axis=2)
    sides = rest.reshape(len(boxes), -1).T
    order = np.lexsort([boxes[:, 0, k], *sides])
    boxes, rest = boxes[order], rest[order]
    goes_on = (rest[1:] == rest[:-1]).all(axis=(1, 2)) & (boxes[1:, 0, k] == boxes[:-1, 1, k])
    first = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    last = np.concatenate([first[1:], [len(boxes)]]) - 1
    rows = boxes[first]
    rows[:, 1, k] = boxes[last, 1, k]
    return rows


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
    return [int(i) for i in np.flatnonzero(~dominated(points))]


def dominated(points: Array) -> NDArray[np.bool_]:
    """Which of points (..., n, M), larger is better, some other one dominates: (..., n)."""
    one, other = points[..., :, None, :], points[..., None, :, :]
    beats = np.asarray((one >= other).all(axis=-1) & (one > other).any(axis=-1))
    return np.asarray(beats.any(axis=-2))
