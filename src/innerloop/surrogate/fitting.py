"""MAP hyperparameters by L-BFGS-B on an explicit gradient that costs one factorization.

Parameters are theta = (log lengthscales, log variance, log noise). The constant mean is profiled
out: given theta its best value is a ratio of two sums. Everything is done in units in which y has
mean 0 and standard deviation 1, so that priors and bounds mean the same for y of any size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.checks import Array
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.surrogate.kernels import Kernel, Matern52, ScaledPoints, squared_distances

# Cold starts are screened on at most this many observations, and only the best is polished on all.
_SCREENING_POINTS = 200
_SCREENING_STEPS = 12
# (factor on the typical lengthscale, noise): smooth to rough, clean to noisy.
_COLD_STARTS = ((1.0, 1e-3), (3.0, 1e-2), (0.4, 1e-3), (1.5, 1e-1))
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

    lengthscale: tuple[float, float] = (float(np.log(0.25)), 1.5)
    variance: tuple[float, float] = (0.0, 1.0)
    noise: tuple[float, float] = (float(np.log(1e-3)), 2.5)
    mean: float = 1.0


def fit(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: type[Kernel] = Matern52,
    noise: ArrayLike | None = None,
    start: GaussianProcess | None = None,
    priors: Priors | None = Priors(),  # noqa: B008 - frozen
    smallest_noise: float = 1e-8,
) -> GaussianProcess:
    """The surrogate whose hyperparameters maximize log p(y | X, theta) + log p(theta).

    X: (n, d), y: (n,). noise: known noise variance, a number or (n,); learned if None, then at
    least `smallest_noise` times the variance of y. start: a previous fit to continue from; without
    it several starts are screened. priors: None to maximize the likelihood alone.
    """
    objective = _Objective(X, y, kernel, noise, priors, smallest_noise)
    with linalg.one_blas_thread():
        if start is not None:
            theta = objective.parameters(start)
        else:
            screen = objective.subset(_SCREENING_POINTS)
            theta = screen.best_of(screen.cold_starts())
        return objective.surrogate(objective.minimize(theta)[1])


class _Objective:
    """Negative log posterior of the hyperparameters, with its gradient."""

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        kernel: type[Kernel],
        noise: ArrayLike | None,
        priors: Priors | None,
        smallest_noise: float,
    ) -> None:
        self.X = checks.points("X", X)
        self.n, self.d = self.X.shape
        self.y = checks.vector("y", y, self.n)
        self.kernel = kernel
        self.priors = priors
        self.smallest_noise = float(checks.positive("smallest_noise", smallest_noise))
        self.location, self.scale = _location_and_scale(self.y)
        self.standardized = (self.y - self.location) / self.scale
        self.centered = self.X - self.X.mean(axis=0)
        self.squares = self.centered**2
        self.given_noise = noise
        self.known_noise: Array | None = None
        if noise is not None:
            variances = GaussianProcess(kernel(1.0), noise=checks.floats("noise", noise)).noise
            self.known_noise = np.broadcast_to(variances, (self.n,)) / self.scale**2

    def subset(self, size: int) -> _Objective:
        """The same objective on a random choice of at most `size` observations."""
        if self.n <= size:
            return self
        rows = np.random.default_rng(0).choice(self.n, size, replace=False)
        noise = None if self.known_noise is None else self.known_noise[rows] * self.scale**2
        return _Objective(
            self.X[rows], self.y[rows], self.kernel, noise, self.priors, self.smallest_noise
        )

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds on theta."""
        low, high = np.log(_LENGTHSCALE_BOUNDS)
        bounds = [(low, high + 0.5 * np.log(self.d))] * self.d
        bounds.append(tuple(np.log(_VARIANCE_BOUNDS)))
        if self.known_noise is None:
            bounds.append((np.log(self.smallest_noise), np.log(_LARGEST_NOISE)))
        return bounds

    def cold_starts(self) -> Iterable[Array]:
        """Starting points that differ in smoothness and noise."""
        typical = np.exp((self.priors or Priors()).lengthscale[0]) * np.sqrt(self.d)
        for factor, noise in _COLD_STARTS:
            yield self._pack(np.full(self.d, factor * typical), 1.0, noise)

    def parameters(self, gp: GaussianProcess) -> Array:
        """theta of an existing surrogate."""
        lengthscales = 1.0 / gp.kernel.inverse_lengthscales(self.d)
        unit = self.scale**2
        return self._pack(lengthscales, gp.kernel.variance / unit, float(np.mean(gp.noise)) / unit)

    def _pack(self, lengthscales: Array, variance: float, noise: float) -> Array:
        tail = [variance] if self.known_noise is not None else [variance, noise]
        theta = np.log(np.concatenate([lengthscales, np.maximum(tail, 1e-300)]))
        low, high = np.transpose(self.bounds)
        clipped: Array = np.clip(theta, low, high)
        return clipped

    def surrogate(self, theta: Array) -> GaussianProcess:
        """The surrogate that theta stands for, in the units of y."""
        mean = self._evaluate(theta)[2]
        parameters = np.exp(theta)
        unit = self.scale**2
        return GaussianProcess(
            self.kernel(parameters[: self.d], float(parameters[self.d] * unit)),
            mean=float(mean * self.scale + self.location),
            noise=float(parameters[-1] * unit) if self.known_noise is None else self.given_noise,
        )

    def best_of(self, starts: Iterable[Array]) -> Array:
        """A few steps from each start; the best place reached."""
        reached = [self.minimize(start, _SCREENING_STEPS) for start in starts]
        return min(reached, key=lambda end: end[0])[1]

    def minimize(self, theta: Array, steps: int = 200) -> tuple[float, Array]:
        """L-BFGS-B from theta: the value reached and where."""
        from scipy.optimize import minimize  # slow to import

        result = minimize(
            lambda t: self._evaluate(t)[:2],
            theta,
            method="L-BFGS-B",
            jac=True,
            bounds=self.bounds,
            options={"maxiter": steps, "ftol": 1e-9, "gtol": 1e-5 * self.n},
        )
        return float(result.fun), result.x

    def _evaluate(self, theta: Array) -> tuple[float, Array, float]:
        """Negative log posterior, its gradient, and the profiled mean."""
        d, n = self.d, self.n
        lengthscales, variance = np.exp(theta[:d]), float(np.exp(theta[d]))
        noise = np.exp(theta[-1]) if self.known_noise is None else self.known_noise
        kernel = self.kernel(lengthscales, variance)
        points = ScaledPoints(self.centered * (kernel.stretch / lengthscales))
        s = squared_distances(points, points)
        s[np.diag_indices(n)] = 0.0
        covariance, pullback = kernel.profile(s)
        K = covariance.copy()
        K[np.diag_indices(n)] += noise
        log_determinant, inverse = linalg.log_determinant_and_inverse(K, variance)

        precision = 0.0 if self.priors is None else self.priors.mean**-2
        column_sums = inverse.sum(axis=0)
        mean = float(column_sums @ self.standardized / (column_sums.sum() + precision))
        residual = self.standardized - mean
        alpha = inverse @ residual
        value = 0.5 * (residual @ alpha + log_determinant + n * np.log(2.0 * np.pi))
        value += 0.5 * precision * mean**2

        # d value / d K, the mean being at its optimum.
        inverse -= np.outer(alpha, alpha)
        inverse *= 0.5
        grad = np.empty_like(theta)
        grad[d] = np.vdot(inverse, covariance)
        if self.known_noise is None:
            grad[-1] = noise * inverse.trace()
        weights = pullback(inverse)
        # sum_ij w_ij (x_i - x_j)^2 per dimension, for symmetric w, without the differences.
        moments = weights.sum(axis=0) @ self.squares
        moments -= np.einsum("ij,ij->j", self.centered, weights @ self.centered)
        grad[:d] = -4.0 * kernel.stretch**2 * moments / lengthscales**2
        prior_value, prior_grad = self._log_prior(theta)
        return float(value - prior_value), grad - prior_grad, mean

    def _log_prior(self, theta: Array) -> tuple[float, Array]:
        if self.priors is None:
            return 0.0, np.zeros_like(theta)
        center, sd = np.transpose(
            [self.priors.lengthscale] * self.d + [self.priors.variance, self.priors.noise]
        )[:, : theta.size]
        center[: self.d] += 0.5 * np.log(self.d)
        standardized = (theta - center) / sd
        return float(-0.5 * standardized @ standardized), -standardized / sd


def _location_and_scale(y: Array) -> tuple[float, float]:
    """Mean and standard deviation; a deviation of 1 where y is constant up to rounding."""
    location, scale = float(y.mean()), float(y.std())
    constant = scale <= 1e-12 * float(np.abs(y).max())
    return location, 1.0 if constant else scale
