"""Stochastic gradient ascent that leaves a trail."""

from __future__ import annotations

import numpy as np

from innerloop import make_domain
from innerloop.maximizers import Adam, Allowance, Objective
from innerloop_paper.arrays import Array


class _Trail:
    """An objective that remembers where it was asked for gradients, and where the search ended."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.visited: list[Array] = []

    def value(self, X: Array) -> Array:
        # Adam's last call: the ends of all restarts, and then their starts.
        self.visited.append(X[: len(self.visited[0])])
        return self.objective.value(X)

    def value_and_grad(self, X: Array) -> tuple[Array, Array]:
        self.visited.append(X)
        return self.objective.value_and_grad(X)


def ascend(objective: Objective, starts: Array, *, steps: int, learning_rate: float) -> Array:
    """Where Adam goes in the unit cube from starts (R, q, d): (steps + 1, R, q, d)."""
    trail = _Trail(objective)
    adam = Adam(learning_rate=learning_rate, steps=steps)
    # Nothing is drawn by Adam itself: draws come from the objective.
    adam(Allowance(trail), starts, make_domain(starts.shape[-1]), np.random.default_rng(0))
    return np.stack(trail.visited)
