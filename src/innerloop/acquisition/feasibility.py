"""Whether constraints are met, which they are at 0 and below: exactly, relaxed, in expectation.

Outcomes (..., K) begin with the objectives; the others are constraints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from innerloop.acquisition.normal import log_below
from innerloop.types import Array


def is_feasible(Y: Array, objectives: int) -> NDArray[np.bool_]:
    """Whether outcomes (..., K) meet all constraints: (...)."""
    return np.asarray((Y[..., objectives:] <= 0.0).all(axis=-1))


def relaxed(constraints: Array, temperature: float) -> Array:
    """How nearly each of the constraints is met, from 0 to 1."""
    met: Array = expit(constraints / -temperature)
    return met


def log_feasible(
    mean: Array, shift: Array, sd: Array, objectives: int
) -> tuple[Array, Array, Array]:
    """log prod_k Phi(-m_k / s_k) over the constraints (R, m), with derivatives (R, m, K).

    In the mean or shift of every outcome, and in its sd; zeros for objectives.
    """
    center = mean + shift
    d_center, d_sd = np.zeros_like(center), np.zeros_like(center)
    s = sd[..., objectives:]
    v = -center[..., objectives:] / s
    log_p, slope = log_below(v)
    d_center[..., objectives:] = -slope / s
    d_sd[..., objectives:] = -v * slope / s
    return log_p.sum(axis=-1), d_center, d_sd
