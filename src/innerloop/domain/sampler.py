"""Random points of a domain: drawn from the cube if many are inside, else from point to point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from innerloop.domain import polytope
from innerloop.types import Array

if TYPE_CHECKING:
    from innerloop.domain.domain import Domain

# Points of the cube are drawn until enough are inside, if so many of them are.
_SHARE_INSIDE = 1 / 8
# Else samples are known points, the same at every call, moved on by a few steps.
KNOWN, _STEPS = 1024, 3


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws points of a domain; what can be found out once is kept.

    Args:
        domain: where points lie.
        number: how many points of it are known.
    """

    domain: Domain
    number: int = KNOWN

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Points spread over the domain.

        Args:
            size: how many.
            generator: what to draw with.

        Returns:
            Points, (size, d).
        """
        if self.domain.is_box:
            return self._from_the_box(size, generator)
        if self._share_inside >= _SHARE_INSIDE:
            return self._from_inside(size, generator)
        X = self._from_the_box(size, generator)
        X[:, self.domain.linked] = self._moved_on(size, generator)[:, self.domain.linked]
        return X

    @cached_property
    def _share_inside(self) -> float:
        """About how much of the box is inside."""
        X = self._from_the_box(KNOWN, np.random.default_rng(0))
        return float(self.domain.contains(X, 0.0).mean())

    @property
    def _known(self) -> Array:
        """Points of the domain, spread over it: (N, d)."""
        return self._start[0]

    @cached_property
    def _start(self) -> tuple[Array, Array]:
        """Points of the domain, spread over it (N, d), and ways to go from there (m, d)."""
        domain, generator = self.domain, np.random.default_rng(0)
        if domain.combinations is not None:
            points = domain.combinations.points
            start = points[generator.integers(len(points), size=self.number)]
        else:
            shares = generator.dirichlet(np.ones(len(self._spokes) + 1), size=self.number)
            start = domain.interior + shares[:, 1:] @ self._spokes
        steps = 10 + 2 * int((domain.linked & (domain.high > domain.low)).sum())
        if not domain.is_flat or domain.combinations is not None:
            return self._walked(start, self._spokes, steps, generator), self._spokes
        # A plane may lie across the cube in any way: points that are there say how far it goes.
        ways = self._spokes
        for _ in range(2 * steps):
            start = self._walked(start, ways, 1, generator)
            ways = domain.in_plane(polytope.spanning(start))
        return start, ways

    @cached_property
    def _spokes(self) -> Array:
        """Ways to go from point to point: (m, d), none if m is 0."""
        return np.zeros((0, self.domain.d)) if self.domain.spokes is None else self.domain.spokes

    def _from_the_box(self, size: int, generator: np.random.Generator) -> Array:
        """Points of the box, whether they meet the inequalities or not."""
        low, high = self.domain.low, self.domain.high
        X: Array = low + (high - low) * generator.random((size, low.size))
        for block in self.domain.discrete:
            X[:, block.columns] = block.draw(size, generator)
        return X

    def _from_inside(self, size: int, generator: np.random.Generator) -> Array:
        """Points of the box that meet the inequalities."""
        inside = np.zeros((0, self.domain.d))
        while len(inside) < size:
            number = int(1.1 * (size - len(inside)) / self._share_inside) + 8
            X = self._from_the_box(number, generator)
            inside = np.concatenate([inside, X[self.domain.contains(X, 0.0)]])
        return inside[:size]

    def _moved_on(self, size: int, generator: np.random.Generator) -> Array:
        """Points reached from known ones."""
        known, mixed = self.domain.combinations, len(self._spokes) > 0
        if known is not None and known.complete and not mixed:
            return known.points[generator.integers(len(known.points), size=size)]
        X = self._known[np.resize(generator.permutation(self.number), size)]
        if known is not None and not known.complete:
            # Known points are some of many, and steps in one level at a time may lead nowhere.
            fresh = known.levels.draw(size // 2, generator)
            X[: len(fresh), known.levels.columns] = known.levels.positions(fresh)
            X = self.domain.project(X)
        return self._walked(X, self._start[1], _STEPS, generator)

    def _walked(self, X: Array, ways: Array, steps: int, generator: np.random.Generator) -> Array:
        """Where random steps lead from X (R, d), along ways (m, d) and in levels."""
        domain = self.domain
        sides = domain.low, domain.high, domain.A, domain.b
        for _ in range(steps):
            if len(ways):
                X = polytope.hit_and_run(X, ways, *sides, generator)
            if domain.combinations is not None:
                room = domain.b - X @ domain.A.T
                X = domain.combinations.levels.redrawn(X, room, generator)
        return X
