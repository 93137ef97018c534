"""DIRECT: dividing rectangles, the global search that the paper set CMA-ES against (B.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, direct

from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer
from innerloop.maximizers.objective import Solution
from innerloop.maximizers.query_sets import FreeCoordinates, best_of
from innerloop.types import Array

_KEPT = 8


@dataclass(frozen=True)
class Direct(Maximizer):
    """Dividing rectangles (DIRECT, Jones et al. 1993) in the space of flattened query sets.

    In the locally biased variant of Gablonsky and Kelley (2001), which is SciPy's default. Needs
    values only. One query set at a time and no randomness. The starts are valued too, so that what
    is returned is never worse than the best of them.

    Args:
        sets: how many query sets DIRECT values at most.
    """

    sets: int = 2000

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Divide until `sets` are valued, nothing is left to divide or the allowance is spent."""
        X = domain.project(starts[: max(1, allowance.affordable(len(starts)))])
        with allowance.spending(len(X)) as objective:
            visited = [(X, objective.value(X))]
        space = FreeCoordinates(domain, X.shape[1])

        def loss(flat: Array) -> float:
            if len(visited) > self.sets or allowance.affordable(1) == 0:
                raise _Spent
            X = space.query_sets(flat[None])
            with allowance.spending(1) as objective:
                value = objective.value(X)
            visited.append((X, value))
            return -float(value[0])  # infinite where infeasible, as DIRECT would have it

        if space.size:
            bounds = Bounds(*space.bounds)
            try:
                direct(loss, bounds, maxfun=self.sets, maxiter=self.sets, vol_tol=0.0)
            except (_Spent, SystemError) as stopped:
                # From SciPy 1.15 what `loss` raises comes as the cause of a SystemError.
                if not isinstance(stopped.__cause__ or stopped, _Spent):
                    raise
        return best_of(_KEPT, *visited)


class _Spent(Exception):  # noqa: N818 (no error: how DIRECT is told to stop)
    """The allowance is spent."""
