"""Which combinations of levels the inequalities of a domain leave: all of them, or some near ones.

Combinations are built level by level. At each step every inequality says between which levels the
next coordinate has to be, if all that come after it, and the continuous ones, do their best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.checks import Array
from innerloop.maximizers.discrete import Discrete, Ordinal
from innerloop.maximizers.polytope import SLACK

# Combinations that are extended at once, and how many may be looked at in all.
_BLOCK = 2**13
_MOST_WORK = 2**18

# From the index of a coordinate and the lowest and highest levels (F,), levels in between: (F,).
Choose = Callable[[int, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Levels:
    """The coordinates with levels that are in an inequality: sum of costs * level <= limits.

    columns: (n,), their places among all coordinates; top: (n,), their highest levels, the lowest
    being 0; costs: (k, n); limits: (k,), with all other coordinates where they leave most room.
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
        least = self._least_after(order)
        pending = [(np.zeros((1, 0)), self.limits[None])] if self._is_open() else []
        found: list[Array] = [np.zeros((0, len(order)))]
        number = work = 0
        while pending:
            chosen, room = pending.pop()
            j = chosen.shape[1]
            if j == len(order):
                found.append(chosen)
                number += len(chosen)
                if number > limit:
                    return None
                continue
            lowest, highest = self._interval(room - least[j], order[j])
            counts = np.maximum(highest - lowest + 1.0, 0.0)
            if work + counts.sum() > _MOST_WORK:
                return None
            work += int(counts.sum()) + 1
            pending += self._extended(chosen, room, lowest, counts, order[j])
        combinations = np.concatenate(found)[:, np.argsort(order)]
        return combinations[np.lexsort(combinations.T[::-1])]

    def near(self, wanted: Array, first: int | None = None) -> tuple[Array, NDArray[np.bool_]]:
        """Combinations near those wanted (F, n), level by level, and which are possible: (F,).

        first: the coordinate that gets what it wants, if any.
        """

        def choose(j: int, lowest: Array, highest: Array) -> Array:
            return np.minimum(np.maximum(wanted[:, j], lowest), highest)

        return self._descend(len(wanted), choose, first)

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Different possible combinations at random, `size` at most, maybe none: (F, n)."""

        def choose(j: int, lowest: Array, highest: Array) -> Array:
            share = generator.random(len(lowest))
            return np.minimum(lowest + np.floor(share * (highest - lowest + 1.0)), highest)

        levels, possible = self._descend(size, choose)
        return np.unique(levels[possible], axis=0)

    def redrawn(self, X: Array, room: Array, generator: np.random.Generator) -> Array:
        """Points X (R, d) with one level after the other drawn anew, given all the others.

        room: (R, k), what the inequalities leave where the points are now.
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

    def _descend(
        self, size: int, choose: Choose, first: int | None = None
    ) -> tuple[Array, NDArray[np.bool_]]:
        """One level after the other, without ever going back: (size, n), and which are possible."""
        order = self._largest_first()
        if first is not None:
            order.remove(first)
            order.insert(0, first)
        levels, room = np.zeros((size, len(order))), np.tile(self.limits, (size, 1))
        possible = np.full(size, self._is_open())
        for j, least in zip(order, self._least_after(order), strict=True):
            lowest, highest = self._interval(room - least, j)
            possible &= lowest <= highest
            levels[:, j] = choose(j, lowest, np.maximum(highest, lowest))
            room -= levels[:, j, None] * self.costs[:, j]
        return levels, possible & self.possible(levels)

    def _interval(self, room: Array, j: int) -> tuple[Array, Array]:
        """The lowest and highest levels of coordinate j for which room (F, k) is left: (F,)."""
        cost = self.costs[:, j]
        up, down = cost > 0.0, cost < 0.0
        highest = np.floor((room[:, up] / cost[up]).min(axis=1, initial=self.top[j]))
        lowest = np.ceil((room[:, down] / cost[down]).max(axis=1, initial=0.0))
        return lowest, highest

    def _extended(
        self, chosen: Array, room: Array, lowest: Array, counts: Array, j: int
    ) -> Iterator[tuple[Array, Array]]:
        """Combinations (F, i) with each possible level of coordinate j: some (F', i + 1) at a time.

        The last ones come first.
        """
        number = counts.astype(np.int64)
        owner = np.repeat(np.arange(len(chosen)), number)
        before = np.cumsum(number) - number
        level = lowest[owner] + (np.arange(len(owner)) - before[owner])
        for start in reversed(range(0, len(owner), _BLOCK)):
            rows, value = owner[start : start + _BLOCK], level[start : start + _BLOCK, None]
            yield np.hstack([chosen[rows], value]), room[rows] - value * self.costs[:, j]

    def _largest_first(self) -> list[int]:
        """Coordinates in the order in which they are chosen: steps that matter most go first."""
        order: list[int] = np.argsort(-np.abs(self.costs).max(axis=0), kind="stable").tolist()
        return order

    def _least_after(self, order: Sequence[int]) -> Array:
        """What coordinates after each in the order cost at least: (n, k)."""
        least = np.minimum(self.costs * self.top, 0.0)[:, order].T
        after: Array = least[::-1].cumsum(axis=0)[::-1] - least
        return after

    def _is_open(self) -> bool:
        """Whether each inequality by itself leaves something."""
        return bool((np.minimum(self.costs * self.top, 0.0).sum(axis=1) <= self.limits).all())


def linked_levels(
    blocks: Sequence[Discrete], A: Array, b: Array, low: Array, high: Array
) -> Levels | None:
    """The levels of evenly spaced blocks that are in A x <= b; None if there are none."""
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
