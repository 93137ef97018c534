"""Where a search for hyperparameters starts when nothing is known: one start of each kind.

Posteriors of hyperparameters have several modes. Data are explained by a smooth function, by a
short one, by noise, or by a short function of few dimensions, and which explanations there are
shows in the values of a few hundred places, which cost as little as a dozen gradients. Of each
kind the best place is a start.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from innerloop.surrogate.log_posterior import LogPosterior
from innerloop.surrogate.screening import Screening
from innerloop.types import Array

# The same factor on the typical lengthscales of all dimensions, and the ratio of noise to variance.
_CLEAN = (
    *((factor, 1e-3) for factor in (0.15, 0.3, 0.6)),
    *((factor, ratio) for factor in (1.0, 2.4, 6.0) for ratio in (1e-5, 1e-3, 0.03)),
)
_NOISY = (
    *((factor, 0.1) for factor in (0.15, 0.4)),
    *((factor, ratio) for factor in (0.5, 1.0, 2.0) for ratio in (0.3, 1.5)),
)
# Functions of few dimensions: factors of these; factors of the others, with ratios of noise.
_FEW = (0.08, 0.25, 0.8)
_OTHERS = ((2.5, (0.03,)), (16.0, (1e-4,)))
_MOST_FEW = 3

# Factors (S, d) with ratios (S,).
_Places = tuple[Array, Array]


class _Best(NamedTuple):
    """The best of some places: a rough value (smaller is better), theta, factors (d,), ratio."""

    value: float
    theta: Array
    factors: Array
    ratio: float


def cold_starts(objective: LogPosterior) -> Array:
    """The best start of each of four kinds, the most promising first.

    Args:
        objective: of observations that are few, since it is valued at some hundred places.

    Returns:
        Hyperparameters theta, (4, p).
    """
    d = objective.scales
    typical = np.exp(objective.prior_center[:d])
    best_of_each = partial(_best_of_each, Screening(objective), typical)
    first = [_one_more(np.full(d, others), others, ratios) for others, ratios in _OTHERS]
    clean, noisy, *few = best_of_each([_alike(_CLEAN, d), _alike(_NOISY, d), *first])
    # A short function of one dimension, and with it of a second, and of a third.
    stages = [few]
    for _ in range(min(_MOST_FEW, d - 1) - 1):
        more = [
            _one_more(best.factors, others, (best.ratio,))
            for best, (others, _) in zip(stages[-1], _OTHERS, strict=True)
        ]
        stages.append(best_of_each(more))
    mild, flat = (min(each, key=_value) for each in zip(*stages, strict=True))
    starts = sorted([clean, noisy, mild, flat], key=_value)
    return objective.within_bounds(np.array([start.theta for start in starts]))


def _value(best: _Best) -> float:
    """The rough value of a place, to sort by."""
    return best.value


def _alike(kind: Sequence[tuple[float, float]], d: int) -> _Places:
    """The same factor for all dimensions."""
    factors, ratios = np.array(kind).T
    return np.repeat(factors[:, None], d, axis=1), ratios


def _one_more(factors: Array, others: float, ratios: Sequence[float]) -> _Places:
    """One more of the dimensions whose factors (d,) are those of the others becomes short."""
    left = np.flatnonzero(factors == others)
    places = np.repeat(factors[None], left.size * len(_FEW), axis=0)
    places[np.arange(len(places)), np.repeat(left, len(_FEW))] = np.tile(_FEW, left.size)
    return np.tile(places, (len(ratios), 1)), np.repeat(ratios, len(places))


def _best_of_each(screening: Screening, typical: Array, kinds: Sequence[_Places]) -> list[_Best]:
    """Of each kind the place with the smallest value."""
    factors, ratios = (np.concatenate(each) for each in zip(*kinds, strict=True))
    values, theta = screening(factors * typical, ratios)
    ends = np.cumsum([len(ratios) for _, ratios in kinds])
    parts = np.split(np.arange(len(values)), ends[:-1])
    best = [part[np.argmin(values[part])] for part in parts]
    return [_Best(float(values[i]), theta[i], factors[i], float(ratios[i])) for i in best]
