"""What entropy search and knowledge gradient share: how outcomes at the queries move the belief
over a discretization.

Subscripts as in Table 1: a for the query set, b for the discretization. Given noisy outcomes
y_a = mean_a + L_a z_a, the belief over f_b has

    mean_b|a = mean_b + S z_a,   cov_b|a = cov_b - S S^T,   S = cov_ba L_a^-T,

so both utilities are functions of the loadings S alone. Appending b to the posterior as if it had
been observed makes cov_ab = features_b L_b^T: no kernel is evaluated between queries
and discretization that the posterior does not evaluate anyway.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from innerloop import linalg
from innerloop.surrogate.model import JointBelief, Surrogate
from innerloop.types import Array


class Estimator(Protocol):
    """An acquisition function bound to a posterior and its pending points."""

    pending: int

    def floats_per_set(self, m: int, q: int) -> int:
        """Size of the arrays that one query set needs."""

    def prepare(self, X: Array) -> Array:
        """What of the beliefs at X (R, q, d) the draws act on: (R, q, w)."""

    def total(self, prepared: Array, z: Array) -> Array:
        """Sum of the utility over draws z (m, pending + q), from what `prepare` gave: (R,)."""

    def value_and_grad(self, X: Array, z: Array) -> tuple[Array, Array]:
        """Values (R,) and gradients (R, q, d) at X (R, q, d), z: (m, pending + q)."""


class Lookahead(ABC):
    """A utility of what the outcomes teach elsewhere (ES, KG), rather than of the outcomes."""

    draws: ClassVar[int] = 32
    """Base draws that its estimate should have: each takes a look at the whole discretization."""

    @abstractmethod
    def bind(self, posterior: Surrogate, pending: Array | None) -> Estimator:
        """The estimator of this utility under a posterior.

        Args:
            posterior: the belief given the data.
            pending: (p, d), points that are being evaluated, or None.

        Returns:
            What estimates it, and its gradient, at query sets.
        """


@dataclass(frozen=True, eq=False)
class Discretization:
    """The belief over the discretization before the queries are observed.

    Args:
        mean: (B,).
        cov: (B, B).
        pending_loadings: (p, B), S^T of the pending points.
        scale: the kernel variance.
    """

    mean: Array
    cov: Array
    pending_loadings: Array
    scale: float

    def pending_shift(self, z: Array) -> Array:
        """How pending outcomes z (m, p) move the mean over the discretization: (m, B)."""
        return z @ self.pending_loadings


class _Loadings(NamedTuple):
    """S^T (R, q, B) and what its pullback needs: L_a and its inverse (R, q, q), features_b."""

    belief: JointBelief
    features: Array
    L_a: Array
    inverse: NDArray[np.floating]
    loadings: Array


#: A value, and a function that gives its gradient.
Graded = tuple[Array, Callable[[], Array]]


class LookaheadEstimator(ABC):
    """Binds a utility of the loadings to a posterior; subclasses grade the loadings."""

    def __init__(self, points: Array, posterior: Surrogate, pending: Array | None) -> None:
        self.points = points
        self.noise = posterior.query_noise
        self.pending = 0 if pending is None else pending.shape[0]
        # What is learnt from pending points and queries comes through noisy observations.
        seen = posterior if pending is None else posterior.fantasize(pending, self.noise)
        belief = seen.unchecked_belief(points)
        scale = posterior.scale
        pending_loadings = belief.loadings[:, posterior.fantasized :].T
        self.discretization = Discretization(belief.mean, belief.cov, pending_loadings, scale)
        self.chol = linalg.cholesky(belief.cov, scale)
        self.extended = seen.fantasize(points)

    @abstractmethod
    def floats_per_set(self, m: int, q: int) -> int:
        """Size of the arrays that one query set needs."""

    @abstractmethod
    def grade(self, loadings: Array, z: Array) -> Graded:
        """Value (R,) of the loadings S^T (R, q, B), and what gives its gradient (R, q, B)."""

    def prepare(self, X: Array) -> Array:
        """The loadings S^T of query sets (R, q, d): (R, q, B)."""
        return self._loadings(X).loadings

    def total(self, prepared: Array, z: Array) -> Array:
        """Sum of the utility over draws z (m, pending + q), given the loadings: (R,)."""
        return len(z) * self.grade(prepared, z)[0]

    def value_and_grad(self, X: Array, z: Array) -> tuple[Array, Array]:
        """Values (R,) and gradients (R, q, d) at X (R, q, d), z: (m, pending + q)."""
        belief, features, L_a, inverse, loadings = self._loadings(X)
        value, gradient = self.grade(loadings, z)
        d_cov_ab = inverse.swapaxes(-1, -2) @ gradient()
        d_L = -d_cov_ab @ loadings.swapaxes(-1, -2)
        d_cov_a = linalg.cholesky_pullback(L_a, d_L)
        d_features = d_cov_ab @ self.chol + 2.0 * d_cov_a @ features
        return value, belief.pullback(np.zeros_like(belief.mean), d_cov_a, d_features)

    def _loadings(self, X: Array) -> _Loadings:
        """The loadings of query sets (R, q, d), and the steps to them."""
        belief = self.extended.unchecked_belief(X)
        features = belief.loadings[..., -len(self.points) :]
        # Appending b took its part out of the queries' covariance: put it back.
        cov_a = belief.cov + features @ features.swapaxes(-1, -2)
        cov_a = cov_a + self.noise * np.eye(X.shape[1])
        L_a = linalg.cholesky(cov_a, self.discretization.scale)
        inverse = np.linalg.inv(L_a)
        return _Loadings(belief, features, L_a, inverse, inverse @ (features @ self.chol.T))
