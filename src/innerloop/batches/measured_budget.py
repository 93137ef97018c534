"""The paper's inner budget: the time that N acquisition values take (section 4, "Maximizers")."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.acquisition.draws import iid_normal
from innerloop.acquisition.joint import Joint
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.maximizers.budget import CLOCKS, Budget
from innerloop.surrogate.model import Model

# Values are computed in shards, so that their time is in proportion to their number from here on.
_MEASURED = 1024
_REPETITIONS = 3


def measured_budget(
    values: int,
    posterior: Model,
    q: int,
    utility: Utility | Lookahead,
    *,
    pending: ArrayLike | None = None,
    draws: int = 256,
    clock: str = "wall",
) -> Budget:
    """As many seconds as so many simultaneous values of the joint form take here and now.

    A budget that is fair to all maximizers, whatever they evaluate, as in the paper's experiments.

    Args:
        values: N, how many values; their time is measured, and in proportion beyond some thousand.
        posterior: the belief that they are computed under.
        q: queries in a set.
        utility: what is valued.
        pending: (p, d) points that are being evaluated.
        draws: Monte Carlo draws of each value.
        clock: "wall" or "cpu".

    Returns:
        A budget of that many seconds by that clock.
    """
    limits = Budget(clock=clock)
    size = min(checks.count("values", values), _MEASURED)
    beside = None if pending is None else checks.points("pending", pending, posterior.d)
    generator = np.random.default_rng(0)
    z = iid_normal(draws, q + (0 if beside is None else len(beside)), generator)
    joint = Joint(utility, posterior, z, pending=beside)
    sets = generator.random((size, checks.count("q", q), posterior.d))
    now, times = CLOCKS[limits.clock], []
    with linalg.one_blas_thread():
        joint.value(sets[:8])  # imports and caches are not part of it
        for _ in range(_REPETITIONS):
            started = now()
            joint.value(sets)
            times.append(now() - started)
    return Budget(seconds=float(np.mean(times)) * values / size, clock=clock)
