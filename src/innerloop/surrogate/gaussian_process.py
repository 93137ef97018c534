"""Gaussian-process belief: prior -> posterior -> belief at query sets, with pullbacks.

With K = k(X, X) + noise = L L^T and W = L^-1, everything is written in terms of the
*features* of a query, V = W k(X, x), and the whitened residuals r = W (y - mean):

    mean(x) = mean + V^T r          cov(x, x') = k(x, x') - V^T V'

(Rasmussen and Williams 2006, eq. 2.23 and 2.24), so that a value costs one triangular product
and its gradient one more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.errors import InputError, NumericalError
from innerloop.html_table import table
from innerloop.surrogate.kernels import (
    Kernel,
    ScaledPoints,
    squared_distances,
    squared_distances_pullback,
)
from innerloop.surrogate.model import Paths, marginals_of
from innerloop.types import Array

# Points whose covariances with the observations are worked out at a time, where there are many.
_SHARD = 4096


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """The surrogate M of the paper, f ~ GP(mean, kernel), observed as y = f(x) + N(0, noise).

    Args:
        kernel: the prior covariance of f.
        mean: the prior mean of f, a constant.
        noise: variance of the observations' noise; one number for all of them, or (n,).
    """

    kernel: Kernel
    mean: float = 0.0
    noise: float | Array = 1e-4

    def __post_init__(self) -> None:
        checks.instance("kernel", self.kernel, Kernel, "a Kernel, such as Matern52(0.5)")
        noise = checks.non_negative("noise", self.noise)
        if noise.ndim > 1:
            raise InputError(f"noise must be a number or have shape (n,), got shape {noise.shape}")
        object.__setattr__(self, "mean", checks.scalar("mean", self.mean))
        object.__setattr__(self, "noise", noise.copy() if noise.ndim else float(noise))

    def condition(self, X: ArrayLike, y: ArrayLike) -> Posterior:
        """The posterior given observations; factored once, in O(n^3).

        Args:
            X: (n, d), where f was observed.
            y: (n,), what was observed.

        Returns:
            The belief about f given the observations.
        """
        points = checks.points("X", X).copy()
        n, d = points.shape
        values = checks.vector("y", y, n).copy()
        noise = _per_observation(self.noise, n)
        K = self.kernel(points, points)
        K[np.diag_indices(n)] = self.kernel.variance + noise
        try:
            W = linalg.whitener(K, self.kernel.variance)
        except NumericalError as error:
            raise NumericalError(f"with n={n} observations in d={d} dimensions, {error}") from None
        residuals = linalg.whiten(W, (values - self.mean)[None, :])[0]
        return Posterior(self, points, values, noise, W, residuals, points.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Posterior:
    """A Gaussian process conditioned on n observations.

        mean(x)    = mean + k(x, X) K^-1 (y - mean),   K = k(X, X) + diag(noise)
        cov(x, x') = k(x, x') - k(x, X) K^-1 k(X, x')

    (Rasmussen and Williams 2006, eq. 2.23 and 2.24). `GaussianProcess.condition` makes one.

    Args:
        gp: the prior.
        X: (n, d), where f was observed.
        y: (n,), what was observed.
        noise: (n,), variances of the observations' noise.
        whitener: W (n, n), the inverse of the Cholesky factor of K.
        residuals: W (y - mean), (n,).
        center: (d,), the origin in which distances are computed.
        fantasized: how many of the last observations are fantasies.
    """

    gp: GaussianProcess
    X: Array
    y: Array
    noise: Array
    whitener: Array
    residuals: Array
    center: Array
    fantasized: int = 0
    _scaled: ScaledPoints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scaled", self._scale(self.X))

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Dimension of the inputs."""
        return int(self.X.shape[1])

    @property
    def scale(self) -> float:
        """Prior variance of f, which jitter is relative to."""
        return self.gp.kernel.variance

    @property
    def smallest_variance(self) -> float:
        """Variances below this are rounding error."""
        return self.gp.kernel.smallest_variance

    @property
    def inverse_lengthscales(self) -> Array:
        """How many lengthscales apart points are that differ by 1 in one coordinate, (d,)."""
        return self.gp.kernel.rates(self.d)

    @property
    def query_noise(self) -> float:
        """Noise variance expected of a new observation: the median one, if they differ."""
        return float(np.median(self.noise))

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood log p(y | X) (Rasmussen and Williams 2006, eq. 2.30).

            -1/2 (y - mean)^T K^-1 (y - mean) - 1/2 log |K| - n/2 log 2 pi

        with K = k(X, X) + diag(noise).
        """
        log_determinant = -2.0 * np.log(self.whitener.diagonal()).sum()
        squares = self.residuals @ self.residuals
        return float(-0.5 * (squares + log_determinant + self.n * np.log(2.0 * np.pi)))

    def evidence_of_noise(self, share: float) -> float:
        """By how much the observations are more probable than with less noise.

            log p(y | X) - log p(y | X, share * noise)

        With D = (1 - share) diag(noise) and r the residuals, K - D = L (I - W D W^T) L^T, so that
        this is (r^T B^-1 r - r^T r + log |B|) / 2 with B = I - W D W^T, whose eigenvalues are at
        least `share`.

        Args:
            share: what is left of the noise, above 0 and below 1.

        Returns:
            The difference.
        """
        scaled = self.whitener * np.sqrt((1.0 - share) * self.noise)
        B = np.eye(self.n) - scaled @ scaled.T
        log_determinant, inverse = linalg.log_determinant_and_inverse(B, 1.0)
        r = self.residuals
        return float(0.5 * (r @ inverse @ r - r @ r + log_determinant))

    @property
    def fitted(self) -> Array:
        """Posterior mean of f at the observations, (n,): y less the part of it that is noise."""
        weights = self.residuals @ self.whitener  # K^-1 (y - mean)
        fitted: Array = self.y - self.noise * weights
        return fitted

    @property
    def fitted_variance(self) -> Array:
        """Posterior variance of f at the observations, (n,): noise - noise^2 [K^-1]_ii."""
        inverse = np.vecdot(self.whitener.T, self.whitener.T)  # the diagonal of W^T W = K^-1
        variance: Array = np.maximum(self.noise * (1.0 - self.noise * inverse), 0.0)
        return variance

    def _repr_html_(self) -> str:
        kernel = self.gp.kernel
        rows = [
            ("mean", self.gp.mean),
            ("sd of f", float(np.sqrt(kernel.variance))),
            ("sd of the noise", float(np.sqrt(self.query_noise))),
            ("lengthscales", ", ".join(f"{each:.3g}" for each in np.ravel(kernel.lengthscales))),
            ("y", f"{self.y.min():.6g} to {self.y.max():.6g}"),
        ]
        name = type(kernel).__name__
        return table(f"Posterior of {name}: n = {self.n} observations, d = {self.d}", rows)

    @property
    def slopes(self) -> Array:
        """Gradients of the posterior mean at the observations, (n, d)."""
        belief = self.unchecked_belief(self.X[:, None])
        slopes = belief.pullback(np.ones((self.n, 1)), np.zeros((self.n, 1, 1)))
        return slopes[:, 0]

    def marginals(self, Xs: ArrayLike) -> tuple[Array, Array]:
        """Mean and variance of f at each point by itself.

        Args:
            Xs: (..., d), points.

        Returns:
            Means (...) and variances (...).
        """
        return marginals_of(self, checks.point_array("Xs", Xs, self.d))

    def belief(self, Xq: ArrayLike) -> Belief:
        """Joint belief over f at each query set.

        Args:
            Xq: (..., q, d), query sets.

        Returns:
            A normal with mean (..., q) and covariance (..., q, q).
        """
        return self.unchecked_belief(checks.point_sets("Xq", Xq, self.d))

    def condition(
        self, X_new: ArrayLike, y_new: ArrayLike, noise: ArrayLike | None = None
    ) -> Posterior:
        """Append observations by extending the factorization, in O(n^2) per point.

        Args:
            X_new: (p, d), where f was observed.
            y_new: (p,), what was observed.
            noise: variance of the new observations, one number or (p,); by default the surrogate's.

        Returns:
            The posterior given old and new observations.
        """
        points = checks.points("X_new", X_new, self.d)
        p = points.shape[0]
        values = checks.vector("y_new", y_new, p)
        if noise is None and np.ndim(self.gp.noise):
            raise InputError(
                "this surrogate has one noise variance per observation: "
                "give `noise` for the new observations too"
            )
        variances = _per_observation(
            checks.non_negative("noise", self.gp.noise if noise is None else noise), p
        )
        return self._append(points, self.unchecked_belief(points), values, variances)

    def fantasize(
        self, X_new: Array, noise: float = 0.0, belief: Belief | None = None
    ) -> Posterior:
        """Condition on new points having come out at their mean.

        The mean function stays as it is. The last p features of a query are then its loadings on
        those outcomes: draws z (m, p) shift its mean by `loadings @ z.T`.

        Args:
            X_new: (p, d), where f is taken to be observed.
            noise: variance of these observations.
            belief: that at X_new, if it is at hand.

        Returns:
            The posterior given the fantasies too.
        """
        belief = self.unchecked_belief(X_new) if belief is None else belief
        variances = np.full(X_new.shape[0], noise)
        fantasized = self.fantasized + len(variances)
        return self._append(X_new, belief, belief.mean, variances, fantasized)

    def subtracted_from(self, constant: float) -> Posterior:
        """The belief over a constant minus f, from which nothing has to be factorized again.

        Args:
            constant: what f is subtracted from.

        Returns:
            A posterior with the same observations, their values subtracted.
        """
        gp = replace(self.gp, mean=constant - self.gp.mean)
        return replace(self, gp=gp, y=constant - self.y, residuals=-self.residuals)

    def _append(
        self,
        points: Array,
        belief: Belief,
        values: Array,
        variances: Array,
        fantasized: int = 0,
    ) -> Posterior:
        """The posterior with p observations more: points (p, d), values (p,), variances (p,)."""
        block = belief.cov + np.diag(variances)
        W = linalg.extend_whitener(self.whitener, belief.features, block, self.gp.kernel.variance)
        # The new rows of W carry the old residuals to the mean at the new points.
        surprise = W[self.n :, self.n :] @ (values - belief.mean)
        return Posterior(
            self.gp,
            np.concatenate([self.X, points]),
            np.concatenate([self.y, values]),
            np.concatenate([self.noise, variances]),
            W,
            np.concatenate([self.residuals, surprise]),
            self.center,
            fantasized,
        )

    def cross_covariance(self, X: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Covariance of points with the observations, and how to differentiate its products.

        Args:
            X: (P, d), points.

        Returns:
            k(X, observations), (P, n), and a function that takes weights (n, S) to the gradient of
            k @ weights in each point, (S, P, d).
        """
        queries = self._scale(X)
        k, pullback = self.gp.kernel.profile(
            squared_distances(queries, self._scaled), self.gp.kernel.variance
        )

        def product_gradient(weights: Array) -> Array:
            slopes = pullback(np.ones_like(k))
            total = (slopes @ weights).T[..., None] * queries.points
            pairs = (weights[:, :, None] * self._scaled.points[:, None, :]).reshape(self.n, -1)
            total -= (slopes @ pairs).reshape(len(X), -1, self.d).swapaxes(0, 1)
            return self.gp.kernel.unscaled_gradient(2.0 * total)

        return k, product_gradient

    def covariances(self, X: Array, i: int, belief: Belief | None = None) -> Array:
        """Posterior covariances of f at each point with that at the i-th.

        Args:
            X: (N, d), points.
            i: which of them.
            belief: that at X as (N, 1, d), which may be given more observations, if it is at hand.

        Returns:
            Covariances, (N,).
        """
        x = X[i : i + 1]
        prior = self.gp.kernel(X, x)[:, 0]
        if belief is not None:
            features = belief.features[:, 0, : self.n]
            return np.asarray(prior - features @ features[i])
        weights = self.unchecked_belief(x).features[0] @ self.whitener
        explained = [
            self.cross_covariance(X[j : j + _SHARD])[0] @ weights for j in range(0, len(X), _SHARD)
        ]
        return np.asarray(prior - np.concatenate(explained))

    def likeness(self, X: Array, x: Array) -> Array:
        """Correlation of f at points with that at another before there are data.

        Args:
            X: (N, d), points.
            x: (d,), another one.

        Returns:
            Correlations, (N,).
        """
        return self.gp.kernel(X, x[None])[:, 0] / self.gp.kernel.variance

    def own_products(self, X: Array, weights: Array) -> tuple[Array, Array]:
        """Covariances of points with the observations times weights, each with its own.

        Args:
            X: (P, d), points.
            weights: (P, n).

        Returns:
            k(x_p, observations) . weights_p (P,), and their gradients (P, d).
        """
        queries = self._scale(X)
        k, pullback = self.gp.kernel.profile(
            squared_distances(queries, self._scaled), self.gp.kernel.variance
        )
        slopes = squared_distances_pullback(pullback(weights.copy()), queries, self._scaled)
        return np.vecdot(k, weights), self.gp.kernel.unscaled_gradient(slopes)

    def _scale(self, points: Array) -> ScaledPoints:
        """Points (..., d) in units of the lengthscales, around the center."""
        return self.gp.kernel.scaled(points - self.center)

    def unchecked_belief(self, Xq: Array) -> Belief:
        """Joint belief over f at query sets that the caller has validated.

        Args:
            Xq: (..., q, d), query sets.

        Returns:
            What `belief` returns.
        """
        q = Xq.shape[-2]
        kernel = self.gp.kernel
        queries = self._scale(Xq.reshape(-1, self.d))
        k, kernel_pullback = kernel.profile(
            squared_distances(queries, self._scaled), kernel.variance
        )
        features = linalg.whiten(self.whitener, k)
        mean = features @ self.residuals
        mean += self.gp.mean
        sets = features.reshape(*Xq.shape[:-1], self.n)
        if q == 1:
            # k(x, x) does not depend on x: nothing to differentiate but the features.
            cov = kernel.variance - np.vecdot(features, features)
            cov = cov.reshape(*Xq.shape[:-2], 1, 1)
            block_pullback = None
        else:
            grouped = queries.grouped(q)
            block, block_pullback = kernel.profile(
                squared_distances(grouped, grouped), kernel.variance
            )
            linalg.diagonals(block)[...] = kernel.variance
            V = features.reshape(-1, q, self.n)
            # The copy keeps NumPy from its product of a matrix with itself, slow for small ones.
            cov = (block - V @ V.copy().swapaxes(-1, -2)).reshape(*Xq.shape[:-2], q, q)
        return Belief(
            mean.reshape(Xq.shape[:-1]), cov, sets, self, queries, kernel_pullback, block_pullback
        )


@dataclass(frozen=True, eq=False)
class Belief:
    """Normal belief N(mean, cov) over f at query sets, differentiable in the queries.

    `Posterior.belief` makes one.

    Args:
        mean: (..., q).
        cov: (..., q, q).
        features: V = W k(X, x), (..., q, n).
    """

    mean: Array
    cov: Array
    features: Array
    _posterior: Posterior = field(repr=False)
    _queries: ScaledPoints = field(repr=False)
    _kernel_pullback: Callable[[Array], Array] = field(repr=False)
    _block_pullback: Callable[[Array], Array] | None = field(repr=False)

    @property
    def loadings(self) -> Array:
        """How each query moves with the draws of fantasized outcomes, (..., q, fantasized)."""
        return self.features[..., self._posterior.n - self._posterior.fantasized :]

    @property
    def paths(self) -> Paths:
        """Sample paths of f at the queries (eq. 3), with columns for the draws of fantasies first.

        Given draws z (m, p) of p fantasized outcomes the belief is N(mean + loadings z^T, cov),
        with a covariance that does not depend on z. The loadings and its Cholesky factor, side by
        side, are the rows of one larger factor.
        """
        L = linalg.cholesky(self.cov, self._posterior.gp.kernel.variance)
        if self._posterior.fantasized == 0:
            return Paths(self.mean, L)
        return Paths(self.mean, np.concatenate([self.loadings, L], axis=-1))

    def pullback(self, d_mean: Array, d_cov: Array, d_features: Array | None = None) -> Array:
        """Carry gradients with respect to the belief back to the queries: the last factor of eq. 4.

        Args:
            d_mean: (..., q), gradient with respect to the mean.
            d_cov: (..., q, q), gradient with respect to the covariance.
            d_features: (..., q, p), gradient with respect to the last p features, beyond their part
                in mean and covariance.

        Returns:
            The gradient with respect to the queries, (..., q, d).
        """
        post, q = self._posterior, self.cov.shape[-1]
        V = self.features.reshape(-1, q, post.n)
        d_cov = d_cov.reshape(-1, q, q)
        d_cov = d_cov + d_cov.swapaxes(-1, -2)  # twice the symmetric part
        d_V = (-d_cov * V if q == 1 else -d_cov @ V).reshape(-1, post.n)
        d_V = linalg.add_outer(d_V, d_mean.reshape(-1), post.residuals)
        if d_features is not None:
            p = d_features.shape[-1]
            d_V[:, post.n - p :] += d_features.reshape(-1, p)
        weights = self._kernel_pullback(linalg.unwhiten_gradient(post.whitener, d_V))
        d_queries = squared_distances_pullback(weights, self._queries, post._scaled)
        if self._block_pullback is not None:
            grouped = self._queries.grouped(q)
            within = squared_distances_pullback(self._block_pullback(d_cov), grouped, grouped)
            d_queries += within.reshape(d_queries.shape)
        d_queries = post.gp.kernel.unscaled_gradient(d_queries)
        return d_queries.reshape(*self.mean.shape, post.d)


def _per_observation(noise: float | Array, n: int) -> Array:
    """Noise variances, (n,), from one number or (n,)."""
    if np.ndim(noise) and np.shape(noise) != (n,):
        raise InputError(
            f"noise must be a number or have shape ({n},), one per observation, "
            f"got shape {np.shape(noise)}"
        )
    return np.full(n, noise, dtype=np.float64)
