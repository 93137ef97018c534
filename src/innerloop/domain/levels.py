"""Which combinations of levels the inequalities of a domain leave: all of them, or some near ones.

Combinations are built level by level. At each step every inequality says between which levels the
next coordinate has to be, if all that come after it, and the continuous ones, do their best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.discrete import Discrete, Ordinal
from innerloop.domain.equations import Equation, equations
from innerloop.domain.polytope import SLACK
from innerloop.types import Array

# Combinations that are extended at once, and how many may be looked at in all.
_BLOCK = 2**13
_MOST_WORK = 2**18


class _Options(NamedTuple):
    """Levels lowest + step * (0 to number - 1) of a coordinate; lowest, number: (F,)."""

    lowest: Array
    step: int
    number: Array

    def at(self, place: Array) -> Array:
        """The levels at places (F,), which are moved between the first and the last."""
        inside = np.maximum(np.minimum(place, self.number - 1.0), 0.0)
        levels: Array = self.lowest + self.step * inside
        return levels

    def near(self, wanted: Array) -> Array:
        """The levels nearest to those wanted (F,)."""
        return self.at(np.rint((wanted - self.lowest) / self.step))

    def drawn(self, generator: np.random.Generator) -> Array:
        """Random ones: (F,)."""
        return self.at(np.floor(generator.random(len(self.number)) * self.number))


@dataclass(frozen=True, eq=False)
class Levels:
    """The coordinates with levels that are in an inequality: sum of costs * level <= limits.

    Args:
        columns: (n,), their places among all coordinates.
        top: (n,), their highest levels, the lowest being 0.
        costs: (k, n).
        limits: (k,), with all other coordinates where they leave most room.
    """

    columns: NDArray[np.intp]
    top: Array
    costs: Array
    limits: Array

    def positions(self, levels: Array) -> Array:
        """Coordinates of levels: (..., n) -> (..., n)."""
        return levels / self.top

    def levels(self, X: Array) -> Array:
        """The levels nearest to the coordinates of points: (..., d) -> (..., n)."""
        return np.rint(X[..., self.columns] * self.top)

    def possible(self, levels: Array) -> NDArray[np.bool_]:
        """Which combinations (F, n) no inequality forbids by itself: (F,)."""
        return np.asarray((levels @ self.costs.T <= self.limits).all(axis=-1))

    def everything(self, limit: int) -> Array | None:
        """All possible combinations (N, n), in order; None if they are, or might be, over `limit`.

        They may be few among very many; after some work that did not settle it, they might be.
        """
        order = self._largest_first()
        pending = [(0, np.zeros((1, len(order))))] if self._is_open else []
        found: list[Array] = [np.zeros((0, len(order)))]
        number = work = 0
        while pending:
            depth, levels = pending.pop()
            if depth == len(order):
                found.append(levels)
                number += len(levels)
                if number > limit:
                    return None
                continue
            options = self._options(levels, order, depth)
            work += int(options.number.sum()) + 1
            if work > _MOST_WORK:
                return None
            pending += ((depth + 1, some) for some in _extended(levels, order[depth], options))
        combinations = np.concatenate(found)
        return combinations[np.lexsort(combinations.T[::-1])]

    def near(self, wanted: Array, first: int | None = None) -> tuple[Array, NDArray[np.bool_]]:
        """Combinations near those wanted, level by level, and which are possible.

        Args:
            wanted: (F, n).
            first: the coordinate that gets what it wants, if any.

        Returns:
            Levels (F, n), and which of them are possible (F,).
        """
        order = self._largest_first()
        if first is not None:
            order = [first, *(j for j in order if j != first)]
        levels = np.zeros(wanted.shape)
        for depth, j in enumerate(order):
            levels[:, j] = self._options(levels, order, depth).near(wanted[:, j])
        return levels, self.possible(levels)

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Different possible combinations at random, `size` at most, maybe none: (F, n)."""
        order = self._largest_first()
        levels = np.zeros((size, len(order)))
        for depth, j in enumerate(order):
            levels[:, j] = self._options(levels, order, depth).drawn(generator)
        return np.unique(levels[self.possible(levels)], axis=0)

    def redrawn(self, X: Array, room: Array, generator: np.random.Generator) -> Array:
        """Points with one level after the other drawn anew, given all the others: Gibbs sampling.

        Args:
            X: (R, d), points.
            room: (R, k), what the inequalities leave where the points are now.
            generator: what to draw with.

        Returns:
            Points, (R, d).
        """
        X = X.copy()
        for j, column in enumerate(self.columns):
            here = np.rint(X[:, column] * self.top[j])
            room = room + here[:, None] * self.costs[:, j]
            lowest, highest = self._interval(room, j)
            lowest, highest = np.minimum(lowest, here), np.maximum(highest, here)
            share = generator.random(len(X))
            level = np.minimum(lowest + np.floor(share * (highest - lowest + 1.0)), highest)
            X[:, column] = level / self.top[j]
            room -= level[:, None] * self.costs[:, j]
        return X

    def _options(self, levels: Array, order: Sequence[int], depth: int) -> _Options:
        """What coordinate order[depth] may be, given the levels (F, n) of those before it."""
        j, later = order[depth], order[depth + 1 :]
        least = np.minimum(self.costs * self.top, 0.0)[:, later].sum(axis=1)
        lowest, highest = self._interval(self.limits - least - levels @ self.costs.T, j)
        asked = [equation.steps(levels, j, later) for equation in self._equations]
        step, start = max(asked, key=itemgetter(0), default=(1, 0))
        lowest = lowest + (start - lowest) % step
        return _Options(lowest, step, np.maximum((highest - lowest) // step + 1.0, 0.0))

    @cached_property
    def _equations(self) -> tuple[Equation, ...]:
        """Equations among the inequalities."""
        return equations(self.costs, self.limits)

    def _interval(self, room: Array, j: int) -> tuple[Array, Array]:
        """The lowest and highest levels of coordinate j for which room (F, k) is left: (F,)."""
        cost = self.costs[:, j]
        up, down = cost > 0.0, cost < 0.0
        highest = np.floor((room[:, up] / cost[up]).min(axis=1, initial=self.top[j]))
        lowest = np.ceil((room[:, down] / cost[down]).max(axis=1, initial=0.0))
        return lowest, highest

    def _largest_first(self) -> list[int]:
        """Coordinates in the order in which they are chosen: steps that matter most go first."""
        order: list[int] = np.argsort(-np.abs(self.costs).max(axis=0), kind="stable").tolist()
        return order

    @cached_property
    def _is_open(self) -> bool:
        """Whether each inequality and equation by itself leaves something."""
        least = np.minimum(self.costs * self.top, 0.0).sum(axis=1)
        return bool((least <= self.limits).all()) and all(e.is_open for e in self._equations)


def _extended(levels: Array, j: int, options: _Options) -> Iterator[Array]:
    """Combinations (F, n) with each of the options for coordinate j, some at a time, last first."""
    number = options.number.astype(np.int64)
    owner = np.repeat(np.arange(len(levels)), number)
    place = np.arange(len(owner)) - (np.cumsum(number) - number)[owner]
    for start in reversed(range(0, len(owner), _BLOCK)):
        rows = owner[start : start + _BLOCK]
        extended = levels[rows]
        extended[:, j] = options.lowest[rows] + options.step * place[start : start + _BLOCK]
        yield extended


def linked_levels(
    blocks: Sequence[Discrete], A: Array, b: Array, low: Array, high: Array
) -> Levels | None:
    """The levels of evenly spaced blocks that are in inequalities.

    Args:
        blocks: discrete coordinates.
        A: (k, d).
        b: (k,).
        low: (d,).
        high: (d,).

    Returns:
        These levels; None if there are none.
    """
    linked = [block for block in blocks if isinstance(block, Ordinal) and A[:, block.column].any()]
    if not linked:
        return None
    columns = np.array([block.column for block in linked])
    top = np.array([block.count - 1.0 for block in linked])
    others = np.ones(low.size, dtype=bool)
    others[columns] = False
    least = np.minimum(A * low, A * high)[:, others].sum(axis=1)
    # Where continuous coordinates take part, they decide in the end.
    leeway = np.where((A != 0.0)[:, others & (high > low)].any(axis=1), SLACK, 0.0)
    return Levels(columns, top, A[:, columns] / top, b - least + leeway)
