"""Where queries may lie: the unit cube, cut by linear inequalities, partly discrete or fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.maximizers import polytope
from innerloop.maximizers.discrete import Discrete


class Neighbours(NamedTuple):
    """Query sets (N, q, d), each one move away from another set: which one, (N,), and where, (N,).

    Slots number the discrete values of a query set, query by query.
    """

    sets: Array
    owner: NDArray[np.intp]
    slot: NDArray[np.intp]

    def keep(self, rows: NDArray[np.intp]) -> Neighbours:
        """Some of them, by index."""
        return Neighbours(self.sets[rows], self.owner[rows], self.slot[rows])


@dataclass(frozen=True, eq=False)
class Domain:
    """{x : low <= x <= high, A x <= b}, a part of the unit cube.

    low, high: (d,), equal where a coordinate is fixed; A: (k, d), b: (k,); interior: (d,), a point
    as far from all sides as can be; discrete: coordinates that take some values only, not fixed.
    """

    low: Array
    high: Array
    A: Array
    b: Array
    interior: Array
    discrete: tuple[Discrete, ...] = ()
    continuous: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        continuous = np.ones(self.d, dtype=bool)
        for block in self.discrete:
            continuous[block.columns] = False
        object.__setattr__(self, "continuous", continuous)

    @property
    def d(self) -> int:
        """Dimension of the queries."""
        return int(self.low.size)

    @property
    def is_box(self) -> bool:
        """Whether there are no linear inequalities."""
        return self.b.size == 0

    def contains(self, X: Array, slack: float = 1e-9) -> NDArray[np.bool_]:
        """Whether points (..., d) lie within all sides, up to `slack`: (...)."""
        inside = np.all((self.low - slack <= X) & (X <= self.high + slack), axis=-1)
        return np.asarray(inside & np.all(X @ self.A.T <= self.b + slack, axis=-1))

    def project(self, X: Array) -> Array:
        """The nearest point of the domain to each of X (..., d).

        Discrete coordinates go to their own nearest value first; if that leaves the others
        nowhere to be, the point becomes the interior one.
        """
        within: Array = np.minimum(np.maximum(X, self.low), self.high)
        for block in self.discrete:
            within[..., block.columns] = block.snap(within[..., block.columns])
        if self.is_box or self.contains(within, 0.0).all():
            return within
        if self.discrete:
            return self._project_continuous(within.reshape(-1, self.d)).reshape(X.shape)
        sides = self.low, self.high, self.A, self.b
        return self._pull_inside(polytope.nearest(X.reshape(-1, self.d), *sides)).reshape(X.shape)

    def sample(self, size: int, generator: np.random.Generator) -> Array:
        """Points spread over the domain: (size, d)."""
        X = self.low + (self.high - self.low) * generator.random((size, self.d))
        for block in self.discrete:
            X[:, block.columns] = block.draw(size, generator)
        if self.is_box:
            return X
        outside = ~self.contains(X, 0.0)
        if outside.mean() >= 0.5:  # what is inside would favour the wide parts of the domain
            outside[:] = True
        if outside.any():
            X[outside] = self._wander(int(outside.sum()), generator)
        return X

    def neighbours(self, X: Array, generator: np.random.Generator) -> Neighbours:
        """Query sets that differ from one of X (R, q, d) in one discrete value of one query."""
        q, queries = X.shape[1], X.reshape(-1, self.d)
        moves = [each.moves(queries[:, each.columns], generator) for each in self.discrete]
        counts = [each.possible.shape[1] for each in moves]
        moved = np.repeat(queries[:, None], sum(counts), axis=1)
        for each, there, last in zip(self.discrete, moves, accumulate(counts), strict=True):
            moved[:, last - there.possible.shape[1] : last, each.columns] = there.places
        possible = np.concatenate([each.possible for each in moves], axis=1)
        query, move = np.nonzero(possible)
        places = moved[possible]
        if not self.is_box:
            within = self.project(places)
            # Values that leave the others nowhere to be cannot be moved to.
            kept = (within == places)[:, ~self.continuous].all(axis=1)
            query, move, places = query[kept], move[kept], within[kept]
        sets = X[query // q]
        sets[np.arange(len(query)), query % q] = places
        block = np.repeat(np.arange(len(moves)), counts)
        return Neighbours(sets, query // q, query % q * len(moves) + block[move])

    def slots(self, q: int) -> NDArray[np.intp]:
        """To which discrete value each coordinate of q queries belongs, -1 for none: (q, d)."""
        slot = np.full((q, self.d), -1)
        for number, block in enumerate(self.discrete):
            slot[:, block.columns] = (np.arange(q) * len(self.discrete) + number)[:, None]
        return slot

    def _wander(self, size: int, generator: np.random.Generator) -> Array:
        """Points reached from the interior by random steps."""
        start = np.tile(self.interior, (size, 1))
        sides = self.low, self.high, self.A, self.b
        if self.discrete:
            return polytope.one_by_one(start, *sides, self.discrete, generator)
        return self._pull_inside(polytope.hit_and_run(start, *sides, generator))

    def _project_continuous(self, X: Array) -> Array:
        """The nearest points of the domain with the same discrete values: (R, d)."""
        outside = ~self.contains(X, 0.0)
        rows = X[outside]
        low, high = (np.where(self.continuous, side, rows) for side in (self.low, self.high))
        moved = polytope.nearest(rows, low, high, self.A, self.b)
        X[outside] = np.where(self.contains(moved)[:, None], moved, self.interior)
        return X

    def _pull_inside(self, X: Array) -> Array:
        """Move points that are outside by a rounding error towards the interior, until within."""
        X = np.minimum(np.maximum(X, self.low), self.high)
        over = X @ self.A.T - self.b
        depth = self.b - self.A @ self.interior
        share = np.where(over > 0.0, over / np.maximum(over + depth, 1e-300), 0.0).max(
            axis=-1, initial=0.0
        )
        pulled: Array = X + share[..., None] * (self.interior - X)
        return pulled


def make_domain(
    d: int,
    *,
    inequalities: tuple[ArrayLike, ArrayLike] | None = None,
    fixed: Mapping[int, float] | None = None,
    discrete: tuple[Discrete, ...] = (),
) -> Domain:
    """The unit cube with A x <= b for `inequalities` = (A, b), and coordinates fixed by index.

    discrete: which coordinates take some values only; categories may not be in inequalities, and
    levels only if they are evenly spaced.
    """
    low, high = np.zeros(d), np.ones(d)
    for index, value in (fixed or {}).items():
        if not 0 <= index < d or not 0.0 <= value <= 1.0:
            raise InputError(
                f"fixed maps coordinates 0 to {d - 1} to values in [0, 1], got {index}: {value}"
            )
        low[index] = high[index] = value
    movable = tuple(block for block in discrete if (high > low)[block.columns].all())
    if inequalities is None:
        interior = 0.5 * (low + high)
        for block in movable:
            interior[block.columns] = block.snap(interior[block.columns])
        return Domain(low, high, np.zeros((0, d)), np.zeros(0), interior, movable)
    A = checks.points("A in inequalities", inequalities[0], d)
    b = checks.vector("b in inequalities", inequalities[1], A.shape[0])
    lengths = np.linalg.norm(A, axis=1)
    lengths[lengths == 0.0] = 1.0
    A, b = A / lengths[:, None], b / lengths
    middle = polytope.middle(A, b, low, high, movable)
    if middle is None:
        raise InputError(
            f"no point of the unit cube meets the {b.size} linear inequalities "
            f"with {int((high == low).sum())} coordinates fixed"
        )
    return Domain(low, high, A, b, middle, movable)
