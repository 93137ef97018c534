"""A domain of points with few coordinates away from zero: one domain for every support.

Within a support the coordinates that are absent are held, and what is left is a domain like any
other. If supports are many, some are known, and others are reached from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.curved_points import CurvedSampler, sampler_of
from innerloop.domain.sampler import Sampler
from innerloop.domain.some_supports import some_supports
from innerloop.domain.supports import Present, Supports
from innerloop.types import Array

if TYPE_CHECKING:
    from innerloop.domain.domain import Domain

# With more supports than this, so many are known.
_KNOWN = 64
# So many points are known of all of them together, and of each.
_POINTS, _FEWEST_POINTS = 1024, 64
# How many domains are kept, and how many a projection makes of supports that are near only.
_KEPT, _NEAR = 512, 16
# A projection tries the domains of so many supports for every point.
_TRIED = 8
# Squares of distances that differ by less are the same.
_SAME = 1e-20
# From a point to so many other supports.
_EXCHANGES, _EXCHANGES_OF_MANY = 64, 8


@dataclass(frozen=True, eq=False)
class Sparse:
    """The domains of supports.

    Args:
        supports: which coordinates may be away from zero together.
        make: makes the domain of a support (n,); None if that is empty.
        around: what all of these are within.
    """

    supports: Supports
    make: Callable[[Present], Domain | None]
    around: Domain

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all else is found again."""
        return {"supports": self.supports, "make": self.make, "around": self.around}

    def domain(self, support: Present) -> Domain | None:
        """The domain of a support (n,); None if it is empty."""
        return self._domains(support.tobytes())

    def part_of(self, x: Array) -> Domain:
        """The domain of a support that has a point (d,), or of one near by."""
        members = self._members_near(x[None])
        support = members[int(np.argmin(self.supports.distances(x[None], members)[0]))]
        found = self.domain(support)
        assert found is not None
        return found

    @cached_property
    def first(self) -> Domain | None:
        """The domain of the first support that has one; None if there seems to be none."""
        return next((domain for _, domain in self._found()), None)

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Coordinates that are in supports or in limits: (d,)."""
        assert self.first is not None
        linked = self.first.linked | self.around.linked
        linked[self.supports.columns] = True
        return linked

    @property
    def slotted(self) -> NDArray[np.intp]:
        """Continuous coordinates that are in supports."""
        columns = self.supports.columns
        return columns[self.around.continuous[columns]]

    def contains(self, X: Array, slack: float) -> NDArray[np.bool_]:
        """Whether points (R, d) are in the domain of a support: (R,)."""
        present = self.supports.present(X, slack)
        inside = self.supports.allowed(present)
        rows = np.flatnonzero(inside)
        for domain, some in self._by_support(self._completed(present[rows])):
            inside[rows[some]] = domain is not None and domain.contains(X[rows[some]], slack)
        return inside

    def project(self, X: Array) -> Array:
        """The nearest points to points X (R, d), of the supports that seem nearest: (R, d)."""
        known = self._members_near(X)
        bounds = self.supports.distances(X, known)
        order = np.argsort(bounds, axis=1, kind="stable")[:, :_TRIED]
        Y, best = X.copy(), np.full(len(X), np.inf)
        for support in order.T:
            bound = bounds[np.arange(len(X)), support]
            rows = np.flatnonzero(bound + _SAME < best)
            if not len(rows):
                break
            for domain, some in self._by_support(known[support[rows]]):
                assert domain is not None
                moved = domain.project(X[rows[some]])
                distance = ((moved - X[rows[some]]) ** 2).sum(axis=1)
                better = distance < best[rows[some]]
                Y[rows[some][better]] = moved[better]
                best[rows[some][better]] = distance[better]
        return Y

    def along(self, grad: Array, X: Array) -> Array:
        """Gradients (R, d) at points X (R, d) within the domains of their supports: (R, d).

        Where a support may have more than a point has, it gets what the gradient is largest in.
        """
        supports, columns = self.supports, self.supports.columns
        present = supports.present(X)
        slope = np.where(supports.zeros < 1.0, grad[:, columns], -grad[:, columns])
        between = (supports.zeros > 0.0) & (supports.zeros < 1.0)
        slope = np.where(between, np.abs(slope), slope)
        completed = supports.completed(present, np.argsort(-slope, axis=1, kind="stable"))
        masked = grad.copy()
        masked[:, columns] = np.where(completed, grad[:, columns], 0.0)
        within = np.zeros_like(grad)
        for domain, rows in self._by_support(completed):
            if domain is not None:
                within[rows] = domain.along(masked[rows], X[rows])
        return within

    def followed(self, X: Array, columns: Sequence[slice]) -> Array:
        """See `Domain.followed`; points (R, d) have the supports that they come with."""
        present, Y = self.supports.present(X), X.copy()
        rows = np.flatnonzero(self.supports.allowed(present))
        for domain, some in self._by_support(self._completed(present[rows])):
            if domain is not None:
                Y[rows[some]] = domain.followed(X[rows[some]], columns)
        return Y

    def sample(self, size: int, generator: np.random.Generator) -> Array:
        """Points of the domains of all known supports in turn: (size, d)."""
        turn = np.resize(generator.permutation(len(self._samplers)), size)
        X = np.empty((size, self.around.d))
        for k in np.unique(turn):
            rows = np.flatnonzero(turn == k)
            X[rows] = self._samplers[k].draw(len(rows), generator)
        return self.around.held(X)

    def moves(self, X: Array, generator: np.random.Generator) -> tuple[NDArray[np.intp], Array]:
        """Points X (R, d) in other supports: whose they are (N,), and where they are (N, d).

        What takes the place of something else is as far from its zero; what is switched on is
        anywhere.
        """
        supports, columns = self.supports, self.supports.columns
        present = supports.present(X)
        limit = _EXCHANGES if self._all is not None else _EXCHANGES_OF_MANY
        owner, changed = supports.exchanges(present, limit, generator)
        here = present[owner]
        gone, new = here & ~changed, changed & ~here
        amount = np.where(gone, X[owner][:, columns] - supports.zeros, 0.0).sum(axis=1)
        amount = np.where(gone.any(axis=1), amount, generator.random(len(owner)))
        placed = np.maximum(supports.zeros + amount[:, None], supports.lowest)
        placed = np.where(new, np.minimum(placed, 1.0), X[owner][:, columns])
        moved = X[owner]
        moved[:, columns] = np.where(changed, placed, supports.zeros)
        kept = np.zeros(len(owner), dtype=bool)
        for domain, rows in self._by_support(self._completed(changed)):
            if domain is not None:
                moved[rows], kept[rows] = domain.project(moved[rows]), True
        kept &= (moved != X[owner]).any(axis=1)
        return owner[kept], moved[kept]

    def with_levels(self, count: int) -> Sparse:
        """The same in domains with one more coordinate, see `Domain.with_levels`."""

        def make(support: Present) -> Domain | None:
            narrow = self.domain(support)
            return narrow and narrow.with_levels(count)

        return Sparse(self.supports, make, self.around.with_levels(count))

    @cached_property
    def _domains(self) -> Callable[[bytes], Domain | None]:
        """The domains of supports, those that were needed last at hand."""
        return lru_cache(_KEPT)(lambda key: self.make(np.frombuffer(key, dtype=bool)))

    @cached_property
    def _all(self) -> Present | None:
        """All supports, whether they have a domain or not; None if they are many."""
        return self.supports.everything(_KNOWN)

    @cached_property
    def _known(self) -> tuple[Present, list[Domain]]:
        """Known supports (M, n) and their domains."""
        found = [*self._found()]
        return np.array([support for support, _ in found]), [domain for _, domain in found]

    @cached_property
    def _samplers(self) -> list[Sampler | CurvedSampler]:
        """What draws points of known supports: the more there are, the fewer of each."""
        number = max(_POINTS // len(self._known[1]), _FEWEST_POINTS)
        return [sampler_of(domain, number) for domain in self._known[1]]

    def _found(self) -> Iterator[tuple[Present, Domain]]:
        """Supports that have a domain, each once: all, or so many."""
        drawn = (
            some_supports(self.supports, self.around, _KNOWN) if self._all is None else self._all
        )
        for support in drawn:
            domain = self.domain(support)
            if domain is not None:
                yield support, domain

    def _members_near(self, X: Array) -> Present:
        """Supports that have a domain: known ones, and others that points (R, d) are in or near."""
        known = self._known[0]
        if self._all is not None:
            return known
        near = self.supports.nearest(X)
        present = self.supports.present(X)
        exact = self.supports.allowed(present)
        near[exact] = self._completed(present[exact])
        own, number = np.unique(near, axis=0, return_counts=True)
        often = own[np.argsort(-number, kind="stable")[:_NEAR]]
        some = np.unique(np.concatenate([often, near[exact]]), axis=0)
        some = some[[self.domain(support) is not None for support in some]]
        return np.unique(np.concatenate([known, some]), axis=0)

    def _completed(self, present: Present) -> Present:
        """Supports that have sets (R, n) which are allowed."""
        order = np.tile(np.arange(present.shape[1]), (len(present), 1))
        return self.supports.completed(present, order)

    def _by_support(self, supports: Present) -> Iterator[tuple[Domain | None, NDArray[np.intp]]]:
        """The domain of each of supports (R, n) that differ, with the rows that have it."""
        distinct, number = np.unique(supports, axis=0, return_inverse=True)
        for k, support in enumerate(distinct):
            yield self.domain(support), np.flatnonzero(number.reshape(-1) == k)


def sparse(
    supports: Supports, make: Callable[[Present], Domain | None], around: Domain
) -> Domain | None:
    """The domain of points that have one of some supports.

    Args:
        supports: which coordinates may be away from zero together.
        make: makes the domain of a support (n,); None if that is empty.
        around: a domain that has all of these points, without limits that are not linear.

    Returns:
        The domain; None if no support has a point.
    """
    parts = Sparse(supports, make, around)
    if parts.first is None:
        return None
    return replace(around, interior=parts.first.interior, sparse=parts)
