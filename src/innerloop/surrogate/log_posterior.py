"""The log posterior of hyperparameters, with its gradient and its curvature.

Parameters are theta = (log lengthscales, log variance, log noise). Columns of one group, such as
those of a choice, have one lengthscale: there are G of these for d columns. The constant mean is
profiled out: given theta its best value is a ratio of two sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from innerloop import linalg
from innerloop.surrogate.kernels import Kernel, ScaledPoints, squared_distances
from innerloop.surrogate.priors import DEFAULT, Priors
from innerloop.surrogate.quasi_newton import Found
from innerloop.types import Array

# The information matrix is taken from so many observations at most.
_INFORMATION_POINTS = 48
_LENGTHSCALE_BOUNDS = (1e-3, 1e3)
_VARIANCE_BOUNDS = (1e-3, 1e3)
_LARGEST_NOISE = 10.0
# So few observations that all their differences are kept.
_FEW = 64


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """Negative log posterior of theta for centred points and standardized values.

        1/2 (y - mean)^T K^-1 (y - mean) + 1/2 log |K| + n/2 log 2 pi - log p(theta) - log p(mean)

    Args:
        points: (n, d), with mean 0.
        values: y (n,), with mean 0 and standard deviation 1.
        kernel: the class of kernel.
        known_noise: (n,), noise variances that are not learned; None if they are.
        priors: of the hyperparameters; None for the likelihood alone.
        smallest_noise: the least noise variance that is learned.
        groups: (d,), from 0 to G - 1, the group of each column; None if each is one by itself.
        reach: (G,), how much longer lengthscales are expected to be than those of numbers that are
            uniform in [0, 1]; None if none is.
    """

    points: Array
    values: Array
    kernel: type[Kernel]
    known_noise: Array | None
    priors: Priors | None
    smallest_noise: float
    groups: NDArray[np.intp] | None = None
    reach: Array | None = None
    members: Array | None = field(init=False)
    pairs: Array | None = field(init=False)
    bounds: Array = field(init=False)
    prior_center: Array = field(init=False)
    prior_precision: Array = field(init=False)
    discount: float = field(init=False)

    def __post_init__(self) -> None:
        members = None
        if self.groups is not None:  # (G, d), 1 for the columns of each group
            members = (np.arange(self.groups.max() + 1)[:, None] == self.groups).astype(np.float64)
        object.__setattr__(self, "members", members)
        G = self.scales
        lengthscale = np.log(np.multiply(_LENGTHSCALE_BOUNDS, [1.0, np.sqrt(G)]))
        noise = np.log([self.smallest_noise, _LARGEST_NOISE])
        parameters = G + 1 + (self.known_noise is None)
        bounds = np.array([lengthscale] * G + [np.log(_VARIANCE_BOUNDS), noise])[:parameters]
        priors = self.priors or DEFAULT
        prior = np.array([priors.lengthscale] * G + [priors.variance, priors.noise])[:parameters]
        prior[:G, 0] += 0.5 * np.log(G) + np.log(1.0 if self.reach is None else self.reach)
        object.__setattr__(self, "pairs", self.squares if len(self.values) <= _FEW else None)
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "prior_center", prior[:, 0])
        object.__setattr__(self, "prior_precision", prior[:, 1] ** -2.0 * (self.priors is not None))
        object.__setattr__(self, "discount", 0.0 if self.priors is None else priors.discount(G))

    @property
    def scales(self) -> int:
        """G, how many lengthscales there are."""
        return self.points.shape[1] if self.members is None else len(self.members)

    @property
    def squares(self) -> Array:
        """(x_i - x_j)^2 of all points in each group: (G, n^2)."""
        n, d = self.points.shape
        columns = self.points.T
        squares = ((columns[:, :, None] - columns[:, None, :]) ** 2).reshape(d, n * n)
        return squares if self.members is None else self.members @ squares

    def subset(self, size: int) -> LogPosterior:
        """The same on a random choice of `size` observations.

        Always with priors: the likelihood of a few observations alone goes astray.
        """
        rows = np.random.default_rng(0).choice(len(self.values), size, replace=False)
        noise = None if self.known_noise is None else self.known_noise[rows]
        return replace(
            self,
            points=self.points[rows],
            values=self.values[rows],
            known_noise=noise,
            priors=self.priors or DEFAULT,
        )

    def within_bounds(self, theta: Array) -> Array:
        """theta (..., G + 2) without what is known, within its bounds."""
        low, high = self.bounds.T
        clipped: Array = np.clip(theta[..., : low.size], low, high)
        return clipped

    def information(self, theta: Array) -> Array:
        """Expected curvature at a stack of theta (S, p): (S, p, p).

            1/2 tr K^-1 K_i K^-1 K_j,   K_i = dK / dtheta_i

        the Fisher information of theta (Mardia and Marshall 1984), and the curvature of the priors.
        It costs a product of matrices per parameter, so it is taken on part of the observations and
        scaled up: information grows like their number.
        """
        n, (S, p) = len(self.values), theta.shape
        few = self if n <= _INFORMATION_POINTS else self.subset(_INFORMATION_POINTS)
        m, G = len(few.values), self.scales
        parameters = np.exp(theta)
        units = few.kernel.stretch / parameters[:, :G]
        squares = ((units**2)[:, :, None] * few.squares).reshape(S, G, m, m)
        variances = parameters[:, G]
        covariance, pullback = few.kernel.profile(squares.sum(axis=1), 1.0)
        covariance *= variances[:, None, None]
        slope = pullback(np.full((S, m, m), -2.0)) * variances[:, None, None]
        tangents = np.empty((S, G + 2, m, m))
        np.multiply(slope[:, None], squares, out=tangents[:, :G])
        tangents[:, G] = covariance
        tangents[:, G + 1] = 0.0
        noise = parameters[:, -1:] if few.known_noise is None else few.known_noise
        linalg.diagonals(tangents)[:, G + 1] = noise
        inverses = linalg.log_determinants_and_inverses(covariance + tangents[:, G + 1], variances)[
            1
        ]
        products = inverses[:, None] @ tangents[:, :p]
        flat = products.reshape(S, p, -1)
        flipped = products.swapaxes(2, 3).reshape(S, p, -1)
        expected: Array = (0.5 * n / m) * (flat @ flipped.swapaxes(1, 2))
        return expected + self._prior_curvature(theta)

    def prior(self, theta: Array) -> tuple[Array, Array]:
        """-log p(theta) up to a constant, with gradients, at theta (S, p): (S,), (S, p).

        `Priors` has the formula. Lengthscales that are shorter together are pulled less.
        """
        G, offset = self.scales, theta - self.prior_center
        pull = self.prior_precision * offset
        pull[:, :G] -= self.discount * np.minimum(offset[:, :G].mean(axis=1), 0.0)[:, None]
        return 0.5 * np.vecdot(offset, pull), pull

    def _prior_curvature(self, theta: Array) -> Array:
        """The curvature of the priors at theta (S, p): (S, p, p)."""
        G = self.scales
        short = (theta[:, :G] - self.prior_center[:G]).mean(axis=1) < 0.0
        curvature = np.repeat(np.diag(self.prior_precision)[None], len(theta), axis=0)
        curvature[short, :G, :G] -= self.discount / G
        return curvature

    def evaluate(self, theta: Array, *, with_curvature: bool = False) -> Found:
        """Values (S,), gradients (S, p) and, as notes, profiled means (S,) at theta (S, p).

        The likelihood is eq. 2.30 of Rasmussen and Williams (2006), its gradient eq. 5.9,

            d/dtheta_i -log p(y | X) = 1/2 tr (K^-1 - alpha alpha^T) K_i,   alpha = K^-1 (y - mean)

        at the mean that is best given theta, 1^T K^-1 y / (1^T K^-1 1 + precision of its prior).
        The curvature is the average information, which costs little beside the factorization.
        """
        n, G = len(self.values), self.scales
        parameters = np.exp(theta)
        lengthscales, variances = parameters[:, :G], parameters[:, G]
        noise = parameters[:, -1:] if self.known_noise is None else self.known_noise
        units = self.kernel.stretch / lengthscales
        covariance, pullback = self.kernel.profile(self._distances(units), 1.0)
        covariance *= variances[:, None, None]
        K = covariance.copy()
        linalg.diagonals(K)[...] += noise
        log_determinants, inverses = linalg.log_determinants_and_inverses(K, variances)

        column_sums = inverses.sum(axis=1)
        means = column_sums @ self.values / (column_sums.sum(axis=1) + self.mean_precision)
        residuals = self.values - means[:, None]
        alpha = (inverses @ residuals[:, :, None])[:, :, 0]
        values = 0.5 * (np.vecdot(residuals, alpha) + log_determinants + n * np.log(2.0 * np.pi))
        values += 0.5 * self.mean_precision * means**2
        hessians = None
        if with_curvature:
            a, slope = alpha[:, :, None], pullback(np.full_like(K, -2.0))
            slope *= variances[:, None, None]
            of_noise = np.atleast_2d(noise)[:, :, None] * a
            tangents = [self._along_lengthscales(a, slope, units), covariance @ a, of_noise]
            hessians = self._average_information(np.concatenate(tangents, axis=2), inverses)
            hessians += self._prior_curvature(theta)

        # Twice d value / d K, the mean being at its optimum.
        d_K = inverses
        d_K -= alpha[:, :, None] * alpha[:, None, :]
        grads = np.empty_like(theta)
        grads[:, G] = 0.5 * np.vecdot(
            d_K.reshape(len(theta), -1), covariance.reshape(len(theta), -1)
        )
        if self.known_noise is None:
            grads[:, -1] = 0.5 * noise[:, 0] * linalg.diagonals(d_K).sum(axis=1)
        moments = self._moments(pullback(d_K))
        grads[:, :G] = -(variances[:, None] * units**2) * moments
        of_prior, pull = self.prior(theta)
        return Found(values + of_prior, grads + pull, means, hessians)

    def _along_lengthscales(self, a: Array, slope: Array, units: Array) -> Array:
        """K_g a for the derivatives with respect to log lengthscales, and a (S, n, 1): (S, n, G).

        K_g is `slope` (S, n, n) times the squared distances of group g in units (S, G), and

            sum_j s_ij (x_i - x_j)^2 a_j = x_i^2 (S a)_i - 2 x_i (S x a)_i + (S x^2 a)_i
        """
        x = self.points
        products = slope @ np.concatenate([a, x * a, x**2 * a], axis=2)
        plain, linear, square = np.split(products, [1, 1 + x.shape[1]], axis=2)
        moved = x**2 * plain - 2.0 * x * linear + square
        grouped: Array = moved if self.members is None else moved @ self.members.T
        return grouped * (units**2)[:, None, :]

    def _average_information(self, tangents: Array, inverses: Array) -> Array:
        """Curvature from products of derivatives, K_i alpha (S, n, G + 2), and K^-1: (S, p, p).

            1/2 alpha^T K_i K^-1 K_j alpha

        the average of observed and expected information (Gilmour, Thompson and Cullis 1995).
        """
        known = tangents[:, :, : self.bounds.shape[0]]
        information: Array = 0.5 * known.swapaxes(1, 2) @ (inverses @ known)
        return information

    def _distances(self, units: Array) -> Array:
        """Squared distances of all points in units (S, G): (S, n, n)."""
        n = len(self.points)
        if self.pairs is not None:
            return np.asarray(units**2 @ self.pairs).reshape(-1, n, n)
        units = units if self.groups is None else units[:, self.groups]
        scaled = ScaledPoints(self.points * units[:, None, :])
        s = squared_distances(scaled, scaled)
        linalg.diagonals(s)[...] = 0.0
        return s

    def _moments(self, weights: Array) -> Array:
        """sum_ij w_ij (x_i - x_j)^2 per group, for symmetric w (S, n, n): (S, G)."""
        if self.pairs is not None:
            return np.asarray(weights.reshape(len(weights), -1) @ self.pairs.T)
        moments: Array = weights.sum(axis=1) @ self.points**2
        moments -= (self.points * (weights @ self.points)).sum(axis=1)
        return 2.0 * (moments if self.members is None else moments @ self.members.T)

    @property
    def mean_precision(self) -> float:
        """1 / variance of the prior of the mean."""
        return 0.0 if self.priors is None else self.priors.mean**-2.0
