"""What is believed of hyperparameters before there are data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.types import Array


@dataclass(frozen=True)
class Priors:
    """Independent normal priors (center, sd) on the logarithms of the hyperparameters.

    Lengthscales are centred at exp(lengthscale[0]) * sqrt(d): distances in the unit cube grow
    like sqrt(d), so that functions of 1 and of 100 inputs are thought equally smooth across
    their domain. The constant mean has a normal prior with standard deviation `mean`. All are
    in units of the standard deviation of y.
    """

    lengthscale: tuple[float, float] = (float(np.log(0.25)), 0.8)
    variance: tuple[float, float] = (0.0, 1.0)
    noise: tuple[float, float] = (float(np.log(1e-3)), 2.5)
    mean: float = 1.0

    def __post_init__(self) -> None:
        for name in ("lengthscale", "variance", "noise"):
            center, sd = getattr(self, name)
            checks.scalar(f"center of {name}", center)
            checks.positive_scalar(f"sd of {name}", sd)
        checks.positive_scalar("sd of mean", self.mean)

    def log_density(self, gp: GaussianProcess, d: int) -> float:
        """log p(theta) of a surrogate of values with standard deviation 1, up to a constant."""
        logs = -np.log(gp.kernel.inverse_lengthscales(d)) - 0.5 * np.log(d)
        total = _log_normal(logs, self.lengthscale).sum()
        total += _log_normal(np.log(gp.kernel.variance), self.variance)
        total += _log_normal(np.log(np.mean(gp.noise) + 1e-300), self.noise)
        return float(total - 0.5 * (gp.mean / self.mean) ** 2)


#: What is believed unless something else is said.
DEFAULT = Priors()


def _log_normal(value: ArrayLike, prior: tuple[float, float]) -> Array:
    """Log density of a normal (center, sd), up to a constant."""
    center, sd = prior
    return np.asarray(-0.5 * ((np.asarray(value) - center) / sd) ** 2)
