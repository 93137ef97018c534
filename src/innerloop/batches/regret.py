"""How far below the optimum a point may be: functions drawn from the belief, and their maxima.

Draws are exact at many points, which are drawn jointly, and follow their conditional mean between:
function s is

    f_s(x) = E[f(x) | y, f(Z) = f_s(Z)] = mean + k(x, Z') K^-1 (f_s(Z') - mean),   Z' = X and Z.

Each is climbed from where it is largest; where the climbs end all functions are drawn anew, jointly
with Z, so that what the mean leaves out there is not missing from the maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from innerloop import linalg
from innerloop.domain.curved import wider
from innerloop.domain.domain import Domain
from innerloop.maximizers.bfgs import BFGS
from innerloop.maximizers.budget import Allowance
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.types import Array

# Points at which functions are drawn: spread over the domain, and around the best observations, at
# distances from the first to the second of these.
_SPREAD, _AROUND, _BEST, _DISTANCES = 256, 128, 8, (1e-3, 0.3)
# From so many of its largest points each function is climbed.
_CLIMBS = 3
_CLIMB = BFGS(tolerance=1e-4, steps=30, patience=1000)


class Maxima(NamedTuple):
    """Of S functions drawn from a belief, the maxima and the values at the point in question.

    Args:
        largest: (S,).
        there: (S,), at that point; never above the former.
    """

    largest: Array
    there: Array


def maxima(
    posterior: Posterior,
    point: Array,
    domain: Domain,
    *,
    draws: int,
    generator: np.random.Generator,
    everything: Array | None = None,
) -> Maxima:
    """Maxima over a domain of functions drawn from a belief, beside their values at a point.

    Args:
        posterior: the belief.
        point: (d,), of the domain.
        domain: where maxima are sought.
        draws: S, how many functions.
        generator: what to draw with.
        everything: (N, d), all points of a finite domain; None if they are too many.

    Returns:
        Maxima and values.
    """
    points = candidates(posterior, domain, generator) if everything is None else everything
    points = np.concatenate([point[None], points])
    known, values = _Functions(posterior, np.zeros((draws, 0))).drawn(points, generator)
    if everything is None:
        ends = _climbed(known, points, values, domain)
        values = np.concatenate([values, known.drawn(ends, generator)[1]], axis=1)
    return Maxima(values.max(axis=1), values[:, 0])


def candidates(posterior: Posterior, domain: Domain, generator: np.random.Generator) -> Array:
    """Points that may be the best: spread over a domain, and around the best observations.

    Args:
        posterior: the belief.
        domain: where they are.
        generator: what to draw with.

    Returns:
        Points, (N, d).
    """
    best = posterior.X[np.argsort(-posterior.fitted)[:_BEST]]
    centres = best[generator.integers(len(best), size=_AROUND)]
    nearest, farthest = np.log(_DISTANCES)
    lengths = np.exp(generator.uniform(nearest, farthest, size=(_AROUND, 1)))
    steps = lengths * generator.standard_normal(centres.shape) / np.sqrt(domain.d)
    return np.concatenate([domain.sample(_SPREAD, generator), domain.project(centres + steps)])


@dataclass(frozen=True, eq=False)
class _Functions:
    """S functions that have been drawn at the last P of the observations of a belief.

    posterior: has these as fantasies; z (S, P): the draws of them.
    """

    posterior: Posterior
    z: Array

    def drawn(self, points: Array, generator: np.random.Generator) -> tuple[_Functions, Array]:
        """The same, drawn at more points (N, d) as well, and their values there (S, N)."""
        belief = self.posterior.unchecked_belief(points)
        L = linalg.cholesky(belief.cov, self.posterior.gp.kernel.variance)
        z = generator.standard_normal((len(self.z), len(points)))
        values = belief.mean + self.z @ belief.loadings.T + z @ L.T
        seen = self.posterior.fantasize(points, belief=belief)
        return _Functions(seen, np.concatenate([self.z, z], axis=1)), values


class _OfOwn:
    """Conditional means of functions, each at points of its own: which is the last coordinate."""

    def __init__(self, functions: _Functions) -> None:
        self._posterior, n = functions.posterior, functions.posterior.n
        residuals = np.tile(self._posterior.residuals, (len(functions.z), 1))
        residuals[:, n - functions.z.shape[1] :] += functions.z
        self._weights = residuals @ self._posterior.whitener

    def value(self, X: Array) -> Array:
        """Values at points (R, 1, d + 1): (R,)."""
        return self.value_and_grad(X)[0]

    def value_and_grad(self, X: Array) -> tuple[Array, Array]:
        """Values (R,) and gradients (R, 1, d + 1) at points (R, 1, d + 1)."""
        weights = self._weights[np.rint(X[:, 0, -1] * (len(self._weights) - 1)).astype(np.intp)]
        value, slope = self._posterior.own_products(X[:, 0, :-1], weights)
        return value, wider(slope)[:, None]


def _climbed(functions: _Functions, points: Array, values: Array, domain: Domain) -> Array:
    """Where each function is largest, climbed from points (N, d) of large values (S, N): (S, d)."""
    S, d = len(functions.z), domain.d
    last = max(S - 1, 1)  # the last level of the coordinate that says which function
    first = np.argpartition(-values, _CLIMBS, axis=1)[:, :_CLIMBS]
    starts = np.empty((S * _CLIMBS, 1, d + 1))
    starts[:, 0, :d] = points[first.ravel()]
    starts[:, 0, d] = np.repeat(np.arange(S), _CLIMBS) / last
    ends = _CLIMB(
        Allowance(_OfOwn(functions)),
        starts,
        domain.with_levels(last + 1),
        np.random.default_rng(0),
    ).X[:, 0]
    _, best = np.unique(np.rint(ends[:, d] * last), return_index=True)
    return ends[best, :d]
