"""Whole functions drawn from a Gaussian process, as weighted random features (appendix B.1).

A draw from the prior is mean + sum_j w_j features_j(x), with features cos and sin of random
frequencies from the kernel's spectral density: a multivariate t for Matern kernels, a normal for
the squared exponential (Rahimi and Recht 2007). A draw from the posterior is a draw from the prior
corrected by k(x, X) K^-1 (y - draw(X) - noise), which reproduces the data: Matheron's rule (Wilson
et al. 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.errors import InputError
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import Kernel
from innerloop.types import Array, Seed

# Floats that one shard of points may keep in flight.
_WORKSPACE = 2**22


@dataclass(frozen=True, eq=False)
class FunctionDraws:
    """S functions R^d -> R that can be evaluated anywhere, again and again.

        f_s(x) = mean + sum_j [w_js cos(omega_j . x) + w'_js sin(omega_j . x)] + k(x, X) c_s

    the last term for draws from a posterior only. `prior_draws` and `posterior_draws` make them.

    Args:
        frequencies: omega (F / 2, d).
        weights: (F, S), w for the cosines and then w' for the sines.
        mean: the prior mean.
        posterior: what the draws were conditioned on; None for draws from the prior.
        correction: c (n, S), weights of k(x, X) that make a prior draw a posterior draw, or None.
    """

    frequencies: Array
    weights: Array
    mean: float
    posterior: Posterior | None = None
    correction: Array | None = None

    @property
    def d(self) -> int:
        """Dimension of the inputs."""
        return int(self.frequencies.shape[1])

    def __call__(self, X: ArrayLike) -> Array:
        """Values of all draws.

        Args:
            X: (..., d), points.

        Returns:
            f_s(x), (S, ...).
        """
        return self._sharded(X, self._value)[..., 0]

    def value_and_grad(self, X: ArrayLike) -> tuple[Array, Array]:
        """Values and gradients of all draws.

        Args:
            X: (..., d), points.

        Returns:
            Values (S, ...) and gradients (S, ..., d).
        """
        both = self._sharded(X, self._value_and_grad)
        return both[..., 0], both[..., 1:]

    def _sharded(self, X: ArrayLike, evaluate: Callable[[Array], Array]) -> Array:
        """What `evaluate` gives at points (..., d), a shard at a time: (S, ..., k)."""
        points = checks.point_array("X", X, self.d)
        flat = points.reshape(-1, self.d)
        observed = 0 if self.posterior is None else self.posterior.n
        shard = max(1, _WORKSPACE // (self.weights.shape[0] + observed))
        pieces = [evaluate(flat[i : i + shard]) for i in range(0, max(1, flat.shape[0]), shard)]
        whole = np.concatenate(pieces, axis=1)
        return whole.reshape(whole.shape[0], *points.shape[:-1], whole.shape[-1])

    def _value(self, X: Array) -> Array:
        """Values at points (P, d): (S, P, 1)."""
        phase = X @ self.frequencies.T
        waves = np.concatenate([np.cos(phase), np.sin(phase)], axis=1)
        value = waves @ self.weights + self.mean
        if self.posterior is not None and self.correction is not None:
            value += self.posterior.cross_covariance(X)[0] @ self.correction
        return value.T[..., None]

    def _value_and_grad(self, X: Array) -> Array:
        """Values and gradients at points (P, d), side by side: (S, P, 1 + d)."""
        phase = X @ self.frequencies.T
        cosine, sine = np.cos(phase), np.sin(phase)
        half = self.frequencies.shape[0]
        weights = self.weights
        both = np.empty((weights.shape[1], X.shape[0], 1 + self.d))
        both[..., 0] = (cosine @ weights[:half] + sine @ weights[half:] + self.mean).T
        grad = cosine @ self._times_frequencies(weights[half:])
        grad -= sine @ self._times_frequencies(weights[:half])
        both[..., 1:] = grad.reshape(X.shape[0], -1, self.d).swapaxes(0, 1)
        if self.posterior is not None and self.correction is not None:
            k, product_gradient = self.posterior.cross_covariance(X)
            both[..., 0] += (k @ self.correction).T
            both[..., 1:] += product_gradient(self.correction)
        return both

    def _times_frequencies(self, weights: Array) -> Array:
        """w_js omega_jk as (F / 2, S d)."""
        product = weights[:, :, None] * self.frequencies[:, None, :]
        return product.reshape(weights.shape[0], -1)


def prior_draws(
    gp: GaussianProcess, d: int, *, draws: int = 1, features: int = 2**14, seed: Seed = None
) -> FunctionDraws:
    """Functions drawn from the prior of a Gaussian process (Rahimi and Recht 2007).

    Draws of one call share their frequencies and differ in their weights.

    Args:
        gp: the prior.
        d: dimension of the inputs.
        draws: S, how many functions.
        features: F, how many features they are made of; even, a cosine and a sine each.
        seed: an integer, a generator, or None for a random one.

    Returns:
        The functions.
    """
    d, draws = checks.count("d", d), checks.count("draws", draws)
    if checks.count("features", features) % 2:
        raise InputError(f"features must be even, a cosine and a sine each, got {features}")
    generator = checks.generator(seed)
    frequencies = _spectral_sample(gp.kernel, features // 2, d, generator)
    amplitude = np.sqrt(2.0 * gp.kernel.variance / features)
    weights = amplitude * generator.standard_normal((features, draws))
    return FunctionDraws(frequencies, weights, gp.mean)


def posterior_draws(
    posterior: Posterior, *, draws: int = 1, features: int = 2**14, seed: Seed = None
) -> FunctionDraws:
    """Functions drawn from a posterior, by Matheron's rule (Wilson et al. 2020).

        f(x) | y = f(x) + k(x, X) K^-1 (y - f(X) - noise)

    where f on the right is a draw from the prior, by random Fourier features.

    Args:
        posterior: the belief given the data.
        draws: S, how many functions.
        features: F, how many features they are made of; even, a cosine and a sine each.
        seed: an integer, a generator, or None for a random one.

    Returns:
        The functions.
    """
    generator = checks.generator(seed)
    prior = prior_draws(posterior.gp, posterior.d, draws=draws, features=features, seed=generator)
    noise = np.sqrt(posterior.noise) * generator.standard_normal((draws, posterior.n))
    mismatch = posterior.y - prior(posterior.X) - noise
    whitened = linalg.whiten(posterior.whitener, mismatch)
    correction = linalg.unwhiten_gradient(posterior.whitener, whitened).T
    return FunctionDraws(prior.frequencies, prior.weights, prior.mean, posterior, correction)


def _spectral_sample(kernel: Kernel, size: int, d: int, generator: np.random.Generator) -> Array:
    """Frequencies (size, d) from the kernel's spectral density: normal, or a multivariate t."""
    normal = generator.standard_normal((size, d)) * kernel.inverse_lengthscales(d)
    if kernel.axes is not None:
        normal = normal @ kernel.axes.T
    freedom = kernel.spectral_freedom
    if freedom is None:
        return normal
    return normal * np.sqrt(freedom / generator.chisquare(freedom, (size, 1)))
