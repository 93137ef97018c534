"""Search over mixed domains: ascent in the continuous coordinates, moves in the discrete ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.domain import Domain, Neighbours
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer
from innerloop.maximizers.objective import Solution
from innerloop.maximizers.query_sets import best_of
from innerloop.types import Array


@dataclass(frozen=True)
class Exchange(Maximizer):
    """Alternates a maximizer that leaves discrete coordinates as they are with discrete moves.

    After every ascent all query sets that differ in one discrete value are valued. Of the moves
    that help, one for each value, the best is tried, the best two together, the best four and so
    on, and each search goes on from the best of these; searches that no move helps have ended.
    Nothing is rounded: only valid query sets are ever valued.

    Args:
        maximizer: of the first ascent.
        again: the maximizer of later ascents, which begin near the end of an earlier one; the same
            if None.
        searches: how many go on after the first ascent.
        rounds: later ascents at most.
        neighbours: how many are valued at most for each search and round.
    """

    maximizer: Maximizer
    again: Maximizer | None = None
    searches: int = 8
    rounds: int = 4
    neighbours: int = 256

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Maximize from `starts` until no move helps or the allowance is spent."""
        solution = self.maximizer(allowance, starts, domain, generator)
        ends = [solution]
        for _ in range(self.rounds if domain.values else 0):
            better = self._moved(solution.X[: self.searches], allowance, domain, generator)
            if not len(better) or not allowance.affordable(len(better)):
                break
            solution = (self.again or self.maximizer)(allowance, better, domain, generator)
            ends.append(solution)
        return best_of(sum(len(end.value) for end in ends), *ends)

    def _moved(
        self, X: Array, allowance: Allowance, domain: Domain, generator: np.random.Generator
    ) -> Array:
        """Where moves take those of X (R, q, d) that they help: (r, q, d)."""
        near = domain.neighbours(X, generator)
        if len(near.sets) > self.neighbours * len(X):
            rows = generator.choice(len(near.sets), self.neighbours * len(X), replace=False)
            near = near.keep(rows)
        here, there = _together(X, near.sets, allowance)
        helps = np.flatnonzero(there > here[near.owner[: len(there)]])
        if not len(helps):
            return X[:0]
        sets, owner = _combined(X, near.keep(helps), there[helps], domain)
        if (np.diff(owner) > 0).all():
            return _distinct(sets)  # single moves, which are valued already
        here, there = _together(X, sets, allowance)
        if not len(there):
            return X[:0]
        best = _best_of_each(owner[: len(there)], there, len(X))
        return _distinct(sets[best[(best >= 0) & (there[best] > here)]])


def _together(X: Array, sets: Array, allowance: Allowance) -> tuple[Array, Array]:
    """Values of X (R, q, d) and of as many sets that come from them as can be afforded.

    At once, since an objective may see new draws at every evaluation.
    """
    room = allowance.affordable(len(X) + len(sets))
    if room <= len(X):
        return np.zeros(len(X)), np.zeros(0)
    with allowance.spending(room) as objective:
        value = objective.value(np.concatenate([X, sets])[:room])
    return value[: len(X)], value[len(X) :]


def _combined(
    X: Array, near: Neighbours, value: Array, domain: Domain
) -> tuple[Array, NDArray[np.intp]]:
    """The best 1, 2, 4, ... of the moves from each of X (R, q, d), made at once.

    near: neighbours that are better, with their values (N,); of those with the same slot, the best
    counts. Returns query sets (M, q, d), and which of X each comes from, in order: (M,).
    """
    R, q, d = X.shape
    slots = q * domain.values
    best = _best_of_each(near.owner * slots + near.slot, value, R * slots).reshape(R, slots)
    worth = np.where(best >= 0, value[best], -np.inf)
    rank = np.argsort(np.argsort(-worth, axis=1), axis=1)
    number = (best >= 0).sum(axis=1)
    sizes = 2 ** np.arange(int(number.max() - 1).bit_length() + 1)
    owner, size = np.nonzero(sizes < 2 * number[:, None])
    slot = domain.slots(q)
    order = np.where(slot >= 0, rank[:, slot], slots)
    made = order[owner] < np.minimum(sizes[size], number[owner])[:, None, None]
    moved = near.sets[best[:, slot], np.arange(q)[:, None], np.arange(d)]
    sets = np.where(made, moved[owner], X[owner])
    if domain.is_product:
        return sets, owner
    # A move by itself is made as it was valued, with the values that had to follow it.
    alone, first = sizes[size] == 1, best[np.arange(R), np.argmax(worth, axis=1)]
    sets = domain.project(sets)
    sets[alone] = near.sets[first[owner[alone]]]
    return sets, owner


def _best_of_each(owner: NDArray[np.intp], value: Array, size: int) -> NDArray[np.intp]:
    """Index of the largest value of each owner 0 to size - 1; -1 for those without any: (size,)."""
    best = np.full(size, -1)
    order = np.argsort(value, kind="stable")
    best[owner[order]] = order  # the last one written is the largest
    return best


def _distinct(sets: Array) -> Array:
    """Without repetitions: searches that have met go on as one."""
    same = (sets[:, None] == sets).all(axis=(2, 3))
    before = np.tril(same, -1).any(axis=1)
    distinct: Array = sets[~before]
    return distinct
