"""Random search: the baseline that every other maximizer has to beat (section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.domain import Domain
from innerloop.maximizers.objective import Solution
from innerloop.maximizers.query_sets import best_of, draw

_KEPT = 8


@dataclass(frozen=True)
class RandomSearch:
    """Values the starts, then query sets drawn uniformly from the domain, and keeps the best.

    For deterministic objectives: fresh draws at every evaluation would let luck win.
    shard: query sets valued at once; sets: how many are drawn at most.
    """

    shard: int = 256
    sets: int = 2**12

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Draw until `sets` are valued or the allowance is spent."""
        X = domain.project(starts[: max(1, allowance.affordable(len(starts)))])
        best = best_of(_KEPT, (X, allowance.value(X)))
        for drawn in range(0, self.sets, self.shard):
            size = allowance.affordable(min(self.shard, self.sets - drawn))
            if size == 0:
                break
            X = draw(size, X.shape[1], domain, generator)
            best = best_of(_KEPT, best, (X, allowance.value(X)))
        return best
