"""Acquisition functions by name, as an optimizer asks for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.entropy_search import EntropySearch
from innerloop.acquisition.knowledge_gradient import KnowledgeGradient
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utilities import (
    ExpectedImprovement,
    NoisyExpectedImprovement,
    ProbabilityOfImprovement,
    SimpleRegret,
    UpperConfidenceBound,
)
from innerloop.acquisition.utility import Utility
from innerloop.domain.domain import Domain
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.types import Array

#: "ei" integrates over the unknown best where there is noise.
ACQUISITIONS = ("ei", "pi", "sr", "ucb", "es", "kg")
#: Smaller improvements, in units of the spread of the values, are not worth a trial.
WORTHWHILE = 1e-6
# Where entropy search and knowledge gradient look for the optimum: the best observations and a
# spread of points.
_BEST, _SPREAD = 8, 24


def acquisition(
    name: str | Utility | Lookahead,
    posterior: Posterior,
    *,
    noisy: bool,
    domain: Domain,
    generator: np.random.Generator,
    inside: NDArray[np.bool_] | None = None,
) -> Utility | Lookahead:
    """The acquisition function of a name.

    Args:
        name: one of `ACQUISITIONS`; a utility is returned as it is.
        posterior: the belief given the results.
        noisy: whether noise keeps the best so far from being known.
        domain: where "es" and "kg" look for the optimum.
        generator: what to draw with.
        inside: (n,), which observations are in the space, and may be the best; None if all are.

    Returns:
        The utility.
    """
    if not isinstance(name, str):
        return name
    rows = slice(None) if inside is None else inside
    # Of a space where nothing was observed anything better than the worst elsewhere is news.
    best = float(posterior.fitted[rows].max(initial=posterior.fitted.min()))
    if name == "ei":
        return NoisyExpectedImprovement() if noisy else ExpectedImprovement(best + WORTHWHILE)
    if name == "pi":
        return ProbabilityOfImprovement(best + WORTHWHILE)
    if name == "sr":
        return SimpleRegret()
    if name == "ucb":
        return UpperConfidenceBound()
    points = _where_to_look(posterior.X[rows], posterior.fitted[rows], domain, generator)
    return KnowledgeGradient(points) if name == "kg" else EntropySearch(points)


def _where_to_look(
    X: Array, fitted: Array, domain: Domain, generator: np.random.Generator
) -> Array:
    """The best of some observations and points spread over the domain, all different: (B, d)."""
    best = X[np.argsort(-fitted, kind="stable")[:_BEST]]
    points = np.concatenate([best, domain.sample(_SPREAD, generator)])
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]
