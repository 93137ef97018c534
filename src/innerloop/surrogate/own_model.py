"""A model of somebody's own, as the inner loop works with it.

All that is asked of it are joint beliefs. With fixed points F that are taken to have come out at
their mean, with noise S, and C = cov(F, F) + S = L L^T, the belief at queries X is that at F and X
together, conditioned:

    loadings = cov(X, F) L^-T,   mean(X),   cov(X, X) - loadings loadings^T      (eq. 3)

Gradients in these go back to the joint covariance by the product rule, and from there to the
queries by the pullback of the model. Nothing is asked of how the model comes to its beliefs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.errors import InputError
from innerloop.sobol import sobol
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.surrogate.model import Model, ModelBelief, Paths, Surrogate, marginals_of
from innerloop.types import Array

# Points by which the scales of a model are estimated, steps between neighbours, and the share of
# the variance below which correlations are not looked at; lengthscales at least and at most.
_PROBES, _STEP, _SMALLEST_SHARE, _LENGTHSCALES = 64, 0.05, 1e-6, (0.05, 10.0)
# What is taken for 1 - correlation where nothing is known: a lengthscale of a quarter.
_UNKNOWN = 0.02
# Variances below this share of the largest one are rounding error.
_ROUNDING = 1e-14


def surrogate_of(model: object) -> Surrogate:
    """A posterior as it is; a model of somebody's own with what the inner loop asks besides."""
    if isinstance(model, Posterior | OwnModel):
        return model
    checks.instance("posterior", model, Model, "a Posterior, or a model with `d` and `belief`")
    return OwnModel.of(cast(Model, model))


@dataclass(frozen=True, eq=False)
class OwnModel:
    """A `Model` given that some points came out at their mean, as a `Surrogate`.

    Args:
        model: what gives the beliefs.
        d: dimension of the queries.
        X: (n, d), where f was observed, if the model says so; else (0, d).
        query_noise: variance of the noise of an observation.
        scale: the largest variance at points that are spread over the unit cube.
        inverse_lengthscales: (d,), as the model says, or as its correlations do.
        fixed: (p, d), points that came out at their mean.
        whitener: (p, p), the inverse of the Cholesky factor of their covariance.
    """

    model: Model
    d: int
    X: Array
    query_noise: float
    scale: float
    inverse_lengthscales: Array
    fixed: Array
    whitener: Array = field(repr=False)

    @staticmethod
    def of(model: Model) -> OwnModel:
        """A model with nothing fixed."""
        name = type(model).__name__
        d = checks.count(f"{name}.d", model.d)
        X, noise = getattr(model, "X", None), getattr(model, "noise", None)
        scales = getattr(model, "lengthscales", None)
        probes = sobol(_PROBES, d, np.random.default_rng(0))
        variance = _Asked.of(model, probes[:, None]).cov[:, 0, 0]
        if scales is None:
            lengthscales = _lengthscales(model, probes)
        else:
            lengthscales = checks.positive(f"{name}.lengthscales", scales)
            checks.vector(f"{name}.lengthscales", lengthscales, d)
        return OwnModel(
            model=model,
            d=d,
            X=np.zeros((0, d)) if X is None else checks.points(f"{name}.X", X, d),
            query_noise=0.0 if noise is None else _noise(f"{name}.noise", noise),
            scale=max(float(variance.max()), np.finfo(np.float64).tiny),
            inverse_lengthscales=1.0 / lengthscales,
            fixed=np.zeros((0, d)),
            whitener=np.zeros((0, 0)),
        )

    @property
    def n(self) -> int:
        """Number of observations, and of what is fixed."""
        return len(self.X) + len(self.fixed)

    @property
    def fantasized(self) -> int:
        """How many points are fixed."""
        return len(self.fixed)

    @property
    def smallest_variance(self) -> float:
        """Variances below this are rounding error."""
        return _ROUNDING * self.scale

    @property
    def fitted(self) -> Array:
        """Means of f at the observations, (n,)."""
        return self._at_observations[0]

    @property
    def fitted_variance(self) -> Array:
        """Variances of f at the observations, (n,)."""
        return self._at_observations[1]

    @cached_property
    def _at_observations(self) -> tuple[Array, Array]:
        if not len(self.X):
            raise InputError(
                f"{type(self.model).__name__} has no attribute X, the points where f was observed, "
                "which this utility asks for: give another, such as ExpectedImprovement(threshold)"
            )
        return self.marginals(self.X)

    def marginals(self, Xs: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each of points (..., d) by itself: (...) each."""
        return marginals_of(self, Xs)

    def belief(self, Xq: ArrayLike) -> OwnBelief:
        """Joint belief at query sets (..., q, d)."""
        return self.unchecked_belief(checks.point_sets("Xq", Xq, self.d))

    def unchecked_belief(self, Xq: Array) -> OwnBelief:
        """Joint belief at query sets (..., q, d)."""
        lead, q, p = Xq.shape[:-2], Xq.shape[-2], len(self.fixed)
        sets = Xq.reshape(-1, q, self.d)
        if p:
            before = np.broadcast_to(self.fixed, (len(sets), p, self.d))
            sets = np.concatenate([before, sets], axis=1)
        asked = _Asked.of(self.model, sets)
        mean, cov = asked.mean[:, p:], asked.cov[:, p:, p:]
        loadings = asked.cov[:, p:, :p] @ self.whitener.T
        if p:
            cov = cov - loadings @ loadings.swapaxes(-1, -2)
        return OwnBelief(
            mean.reshape(*lead, q),
            cov.reshape(*lead, q, q),
            loadings.reshape(*lead, q, p),
            self,
            asked,
        )

    def fantasize(
        self, X_new: Array, noise: float = 0.0, belief: OwnBelief | None = None
    ) -> OwnModel:
        """Given that points (p, d) came out at their mean; belief: that there, if at hand."""
        belief = self.unchecked_belief(X_new) if belief is None else belief
        block = belief.cov + noise * np.eye(len(X_new))
        if len(self.fixed):
            W = linalg.extend_whitener(self.whitener, belief.loadings, block, self.scale)
        else:
            W = linalg.whitener(block, self.scale)
        return replace(self, fixed=np.concatenate([self.fixed, X_new]), whitener=W)

    def covariances(self, X: Array, i: int, belief: OwnBelief | None = None) -> Array:
        """Covariances of each of points (N, d) with the i-th: (N,)."""
        pairs = np.stack([np.broadcast_to(X[i], X.shape), X], axis=1)
        return self.unchecked_belief(pairs).cov[:, 0, 1]

    def likeness(self, X: Array, x: Array) -> Array:
        """Correlation of points (N, d) with x (d,) by the lengthscales alone: (N,)."""
        apart: Array = (X - x) * self.inverse_lengthscales
        return np.asarray(np.exp(-0.5 * (apart**2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class OwnBelief:
    """The belief of an `OwnModel` at query sets: mean (..., q), cov (..., q, q), given the fixed.

    loadings: (..., q, p), on the draws of the fixed outcomes.
    """

    mean: Array
    cov: Array
    loadings: Array
    _own: OwnModel = field(repr=False)
    _asked: _Asked = field(repr=False)

    @property
    def paths(self) -> Paths:
        """Sample paths of f at the queries, with columns for the draws of fantasies first."""
        L = linalg.cholesky(self.cov, self._own.scale)
        return Paths(self.mean, np.concatenate([self.loadings, L], axis=-1))

    def pullback(self, d_mean: Array, d_cov: Array, d_loadings: Array | None = None) -> Array:
        """Gradients in mean, covariance and the last loadings (..., q, k) as one: (..., q, d)."""
        q, p = self.loadings.shape[-2:]
        d_cov = d_cov.reshape(-1, q, q)
        R, both = len(d_cov), np.zeros((len(d_cov), p + q, p + q))
        both[:, p:, p:] = d_cov = 0.5 * (d_cov + d_cov.swapaxes(-1, -2))
        if p:
            d_own = -2.0 * d_cov @ self.loadings.reshape(R, q, p)
            if d_loadings is not None:
                k = d_loadings.shape[-1]
                d_own[..., p - k :] += d_loadings.reshape(R, q, k)
            # Half of the gradient in cov(X, F), as cov(F, X) is the same.
            half = 0.5 * d_own @ self._own.whitener
            both[:, p:, :p], both[:, :p, p:] = half, half.swapaxes(-1, -2)
        of_means = np.concatenate([np.zeros((R, p)), d_mean.reshape(R, q)], axis=1)
        return self._asked.pullback(of_means, both)[:, p:].reshape(*self.mean.shape, self._own.d)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a model says of query sets (R, q, d), of the shapes that it should have."""

    name: str
    mean: Array
    cov: Array
    shape: tuple[int, int, int]
    _pullback: Callable[[Array, Array], Any] = field(repr=False)

    @staticmethod
    def of(model: Model, sets: Array) -> _Asked:
        """The belief at query sets (R, q, d)."""
        R, q, d = sets.shape
        name = f"{type(model).__name__}.belief(X)"
        belief = model.belief(sets)
        checks.instance(name, belief, ModelBelief, "a belief with mean, cov and a method pullback")
        mean = _of_shape(f"{name}.mean", belief.mean, (R, q), sets.shape)
        cov = _of_shape(f"{name}.cov", belief.cov, (R, q, q), sets.shape)
        return _Asked(name, mean, cov, (R, q, d), belief.pullback)

    def pullback(self, d_mean: Array, d_cov: Array) -> Array:
        """Gradients in mean (R, q) and covariance (R, q, q) as one in the queries (R, q, d)."""
        grad = self._pullback(d_mean, d_cov)
        return _of_shape(f"{self.name}.pullback(d_mean, d_cov)", grad, self.shape, self.shape)


def _of_shape(name: str, value: ArrayLike, shape: tuple[int, ...], asked: tuple[int, ...]) -> Array:
    """Finite numbers of a shape, or an error that names it."""
    array = checks.floats(name, value)
    if array.shape != shape:
        raise InputError(
            f"{name} must have shape {shape} for X of shape {asked}, got shape {array.shape}"
        )
    return array


def _noise(name: str, value: ArrayLike) -> float:
    """The median of noise variances."""
    return float(np.median(checks.non_negative(name, value)))


def _lengthscales(model: Model, points: Array) -> Array:
    """From the correlations of points (N, d) with neighbours along each coordinate: (d,).

    A squared exponential of lengthscale l has 1 - correlation = step^2 / (2 l^2), about.
    """
    d = points.shape[1]
    steps = np.where(points < 0.5, _STEP, -_STEP)[:, None] * np.eye(d)  # (N, d, d)
    pairs = np.stack([np.broadcast_to(points[:, None], steps.shape), points[:, None] + steps], 2)
    cov = _Asked.of(model, pairs.reshape(-1, 2, d)).cov.reshape(len(points), d, 2, 2)
    variance = np.sqrt(np.maximum(cov[..., 0, 0] * cov[..., 1, 1], 0.0))
    known = variance > _SMALLEST_SHARE * max(float(variance.max()), np.finfo(np.float64).tiny)
    correlation = np.where(known, cov[..., 0, 1], 0.0) / np.where(known, variance, 1.0)
    # Data make neighbours less alike than they were before: those that are most alike count.
    unlike = np.where(known, 1.0 - correlation, np.inf).min(axis=0)
    unlike = np.where(known.any(axis=0), np.maximum(unlike, _ROUNDING), _UNKNOWN)
    return np.asarray(np.clip(_STEP / np.sqrt(2.0 * unlike), *_LENGTHSCALES))
