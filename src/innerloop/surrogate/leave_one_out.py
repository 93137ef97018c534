"""What a posterior says of each of its observations without it, in closed form.

With K = k(X, X) + noise = L L^T and r = y - mean, leaving out observation i gives

    mean_i = y_i - [K^-1 r]_i / [K^-1]_ii          variance_i = 1 / [K^-1]_ii

(Rasmussen and Williams 2006, eq. 5.12). Hyperparameters stay as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from innerloop.surrogate.gaussian_process import Posterior
from innerloop.types import Array


class LeftOut(NamedTuple):
    """What is expected of each observation, given all others.

    Args:
        mean: (n,).
        variance: (n,), of the observation: that of f and that of its noise.
    """

    mean: Array
    variance: Array


def left_out(posterior: Posterior) -> LeftOut:
    """Each observation predicted from the others.

    Args:
        posterior: given n observations.

    Returns:
        Means and variances, (n,) each; with one observation those of the prior.
    """
    W = posterior.whitener
    precision = np.vecdot(W.T, W.T)  # the diagonal of W^T W = K^-1
    mean: Array = posterior.y - posterior.residuals @ W / precision
    return LeftOut(mean, 1.0 / precision)


def skill(posterior: Posterior) -> float:
    """The share of what observations vary by that predictions of left-out ones explain.

        1 - sum_i (y_i - mean_i)^2 / sum_i (y_i - average of the others)^2

    Args:
        posterior: given n observations.

    Returns:
        At most 1; 0 or less where an average says as much, and with fewer than two observations.
    """
    y, n = posterior.y, posterior.n
    apart = (y - y.mean()) * n / max(n - 1, 1)
    total = float(apart @ apart)
    missed = y - left_out(posterior).mean
    return 1.0 - float(missed @ missed) / total if n > 1 and total > 0.0 else 0.0
