"""Stationary anisotropic kernels, each as a profile k(r^2) and its derivative in one place.

r^2 = sum_k (x_k - x'_k)^2 / lengthscale_k^2. Profiles are functions of r^2, not of r, so that
every derivative stays finite where two points coincide.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks
from innerloop.checks import Array
from innerloop.errors import InputError

# The derivative is asked for only when a gradient is, and shares its exponential with the value.
Profile = tuple[Array, Callable[[], Array]]


@dataclass(frozen=True, eq=False)
class Kernel(ABC):
    """k(x, x') = variance * profile(r^2).

    lengthscales: one number for all dimensions, or (d,). variance: the prior variance of f.
    """

    lengthscales: Array
    variance: float = 1.0

    #: Degrees of freedom of the spectral density, a multivariate t; None for a Gaussian.
    spectral_freedom: ClassVar[float | None]

    def __init__(self, lengthscales: ArrayLike, variance: float = 1.0) -> None:
        scales = checks.positive("lengthscales", lengthscales)
        if scales.ndim > 1 or scales.size == 0:
            raise InputError(
                f"lengthscales must be a number or have shape (d,), got shape {scales.shape}"
            )
        checks.positive("variance", variance)
        object.__setattr__(self, "lengthscales", scales)
        object.__setattr__(self, "variance", checks.scalar("variance", variance))

    @staticmethod
    @abstractmethod
    def profile(r2: Array) -> Profile:
        """Correlation at squared distance r2, and a function returning its derivative in r2."""

    def inverse_lengthscales(self, d: int) -> Array:
        """1 / lengthscales as a (d,) array."""
        if self.lengthscales.ndim == 1 and self.lengthscales.size != d:
            raise InputError(
                f"the kernel has {self.lengthscales.size} lengthscales, "
                f"but the points have {d} dimensions"
            )
        return np.broadcast_to(1.0 / self.lengthscales, (d,))

    def from_squared_distance(self, r2: Array) -> Profile:
        """Covariance at squared distance r2, and a function returning its derivative in r2."""
        correlation, slope = self.profile(r2)
        return self.variance * correlation, lambda: self.variance * slope()

    def __call__(self, X1: ArrayLike, X2: ArrayLike) -> Array:
        """Covariance matrix between points X1 (n1, d) and X2 (n2, d): (n1, n2)."""
        first = checks.points("X1", X1)
        second = checks.points("X2", X2, first.shape[1])
        inverse = self.inverse_lengthscales(first.shape[1])
        # Distances come from differences of squares: centring keeps their cancellation harmless.
        center = second.mean(axis=0)
        A = ScaledPoints((first - center) * inverse)
        B = ScaledPoints((second - center) * inverse)
        r2 = squared_distances(A, B)
        return self.from_squared_distance(r2)[0]


class Matern52(Kernel):
    """profile = (1 + a + a^2 / 3) exp(-a), a = sqrt(5) r."""

    spectral_freedom = 5.0

    @staticmethod
    def profile(r2: Array) -> Profile:
        a = np.sqrt(r2)
        a *= np.sqrt(5.0)
        decay = np.exp(-a)
        value = a * (1.0 / 3.0)
        value += 1.0
        value *= a
        value += 1.0
        value *= decay

        def slope() -> Array:
            result = a + 1.0
            result *= decay
            result *= -5.0 / 6.0
            return result

        return value, slope


class Matern32(Kernel):
    """profile = (1 + a) exp(-a), a = sqrt(3) r."""

    spectral_freedom = 3.0

    @staticmethod
    def profile(r2: Array) -> Profile:
        a = np.sqrt(r2)
        a *= np.sqrt(3.0)
        decay = np.exp(-a)
        a += 1.0
        a *= decay
        return a, lambda: -1.5 * decay


class SquaredExponential(Kernel):
    """profile = exp(-r^2 / 2)."""

    spectral_freedom = None

    @staticmethod
    def profile(r2: Array) -> Profile:
        value = np.exp(-0.5 * r2)
        return value, lambda: -0.5 * value


class ScaledPoints:
    """Points (..., n, d) in units of the lengthscales, with their squared norms (..., n)."""

    __slots__ = ("norms", "points")

    def __init__(self, points: Array) -> None:
        self.points = points
        self.norms: Array = np.einsum("...ij,...ij->...i", points, points)


def squared_distances(A: ScaledPoints, B: ScaledPoints) -> Array:
    """|a - b|^2 for all points of A (..., n1, d) and of B (..., n2, d): (..., n1, n2)."""
    r2 = (-2.0 * A.points) @ B.points.swapaxes(-1, -2)
    r2 += A.norms[..., :, None]
    r2 += B.norms[..., None, :]
    return np.maximum(r2, 0.0, out=r2)


def squared_distances_pullback(weights: Array, A: ScaledPoints, B: ScaledPoints) -> Array:
    """Carry a gradient with respect to the distances (..., n1, n2) back to A (..., n1, d)."""
    pull = weights.sum(axis=-1)[..., None] * A.points
    pull -= weights @ B.points
    pull *= 2.0
    return pull
