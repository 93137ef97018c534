"""What a model is: what `suggest` asks of one of your own, and what the inner loop asks of all.

A `Model` says how sure it is of outcomes at queries, jointly, and how that moves with the queries.
That is all that is needed: what a `Surrogate` has beyond that, which the inner loop works with, is
derived from it in `own_model`. Our own `Posterior` is both.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from innerloop.types import Array


@runtime_checkable
class ModelBelief(Protocol):
    """A joint normal belief over f at R query sets, with the way back to the queries.

    Any object with these three will do; no class has to be inherited from.
    """

    @property
    def mean(self) -> Array:
        """Means of f, (R, q)."""

    @property
    def cov(self) -> Array:
        """Covariances of f within each set, without the noise of observations, (R, q, q)."""

    def pullback(self, d_mean: Array, d_cov: Array, /) -> Array:
        """Carry gradients with respect to mean and covariance back to the queries.

            sum_i d_mean_i d mean_i / dX + sum_ij d_cov_ij d cov_ij / dX

        Args:
            d_mean: (R, q), gradient with respect to the mean.
            d_cov: (R, q, q), gradient with respect to the covariance, symmetric.

        Returns:
            The gradient with respect to the queries, (R, q, d).
        """


@runtime_checkable
class Model(Protocol):
    """What `suggest`, `Joint` and `Incremental` need of a model of f.

    Any object with `d` and `belief` will do; no class has to be inherited from. What it has of the
    following attributes is used, too:

    - `X`, an array (n, d): where f was observed. Queries are not repeated there, and searches begin
      around the best of these points. Needed by utilities that ask for the best observation.
    - `noise`, a number: variance of the noise of an observation, for entropy search and knowledge
      gradient; by default 0.
    - `lengthscales`, an array (d,): how far f is much the same along each coordinate; by default
      estimated from correlations of the belief.
    """

    @property
    def d(self) -> int:
        """Dimension of the queries, which lie in the unit cube."""

    def belief(self, X: Array, /) -> ModelBelief:
        """The joint belief over f at each query set.

        Args:
            X: (R, q, d), query sets.

        Returns:
            A normal with mean (R, q) and covariance (R, q, q), and its pullback.
        """


class Paths(NamedTuple):
    """Sample paths Y = mean + factor z (eq. 3).

    Args:
        mean: (..., q).
        factor: (..., q, fantasized + q).
    """

    mean: Array
    factor: Array


class JointBelief(Protocol):
    """What the inner loop asks of a belief at query sets (..., q, d)."""

    @property
    def mean(self) -> Array:
        """Means, (..., q)."""

    @property
    def cov(self) -> Array:
        """Covariances given the fantasies too, (..., q, q)."""

    @property
    def loadings(self) -> Array:
        """How each query moves with the draws of fantasized outcomes, (..., q, fantasized)."""

    @property
    def paths(self) -> Paths:
        """Sample paths, with columns for the draws of fantasies first."""

    def pullback(self, d_mean: Array, d_cov: Array, d_loadings: Array | None = None, /) -> Array:
        """Gradients in mean, covariance and last p loadings (..., q, p) as one: (..., q, d)."""


class Surrogate(Protocol):
    """What the inner loop asks of a posterior; `Posterior` has it, and `OwnModel` derives it."""

    @property
    def d(self) -> int:
        """Dimension of the inputs."""

    @property
    def n(self) -> int:
        """Number of observations: about the floats that the belief at one query takes."""

    @property
    def X(self) -> Array:
        """Where f was observed, (n, d)."""

    @property
    def fantasized(self) -> int:
        """How many points are fantasized."""

    @property
    def scale(self) -> float:
        """About the prior variance of f, which jitter is relative to."""

    @property
    def smallest_variance(self) -> float:
        """Variances below this are rounding error."""

    @property
    def query_noise(self) -> float:
        """Noise variance expected of a new observation."""

    @property
    def inverse_lengthscales(self) -> Array:
        """How many lengthscales apart points are that differ by 1 in one coordinate, (d,)."""

    @property
    def fitted(self) -> Array:
        """Means of f at the observations, (n,)."""

    @property
    def fitted_variance(self) -> Array:
        """Variances of f at the observations, (n,)."""

    def marginals(self, Xs: Array, /) -> tuple[Array, Array]:
        """Mean and variance of f at each of points (..., d) by itself: (...) each."""

    def belief(self, Xq: Array, /) -> JointBelief:
        """Joint belief at query sets (..., q, d), which are looked at first."""

    def unchecked_belief(self, Xq: Array, /) -> JointBelief:
        """Joint belief at query sets (..., q, d)."""

    def fantasize(self, X_new: Array, noise: float = 0.0, belief: Any = None) -> Surrogate:
        """Given that points (p, d) came out at their mean; belief: that there, if at hand."""

    def covariances(self, X: Array, i: int, belief: Any = None) -> Array:
        """Covariances of each of points (N, d) with the i-th, without later fantasies: (N,).

        belief: that at X as (N, 1, d), with or without later fantasies, if it is at hand.
        """

    def likeness(self, X: Array, x: Array, /) -> Array:
        """Correlation of points (N, d) with x (d,) before there are data: (N,)."""


def marginals_of(surrogate: Surrogate, points: Array) -> tuple[Array, Array]:
    """Mean and variance of f at each of points (..., d) by itself: (...) each."""
    lead = points.shape[:-1]
    belief = surrogate.unchecked_belief(points.reshape(-1, 1, points.shape[-1]))
    return belief.mean.reshape(lead), np.maximum(belief.cov, 0.0).reshape(lead)
