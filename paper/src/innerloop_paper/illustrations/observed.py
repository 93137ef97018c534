"""The one-dimensional belief that the illustrations share: four observations of a function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from innerloop import ExpectedImprovement, GaussianProcess, Matern52, Posterior
from innerloop_paper.arrays import Array
from innerloop_paper.jobs import Settings


@dataclass(frozen=True)
class Observed(Settings):
    """Where the function was observed and with what result, and the prior.

    grid: number of points at which curves are computed.
    """

    at: tuple[float, ...] = (0.04, 0.34, 0.66, 0.97)
    results: tuple[float, ...] = (0.0, 0.35, -0.25, 0.1)
    lengthscale: float = 0.18
    variance: float = 1.0
    noise: float = 1e-6
    grid: int = 401

    def posterior(self) -> Posterior:
        """The belief given the observations."""
        gp = GaussianProcess(Matern52(self.lengthscale, self.variance), noise=self.noise)
        return gp.condition(np.array(self.at)[:, None], np.array(self.results))

    def line(self) -> Array:
        """Where curves are computed: (grid,)."""
        return np.linspace(0.0, 1.0, self.grid)

    def improvement(self) -> ExpectedImprovement:
        """Improvement on the best result."""
        return ExpectedImprovement(max(self.results))
