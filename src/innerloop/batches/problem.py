"""What every way to fill a batch needs to know, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.boxes import non_dominated
from innerloop.acquisition.draws import reflected_sobol_normal
from innerloop.acquisition.feasibility import is_feasible, log_feasible
from innerloop.batches.chance import Chance
from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Meter
from innerloop.maximizers.exchange import Exchange
from innerloop.maximizers.maximizer import Maximizer
from innerloop.surrogate.model import Surrogate
from innerloop.types import Array

_CENTERS = 8
_SMALLEST_VARIANCE = 1e-12
# Queries closer than this to one another, in every coordinate, are the same query.
NEAR = 1e-6
_MANY_COMPARISONS = 10**7


@dataclass(frozen=True, eq=False)
class Problem:
    """A batch to be filled: q queries of a domain.

    Args:
        posteriors: the beliefs given the data, one for each outcome.
        q: how many queries.
        pending: (p, d), points that are being evaluated.
        domain: where queries may lie.
        meter: what has been spent of the budget.
        generator: for whatever is drawn at random.
        draws: fantasy states or Monte Carlo draws.
        chance: that evaluations succeed, if some failed.
        objectives: how many of the outcomes are objectives; the others are constraints.
    """

    posteriors: tuple[Surrogate, ...]
    q: int
    pending: Array
    domain: Domain
    meter: Meter
    generator: np.random.Generator
    draws: int
    chance: Chance | None = None
    objectives: int = 1

    @property
    def posterior(self) -> Surrogate:
        """The belief over the first outcome."""
        return self.posteriors[0]

    @property
    def has_limits(self) -> bool:
        """Whether some of the outcomes are constraints."""
        return len(self.posteriors) > self.objectives

    @property
    def taken(self) -> Array:
        """Queries that need not be made again: observed, pending or failed ones, (t, d)."""
        failed = self.pending[:0] if self.chance is None else self.chance.failed
        return np.concatenate([*(each.X for each in self.posteriors), self.pending, failed])

    @property
    def centers(self) -> Array:
        """Observations that are good as they are, by posterior means: (c, d).

        The best of each objective, and the front of several, among those within all limits; while
        there are none, those that are most likely to be.
        """
        X = self.posterior.X
        if not len(X):
            return X
        means = np.stack([_means(each, X) for each in self.posteriors], axis=-1)  # (n, K)
        rows = np.flatnonzero(is_feasible(means, self.objectives))
        if not rows.size:
            chance = _log_chance(self.posteriors[self.objectives :], X)
            return X[np.argsort(-chance)[:_CENTERS]]
        share = -(-_CENTERS // self.objectives)
        wanted = means[rows, : self.objectives]
        best = np.argsort(-wanted, axis=0)[:share].T.ravel()
        if self.objectives > 1:
            front = non_dominated(wanted)
            best = np.concatenate([best, self.generator.permutation(front)[:_CENTERS]])
        return X[rows[best]]

    @property
    def inverse_lengthscales(self) -> Array:
        """Those of the outcome that varies fastest, by coordinate: (d,)."""
        return np.asarray(np.max([each.inverse_lengthscales for each in self.posteriors], axis=0))

    def suited(self, maximizer: Maximizer) -> Maximizer:
        """The maximizer for this domain: one that leaves discrete coordinates needs moves of them.

        An `Exchange` is for discrete coordinates alone: without any, its maximizer will do.
        """
        if isinstance(maximizer, Exchange):
            return maximizer if self.domain.values else maximizer.maximizer
        stuck = self.domain.values > 0 and not maximizer.moves_discrete
        return Exchange(maximizer) if stuck else maximizer

    def successes(self, points: Array, states: int) -> NDArray[np.bool_] | None:
        """In which of the states evaluations at points (p, d) succeed, by their chance: (m, p)."""
        if self.chance is None:
            return None
        return self.generator.random((states, len(points))) < np.exp(self.chance.log(points)[0])

    def draw(self, columns: int) -> Array:
        """Base draws (m, columns), or (m, columns, K)."""
        return draws_for(self.posteriors, self.draws, columns, self.generator)


@dataclass(frozen=True, eq=False)
class Filled:
    """A batch, and what is known of it beside.

    Args:
        X: (q, d), the queries.
        estimates: (q,), what each adds to those before, by the draws of the search, if that has
            them.
        gains: (q,), the same as `appraisal` has it, if it was asked.
        points: (N, d), where to look for what a further query adds.
        largest: over candidates, the largest gain of all in each round.
        bound: on the value of any batch, if a search for it was part of the way.
    """

    X: Array
    estimates: Array = field(default_factory=lambda: np.zeros(0))
    gains: Array | None = None
    points: Array | None = None
    largest: tuple[float, ...] | None = None
    bound: float | None = None


def _means(posterior: Surrogate, X: Array) -> Array:
    """Posterior means at points X (n, d), which may be the observations: (n,)."""
    if posterior.X is X or np.array_equal(posterior.X, X):
        return posterior.fitted
    return posterior.marginals(X)[0]


def _log_chance(limits: tuple[Surrogate, ...], X: Array) -> Array:
    """The logarithm of the chance that points X (n, d) are within all limits: (n,)."""
    marginals = np.array([each.marginals(X) for each in limits])  # (C, 2, n)
    mean, variance = marginals.transpose(1, 2, 0)[:, :, None]  # (n, 1, C) each
    sd = np.sqrt(np.maximum(variance, _SMALLEST_VARIANCE))
    return log_feasible(mean, np.zeros_like(mean), sd, objectives=0)[0][:, 0]


def draws_for(
    posteriors: tuple[Surrogate, ...], m: int, columns: int, generator: np.random.Generator
) -> Array:
    """Base draws (m, columns), or (m, columns, K) for K outcomes."""
    K = len(posteriors)
    z = reflected_sobol_normal(m, columns * K, generator)
    return z if K == 1 else z.reshape(m, columns, K)


def near(points: Array, taken: Array) -> NDArray[np.bool_]:
    """Which of the points (N, d) coincide with one of `taken` (t, d): (N,)."""
    if points.size * len(taken) < _MANY_COMPARISONS:
        return np.asarray((np.abs(points[:, None] - taken) < NEAR).all(axis=-1).any(axis=-1))
    from scipy.spatial import cKDTree  # slow to import

    distance, _ = cKDTree(taken).query(points, p=np.inf, distance_upper_bound=NEAR)
    return np.isfinite(distance)
