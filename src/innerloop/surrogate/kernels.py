"""Stationary anisotropic kernels, each as a profile k(s) and its derivative in one place.

s = stretch^2 r^2, where r^2 = sum_k (x_k - x'_k)^2 / lengthscale_k^2 and stretch is the constant
that goes with r in the kernel's formula, such as sqrt(5). Lengthscales may also be along other axes
than those of the coordinates. Profiles are functions of the squared distance, so that every
derivative stays finite where two points coincide.

Profiles are the innermost loop of everything: they reuse the memory of their argument, and the
variance rides along in the exponent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks
from innerloop.errors import InputError
from innerloop.types import Array

# Covariances, and their pullback: weights of the shape of s times the derivative of the profile,
# in the memory of the weights. It shares its exponential with the value.
Profile = tuple[Array, Callable[[Array], Array]]


@dataclass(frozen=True, eq=False)
class Kernel(ABC):
    """A stationary covariance: a function of the distance in units of the lengthscales.

        k(x, x') = k(s),   s = stretch^2 r^2,   r^2 = sum_k (a_k . (x - x'))^2 / lengthscale_k^2

    with a_k the k-th coordinate axis, or the k-th of other axes that are perpendicular.

    Args:
        lengthscales: one number for all dimensions, or (d,).
        variance: k(0), the prior variance of f.
        axes: (d, d), the columns a_k; by default those of the coordinates.
    """

    lengthscales: Array
    variance: float = 1.0
    axes: Array | None = None
    _unit: Array = field(init=False, repr=False)

    stretch: ClassVar[float]
    """Factor on r in the kernel's formula."""
    spectral_freedom: ClassVar[float | None]
    """Degrees of freedom of the spectral density, a multivariate t; None for a normal."""

    def __init__(
        self, lengthscales: ArrayLike, variance: float = 1.0, axes: ArrayLike | None = None
    ) -> None:
        check_kind(type(self))
        scales = checks.positive("lengthscales", lengthscales)
        if scales.ndim > 1 or scales.size == 0:
            raise InputError(
                f"lengthscales must be a number or have shape (d,), got shape {scales.shape}"
            )
        object.__setattr__(self, "lengthscales", scales.copy())
        object.__setattr__(self, "variance", checks.positive_scalar("variance", variance))
        object.__setattr__(self, "axes", None if axes is None else _perpendicular(axes))
        object.__setattr__(self, "_unit", self.stretch / scales)

    @staticmethod
    @abstractmethod
    def profile(s: Array, variance: float) -> Profile:
        """Covariance at stretched squared distances, and its pullback.

        The pullback takes weights w, of the shape of s, to w dk/ds, in the memory of w.

        Args:
            s: stretched squared distances, any shape; their memory is reused for the covariance.
            variance: k(0).

        Returns:
            k(s), and the pullback.
        """

    @property
    def smallest_variance(self) -> float:
        """Posterior variances below this are rounding error."""
        return 1e-14 * self.variance

    def inverse_lengthscales(self, d: int) -> Array:
        """One over the lengthscales, one for each axis.

        Args:
            d: dimension of the points.

        Returns:
            1 / lengthscales, (d,).
        """
        if self.lengthscales.ndim == 1 and self.lengthscales.size != d:
            raise InputError(
                f"the kernel has {self.lengthscales.size} lengthscales, "
                f"but the points have {d} dimensions"
            )
        return np.broadcast_to(1.0 / self.lengthscales, (d,))

    def rates(self, d: int) -> Array:
        """How many lengthscales apart points are that differ by 1 in one coordinate.

        Args:
            d: dimension of the points.

        Returns:
            sqrt(sum_k (a_jk / lengthscale_k)^2), 1 / lengthscale without axes, (d,).
        """
        inverse = self.inverse_lengthscales(d)
        if self.axes is None:
            return inverse
        return np.asarray(np.sqrt(((self.axes * inverse) ** 2).sum(axis=1)))

    def scaled(self, X: Array) -> ScaledPoints:
        """Points in stretched units of the lengthscales.

        Args:
            X: (..., d), points around some center, which keeps cancellation in squared distances
                harmless.

        Returns:
            The points along the axes, (..., d), ready for `profile`'s squared distances.
        """
        along = X if self.axes is None else X @ self.axes
        return ScaledPoints(along * self._unit)

    def unscaled_gradient(self, gradient: Array) -> Array:
        """A gradient in scaled points as one in the points themselves.

        Args:
            gradient: (..., d), which is overwritten.

        Returns:
            The gradient, (..., d).
        """
        gradient *= self._unit
        return gradient if self.axes is None else gradient @ self.axes.T

    def __call__(self, X1: ArrayLike, X2: ArrayLike) -> Array:
        """Covariance matrix between two sets of points.

        Args:
            X1: (n1, d).
            X2: (n2, d).

        Returns:
            k(X1, X2), (n1, n2).
        """
        first = checks.points("X1", X1)
        second = checks.points("X2", X2, first.shape[1])
        self.inverse_lengthscales(first.shape[1])  # complains if there are not as many
        # Distances come from differences of squares: centring keeps their cancellation harmless.
        center = second.mean(axis=0)
        A, B = self.scaled(first - center), self.scaled(second - center)
        return self.profile(squared_distances(A, B), self.variance)[0]


def check_kind(kernel: object) -> None:
    """An error if that is no class of kernel, or one whose profile is not what it should be.

    Args:
        kernel: the class; each is looked at once.
    """
    if not (isinstance(kernel, type) and issubclass(kernel, Kernel)):
        raise InputError(f"kernel must be a class, such as Matern52, got {kernel!r}")
    _check_profile(kernel)


@cache
def _check_profile(kind: type[Kernel]) -> None:
    """An error if a profile has another shape, or a pullback that is not its derivative."""
    name, variance, step = f"{kind.__name__}.profile(s, variance)", 2.0, 1e-5
    stretch = getattr(kind, "stretch", None)
    checks.instance(f"{kind.__name__}.stretch", stretch, Real, "a number")
    s = np.array([[0.0, 0.3], [1.0, 4.0]])

    def covariance(s: Array) -> tuple[Array, Callable[[Array], Array]]:
        found: object = kind.profile(s.copy(), variance)
        expected = f"covariances of shape {s.shape} and a function that pulls weights back"
        if not isinstance(found, tuple) or len(found) != 2 or not callable(found[1]):
            raise InputError(f"{name} must return {expected}, got {checks.shown(found)}")
        k = checks.floats(f"{name}[0]", found[0])
        if k.shape != s.shape:
            raise InputError(f"{name} must return {expected}, got covariances of shape {k.shape}")
        return k.copy(), found[1]

    k, pullback = covariance(s)
    if not np.isclose(k[0, 0], variance):
        raise InputError(f"{name} must be the variance, {variance}, at s = 0, got {k[0, 0]}")
    slope = checks.floats(f"the pullback of {name}", pullback(np.ones_like(s)))
    if slope.shape != s.shape:
        raise InputError(f"the pullback of {name} must have shape {s.shape}, got {slope.shape}")
    expected = (covariance(s + step)[0] - covariance(np.maximum(s - step, 0.0))[0]) / (2.0 * step)
    away = s > 0.0  # there is nothing below 0 to differentiate by
    if not np.allclose(slope[away], expected[away], rtol=1e-3, atol=1e-4 * variance):
        raise InputError(
            f"the pullback of {name} must multiply weights by dk/ds, {expected[away]} at "
            f"s = {s[away]}, got {slope[away]}"
        )


def _perpendicular(axes: ArrayLike) -> Array:
    """Axes (d, d) that are perpendicular to one another, and of length 1."""
    columns = checks.floats("axes", axes)
    if columns.ndim != 2 or columns.shape[0] != columns.shape[1]:
        raise InputError(f"axes must have shape (d, d), got shape {columns.shape}")
    if not np.allclose(columns.T @ columns, np.eye(len(columns)), atol=1e-8):
        raise InputError("axes must be perpendicular to one another, and of length 1")
    return columns.copy()


class Matern52(Kernel):
    """Matern kernel of smoothness 5/2 (Rasmussen and Williams 2006, eq. 4.17).

        k(s)  = variance (1 + a + s / 3) exp(-a),   a = sqrt(s),   s = 5 r^2
        dk/ds = -variance / 6 (1 + a) exp(-a)

    Its spectral density is a multivariate t with 5 degrees of freedom.

    Args:
        lengthscales: one number for all dimensions, or (d,).
        variance: k(0), the prior variance of f.
        axes: (d, d), the directions of the lengthscales in its columns; by default those of the
            coordinates.
    """

    stretch = float(np.sqrt(5.0))
    spectral_freedom = 5.0

    @staticmethod
    def profile(s: Array, variance: float) -> Profile:
        a = np.sqrt(s)
        decay = np.log(variance) - a
        np.exp(decay, out=decay)
        a += 1.0
        s *= 1.0 / 3.0
        s += a
        s *= decay

        def pullback(weights: Array) -> Array:
            weights *= a
            weights *= decay
            weights *= -1.0 / 6.0
            return weights

        return s, pullback


class Matern32(Kernel):
    """Matern kernel of smoothness 3/2 (Rasmussen and Williams 2006, eq. 4.17).

        k(s)  = variance (1 + a) exp(-a),   a = sqrt(s),   s = 3 r^2
        dk/ds = -variance / 2 exp(-a)

    Its spectral density is a multivariate t with 3 degrees of freedom.

    Args:
        lengthscales: one number for all dimensions, or (d,).
        variance: k(0), the prior variance of f.
        axes: (d, d), the directions of the lengthscales in its columns; by default those of the
            coordinates.
    """

    stretch = float(np.sqrt(3.0))
    spectral_freedom = 3.0

    @staticmethod
    def profile(s: Array, variance: float) -> Profile:
        a = np.sqrt(s, out=s)
        decay = np.log(variance) - a
        np.exp(decay, out=decay)
        a += 1.0
        a *= decay

        def pullback(weights: Array) -> Array:
            weights *= decay
            weights *= -0.5
            return weights

        return a, pullback


class SquaredExponential(Kernel):
    """Squared exponential kernel (Rasmussen and Williams 2006, eq. 4.9).

        k(s)  = variance exp(-s / 2),   s = r^2
        dk/ds = -k(s) / 2

    Its spectral density is normal.

    Args:
        lengthscales: one number for all dimensions, or (d,).
        variance: k(0), the prior variance of f.
        axes: (d, d), the directions of the lengthscales in its columns; by default those of the
            coordinates.
    """

    stretch = 1.0
    spectral_freedom = None

    @staticmethod
    def profile(s: Array, variance: float) -> Profile:
        s *= -0.5
        s += np.log(variance)
        value = np.exp(s, out=s)
        kept = value.copy()  # the caller may reuse the memory of `value`

        def pullback(weights: Array) -> Array:
            weights *= kept
            weights *= -0.5
            return weights

        return value, pullback


class ScaledPoints:
    """Points in units of the lengthscales, ready for squared distances.

    `lifted` (..., n, d + 2) are the points with a 1 and their squared norms appended, so that
    |a - b|^2 is a single product of `lifted` rows of A with `dual` rows of B.

    Args:
        points: (..., n, d).
    """

    __slots__ = ("_dual", "d", "lifted")

    def __init__(self, points: Array) -> None:
        self.d = points.shape[-1]
        self.lifted = np.empty((*points.shape[:-1], self.d + 2))
        self.lifted[..., : self.d] = points
        self.lifted[..., self.d] = 1.0
        self.lifted[..., self.d + 1] = np.vecdot(points, points)
        self._dual: Array | None = None

    @property
    def points(self) -> Array:
        """The points themselves (..., n, d)."""
        return self.lifted[..., : self.d]

    @property
    def dual(self) -> Array:
        """(-2 x, |x|^2, 1) for every point x."""
        if self._dual is None:
            self._dual = np.empty_like(self.lifted)
            np.multiply(self.points, -2.0, out=self._dual[..., : self.d])
            self._dual[..., self.d] = self.lifted[..., self.d + 1]
            self._dual[..., self.d + 1] = 1.0
        return self._dual

    def grouped(self, q: int) -> ScaledPoints:
        """The same points (M, d) in consecutive groups of q: (M / q, q, d)."""
        view = object.__new__(ScaledPoints)
        view.d, view._dual = self.d, None
        view.lifted = self.lifted.reshape(-1, q, self.d + 2)
        return view


def squared_distances(A: ScaledPoints, B: ScaledPoints) -> Array:
    """Squared distances |a - b|^2 between all points of A and of B.

    Args:
        A: (..., n1, d).
        B: (..., n2, d).

    Returns:
        Distances, (..., n1, n2).
    """
    s: Array = A.lifted @ B.dual.swapaxes(-1, -2)
    return np.maximum(s, 0.0, out=s)


def squared_distances_pullback(weights: Array, A: ScaledPoints, B: ScaledPoints) -> Array:
    """Carry a gradient with respect to squared distances back to the points of A.

    Args:
        weights: (..., n1, n2), the gradient.
        A: (..., n1, d).
        B: (..., n2, d).

    Returns:
        The gradient with respect to A, (..., n1, d).
    """
    # One product gives both sum_j w_ij b_j and sum_j w_ij.
    sums = weights @ B.lifted[..., : B.d + 1]
    pull: Array = sums[..., B.d :] * A.points
    pull -= sums[..., : B.d]
    pull *= 2.0
    return pull
