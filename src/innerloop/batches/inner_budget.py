"""The paper's inner budget: the time that N acquisition values take (section 4, "Maximizers")."""

from __future__ import annotations

import numpy as np

from innerloop.acquisition.draws import iid_normal
from innerloop.acquisition.joint import Joint, Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.checks import Array
from innerloop.maximizers.budget import CLOCKS
from innerloop.surrogate.gaussian_process import Posterior

# Values are computed in shards, so that their time is in proportion to their number from here on.
_MEASURED = 1024
_REPETITIONS = 3


def measured_seconds(
    values: int,
    posterior: Posterior,
    q: int,
    utility: Utility | Lookahead,
    pending: Array,
    draws: int,
    clock: str,
) -> float:
    """Seconds that `values` simultaneous values of the joint form take under these conditions."""
    generator = np.random.default_rng(0)
    z = iid_normal(draws, len(pending) + q, generator)
    joint = Joint(utility, posterior, z, pending=pending if len(pending) else None)
    sets = generator.random((min(values, _MEASURED), q, posterior.d))
    joint.value(sets[:8])  # imports and caches are not part of it
    now = CLOCKS[clock]
    times = []
    for _ in range(_REPETITIONS):
        started = now()
        joint.value(sets)
        times.append(now() - started)
    return float(np.mean(times)) * values / len(sets)
