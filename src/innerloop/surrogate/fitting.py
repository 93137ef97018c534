"""MAP hyperparameters by a quasi-Newton search on an explicit gradient, one factorization a step.

Parameters are theta = (log lengthscales, log variance, log noise). The constant mean is profiled
out: given theta its best value is a ratio of two sums. Everything is done in units in which y has
mean 0 and standard deviation 1, so that priors and bounds mean the same for y of any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.surrogate.kernels import Kernel, Matern52, ScaledPoints, squared_distances
from innerloop.surrogate.quasi_newton import Minimum, minimize

# A cold fit goes from coarse to fine: it looks around on about this many observations, then
# settles on three times as many, and so on up to all.
_COARSEST = 32
_REFINEMENT = 3
_SCREENING_STEPS = 3
# Evaluations on part of the observations need not settle further than this.
_COARSE_TOLERANCE = 1e-3
# The information matrix is taken from this many observations at most.
_INFORMATION_POINTS = 64
# (factor on the typical lengthscale, noise): smooth to rough, clean to noisy.
_COLD_STARTS = ((1.0, 1e-3), (3.0, 1e-2), (0.4, 1e-3))
_LENGTHSCALE_BOUNDS = (1e-3, 1e3)
_VARIANCE_BOUNDS = (1e-3, 1e3)
_LARGEST_NOISE = 10.0


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


def _log_normal(value: ArrayLike, prior: tuple[float, float]) -> Array:
    """Log density of a normal (center, sd), up to a constant."""
    center, sd = prior
    return np.asarray(-0.5 * ((np.asarray(value) - center) / sd) ** 2)


def fit(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: type[Kernel] = Matern52,
    noise: ArrayLike | None = None,
    start: GaussianProcess | None = None,
    priors: Priors | None = Priors(),
    smallest_noise: float = 1e-8,
    tolerance: float = 1e-8,
) -> GaussianProcess:
    """The surrogate whose hyperparameters maximize log p(y | X, theta) + log p(theta).

    X: (n, d), y: (n,). noise: known noise variance, a number or (n,); learned if None, then at
    least `smallest_noise` times the variance of y. start: a previous fit to continue from; without
    it several starts are tried. priors: None to maximize the likelihood alone. tolerance: the
    search ends with a step that gains less than this, relative to the log density.
    """
    if not (isinstance(kernel, type) and issubclass(kernel, Kernel)):
        raise InputError(f"kernel must be a class, such as Matern52, got {kernel!r}")
    points = checks.points("X", X)
    n, d = points.shape
    values = checks.vector("y", y, n)
    location, scale = _location_and_scale(values)
    unit = scale**2
    known = None if noise is None else _known_noise(noise, n)
    smallest = checks.positive_scalar("smallest_noise", smallest_noise)
    checks.positive_scalar("tolerance", tolerance)
    objective = _Objective(
        points - points.mean(axis=0),
        (values - location) / scale,
        kernel,
        None if known is None else np.broadcast_to(known / unit, (n,)),
        priors,
        smallest,
    )
    with linalg.one_blas_thread():
        if start is None:
            theta = objective.cold_start()
        else:
            lengthscales = 1.0 / start.kernel.inverse_lengthscales(d)
            tail = start.kernel.variance / unit, float(np.mean(start.noise)) / unit
            theta = objective.parameters(lengthscales, *tail)
        theta = objective.minimize(theta, tolerance=tolerance).x
        mean = objective.evaluate(theta)[2]
    parameters = np.exp(theta)
    return GaussianProcess(
        kernel(parameters[:d], float(parameters[d] * unit)),
        mean=float(mean * scale + location),
        noise=float(parameters[-1] * unit) if known is None else known,
    )


@dataclass(frozen=True, eq=False)
class _Objective:
    """Negative log posterior of theta for centred points (n, d) and standardized values (n,)."""

    points: Array
    values: Array
    kernel: type[Kernel]
    known_noise: Array | None
    priors: Priors | None
    smallest_noise: float
    squares: Array = field(init=False)
    bounds: Array = field(init=False)
    prior_center: Array = field(init=False)
    prior_precision: Array = field(init=False)

    def __post_init__(self) -> None:
        d = self.points.shape[1]
        lengthscale = np.log(np.multiply(_LENGTHSCALE_BOUNDS, [1.0, np.sqrt(d)]))
        noise = np.log([self.smallest_noise, _LARGEST_NOISE])
        parameters = d + 1 + (self.known_noise is None)
        bounds = np.array([lengthscale] * d + [np.log(_VARIANCE_BOUNDS), noise])[:parameters]
        priors = self.priors or Priors()
        prior = np.array([priors.lengthscale] * d + [priors.variance, priors.noise])[:parameters]
        prior[:d, 0] += 0.5 * np.log(d)
        object.__setattr__(self, "squares", self.points**2)
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "prior_center", prior[:, 0])
        object.__setattr__(self, "prior_precision", prior[:, 1] ** -2.0 * (self.priors is not None))

    def subset(self, size: int) -> _Objective:
        """The same objective on a random choice of `size` observations.

        Always with priors: the likelihood of a few observations alone goes astray.
        """
        rows = np.random.default_rng(0).choice(len(self.values), size, replace=False)
        noise = None if self.known_noise is None else self.known_noise[rows]
        return replace(
            self,
            points=self.points[rows],
            values=self.values[rows],
            known_noise=noise,
            priors=self.priors or Priors(),
        )

    def cold_start(self) -> Array:
        """The best of several starts, settled on ever larger parts of the observations."""
        sizes = [len(self.values)]
        while sizes[-1] >= _REFINEMENT * _COARSEST:
            sizes.append(sizes[-1] // _REFINEMENT)
        levels = [self.subset(size) for size in sizes[1:]]
        coarsest = levels[-1] if levels else self
        ends = [coarsest.minimize(start, _SCREENING_STEPS) for start in self._cold_starts()]
        theta = min(ends, key=lambda end: end.value).x
        for level in reversed(levels):
            theta = level.minimize(theta, tolerance=_COARSE_TOLERANCE).x
        return theta

    def _cold_starts(self) -> Iterator[Array]:
        d = self.points.shape[1]
        typical = np.exp(self.prior_center[:d])
        for factor, noise in _COLD_STARTS:
            yield self.parameters(factor * typical, 1.0, noise)

    def parameters(self, lengthscales: Array, variance: float, noise: float) -> Array:
        """theta within its bounds."""
        both = np.concatenate([lengthscales, [variance, noise]])
        low, high = self.bounds.T
        theta: Array = np.clip(np.log(np.maximum(both, 1e-300))[: low.size], low, high)
        return theta

    def minimize(self, theta: Array, steps: int = 100, *, tolerance: float = 1e-8) -> Minimum:
        """The nearest minimum from theta."""
        return minimize(
            lambda t: self.evaluate(t)[:2],
            theta,
            self.information(theta),
            self.bounds,
            steps=steps,
            tolerance=tolerance,
        )

    def information(self, theta: Array) -> Array:
        """Expected curvature: 1/2 tr K^-1 K_i K^-1 K_j, K_i = dK / dtheta_i, and the priors'.

        It costs a product of matrices per parameter, so it is taken on part of the
        observations and scaled up: information grows like their number.
        """
        n = len(self.values)
        few = self if n <= _INFORMATION_POINTS else self.subset(_INFORMATION_POINTS)
        m = len(few.values)
        lengthscales, variance, noise = few._unpack(theta)
        scaled = (few.points * (few.kernel.stretch / lengthscales)).T
        squares = (scaled[:, :, None] - scaled[:, None, :]) ** 2
        covariance, pullback = few.kernel.profile(squares.sum(axis=0), variance)
        slope = pullback(np.full((m, m), -2.0))
        diagonal = np.diag(np.broadcast_to(noise, m))
        inverse = linalg.log_determinant_and_inverse(covariance + diagonal, variance)[1]
        tangents = np.concatenate([slope * squares, [covariance, diagonal]])[: theta.size]
        products = inverse @ tangents
        flat = products.reshape(theta.size, -1)
        flipped = products.swapaxes(1, 2).reshape(theta.size, -1)
        expected: Array = (0.5 * n / m) * (flat @ flipped.T)
        return expected + np.diag(self.prior_precision)

    def _unpack(self, theta: Array) -> tuple[Array, float, float | Array]:
        """Lengthscales, variance and noise that theta stands for."""
        parameters = np.exp(theta)
        d = self.points.shape[1]
        noise = parameters[-1] if self.known_noise is None else self.known_noise
        return parameters[:d], float(parameters[d]), noise

    def evaluate(self, theta: Array) -> tuple[float, Array, float]:
        """Negative log posterior, its gradient, and the profiled mean."""
        n, d = self.points.shape
        lengthscales, variance, noise = self._unpack(theta)
        scaled = ScaledPoints(self.points * (self.kernel.stretch / lengthscales))
        s = squared_distances(scaled, scaled)
        linalg.diagonals(s)[...] = 0.0
        covariance, pullback = self.kernel.profile(s, variance)
        K = covariance.copy()
        linalg.diagonals(K)[...] += noise
        log_determinant, inverse = linalg.log_determinant_and_inverse(K, variance)

        precision = 0.0 if self.priors is None else self.priors.mean**-2
        column_sums = inverse.sum(axis=0)
        mean = float(column_sums @ self.values / (column_sums.sum() + precision))
        residual = self.values - mean
        alpha = inverse @ residual
        value = 0.5 * (residual @ alpha + log_determinant + n * np.log(2.0 * np.pi))
        value += 0.5 * precision * mean**2

        # Twice d value / d K, the mean being at its optimum.
        d_K = linalg.add_outer(inverse, -alpha, alpha)
        grad = np.empty_like(theta)
        grad[d] = 0.5 * np.vdot(d_K, covariance)
        if self.known_noise is None:
            grad[-1] = 0.5 * noise * d_K.trace()
        weights = pullback(d_K)
        # sum_ij w_ij (x_i - x_j)^2 per dimension, for symmetric w, without the differences.
        moments = weights.sum(axis=0) @ self.squares
        moments -= (self.points * (weights @ self.points)).sum(axis=0)
        grad[:d] = -2.0 * self.kernel.stretch**2 * moments / lengthscales**2
        offset = theta - self.prior_center
        pull = self.prior_precision * offset
        return float(value + 0.5 * offset @ pull), grad + pull, mean


def _known_noise(noise: ArrayLike, n: int) -> float | Array:
    """A given noise variance: one number, or (n,)."""
    variances = checks.non_negative("noise", noise)
    if variances.shape not in ((), (n,)):
        raise InputError(f"noise must be a number or have shape ({n},), got {variances.shape}")
    return variances if variances.ndim else float(variances)


def _location_and_scale(y: Array) -> tuple[float, float]:
    """Mean and standard deviation; a deviation of 1 where y is constant up to rounding."""
    location, scale = float(y.mean()), float(y.std())
    constant = scale <= 1e-12 * float(np.abs(y).max())
    return location, 1.0 if constant else scale
