"""Evaluation of many query sets with bounded memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from innerloop.checks import Array

# Floats that one shard of query sets may keep in flight.
_WORKSPACE = 2**21

Evaluation = tuple[Array, Array | None]


def in_shards(evaluate: Callable[[Array], Evaluation], X: Array, floats_per_set: int) -> Evaluation:
    """`evaluate` on all query sets X (R, q, d), as many at a time as memory should hold.

    Returns values (R,) and gradients (R, q, d) or None, as `evaluate` does.
    """
    shard = max(1, _WORKSPACE // floats_per_set)
    if shard >= len(X):
        return evaluate(X)
    pieces = [evaluate(X[i : i + shard]) for i in range(0, len(X), shard)]
    gradients = [gradient for _, gradient in pieces if gradient is not None]
    values = np.concatenate([value for value, _ in pieces])
    return values, np.concatenate(gradients) if gradients else None
