"""Rough values of the log posterior at many hyperparameters at once, to look around."""

from __future__ import annotations

import numpy as np

from innerloop import linalg
from innerloop.surrogate.log_posterior import LogPosterior
from innerloop.types import Array

# Covariances have at least this much noise, relative to the variance, so that all have a factor.
_LEAST_RATIO = 1e-6
_NEWTON_STEPS = 3
# So many at a time stay in the cache.
_AT_ONCE = 32


class Screening:
    """The negative log posterior of few observations, without gradients.

    Args:
        objective: of those observations.
    """

    def __init__(self, objective: LogPosterior) -> None:
        self._objective = objective
        points, (rows, columns) = objective.points, np.tril_indices(len(objective.points), -1)
        squares = ((points[rows] - points[columns]) ** 2).T
        self._pairs = squares if objective.members is None else objective.members @ squares
        self._sides = np.stack([np.ones(len(points)), objective.values])

    def __call__(self, lengthscales: Array, ratios: Array) -> tuple[Array, Array]:
        """Rough values, and theta: (S,), (S, G + 2).

        The variance is about the best one. Known noise counts instead of the ratios, with a
        variance of 1.

        Args:
            lengthscales: (S, G).
            ratios: (S,), of noise to variance.

        Returns:
            Negative log posteriors, and the hyperparameters.
        """
        objective, m = self._objective, len(self._objective.values)
        log_determinants, forms = self._factors(lengthscales, ratios)
        means = forms[:, 0, 1] / (forms[:, 0, 0] + objective.mean_precision)
        quadratic = forms[:, 1, 1] - means * forms[:, 0, 1]
        tail = np.stack([np.zeros(len(ratios)), np.log(ratios)], axis=1)
        if objective.known_noise is None:
            tail += self._best_log_variances(quadratic, tail[:, 1])[:, None]
        theta = np.concatenate([np.log(lengthscales), tail], axis=1)
        values = 0.5 * (log_determinants + m * (tail[:, 0] + np.log(2.0 * np.pi)))
        values += 0.5 * quadratic * np.exp(-tail[:, 0])
        return values + objective.prior(theta[:, : objective.prior_center.size])[0], theta

    def _factors(self, lengthscales: Array, ratios: Array) -> tuple[Array, Array]:
        """log |K|, and 1 and y in products with K^-1, for a variance of 1: (S,), (S, 2, 2)."""
        objective = self._objective
        weights = (objective.kernel.stretch / lengthscales) ** 2
        noise = ratios[:, None] if objective.known_noise is None else objective.known_noise
        shape = len(ratios), self._sides.shape[1]
        noise = np.broadcast_to(np.maximum(noise, _LEAST_RATIO), shape)
        parts = []
        for i in range(0, len(ratios), _AT_ONCE):
            part = slice(i, i + _AT_ONCE)
            correlations = objective.kernel.profile(weights[part] @ self._pairs, 1.0)[0]
            parts.append(linalg.log_determinants_and_forms(correlations, noise[part], self._sides))
        log_determinants, forms = zip(*parts, strict=True)
        return np.concatenate(log_determinants), np.concatenate(forms)

    def _best_log_variances(self, quadratic: Array, log_ratios: Array) -> Array:
        """The best log variances u where noise goes along with them: (S,), (S,) -> (S,).

        By Newton's method on n u / 2 + quadratic exp(-u) / 2 and the priors, which is convex.
        """
        n = len(self._objective.values)
        centers, precisions = (
            self._objective.prior_center[-2:],
            self._objective.prior_precision[-2:],
        )
        quadratic = np.maximum(quadratic, 1e-12)
        u: Array = np.clip(np.log(quadratic / n), *self._objective.bounds[-2])
        pull = 0.5 * n - precisions @ centers + precisions[1] * log_ratios
        stiffness = precisions.sum()
        for _ in range(_NEWTON_STEPS):
            half = 0.5 * quadratic * np.exp(-u)
            u -= np.clip((pull - half + stiffness * u) / (half + stiffness), -1.0, 1.0)
        return u
