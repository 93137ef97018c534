"""The shape of {x : low <= x <= high, A x <= b}, flat ones included: its extent, random points.

low, high: (d,); A: (k, d) with rows of length 1 at most, b: (k,).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.projection import Projection
from innerloop.types import Array

# A point may be outside by this much: far more than rounding, far less than anybody can notice.
SLACK = 1e-10
# A domain without a point that is outside by no more than this is empty.
_EMPTY = 5e-10
# Along a direction with no more room than this nothing moves.
_FLAT = 1e-10
# A coordinate that is slower than this is at rest, but for rounding.
_STILL = 1e-12
# A domain with a ball of this radius inside needs no other directions than the coordinates.
_WIDE, _WIDE_IN_A_PLANE = 0.01, 0.001


class Frame(NamedTuple):
    """A point inside a domain, and how far the domain goes from there.

    Args:
        centre: (d,), a point inside; centre + spokes are inside too.
        spokes: (m, d); all differences of points of the domain are combinations of them.
        limits: (k,), b, or a hair more if that is what it takes.
    """

    centre: Array
    spokes: Array
    limits: Array


def frame(A: Array, b: Array, low: Array, high: Array) -> Frame | None:
    """The frame of a domain, by linear programming; None if it has no points.

    Args:
        A: (k, d).
        b: (k,).
        low: (d,).
        high: (d,).

    Returns:
        A point inside and the spokes from there.
    """
    plane = _centre_of_plane(A, b, low, high)
    if plane is not None:
        return plane
    free = high > low
    centre, radius = _chebyshev_centre(A, b, low, high)
    reached = A @ centre
    if not (reached <= b + _EMPTY).all():
        return None
    b = np.maximum(b, reached)
    if radius > _WIDE or not free.any():
        return Frame(centre, radius * np.eye(low.size)[free], b)
    return _spanned(centre, A, b, low, high)


def _chebyshev_centre(A: Array, b: Array, low: Array, high: Array) -> tuple[Array, float]:
    """Chebyshev centre (d,) of the free coordinates, and the radius of the largest ball around it.

    By linear programming (Boyd and Vandenberghe 2004, section 4.3.1). It is outside if there is no
    point inside.
    """
    free = high > low
    size = int(free.sum())
    if size == 0:
        return low, 0.0
    lengths = np.linalg.norm(A[:, free], axis=1, keepdims=True)
    eye, ones = np.eye(size), np.ones((size, 1))
    sides = np.block([[A[:, free], lengths], [eye, ones], [-eye, ones]])
    limits = np.concatenate([b - A[:, ~free] @ low[~free], high[free], -low[free]])
    best = _lowest(
        np.append(np.zeros(size), -1.0),
        sides,
        limits,
        # Below 0 it is by how much the point is outside that is outside least.
        np.append(low[free], -1.0),
        np.append(high[free], 1.0),
    )
    centre, radius = 0.5 * (low + high), 0.0
    if best is not None:
        centre[free] = np.minimum(np.maximum(best[:size], low[free]), high[free])
        radius = max(float(best[-1]), 0.0)
    polished = Projection.of(low, high, A, b).nearest(centre[None])[0]
    outside = [(A @ point - b).max() for point in (polished, centre)]
    return (polished if outside[0] <= max(outside[1], 0.0) else centre), radius


def _centre_of_plane(A: Array, b: Array, low: Array, high: Array) -> Frame | None:
    """The frame of a domain that is wide within the plane of its equations; None of any other.

    Its centre is that of the largest ball in the plane: x = start + z Q, with the rows of Q at
    right angles to each other and to the equations.
    """
    pairs, free = opposite(A, b), high > low
    if not len(pairs):
        return None
    _, lengths, directions = np.linalg.svd(A[pairs][:, free])
    Q = np.zeros((int(free.sum()) - int((lengths > _FLAT).sum()), low.size))
    if not len(Q):
        return None
    Q[:, free] = directions[-len(Q) :]
    start = np.where(free, 0.5 * (low + high), low)
    start += np.linalg.pinv(A[pairs] * free, rcond=_FLAT) @ (b[pairs] - A[pairs] @ start)
    eye = np.eye(low.size)[free]
    sides, limits = np.vstack([A, eye, -eye]), np.concatenate([b, high[free], -low[free]])
    lengths = np.linalg.norm(sides @ Q.T, axis=1)
    across = lengths > _FLAT
    best = _lowest(
        np.append(np.zeros(len(Q)), -1.0),
        np.column_stack([sides @ Q.T, lengths])[across],
        (limits - sides @ start)[across],
        np.append(np.full(len(Q), -np.inf), 0.0),
        np.append(np.full(len(Q), np.inf), 1.0),
    )
    if best is None or best[-1] <= _WIDE_IN_A_PLANE:
        return None
    centre = Projection.of(low, high, A, b).nearest((start + best[:-1] @ Q)[None])[0]
    reached = A @ centre
    if not (reached <= b + SLACK).all():
        return None
    return Frame(centre, best[-1] * Q, np.maximum(b, reached))


def _spanned(centre: Array, A: Array, b: Array, low: Array, high: Array) -> Frame:
    """The frame of a thin or flat domain, from its ends in directions that make up all others.

    `left` are unit vectors at right angles to each other and to all that was found. The domain
    ends twice in the first of them: if that is a way to go, what is left is at right angles to
    it; else the direction is done with.
    """
    left = np.eye(low.size)[high > low]
    points = [centre]
    while len(left):
        ends = np.array([_end(side * left[0], A, b, low, high, centre) for side in (-1.0, 1.0)])
        way = ends[1] - ends[0]
        if way @ left[0] > _FLAT:
            points += [*ends]
            left = _reflected(left, left @ way)[1:]
        else:
            left = left[1:]
    middle = np.minimum(np.maximum(np.mean(points, axis=0), low), high)
    return Frame(middle, _long(np.array(points) - middle), b)


def _end(c: Array, A: Array, b: Array, low: Array, high: Array, default: Array) -> Array:
    """The point of the domain that is farthest in the direction c: (d,)."""
    best = _lowest(-c, A, b, low, high)
    if best is None:
        return default
    end = Projection.of(low, high, A, b).nearest(best[None])[0]
    return end if (end @ A.T <= b + SLACK).all() else default


def _lowest(c: Array, A: Array, b: Array, low: Array, high: Array) -> Array | None:
    """The point of the domain at which c . x is lowest: (d,); None if there seems to be none."""
    from scipy.optimize import linprog  # slow to import

    bounds = [*zip(low.tolist(), high.tolist(), strict=True)]
    options: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found: Array | None = linprog(c, A_ub=A, b_ub=b, bounds=bounds, options=options).x
    return found


def _reflected(left: Array, along: Array) -> Array:
    """Unit vectors (m, d) turned so that all but the first are at right angles to a way.

    A Householder reflection. along: (m,), how far the way goes in each of them.
    """
    normal = along / np.linalg.norm(along)
    normal[0] += 1.0 if normal[0] >= 0.0 else -1.0
    reflected: Array = left - np.outer(2.0 / (normal @ normal) * normal, normal @ left)
    return reflected


def held(spokes: Array, columns: NDArray[np.intp]) -> Array:
    """The combinations of spokes that leave some columns as they are: (n, d).

    Args:
        spokes: (m, d).
        columns: which coordinates stay.

    Returns:
        Spokes, (n, d).
    """
    if not len(spokes):
        return spokes
    U, sizes, _ = np.linalg.svd(spokes[:, columns])
    rank = int((sizes > _FLAT).sum())
    combined: Array = U[:, rank:].T @ spokes
    combined[:, columns] = 0.0
    return _long(combined)


def spanning(X: Array) -> Array:
    """Ways that go as far as points do: random combinations have the covariance of the points.

    Args:
        X: (N, d), points.

    Returns:
        Ways, (m, d).
    """
    variances, directions = np.linalg.eigh(np.atleast_2d(np.cov(X.T)))
    return _long((np.sqrt(np.maximum(variances, 0.0)) * directions).T)


def opposite(A: Array, b: Array) -> NDArray[np.intp]:
    """The rows of which another one is the opposite, so that both together are an equation.

    Args:
        A: (k, d).
        b: (k,).

    Returns:
        Which rows, one for each such pair.
    """
    pairs = (A[:, None] == -A).all(axis=2) & (b[:, None] + b <= SLACK)
    return np.unique(np.argwhere(np.triu(pairs, 1))[:, 0])


def _long(spokes: Array) -> Array:
    """Those of the spokes (m, d) that lead anywhere."""
    return spokes[(np.abs(spokes) > _STILL).any(axis=1)]


def hit_and_run(
    X: Array,
    spokes: Array,
    low: Array,
    high: Array,
    A: Array,
    b: Array,
    generator: np.random.Generator,
) -> Array:
    """From points to random places on lines through them: a step of hit-and-run (Smith 1984).

    Args:
        X: (R, d), points inside.
        spokes: (m, d), of which the directions of the lines are random combinations.
        low: (d,).
        high: (d,).
        A: (k, d).
        b: (k,).
        generator: what to draw with.

    Returns:
        Points inside, (R, d).
    """
    direction = generator.standard_normal((len(X), len(spokes))) @ spokes
    behind, ahead = reach(X, direction, low, high, A, b)
    step = behind + (ahead - behind) * generator.random(len(X))
    moved: Array = np.minimum(np.maximum(X + step[:, None] * direction, low), high)
    return moved


def reach(
    X: Array, direction: Array, low: Array, high: Array, A: Array, b: Array
) -> tuple[Array, Array]:
    """How far points inside may go along lines, backwards and forwards.

    Args:
        X: (R, d), points inside.
        direction: (R, d), of the line through each of them.
        low: (d,).
        high: (d,).
        A: (k, d).
        b: (k,).

    Returns:
        Multiples of the directions, at most 0 and at least 0, (R,) each.
    """
    # Without that little room, points on the sides of a flat domain could not leave them.
    speed, room = direction @ A.T, np.maximum(b + 0.5 * SLACK - X @ A.T, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        time = room / speed
        up, down = (high - X) / direction, (low - X) / direction
    moves = np.abs(direction) > _STILL
    ahead = np.where(moves, np.maximum(up, down), np.inf).min(axis=1, initial=np.inf)
    behind = np.where(moves, np.minimum(up, down), -np.inf).max(axis=1, initial=-np.inf)
    ahead = np.minimum(ahead, np.where(speed > 0.0, time, np.inf).min(axis=1, initial=np.inf))
    behind = np.maximum(behind, np.where(speed < 0.0, time, -np.inf).max(axis=1, initial=-np.inf))
    free = np.isfinite(ahead) & np.isfinite(behind)
    return np.where(free, behind, 0.0), np.where(free, ahead, 0.0)
