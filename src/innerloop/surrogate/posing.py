"""What a fit is asked: the log posterior of hyperparameters, in units that suit any values.

Everything is done in units in which y has mean 0 and standard deviation 1, so that priors and
bounds mean the same for y of any size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.errors import InputError
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.surrogate.kernels import Kernel, check_kind
from innerloop.surrogate.log_posterior import LogPosterior
from innerloop.surrogate.priors import Priors
from innerloop.types import Array

# Variances of y beyond the squares of these are too small or too large for a float.
_SCALES = (1e-140, 1e140)
# Known noise that is larger, in units of the variance of y, is as good as this.
_LARGEST_KNOWN = 1e100


class Posed(NamedTuple):
    """The log posterior of hyperparameters, and what its units are.

    Args:
        objective: of theta = (log lengthscales, log variance, log noise).
        location: mean of y.
        scale: standard deviation of y.
        columns: (d,), the lengthscale of each column; None if each has its own.
        axes: (d, d), directions of the lengthscales, if they are not those of the coordinates.
        known: noise variances that are not learned; None if they are.
    """

    objective: LogPosterior
    location: float
    scale: float
    columns: NDArray[np.intp] | None
    axes: ArrayLike | None
    known: float | Array | None

    def theta(self, gp: GaussianProcess) -> Array:
        """The hyperparameters of a surrogate, within their bounds.

        Args:
            gp: the surrogate, of the same kind.

        Returns:
            (p,).
        """
        rates = gp.kernel.inverse_lengthscales(self.objective.points.shape[1])
        if self.columns is not None:
            rates = rates[np.unique(self.columns, return_index=True)[1]]
        variances = np.array([gp.kernel.variance, np.median(gp.noise)]) / self.scale**2
        both = np.concatenate([1.0 / rates, variances])
        return self.objective.within_bounds(np.log(np.maximum(both, 1e-300)))

    def surrogate(self, theta: Array, mean: float) -> GaussianProcess:
        """The prior with these hyperparameters.

        Args:
            theta: (p,).
            mean: in units of the scale, from the location.

        Returns:
            A surrogate of the values themselves.
        """
        parameters, G, unit = np.exp(theta), self.objective.scales, self.scale**2
        lengthscales = parameters[slice(G) if self.columns is None else self.columns]
        # Kinds of kernels need not know of axes where there are none.
        more = () if self.axes is None else (self.axes,)
        return GaussianProcess(
            self.objective.kernel(lengthscales, float(parameters[G] * unit), *more),
            mean=float(mean * self.scale + self.location),
            noise=float(parameters[-1] * unit) if self.known is None else self.known,
        )


def pose(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: type[Kernel],
    noise: ArrayLike | None,
    groups: ArrayLike | None,
    reach: ArrayLike | None,
    axes: ArrayLike | None,
    priors: Priors | None,
    smallest_noise: float,
) -> Posed:
    """What a fit is asked; the arguments are those of `fit`.

    Args:
        X: (n, d).
        y: (n,).
        kernel: the class of kernel.
        noise: a number or (n,), or None.
        groups: (d,), or None.
        reach: (d,), or None.
        axes: (d, d), or None.
        priors: of the hyperparameters, or None.
        smallest_noise: in units of the variance of y.

    Returns:
        The log posterior with its units.
    """
    check_kind(kernel)
    points = checks.points("X", X)
    n, d = points.shape
    values = checks.vector("y", y, n)
    turned = points if axes is None else points @ checks.floats("axes", axes)
    location, scale = _location_and_scale(values)
    known = None if noise is None else _known_noise(noise, n)
    columns = None if groups is None else _groups(groups, d)
    first = slice(d) if columns is None else np.unique(columns, return_index=True)[1]
    objective = LogPosterior(
        turned - turned.mean(axis=0),
        (values - location) / scale,
        kernel,
        None if known is None else _in_units(known, scale**2, n),
        priors,
        checks.positive_scalar("smallest_noise", smallest_noise),
        columns,
        None if reach is None else _reach(reach, d)[first],
    )
    return Posed(objective, location, scale, columns, axes, known)


def _groups(groups: ArrayLike, d: int) -> NDArray[np.intp]:
    """Labels of columns as numbers from 0 on: (d,)."""
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise InputError(f"groups must have shape ({d},), a label for each column of X")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _reach(reach: ArrayLike, d: int) -> Array:
    """How far apart values are along each column: (d,)."""
    factors = checks.positive("reach", reach)
    if factors.shape != (d,):
        raise InputError(f"reach must have shape ({d},), got {factors.shape}")
    return factors


def _known_noise(noise: ArrayLike, n: int) -> float | Array:
    """A given noise variance: one number, or (n,)."""
    variances = checks.non_negative("noise", noise)
    if variances.shape not in ((), (n,)):
        raise InputError(f"noise must be a number or have shape ({n},), got {variances.shape}")
    return variances if variances.ndim else float(variances)


def _in_units(known: float | Array, unit: float, n: int) -> Array:
    """Known noise in units of the variance of y: (n,)."""
    with np.errstate(over="ignore"):
        return np.broadcast_to(np.minimum(known / np.float64(unit), _LARGEST_KNOWN), (n,))


def _location_and_scale(y: Array) -> tuple[float, float]:
    """Mean and standard deviation; a deviation of 1 where y is constant up to rounding."""
    # In units of the largest, where neither sums nor squares overflow or vanish.
    largest = float(np.abs(y).max())
    if largest == 0.0:
        return 0.0, 1.0
    shares = y / largest
    location, spread = float(shares.mean()), float(shares.std())
    if spread <= 1e-12:
        return location * largest, 1.0
    scale = spread * largest
    if not _SCALES[0] <= scale <= _SCALES[1]:
        raise InputError(
            f"y must have a standard deviation from {_SCALES[0]:g} to {_SCALES[1]:g}, so that its "
            f"variance is a number, got {scale:.3g}; fit y in other units"
        )
    return location * largest, scale
