"""What is believed of hyperparameters before there are data.

Logarithms of lengthscales have the density

    log p = max_{s <= 0} - sum_k (o_k - s)^2 / (2 sd^2) - s^2 / (2 shorter^2)

up to a constant, o_k being their distances from the centre: each is by itself, but all of them may
be shorter together, by exp(s), for the price of one. Of functions that are rougher than expected in
one coordinate, most are so in all. Those that are smoother have no such discount: a belief that
is too smooth sends searches far from what is known to be good. With up to ten lengthscales, there
is no such factor: their mean is free enough as it is, and noise would be mistaken for roughness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.errors import InputError
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.types import Array

# So many lengthscales have nothing in common.
_FEW = 10


@dataclass(frozen=True)
class Priors:
    """Normal priors on the logarithms of the hyperparameters, in units of the sd of y.

    Lengthscales are centred at exp(lengthscale[0]) * sqrt(d), d being their number: distances in
    the unit cube grow like sqrt(d), so that functions of 1 and of 100 inputs are thought equally
    smooth across their domain (Hvarfner et al. 2024 argue for such a prior). For the same reason
    they are centred farther out, by a factor that is called `reach` below, where values are farther
    apart, as those of choices are.

    Args:
        lengthscale: center and sd of log(lengthscale / sqrt(d)).
        variance: center and sd of the log of the kernel's variance.
        noise: center and sd of the log of the noise variance.
        mean: sd of the constant mean, whose prior is centred at 0.
        shorter: sd of the log of a factor below 1 that more than ten lengthscales may have in
            common, which is taken where it is best; 0 for none.
    """

    lengthscale: tuple[float, float] = (float(np.log(0.25)), 0.8)
    variance: tuple[float, float] = (0.0, 1.0)
    noise: tuple[float, float] = (float(np.log(1e-3)), 2.5)
    mean: float = 1.0
    shorter: float = 0.7

    def __post_init__(self) -> None:
        for name in ("lengthscale", "variance", "noise"):
            center, sd = getattr(self, name)
            checks.scalar(f"center of {name}", center)
            checks.positive_scalar(f"sd of {name}", sd)
        checks.positive_scalar("sd of mean", self.mean)
        if checks.scalar("sd of shorter", self.shorter) < 0.0:
            raise InputError(f"sd of shorter must not be negative, got {self.shorter}")

    def discount(self, number: int) -> float:
        """What lengthscales that are shorter together save.

            G discount min(mean o, 0)^2 / 2,   discount = 1 / sd^2 - 1 / (sd^2 + G shorter^2)

        Args:
            number: G, how many lengthscales there are.

        Returns:
            The discount on the precision of their mean.
        """
        variance = self.lengthscale[1] ** 2
        common = self.shorter**2 if number > _FEW else 0.0
        return 1.0 / variance - 1.0 / (variance + number * common)

    def log_density(
        self,
        gp: GaussianProcess,
        d: int,
        groups: NDArray[np.intp] | None = None,
        reach: Array | None = None,
    ) -> float:
        """Log prior density log p(theta) of a surrogate, up to a constant.

        Args:
            gp: the surrogate, of values with standard deviation 1.
            d: dimension of its inputs.
            groups: (d,), those that share a lengthscale, if some do.
            reach: (d,), how far apart values are along each column; 1 by default.

        Returns:
            The logarithm of the density.
        """
        relative = gp.kernel.inverse_lengthscales(d) * (1.0 if reach is None else reach)
        if groups is not None:
            relative = relative[np.unique(groups, return_index=True)[1]]
        logs = -np.log(relative) - 0.5 * np.log(len(relative))
        total = _log_normal(logs, self.lengthscale).sum()
        below = min(float(logs.mean()) - self.lengthscale[0], 0.0)
        total += 0.5 * len(logs) * self.discount(len(logs)) * below**2
        total += _log_normal(np.log(gp.kernel.variance), self.variance)
        total += _log_normal(np.log(np.mean(gp.noise) + 1e-300), self.noise)
        return float(total - 0.5 * (gp.mean / self.mean) ** 2)


#: What is believed unless something else is said.
DEFAULT = Priors()


def _log_normal(value: ArrayLike, prior: tuple[float, float]) -> Array:
    """Log density of a normal (center, sd), up to a constant."""
    center, sd = prior
    return np.asarray(-0.5 * ((np.asarray(value) - center) / sd) ** 2)
