"""The volume that the points of a batch cover together, exact, with its derivatives.

What a point covers is all below it. A sweep along one coordinate after the other writes the volume
of a union as a signed sum over corners, each of whose coordinates is that of some point. In the
order of the first coordinate, largest first, point j adds what it covers less what it has in common
with earlier ones: a union again, of points that all have y_j as their first coordinate, so that one
coordinate fewer is left to sweep. For 2 coordinates and q points these are 2 q - 1 corners, for 3
they are q + (q - 1)^2, and never more than the 2^q - 1 of inclusion and exclusion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array


def volume_of_union(points: Array, boxes: Array) -> Array:
    """The volume of boxes that lies below one point or another.

    Args:
        points: (q, M, R, m), in R sets of m draws; (q, M + 1, R, m) if boxes reach from 0 up in one
            more coordinate.
        boxes: (B, 2, M, 1, m), as `draws_last` gives them, or (B, 2, M, 1, 1).

    Returns:
        Volumes, (R, m).
    """
    M, corners = boxes.shape[2], corners_of(points)
    volumes = _covered(boxes, corners.places[:, :M])
    for height in corners.places[:, M:].swapaxes(0, 1):
        volumes *= height
    return np.tensordot(corners.signs, volumes, axes=1)


def volume_and_slopes(points: Array, boxes: Array) -> tuple[Array, Array]:
    """The same with its derivatives.

    Args:
        points: (q, M, R, m), or (q, M + 1, R, m).
        boxes: (B, 2, M, 1, m), or (B, 2, M, 1, 1).

    Returns:
        Volumes (R, m), and their derivatives in the points, of the shape of these.
    """
    M, corners = boxes.shape[2], corners_of(points)
    volumes, faces = _covered_and_slopes(boxes, corners.places[:, :M])
    if points.shape[1] > M:
        height = corners.places[:, M:]
        faces = np.concatenate([faces * height, volumes[:, None]], axis=1)
        volumes = volumes * height[:, 0]
    return np.tensordot(corners.signs, volumes, axes=1), _handed_back(corners, faces, len(points))


def draws_last(boxes: Array) -> Array:
    """Boxes (m, B, 2, M) of every draw with the draws last: (B, 2, M, 1, m)."""
    return np.ascontiguousarray(boxes.transpose(1, 2, 3, 0))[:, :, :, None]


def number_of_corners(q: int, D: int) -> int:
    """How many corners q points of D coordinates have."""
    if D == 1 or q == 0:
        return min(q, 1)
    return q + sum(number_of_corners(j, D - 1) for j in range(q))


class _Corners(NamedTuple):
    """Volume of a union = sum of signs times what each corner covers alone.

    Args:
        signs: (C,), 1 or -1.
        places: (C, D, R, m), in each of R m unions.
        owners: (C, D, R, m), which point each coordinate is of.
    """

    signs: Array
    places: Array
    owners: NDArray[np.intp]


def corners_of(points: Array) -> _Corners:
    """The corners whose signed sum is the union of what points (q, D, R, m) cover."""
    owners = np.broadcast_to(np.arange(len(points))[:, None, None, None], points.shape)
    signs: list[float] = []
    places: list[Array] = []
    whose: list[NDArray[np.intp]] = []

    def sweep(points: Array, owners: NDArray[np.intp], coordinate: int, sign: float) -> None:
        """Add the corners of points that differ in this coordinate and later ones."""
        if len(points) > 1 and coordinate == points.shape[1] - 1:
            order = points[:, coordinate].argmax(axis=0)[None, None]
        else:
            order = np.argsort(-points[:, coordinate], axis=0, kind="stable")[:, None]
        points = np.take_along_axis(points, order, axis=0)
        owners = np.take_along_axis(owners, order, axis=0)
        for j in range(len(points)):
            signs.append(sign)
            places.append(points[j])
            whose.append(owners[j])
            if j:
                clipped = points[j] < points[:j]
                common = np.where(clipped, points[j], points[:j])
                sweep(common, np.where(clipped, owners[j], owners[:j]), coordinate + 1, -sign)

    sweep(points, owners, 0, 1.0)
    return _Corners(np.array(signs), np.stack(places), np.stack(whose))


def _handed_back(corners: _Corners, slopes: Array, q: int) -> Array:
    """Derivatives at the corners (C, D, R, m), handed to the q points that own them."""
    one_point = slopes.shape[1:]
    size = int(np.prod(one_point))
    cells = corners.owners * size + np.arange(size).reshape(one_point)
    signed = corners.signs[:, None, None, None] * slopes
    summed: Array = np.bincount(cells.ravel(), signed.ravel(), q * size).astype(np.float64)
    return summed.reshape(q, *one_point)


def _covered(boxes: Array, places: Array) -> Array:
    """The volume of boxes that lies below each of the places (C, M, R, m): (C, R, m)."""
    widths = _widths(boxes, places)
    whole = widths[0]
    for width in widths[1:]:
        whole *= width
    total: Array = whole.sum(axis=0)
    return total


def _covered_and_slopes(boxes: Array, places: Array) -> tuple[Array, Array]:
    """The same, with its derivatives in the places: (C, R, m) and (C, M, R, m)."""
    widths, slopes = _widths(boxes, places), np.empty_like(places)
    for k, width in enumerate(widths):
        face = (width > 0.0).astype(np.float64)
        if k + 1 < len(widths):
            face *= places[:, k] < boxes[:, 1, k, None]
        for other in widths[:k] + widths[k + 1 :]:
            face *= other
        slopes[:, k] = face.sum(axis=0)
    whole = widths[0]
    for width in widths[1:]:
        whole *= width
    return whole.sum(axis=0), slopes


def _widths(boxes: Array, places: Array) -> list[Array]:
    """How far places reach into the boxes, by coordinate: M of (B, C, R, m)."""
    M = places.shape[1]
    widths = []
    for k in range(M):
        lower, upper, place = boxes[:, 0, k, None], boxes[:, 1, k, None], places[:, k]
        width = place - lower if k == M - 1 else np.minimum(place, upper) - lower
        widths.append(np.maximum(width, 0.0, out=width))
    return widths
