"""Successive halving: many query sets, graded with ever more draws (appendix B.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer
from innerloop.maximizers.objective import SampledObjective, Solution, best_first
from innerloop.maximizers.query_sets import best_of, fill_up
from innerloop.types import Array

_KEPT = 8


@dataclass(frozen=True)
class SuccessiveHalving(Maximizer):
    """Grades many query sets with few draws; the better half goes on with twice as many.

    Successive halving (Jamieson and Talwalkar 2016), as in appendix B.1. Grades are cumulative
    averages over draws, taken from beliefs that are computed once. The best survivors are valued in
    one last call, with all draws and on the scale of the objective. An objective that cannot take
    its draws a few at a time is graded with plain values.

    Args:
        sets: query sets at first, the starts and uniform draws.
        smallest: draws in the first round.
    """

    sets: int = 512
    smallest: int = 128

    draws = 1024

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Halve until the objective's draws are used up or one set is left."""
        X = fill_up(starts, self.sets, domain, generator)
        room = allowance.affordable(len(X) + _KEPT) - _KEPT
        if room < 2 or not hasattr(allowance.objective, "prepare"):
            X = X[: max(1, allowance.affordable(len(X)))]
            with allowance.spending(len(X)) as objective:
                return best_of(_KEPT, (X, objective.value(X)))
        X = self._survivors(allowance, X[:room])
        X = X[: max(1, allowance.affordable(min(_KEPT, len(X))))]
        with allowance.spending(len(X)) as objective:
            return best_first(X, objective.value(X))

    def _survivors(self, allowance: Allowance, X: Array) -> Array:
        """The query sets that are left after all rounds, best first: (R, q, d)."""
        sampled = cast(SampledObjective, allowance.objective)
        last = sampled.draws
        draws = min(self.smallest, last)
        with allowance.spending(len(X)):
            prepared = sampled.prepare(X)
            total = prepared.total(0, draws)
        order = np.argsort(-total, kind="stable")
        while draws < last and order.size > 1 and allowance.affordable(1):
            better = order[: (order.size + 1) // 2]
            X, prepared = X[better], prepared.keep(better)
            more = min(2 * draws, last)
            total = total[better] + prepared.total(draws, more)
            order, draws = np.argsort(-total, kind="stable"), more
        return X[order]
