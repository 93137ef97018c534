"""Search over mixed domains: ascent in the continuous coordinates, moves in the discrete ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.domain import Domain
from innerloop.maximizers.objective import Maximizer, Solution
from innerloop.maximizers.query_sets import best_of


@dataclass(frozen=True)
class Exchange:
    """Alternates a maximizer that leaves discrete coordinates as they are with discrete moves.

    After every ascent all query sets that differ in one discrete value are valued, each search
    goes on from its best neighbour, and those without a better one have ended. Nothing is rounded:
    only valid query sets are ever valued.

    searches: how many go on after the first ascent; rounds: ascents at most; neighbours: how many
    are valued at most for each search and round.
    """

    maximizer: Maximizer
    searches: int = 8
    rounds: int = 8
    neighbours: int = 256

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Maximize from `starts` until no neighbour is better or the allowance is spent."""
        solution = self.maximizer(allowance, starts, domain, generator)
        ends = [solution]
        for _ in range(self.rounds if domain.discrete else 0):
            best = solution.X[: self.searches]
            better = self._better_neighbours(best, allowance, domain, generator)
            if not len(better) or not allowance.affordable(len(better)):
                break
            solution = self.maximizer(allowance, better, domain, generator)
            ends.append(solution)
        return best_of(sum(len(end.value) for end in ends), *ends)

    def _better_neighbours(
        self, X: Array, allowance: Allowance, domain: Domain, generator: np.random.Generator
    ) -> Array:
        """The best neighbour of each of X (R, q, d) that has a better one: (r, q, d)."""
        sets, owner = domain.neighbours(X, generator)
        if len(sets) > self.neighbours * len(X):
            rows = generator.choice(len(sets), self.neighbours * len(X), replace=False)
            sets, owner = sets[rows], owner[rows]
        # Together with where they come from: an objective may see new draws at every evaluation.
        room = allowance.affordable(len(X) + len(sets))
        if room <= len(X):
            return X[:0]
        value = allowance.value(np.concatenate([X, sets])[:room])
        here, there = value[: len(X)], value[len(X) :]
        best = _best_of_each(owner[: len(there)], there, len(X))
        improved = (best >= 0) & (there[best] > here)
        return _distinct(sets[best[improved]])


def _best_of_each(owner: NDArray[np.intp], value: Array, size: int) -> NDArray[np.intp]:
    """Index of the largest value of each owner 0 to size - 1; -1 for those without any: (size,)."""
    best = np.full(size, -1)
    order = np.argsort(value, kind="stable")
    best[owner[order]] = order  # the last one written is the largest
    return best


def _distinct(sets: Array) -> Array:
    """Without repetitions: searches that have met go on as one."""
    _, first = np.unique(
        sets.reshape(len(sets), sets.shape[1] * sets.shape[2]), axis=0, return_index=True
    )
    return sets[np.sort(first)]
