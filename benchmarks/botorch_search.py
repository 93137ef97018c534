"""The search of BoTorch for the points of a batch, as its documentation advises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def maximized(
    acquisition,
    bounds,
    q: int,
    *,
    discrete: Mapping[int, Sequence[float]],
    categorical: Mapping[int, Sequence[float]],
) -> np.ndarray:
    """The points (q, d) that BoTorch finds, one after the other.

    discrete, categorical: by column, the values it may have.
    """
    from botorch.optim import optimize_acqf
    from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating

    effort = {"q": q, "num_restarts": 10, "raw_samples": 512, "sequential": True}
    if categorical or discrete:
        candidates, _ = optimize_acqf_mixed_alternating(
            acquisition, bounds, discrete_dims=discrete, cat_dims=categorical, **effort
        )
    else:
        candidates, _ = optimize_acqf(acquisition, bounds, **effort)
    return candidates.detach().numpy()
