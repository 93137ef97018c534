"""Sample paths Y = mean + factor z of whole batches, and the way back from their derivatives."""

from __future__ import annotations

from innerloop import linalg
from innerloop.surrogate.model import JointBelief
from innerloop.types import Array


def rows_times(A: Array, B: Array) -> Array:
    """A (R, q, k) times B (k, l) as one matrix product rather than R."""
    return (A.reshape(-1, A.shape[-1]) @ B).reshape(*A.shape[:-1], B.shape[-1])


def pulled_back(
    belief: JointBelief, factor: Array, d_mean: Array, d_residual: Array, z: Array, pending: int
) -> Array:
    """Average over m draws of eq. 4, right to left, from the slopes on each path: (R, q, d).

    factor: (R, q, pending + q), of the belief's paths; d_mean, d_residual: (R, q, m), the same
    array where they are equal; z: (m, pending + q).
    """
    m, p = len(z), pending
    d_factor = rows_times(d_residual, z) / m
    d_cov = linalg.cholesky_pullback(factor[..., p:], d_factor[..., p:])
    d_loadings = d_factor[..., :p] if p else None
    return belief.pullback(d_mean.sum(axis=-1) / m, d_cov, d_loadings)
