"""Where queries may lie: the unit cube, cut by limits, partly discrete or fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.domain import polytope, tangent
from innerloop.domain.combinations import Combinations, combinations
from innerloop.domain.conditions import Conditions
from innerloop.domain.curved import Curved, Limit, wider
from innerloop.domain.curved_points import CurvedSampler, curved, sampler_of
from innerloop.domain.discrete import Discrete, Ordinal
from innerloop.domain.levels import linked_levels
from innerloop.domain.polytope import SLACK
from innerloop.domain.projection import Projection, pulled
from innerloop.domain.sampler import Sampler
from innerloop.errors import InputError
from innerloop.types import Array

if TYPE_CHECKING:
    from innerloop.domain.sparse import Sparse

# Farther away from the cube it makes no difference where a point was.
_FAR = 4.0
# Where levels cannot move alone: to so many of the known combinations.
_KNOWN_MOVES = 8


class Neighbours(NamedTuple):
    """Query sets, each one move away from another set.

    Slots number the discrete values of a query set, query by query; which coordinates are away from
    zero is one of them, where that is limited.

    Args:
        sets: (N, q, d).
        owner: (N,), which set each is a neighbour of.
        slot: (N,), which discrete value has moved.
    """

    sets: Array
    owner: NDArray[np.intp]
    slot: NDArray[np.intp]

    def keep(self, rows: NDArray[np.intp]) -> Neighbours:
        """Some of them, by index.

        Args:
            rows: (n,), which ones.

        Returns:
            These neighbours.
        """
        return Neighbours(self.sets[rows], self.owner[rows], self.slot[rows])


@dataclass(frozen=True, eq=False)
class Domain:
    """Where queries may lie, a part of the unit cube, with some coordinates discrete.

        {x : low <= x <= high, A x <= b, g(x) <= 0}

    All points that come from here are between low and high, meet A x <= b up to 1e-10 and all
    limits g that are not linear; coordinates that do not apply are at rest. Where only some
    coordinates may be away from zero together, the domain is a union of such sets, and low, high, A
    and b are those of all of them. `make_domain` makes one.

    Args:
        low: (d,), lowest coordinates.
        high: (d,), highest coordinates, equal to the lowest where one is fixed.
        A: (k, d), with rows of length 1.
        b: (k,).
        interior: (d,), a point inside.
        discrete: coordinates that take some values only and are not fixed.
        spokes: (m, d), ways to go from point to point with the discrete coordinates as they are.
        combinations: of the levels that are in inequalities.
        curved: limits that are not linear.
        sparse: the parts of a union, by the coordinates that are away from zero.
        conditions: of coordinates that apply only where others have certain values.
    """

    low: Array
    high: Array
    A: Array
    b: Array
    interior: Array
    discrete: tuple[Discrete, ...] = ()
    spokes: Array | None = None
    combinations: Combinations | None = None
    curved: Curved | None = None
    sparse: Sparse | None = None
    conditions: Conditions | None = None
    continuous: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        continuous = np.ones(self.d, dtype=bool)
        for block in self.discrete:
            continuous[block.columns] = False
        object.__setattr__(self, "continuous", continuous)

    @cached_property
    def _slack(self) -> Array:
        """Which inequalities may be off by a rounding: (k,).

        Those over levels only have a limit between two sums of levels: there is none.
        """
        moving = self.continuous & (self.high > self.low)
        return np.asarray((self.A[:, moving] != 0.0).any(axis=1), dtype=np.float64)

    @cached_property
    def normals(self) -> Array | None:
        """Directions in which the domain has no extent, of length 1: (r, d); None without any."""
        pairs = polytope.opposite(self.A, self.b)
        if not len(pairs):
            return None
        sides = self.A[pairs] * (self.continuous & (self.high > self.low))
        _, lengths, directions = np.linalg.svd(sides, full_matrices=False)
        normals = directions[lengths > SLACK]
        return normals if len(normals) else None

    @cached_property
    def _projection(self) -> Projection:
        """What moves continuous coordinates into the domain."""
        return Projection.of(self.low, self.high, self.A, self.b, self.continuous)

    @cached_property
    def _sampler(self) -> Sampler | CurvedSampler:
        """What draws points."""
        return sampler_of(self)

    @cached_property
    def unconditional(self) -> Domain:
        """The same as if all coordinates applied everywhere."""
        return self if self.conditions is None else replace(self, conditions=None)

    def held(self, X: Array) -> Array:
        """Points with the coordinates that do not apply at rest.

        Args:
            X: (..., d), points.

        Returns:
            Points, (..., d).
        """
        return X if self.conditions is None else self.conditions.held(X)

    def moving(self, directions: Array, X: Array) -> Array:
        """Directions without coordinates that do not apply.

        Args:
            directions: (..., d).
            X: (..., d), points where they begin.

        Returns:
            Directions, (..., d).
        """
        return directions if self.conditions is None else self.conditions.moving(directions, X)

    @property
    def d(self) -> int:
        """Dimension of the queries."""
        return int(self.low.size)

    @property
    def is_box(self) -> bool:
        """Whether there are neither linear inequalities nor other limits."""
        return self.b.size == 0 and self.curved is None and self.sparse is None

    @property
    def is_product(self) -> bool:
        """Whether every coordinate may take its values whatever the others are."""
        return self.is_box and self.conditions is None

    @property
    def values(self) -> int:
        """How many discrete values a query has, see `Neighbours`."""
        return len(self.discrete) + (self.sparse is not None)

    def part_of(self, x: Array) -> Domain:
        """The part of a union that has a point, or one near by; of anything else, all of it.

        Args:
            x: (d,), a point.

        Returns:
            A domain that is no union.
        """
        return self if self.sparse is None else self.sparse.part_of(x)

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """Coordinates that are in a linear inequality or in another limit: (d,)."""
        if self.sparse is not None:
            return self.sparse.linked
        return (
            np.asarray((self.A != 0.0).any(axis=0)) if self.curved is None else self.curved.linked
        )

    def contains(self, X: Array, slack: float = 1e-9) -> NDArray[np.bool_]:
        """Whether points lie within all sides.

        Args:
            X: (..., d), points.
            slack: by how much continuous coordinates may be outside; levels may not.

        Returns:
            Whether they do, (...).
        """
        if self.sparse is not None:
            return self.sparse.contains(X.reshape(-1, self.d), slack).reshape(X.shape[:-1])
        if self.conditions is not None:
            inside = self.conditions.are_met(X, slack)
            inside[inside] = self.unconditional.contains(X[inside], slack)
            return inside
        inside = np.all((self.low - slack <= X) & (X <= self.high + slack), axis=-1)
        inside &= np.all(X @ self.A.T <= self.b + slack * self._slack, axis=-1)
        inside = np.asarray(inside)
        if self.curved is not None:
            inside[inside] = self.curved.contains(X[inside], slack)
        return inside

    def project(self, X: Array) -> Array:
        """The nearest point of the domain to each of some points.

        Discrete coordinates go to their own nearest value first. If that leaves the others nowhere
        to be, those in inequalities go to values near by that do not. With limits that are not
        linear, the point is near by, if it is not the nearest.

        Args:
            X: (..., d), points.

        Returns:
            Points of the domain, (..., d).
        """
        if self.sparse is not None:
            return self.sparse.project(X.reshape(-1, self.d)).reshape(X.shape)
        if self.curved is not None:
            moved = self.curved.linear.project(X).reshape(-1, self.d)
            return self.curved.inside(moved).reshape(X.shape)
        if self.conditions is not None:
            return self.conditions.held(self.unconditional.project(X))
        within: Array = np.minimum(np.maximum(X, self.low), self.high)
        for block in self.discrete:
            within[..., block.columns] = block.snap(within[..., block.columns])
        if self.is_box:
            return within
        points = within.reshape(-1, self.d)
        outside = np.flatnonzero(~self.contains(points, SLACK))
        if len(outside):
            points[outside] = self._moved_inside(X.reshape(-1, self.d)[outside], points[outside])
        return points.reshape(X.shape)

    @property
    def is_flat(self) -> bool:
        """Whether an equation ties continuous coordinates to each other."""
        return self.b.size > 0 and self.normals is not None

    @property
    def ends_at_sides(self) -> bool:
        """Whether lines end at inequalities: there are no equations, and no limits but linear."""
        return not self.is_flat and self.curved is None and self.sparse is None

    def followed(self, X: Array, columns: Sequence[slice] = ()) -> Array:
        """Points with other continuous coordinates moved to where inequalities allow some to be.

        Args:
            X: (R, d), points.
            columns: of the coordinates that stay, besides discrete ones.

        Returns:
            Points (R, d), which are outside of the domain where that is impossible.
        """
        if self.sparse is not None:
            return self.sparse.followed(X, columns)
        moving = self.continuous.copy()
        for each in columns:
            moving[each] = False
        return Projection.of(self.low, self.high, self.A, self.b, moving).nearest(X)

    def along(self, grad: Array, X: Array) -> Array:
        """Gradients without what leads out of the domain, at limits that points are at.

        In a union they lie within the part of their point.

        Args:
            grad: (..., d), zero for coordinates that are discrete or fixed.
            X: (..., d), points of the domain.

        Returns:
            Gradients, (..., d).
        """
        if self.sparse is not None:
            flat = grad.reshape(-1, self.d)
            return self.sparse.along(flat, X.reshape(-1, self.d)).reshape(grad.shape)
        grad = self.moving(grad, X)
        if self.is_box:
            return grad
        flat, points = grad.reshape(-1, self.d), X.reshape(-1, self.d)
        limits = self._limits_near(points)
        along = tangent.along(flat, points, self.low, self.high, limits, self.normals)
        return along.reshape(grad.shape)

    def _limits_near(self, X: Array) -> tangent.Limits:
        """The inequalities at points (R, d), but for equations, and the limits that are cheap."""
        moving = self.continuous & (self.high > self.low)
        A, b = self.one_sided
        over, slopes = X @ A.T - b, np.broadcast_to(A * moving, (len(X), *A.shape))
        curved = () if self.curved is None else self.curved.limits
        found = [limit.linearized(X) for limit in curved if not limit.is_costly]
        if found:
            over = np.column_stack([over, *(value for value, _ in found)])
            steep = np.stack([slope for _, slope in found], axis=1) * moving
            slopes = np.concatenate([slopes, steep], axis=1)
        return tangent.Limits(over, slopes)

    @cached_property
    def one_sided(self) -> tuple[Array, Array]:
        """A (k, d) and b (k,) of the inequalities that are not halves of equations."""
        opposite = (self.A[:, None] == -self.A).all(axis=2) & (self.b[:, None] + self.b <= SLACK)
        single = ~opposite.any(axis=1)
        return self.A[single], self.b[single]

    def in_plane(self, grad: Array) -> Array:
        """Directions without what points out of the plane of the equations, if there are any.

        Args:
            grad: (..., d), zero for coordinates that are discrete or fixed.

        Returns:
            Directions, (..., d).
        """
        if self.b.size == 0 or self.normals is None:
            return grad
        within: Array = grad - (grad @ self.normals.T) @ self.normals
        return within

    def with_levels(self, count: int) -> Domain:
        """The same with one more coordinate, which has levels and is in no limit.

        Args:
            count: how many levels it has.

        Returns:
            A domain of one dimension more.
        """
        known = self.combinations
        return replace(
            self,
            low=np.append(self.low, 0.0),
            high=np.append(self.high, 1.0),
            A=wider(self.A),
            interior=np.append(self.interior, 0.0),
            discrete=(*self.discrete, Ordinal(self.d, count)),
            spokes=None if self.spokes is None else wider(self.spokes),
            combinations=known and replace(known, points=wider(known.points)),
            curved=None if self.curved is None else self.curved.with_levels(count),
            sparse=None if self.sparse is None else self.sparse.with_levels(count),
        )

    def sample(self, size: int, generator: np.random.Generator) -> Array:
        """Random points spread over the domain.

        Args:
            size: how many.
            generator: what to draw with.

        Returns:
            Points, (size, d).
        """
        if self.sparse is not None:
            return self.sparse.sample(size, generator)
        return self.held(self._sampler.draw(size, generator))

    def neighbours(self, X: Array, generator: np.random.Generator) -> Neighbours:
        """Query sets that differ from given ones in one discrete value of one query.

        Where inequalities demand it, other values of that query follow.

        Args:
            X: (R, q, d), query sets.
            generator: what to draw with, where there are too many to list.

        Returns:
            Their neighbours.
        """
        q, queries = X.shape[1], X.reshape(-1, self.d)
        query, places, value = self._moves(queries, generator)
        if self.sparse is not None:
            owner, moved = self.sparse.moves(queries, generator)
            query, places = np.concatenate([query, owner]), np.concatenate([places, moved])
            value = np.concatenate([value, np.full(len(owner), len(self.discrete))])
        sets = X[query // q]
        sets[np.arange(len(query)), query % q] = places
        return Neighbours(sets, query // q, query % q * self.values + value)

    def slots(self, q: int) -> NDArray[np.intp]:
        """To which discrete value each coordinate of q queries belongs.

        Args:
            q: how many queries.

        Returns:
            Numbers of the values (q, d), -1 for continuous coordinates.
        """
        slot, first = np.full((q, self.d), -1), np.arange(q)[:, None] * self.values
        for number, block in enumerate(self.discrete):
            slot[:, block.columns] = first + number
        if self.sparse is not None:
            slot[:, self.sparse.slotted] = first + len(self.discrete)
        return slot

    def _moves(
        self, queries: Array, generator: np.random.Generator
    ) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
        """Queries (Q, d) with one discrete value moved: (N, d), as in `_allowed`."""
        if not self.discrete:
            return np.zeros(0, dtype=np.intp), queries[:0], np.zeros(0, dtype=np.intp)
        moves = [each.moves(queries[:, each.columns], generator) for each in self.discrete]
        counts = [each.possible.shape[1] for each in moves]
        moved = np.repeat(queries[:, None], sum(counts), axis=1)
        for each, there, last in zip(self.discrete, moves, accumulate(counts), strict=True):
            moved[:, last - there.possible.shape[1] : last, each.columns] = there.places
        possible = np.concatenate([each.possible for each in moves], axis=1)
        query, move = np.nonzero(possible)
        places, block = moved[possible], np.repeat(np.arange(len(moves)), counts)[move]
        if self.conditions is not None:
            places = self.conditions.begun(queries[query], places, generator)
        return (
            (query, places, block)
            if self.is_product
            else self._allowed(queries, query, places, block)
        )

    def _allowed(
        self, queries: Array, query: NDArray[np.intp], places: Array, block: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
        """Moves (N, d) of queries (Q, d) within the inequalities; other values follow.

        query, block: which query and which of its discrete values each move belongs to, (N,). Where
        most values cannot move alone, there are moves to known combinations too.
        """
        if self.combinations is not None:
            columns = [each.columns.start for each in self.discrete]
            moved = {column: places[block == k] for k, column in enumerate(columns)}
            stuck = self.combinations.follow(moved)
            for k, column in enumerate(columns):
                places[block == k] = moved[column]
            if stuck:
                owner, known = self.combinations.moves(queries, _KNOWN_MOVES)
                linked = columns.index(int(self.combinations.levels.columns[0]))
                query, places = np.concatenate([query, owner]), np.concatenate([places, known])
                block = np.concatenate([block, np.full(len(owner), linked)])
        within = self.project(places)
        differs = within != queries[query]
        changed = np.stack([differs[:, each.columns].any(axis=1) for each in self.discrete], axis=1)
        # A value that cannot move may still have made others move.
        block = np.where(changed[np.arange(len(block)), block], block, np.argmax(changed, axis=1))
        kept = changed.any(axis=1)
        return query[kept], within[kept], block[kept]

    def _moved_inside(self, X: Array, snapped: Array) -> Array:
        """The nearest points of the domain to X (R, d), given their discrete values `snapped`."""
        moving, known = self._projection.columns, self.combinations
        snapped[:, moving] = np.minimum(np.maximum(X[:, moving], -_FAR), _FAR)
        if known is not None:
            known.allow(snapped)
        moved = self._projection.nearest(snapped)
        outside = np.flatnonzero(~self.contains(moved, SLACK))
        if len(outside):
            # Rounding, or levels that only seemed possible: to points that are known to be inside.
            lost = moved[outside]
            inside = np.tile(self.interior, (len(lost), 1))
            if known is not None:
                inside = known.points[known.nearest(known.levels.levels(lost))[:, 0]]
                lost[:, known.levels.columns] = inside[:, known.levels.columns]
                lost = self._projection.nearest(lost)
            moved[outside] = pulled(lost, inside, moving, self.A, self.b)
            moved = np.minimum(np.maximum(moved, self.low), self.high)
        return moved


def make_domain(
    d: int,
    *,
    inequalities: tuple[ArrayLike, ArrayLike] | None = None,
    fixed: Mapping[int, float] | None = None,
    discrete: tuple[Discrete, ...] = (),
    limits: tuple[Limit, ...] = (),
    lowest: Mapping[int, float] | None = None,
    conditions: Conditions | None = None,
) -> Domain:
    """The unit cube with inequalities, and with coordinates that are fixed or discrete.

    Args:
        d: dimension of the queries.
        inequalities: A (k, d) and b (k,), for A x <= b.
        fixed: values of coordinates, by index.
        discrete: which coordinates take some values only; categories may not be in inequalities,
            and levels only if they are evenly spaced.
        limits: functions that may not be above 0.
        lowest: where continuous coordinates begin that do not begin at 0, by index.
        conditions: of coordinates that are in no inequality.

    Returns:
        The part of the cube that is left; an `InputError` is raised if that is empty, or if no
        point is found that meets the limits.
    """
    low, high = np.zeros(d), np.ones(d)
    for index, value in (fixed or {}).items():
        if not 0 <= index < d or not 0.0 <= value <= 1.0:
            raise InputError(
                f"fixed maps coordinates 0 to {d - 1} to values in [0, 1], got {index}: {value}"
            )
        low[index] = high[index] = value
    for index, value in (lowest or {}).items():
        if not 0 <= index < d or not low[index] <= value <= high[index]:
            raise InputError(
                f"lowest maps coordinates 0 to {d - 1} to values in [0, 1], got {index}: {value}"
            )
        low[index] = value
    movable = tuple(block for block in discrete if (high > low)[block.columns].all())
    middle = 0.5 * (low + high)
    for block in movable:
        middle[block.columns] = block.snap(middle[block.columns])
    box = Domain(low, high, np.zeros((0, d)), np.zeros(0), middle, movable)
    if inequalities is None:
        return _limited(_conditional(box, conditions), limits)
    A = checks.points("A in inequalities", inequalities[0], d)
    b = checks.vector("b in inequalities", inequalities[1], A.shape[0])
    cut = _cut(box, *_normalized(A, b))
    if cut is None:
        raise InputError(
            f"no point of the unit cube meets the {b.size} linear inequalities "
            f"with {int((high == low).sum())} coordinates fixed"
        )
    return _limited(_conditional(cut, conditions), limits)


def _conditional(domain: Domain, conditions: Conditions | None) -> Domain:
    """A domain with conditions."""
    if conditions is None:
        return domain
    return replace(domain, interior=conditions.held(domain.interior), conditions=conditions)


def _limited(linear: Domain, limits: tuple[Limit, ...]) -> Domain:
    """The part of a domain that meets limits."""
    if not limits:
        return linear
    found = curved(linear, limits)
    nearest = np.argmin(((found.points - linear.interior) ** 2).sum(axis=1))
    return replace(linear, interior=found.points[nearest], curved=found)


def _cut(box: Domain, A: Array, b: Array) -> Domain | None:
    """The part of a box where A x <= b; None if there is none."""
    A, b = _needed(A, b, box)
    if not b.size:
        return box
    # What is in no inequality stays in the middle.
    linked = (A != 0.0).any(axis=0)
    low, high = (np.where(linked, side, box.interior) for side in (box.low, box.high))
    frame = polytope.frame(A, b, low, high)
    if frame is None:
        return None
    levels = linked_levels(box.discrete, A, b, low, high)
    if levels is None:
        return replace(box, A=A, b=frame.limits, interior=frame.centre, spokes=frame.spokes)
    known = combinations(levels, frame.centre, A, b, low, high)
    if known is None:
        return None
    interior = known.points[known.nearest(levels.levels(frame.centre)[None])[0, 0]]
    spokes = polytope.held(frame.spokes, levels.columns)
    return replace(box, A=A, b=b, interior=interior, spokes=spokes, combinations=known)


def _normalized(A: Array, b: Array) -> tuple[Array, Array]:
    """A x <= b with rows of length 1, of whatever size they were."""
    largest = np.abs(A).max(axis=1, initial=0.0)
    largest[largest == 0.0] = 1.0
    A = A / largest[:, None]
    lengths = np.maximum(np.linalg.norm(A, axis=1), 1.0)
    with np.errstate(over="ignore"):
        limits = b / largest / lengths
    # No point of the cube is farther away.
    return A / lengths[:, None], np.minimum(np.maximum(limits, -2.0 * A.shape[1]), 2.0 * A.shape[1])


def _needed(A: Array, b: Array, box: Domain) -> tuple[Array, Array]:
    """The inequalities that not all points of a box meet; levels may be off by a rounding."""
    step = np.zeros(box.d)
    for block in box.discrete:
        step[block.columns] = 1.0 / (block.count - 1)
    sizes = np.abs(A) * step
    finest = np.where(sizes > 0.0, sizes, np.inf).min(axis=1, initial=np.inf)
    moving = box.continuous & (box.high > box.low)
    rounding = np.minimum(SLACK, 1e-8 * finest)
    b = b + np.where((A[:, moving] != 0.0).any(axis=1), 0.0, rounding)
    cut = np.maximum(A * box.low, A * box.high).sum(axis=1) > b
    return A[cut], b[cut]
