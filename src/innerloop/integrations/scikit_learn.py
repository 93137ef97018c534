"""Gaussian processes of scikit-learn, as `suggest` takes them.

Those with one Matern kernel of smoothness 3/2 or 5/2, or one RBF, times constants, and with white
noise, become a `Posterior`. All others keep their kernel. Gradients of sums, products and powers of
these kernels are exact; those of other kernels come from central differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from innerloop import checks, linalg
from innerloop.errors import InputError
from innerloop.integrations.exact import equal_posterior
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import (
    Kernel,
    Matern32,
    Matern52,
    SquaredExponential,
    squared_distances,
    squared_distances_pullback,
)
from innerloop.surrogate.model import Model
from innerloop.types import Array

# How far beliefs may differ, in units of the prior's standard deviation.
_TOLERANCE = 1e-7
_STEP = float(np.cbrt(np.finfo(np.float64).eps))
# Here observations in the unit cube say little, so that a prediction is of the scale of the prior.
_FAR = 10.0
# Points of query sets whose covariances are asked for at once, of kernels that know no sets.
_AT_ONCE = 128

#: Covariances (..., a, b), and what carries gradients in them to the first points (..., a, d).
Differentiable = tuple[Array, Callable[[Array], Array]]


def from_sklearn(regressor: Any, *, convert: bool = True) -> Model:
    """A fitted `GaussianProcessRegressor` with a single output, as `suggest` takes it.

    Its inputs must lie in the unit cube. Beliefs are about f in the units of the values that it was
    fitted to, `normalize_y` or not, without noise: that of a `WhiteKernel` and `alpha`.

    Args:
        regressor: the regressor.
        convert: whether to make a `Posterior` of a regressor that is one.

    Returns:
        A `Posterior` that says the same as the regressor, if there is one; else what evaluates its
        kernel.
    """
    if not hasattr(regressor, "kernel_") or not hasattr(regressor, "X_train_"):
        raise InputError(
            f"regressor must be a GaussianProcessRegressor that was fitted, got {regressor!r}"
        )
    theirs = SklearnModel.of(regressor)
    posterior = _converted(theirs, regressor) if convert else None
    return theirs if posterior is None else posterior


@dataclass(frozen=True, eq=False)
class SklearnModel:
    """A Gaussian process with a kernel of scikit-learn.

    Args:
        kernel: the kernel.
        X: (n, d), where f was observed.
        noise: (n,), variances of the noise.
        offset: what was subtracted from the values.
        unit: what the values were divided by after that.
        whitener: W (n, n), the inverse of the Cholesky factor of the covariance of the values.
        residuals: W y, of values without offset and unit, (n,).
    """

    kernel: Any
    X: Array
    noise: Array
    offset: float
    unit: float
    whitener: Array = field(repr=False)
    residuals: Array = field(repr=False)

    @staticmethod
    def of(regressor: Any) -> SklearnModel:
        """Of a fitted regressor."""
        X = checks.points("regressor.X_train_", regressor.X_train_)
        y = np.asarray(regressor.y_train_, dtype=np.float64)
        if y.shape not in ((len(X),), (len(X), 1)):
            raise InputError(f"the regressor must have a single output, got y of shape {y.shape}")
        kernel, alpha = regressor.kernel_, np.broadcast_to(regressor.alpha, len(X))
        latent = kernel(X, X)  # with two arguments there is no white noise in it
        noise = kernel.diag(X) - latent.diagonal() + alpha
        K = latent + np.diag(noise)
        W = linalg.whitener(K, float(latent.diagonal().max()))
        residuals = linalg.whiten(W, y.reshape(1, -1).copy())[0]
        offset, unit = 0.0, 1.0
        if regressor.normalize_y:  # kept under private names only, and seen in a prediction
            far = np.full((1, X.shape[1]), _FAR)
            mean, sd = map(np.squeeze, regressor.predict(far, return_std=True))
            features = linalg.whiten(W, kernel(far, X))[0]
            unit = float(sd / np.sqrt(kernel.diag(far)[0] - features @ features))
            offset = float(mean - unit * (features @ residuals))
        return SklearnModel(kernel, X, noise * unit**2, offset, unit, W, residuals)

    @property
    def d(self) -> int:
        """Dimension of the queries."""
        return int(self.X.shape[1])

    def belief(self, X: Array) -> SklearnBelief:
        """The joint belief at query sets (R, q, d)."""
        R, q, d = X.shape
        k, k_pullback = covariance(self.kernel, X.reshape(-1, d), self.X)
        block, block_pullback = covariance(self.kernel, X, X)
        features = linalg.whiten(self.whitener, k.copy())
        V = features.reshape(R, q, -1)
        mean = self.offset + self.unit * (V @ self.residuals)
        cov = self.unit**2 * (block - V @ V.swapaxes(-1, -2))
        return SklearnBelief(mean, cov, V, self, k_pullback, block_pullback)


@dataclass(frozen=True, eq=False)
class SklearnBelief:
    """A joint belief: mean (R, q), cov (R, q, q), and features V = W k(X, x), (R, q, n)."""

    mean: Array
    cov: Array
    features: Array = field(repr=False)
    _model: SklearnModel = field(repr=False)
    _kernel_pullback: Callable[[Array], Array] = field(repr=False)
    _block_pullback: Callable[[Array], Array] = field(repr=False)

    def pullback(self, d_mean: Array, d_cov: Array) -> Array:
        """Gradients in mean (R, q) and covariance (R, q, q) as one in the queries (R, q, d)."""
        model, (R, q, n) = self._model, self.features.shape
        twice = model.unit**2 * (d_cov + d_cov.swapaxes(-1, -2))
        d_V = model.unit * d_mean[..., None] * model.residuals - twice @ self.features
        d_k = linalg.unwhiten_gradient(model.whitener, d_V.reshape(-1, n))
        through_data = self._kernel_pullback(d_k).reshape(R, q, model.d)
        return through_data + self._block_pullback(twice)


def covariance(kernel: Any, A: Array, B: Array) -> Differentiable:
    """Covariances of points by a kernel of scikit-learn, without white noise.

    Args:
        kernel: the kernel.
        A: (a, d), or (R, a, d).
        B: (b, d), or (R, b, d).

    Returns:
        k(A, B), (a, b) or (R, a, b), and what carries gradients in it to A.
    """
    from sklearn.gaussian_process import kernels

    kind = type(kernel)
    if kind in (kernels.Sum, kernels.Product):
        (k1, pullback1), (k2, pullback2) = (
            covariance(each, A, B) for each in (kernel.k1, kernel.k2)
        )
        if kind is kernels.Sum:
            return k1 + k2, lambda weights: pullback1(weights) + pullback2(weights)
        return k1 * k2, lambda weights: pullback1(weights * k2) + pullback2(weights * k1)
    if kind is kernels.Exponentiation:
        k, pullback = covariance(kernel.kernel, A, B)
        slope = kernel.exponent * k ** (kernel.exponent - 1.0)
        return k**kernel.exponent, lambda weights: pullback(weights * slope)
    if kind in (kernels.ConstantKernel, kernels.WhiteKernel):
        value = kernel.constant_value if kind is kernels.ConstantKernel else 0.0
        return np.full((*A.shape[:-1], B.shape[-2]), value), lambda weights: np.zeros_like(A)
    ours = _ours(kernel)
    return _of_differences(kernel, A, B) if ours is None else _of_ours(ours, A, B)


def _ours(kernel: Any) -> Kernel | None:
    """The same kernel as one of ours, of variance 1; None of others."""
    from sklearn.gaussian_process import kernels

    kind: type[Kernel] | None = None
    if type(kernel) is kernels.RBF:
        kind = SquaredExponential
    elif type(kernel) is kernels.Matern:
        kind = {1.5: Matern32, 2.5: Matern52, np.inf: SquaredExponential}.get(kernel.nu)
    return None if kind is None else kind(kernel.length_scale)


def _of_ours(kernel: Kernel, A: Array, B: Array) -> Differentiable:
    first, second = kernel.scaled(A), kernel.scaled(B)
    k, pullback = kernel.profile(squared_distances(first, second), 1.0)

    def to_first(weights: Array) -> Array:
        slopes = squared_distances_pullback(pullback(weights.copy()), first, second)
        return kernel.unscaled_gradient(slopes)

    return k, to_first


def _of_differences(kernel: Any, A: Array, B: Array) -> Differentiable:
    """Of a kernel that is known by its values alone: central differences in all of A at once."""
    d = A.shape[-1]
    steps = _STEP * np.concatenate([np.eye(d), -np.eye(d)])

    def to_first(weights: Array) -> Array:
        moved = (A[..., None, :] + steps).reshape(*A.shape[:-2], -1, d)
        k = _plain(kernel, moved, B).reshape(*A.shape[:-1], 2 * d, B.shape[-2])
        slopes = (k[..., :d, :] - k[..., d:, :]) / (2.0 * _STEP)
        return np.asarray((slopes @ weights[..., None])[..., 0])

    return _plain(kernel, A, B), to_first


def _plain(kernel: Any, A: Array, B: Array) -> Array:
    """Values of a kernel that takes points (a, d) and (b, d), for stacks of these too."""
    if A.ndim == 2:
        return np.asarray(kernel(A, B))
    (R, a, d), b = A.shape, B.shape[1]
    size, parts = max(1, _AT_ONCE // b), []
    for i in range(0, R, size):
        some, other = A[i : i + size], B[i : i + size]
        all_pairs = kernel(some.reshape(-1, d), other.reshape(-1, d))
        sets = np.arange(len(some))
        parts.append(all_pairs.reshape(len(some), a, len(some), b)[sets, :, sets])
    return np.concatenate(parts)


def _converted(theirs: SklearnModel, regressor: Any) -> Posterior | None:
    """The posterior that says what a regressor says, if its kernel is of our kind."""
    found = _factors(theirs.kernel)
    if found is None:
        return None
    kernel, variance = found
    gp = GaussianProcess(
        type(kernel)(kernel.lengthscales, variance * theirs.unit**2),
        mean=theirs.offset,
        noise=theirs.noise,
    )
    y = theirs.offset + theirs.unit * np.ravel(regressor.y_train_)
    return equal_posterior(gp, theirs.X, y, theirs, _TOLERANCE)


def _factors(kernel: Any) -> tuple[Kernel, float] | None:
    """A kernel of ours and its variance, of a product with constants, white noise aside."""
    from sklearn.gaussian_process import kernels

    if type(kernel) is kernels.Sum:
        parts = [each for each in (kernel.k1, kernel.k2) if type(each) is not kernels.WhiteKernel]
        return _factors(parts[0]) if len(parts) == 1 else None
    if type(kernel) is kernels.Product:
        for one, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            found = _factors(other)
            if type(one) is kernels.ConstantKernel and found is not None:
                return found[0], found[1] * one.constant_value
        return None
    ours = _ours(kernel)
    return None if ours is None else (ours, 1.0)
