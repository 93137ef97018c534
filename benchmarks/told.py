"""Optimizers that were told the same results."""

from __future__ import annotations

import numpy as np

import innerloop as il

Q = 4


def optimizer_with(X: np.ndarray, y: np.ndarray, seed: int) -> il.Optimizer:
    """An optimizer that was told every result."""
    space = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(X.shape[1])})
    optimizer = il.Optimizer(space, direction="maximize", seed=seed)
    for x, value in zip(X, y, strict=True):
        optimizer.add(space.decode(x), value)
    return optimizer


def asked_before(X: np.ndarray, y: np.ndarray, seed: int) -> il.Optimizer:
    """The same, asked once before the last Q results came in."""
    optimizer = optimizer_with(X[:-Q], y[:-Q], seed)
    trials = optimizer.ask(Q)
    optimizer.tell(trials, state="failed")
    again = optimizer_with(X, y, seed)
    again._learned = optimizer._learned
    return again
