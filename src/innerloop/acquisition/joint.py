"""The joint form: Monte Carlo estimate of the expected utility of q queries at once (eq. 1-5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.acquisition.joint_outcomes import OutcomesEstimator
from innerloop.acquisition.lookahead import Estimator, Lookahead
from innerloop.acquisition.sample_paths import pulled_back, rows_times
from innerloop.acquisition.shards import PreparedSets, shards
from innerloop.acquisition.utility import Utility
from innerloop.errors import InputError
from innerloop.surrogate.model import Model, Surrogate
from innerloop.surrogate.own_model import surrogate_of
from innerloop.types import Array


class Joint:
    """Monte Carlo estimate of the expected utility of q queries at once, and its gradient.

        L_m(X) = 1/m sum_k l(Y^k),   Y^k = mean(X) + L(X) z^k        (eq. 1 and 3)

    The gradient is the average over sample paths of dl/dY dY/d(mean, L) d(mean, L)/dX (eq. 2 and
    4), which is that of the expectation where the two may be interchanged (eq. 5).

    Args:
        utility: a `Utility`, `EntropySearch` or `KnowledgeGradient`.
        posterior: the belief given the data, a `Posterior` or a `Model` of your own; one for each
            outcome, objectives first, if the utility is of several.
        z: base draws (m, p + q), the pending points' first; an array for a deterministic estimate,
            or `FreshDraws` for new draws at every evaluation. For K outcomes (m, p + q, K).
        pending: (p, d), points that are being evaluated.
    """

    def __init__(
        self,
        utility: Utility | Lookahead,
        posterior: Model | Sequence[Model],
        z: ArrayLike | Callable[[], Array],
        *,
        pending: ArrayLike | None = None,
    ) -> None:
        checks.instance(
            "utility", utility, Utility | Lookahead, "a Utility, EntropySearch or KnowledgeGradient"
        )
        outcomes = utility.outcomes if isinstance(utility, Utility) else 1
        self.posteriors = one_for_each_outcome(posterior, utility)
        self._d = self.posteriors[0].d
        points = None if pending is None else checks.points("pending", pending, self._d)
        self.utility = utility
        self._draw = z if callable(z) else _Same(checks.base_draws("z", z, outcomes).copy())
        self._outcomes = outcomes
        self._estimator = self._bound(points)

    def _bound(self, pending: Array | None) -> Estimator:
        """What estimates the utility beside pending points (p, d)."""
        if isinstance(self.utility, Lookahead):
            return self.utility.bind(self.posteriors[0], pending)
        if self._outcomes > 1:
            return OutcomesEstimator(self.utility, self.posteriors, pending)
        return _MyopicEstimator(self.utility, self.posteriors[0], pending)

    @property
    def draws(self) -> int:
        """m, the number of base draws in one evaluation."""
        # Arrays and `FreshDraws` tell their shape without drawing.
        shape = getattr(self._draw, "shape", None) or self._draw().shape
        return int(shape[0])

    def value(self, X: ArrayLike) -> Array:
        """Acquisition values of R query sets (eq. 1).

        Args:
            X: (R, q, d), query sets.

        Returns:
            Values, (R,).
        """
        sets, z, some = self._in_shards(X)
        estimator = self._estimator
        totals = [estimator.total(estimator.prepare(sets[rows]), z) for rows in some]
        return checks.numbers(self.utility, np.concatenate(totals) / len(z))

    def value_and_grad(self, X: ArrayLike) -> tuple[Array, Array]:
        """Acquisition values of R query sets, and their gradients (eq. 2).

        Args:
            X: (R, q, d), query sets.

        Returns:
            Values (R,) and gradients (R, q, d).
        """
        sets, z, some = self._in_shards(X)
        value, grad = np.empty(len(sets)), np.empty_like(sets)
        for rows in some:
            value[rows], grad[rows] = self._estimator.value_and_grad(sets[rows], z)
        return checks.numbers(self.utility, value), grad

    def prepare(self, X: ArrayLike) -> PreparedSets[Array]:
        """The beliefs at R query sets, to be graded with any of the draws at a time.

        Args:
            X: (R, q, d), query sets.

        Returns:
            What takes numbers of draws to sums of utilities.
        """
        sets, z = self._sets_and_draws(X)
        q, estimator = sets.shape[1], self._estimator
        some = shards(len(sets), estimator.floats_per_set(1, q))
        return PreparedSets(
            np.concatenate([estimator.prepare(sets[rows]) for rows in some]),
            lambda beliefs, first, last: estimator.total(beliefs, z[first:last]),
            lambda m: estimator.floats_per_set(m, q),
        )

    def _in_shards(self, X: ArrayLike) -> tuple[Array, Array, Iterator[slice]]:
        """X checked, (R, q, d), draws for it, (m, pending + q), and the shards it is valued in."""
        sets, z = self._sets_and_draws(X)
        return sets, z, shards(len(sets), self._estimator.floats_per_set(len(z), sets.shape[1]))

    def _sets_and_draws(self, X: ArrayLike) -> tuple[Array, Array]:
        """X checked, (R, q, d), and draws for it, (m, pending + q)."""
        sets = checks.query_sets("X", X, self._d)
        q, p = sets.shape[1], self._estimator.pending
        z = self._draw()
        if z.shape[2:] != (self._outcomes,) * (self._outcomes > 1):
            raise InputError(f"z must be of {self._outcomes} outcomes, got shape {z.shape}")
        if z.shape[1] < p + q:
            raise InputError(
                f"z has {z.shape[1]} columns, but {p} pending points and q={q} queries need {p + q}"
            )
        return sets, z[:, : p + q]


class _MyopicEstimator:
    """The largest pointwise utility of a batch; pending points raise the floor of every path."""

    def __init__(self, utility: Utility, posterior: Surrogate, pending: Array | None) -> None:
        self.utility = utility
        self.posterior = posterior
        self.pending = 0
        if pending is not None:
            belief = posterior.unchecked_belief(pending)
            self.pending_paths = belief.paths
            self.posterior = posterior.fantasize(pending, belief=belief)
            self.pending = pending.shape[0]

    def floats_per_set(self, m: int, q: int) -> int:
        """Floats of the features and of the sample paths of one query set."""
        return q * (self.posterior.n + m)

    def value_and_grad(self, X: Array, z: Array) -> tuple[Array, Array]:
        """Values (R,) and sample path gradients (R, q, d) at X (R, q, d), z: (m, pending + q)."""
        belief = self.posterior.unchecked_belief(X)
        mean, factor = belief.paths
        residual = rows_times(factor, z.T)  # (R, q, m); eq. 3
        grades, d_mean, d_residual = self.utility.grade_and_slopes(mean[..., None], residual)
        best = self._best(grades, z)
        # Eq. 4, right to left: the utility's slope reaches the path that attains the maximum.
        wins = grades == best[:, None, :]
        won = wins * d_residual
        d_mean = won if d_mean is d_residual else wins * d_mean
        grad = pulled_back(belief, factor, d_mean, won, z, self.pending)
        return best.sum(axis=1) / len(z), grad

    def prepare(self, X: Array) -> Array:
        """Mean and factor of the sample paths, side by side: (R, q, 1 + pending + q)."""
        mean, factor = self.posterior.unchecked_belief(X).paths
        return np.concatenate([mean[..., None], factor], axis=-1)

    def total(self, prepared: Array, z: Array) -> Array:
        """Sum of the utility over draws z (m, pending + q), from what `prepare` gave: (R,)."""
        residual = rows_times(prepared[..., 1:], z.T)  # (R, q, m); eq. 3
        grades = self.utility.grade(prepared[..., :1], residual)
        total: Array = self._best(grades, z).sum(axis=1)
        return total

    def _best(self, grades: Array, z: Array) -> Array:
        """Utility of the batch on each path, pending points included: (R, q, m) -> (R, m)."""
        best: Array = grades.max(axis=1)
        if self.pending:
            mean, factor = self.pending_paths
            residual = factor @ z[:, : self.pending].T
            best = np.maximum(best, self.utility.grade(mean[:, None], residual).max(axis=0))
        return best


def one_for_each_outcome(
    given: Model | Sequence[Model], utility: Utility | Lookahead
) -> tuple[Surrogate, ...]:
    """Posteriors, one for each outcome of a utility, or an error that says what is wrong."""
    posteriors = [
        surrogate_of(each) for each in (given if isinstance(given, Sequence) else [given])
    ]
    outcomes = utility.outcomes if isinstance(utility, Utility) else 1
    if len(posteriors) != outcomes:
        raise InputError(
            f"{type(utility).__name__} is of {outcomes} outcomes, got {len(posteriors)} posteriors"
        )
    dimensions = {each.d for each in posteriors}
    if len(dimensions) != 1:
        raise InputError(f"posteriors must be over the same inputs, got dimensions {dimensions}")
    return tuple(posteriors)


def expected_utility(utility: Utility, mean: ArrayLike, cov: ArrayLike, z: ArrayLike) -> Array:
    """Monte Carlo estimate of the expected utility at a given belief (eq. 3).

        1/m sum_k l(mean + L z^k),   L L^T = cov

    Args:
        utility: of a batch, the largest of its pointwise utilities.
        mean: (..., q).
        cov: (..., q, q).
        z: base draws, (m, q).

    Returns:
        Values, (...).
    """
    checks.instance("utility", utility, Utility, "a myopic maximal Utility")
    center, sigma = checks.floats("mean", mean), checks.floats("cov", cov)
    draws = checks.base_draws("z", z)
    q = draws.shape[1]
    if center.ndim == 0 or center.shape[-1] != q or sigma.shape != (*center.shape, q):
        raise InputError(
            f"with z of shape {draws.shape}, mean must have shape (..., {q}) and cov "
            f"(..., {q}, {q}), got {center.shape} and {sigma.shape}"
        )
    # A belief without any variance still needs a scale for the jitter: one too small to be seen.
    scale = max(float(sigma.max()), 1e-30)
    residual = linalg.cholesky(sigma, scale) @ draws.T
    value: Array = utility.grade(center[..., None], residual).max(axis=-2).mean(axis=-1)
    return value


class _Same:
    """The same draws at every call."""

    def __init__(self, z: Array) -> None:
        self.z, self.shape = z, z.shape

    def __call__(self) -> Array:
        return self.z
