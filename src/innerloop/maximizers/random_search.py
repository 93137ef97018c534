"""Random search: the baseline that every other maximizer has to beat (section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer
from innerloop.maximizers.objective import Solution
from innerloop.maximizers.query_sets import best_of, draw
from innerloop.types import Array

_KEPT = 8


@dataclass(frozen=True)
class RandomSearch(Maximizer):
    """Values the starts, then query sets drawn uniformly from the domain, and keeps the best.

    Random search (Bergstra and Bengio 2012), the baseline of section 4. For deterministic
    objectives: fresh draws at every evaluation would let luck win.

    Args:
        shard: query sets valued at once.
        sets: how many are drawn at most.
    """

    shard: int = 256
    sets: int = 2**12

    draws = 1024

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Draw until `sets` are valued or the allowance is spent."""
        X = domain.project(starts[: max(1, allowance.affordable(len(starts)))])
        with allowance.spending(len(X)) as objective:
            best = best_of(_KEPT, (X, objective.value(X)))
        for drawn in range(0, self.sets, self.shard):
            size = allowance.affordable(min(self.shard, self.sets - drawn))
            if size == 0:
                break
            X = draw(size, X.shape[1], domain, generator)
            with allowance.spending(size) as objective:
                best = best_of(_KEPT, best, (X, objective.value(X)))
        return best
