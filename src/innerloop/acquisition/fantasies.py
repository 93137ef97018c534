"""Points already decided on, whose outcomes are fantasized by base draws.

Conditional on draws z (m, p) of p earlier outcomes, the belief at a query set is
N(mean + loadings z^T, cov), with a covariance that all m states share. Together with the
Cholesky factor of that covariance the loadings make up the rows of one larger factor: the
sample path Y = mean + [loadings, L] z of eq. 3 with its first p columns held fixed.

Fantasies concern the latent f, so they carry no noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from innerloop import linalg
from innerloop.checks import Array
from innerloop.surrogate.gaussian_process import Belief, Posterior


class Paths(NamedTuple):
    """Sample paths Y = mean + factor z: mean (..., q), factor (..., q, size + q)."""

    mean: Array
    factor: Array


@dataclass(frozen=True, eq=False)
class Fantasies:
    """A posterior extended by `size` fantasized points, the last of its observations."""

    posterior: Posterior
    size: int = 0

    def loadings(self, belief: Belief) -> Array:
        """How each query moves with the draws of the fantasized outcomes: (..., q, size)."""
        return belief.features[..., belief.features.shape[-1] - self.size :]

    def paths(self, belief: Belief) -> Paths:
        """Sample paths of f at the queries of `belief`, given the fantasies."""
        L = linalg.cholesky(belief.cov, self.posterior.gp.kernel.variance)
        if self.size == 0:
            return Paths(belief.mean, L)
        return Paths(belief.mean, np.concatenate([self.loadings(belief), L], axis=-1))

    def append(self, points: Array) -> tuple[Fantasies, Paths]:
        """Fix `points` (p, d) too; returns their sample paths with the extended fantasies."""
        paths = self.paths(self.posterior.unchecked_belief(points))
        extended = self.posterior.fantasize(points)
        return Fantasies(extended, self.size + points.shape[0]), paths
