"""How good a batch is: its value, and an upper bound on the value of any other.

By submodularity (eq. 8-11), for any batch X

    max over X* of q queries of L(X*)  <=  L(X) + q max_x Delta(x; X),

so one more search, for the largest gain of a further query, bounds what all others could be worth.
For X = {} the bound is q times the best single value. The search has the same strength whatever
filled the batch. A bound holds up to Monte Carlo error and that search having found the largest
gain; one that a budget has cut short has not found it, and gives no bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from innerloop.acquisition.draws import reflected_sobol_normal
from innerloop.acquisition.fantasies import Fantasies
from innerloop.acquisition.incremental import Incremental
from innerloop.acquisition.utility import Utility
from innerloop.batches.appraisal import gains_of
from innerloop.batches.chance import WithChance
from innerloop.batches.choosing import spread_out
from innerloop.batches.problem import Filled, Problem, myopic
from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.lbfgs import LBFGS
from innerloop.maximizers.objective import Objective
from innerloop.maximizers.starts import scatter

_STATES, _SCREENING_STATES = 128, 16
_POOL, _SPREAD_FROM = 512, 128
# What a further query adds to a batch is little: it need not be known to more digits.
_FURTHER = (LBFGS(tolerance=1e-3, steps=6, patience=3), 12)
# The best single query is its own bound: a few steps from many places, then to the top.
_FIRST = (LBFGS(tolerance=1e-3, steps=5, patience=100), 32), (LBFGS(tolerance=1e-7, patience=4), 8)
# Bounds with a larger error than this share are not shown.
_LARGEST_ERROR = 0.05
# Improvements that are less likely are not resolved by the states of a greedy choice.
_LIKELY = 0.2
# Variances below this share of the prior's are blurred by the jitter of the fantasies.
_SMALLEST_VARIANCE = 1e-6


def certified(X: Array, problem: Problem, points: Array | None = None) -> Filled:
    """A batch X (q, d) with its gains and bound; points: (N, d), where to begin the search."""
    utility, bound = myopic(problem), None
    gains = gains_of(X, utility, problem)
    if not problem.meter.is_spent:
        if points is None:
            points = scatter(problem.domain, problem.centers(), _POOL, problem.generator)
        bound = _upper_bound(X, float(gains.sum()), problem, np.concatenate([X, points]))
    return appraised(X, gains, bound, utility)


def certified_choice(X: Array, largest: list[float], problem: Problem) -> Filled:
    """A batch X (q, d) from a finite set, given the largest gain of all candidates in each round.

    The bound is the smallest of those at the first queries of the batch.
    """
    utility, q = myopic(problem), len(X)
    gains = gains_of(X, utility, problem)
    before = np.concatenate([[0.0], np.cumsum(gains)])
    bounds = [float(before[j]) + q * top for j, top in enumerate(largest)]
    usable = bounds[:1] if q == 1 or problem.starts_from_a_value else []
    if utility.bar(utility.nothing_held()) is None or _chance(X, problem) > _LIKELY:
        usable += bounds[1:]
    return appraised(X, gains, min(usable, default=None), utility)


def appraised(X: Array, gains: Array, bound: float | None, utility: Utility) -> Filled:
    """A batch with its value; no bound is below it, or above what any batch can be worth."""
    value = float(gains.sum())
    if bound is not None:
        bound = max(min(bound, utility.most), value)
    return Filled(X, value, gains, bound)


def _upper_bound(X: Array, value: float, problem: Problem, points: Array) -> float | None:
    """The bound at the batch, or at the pending points alone where states do not resolve that."""
    utility, q = myopic(problem), len(X)
    if q > 1 and _is_resolvable(X, problem, utility):
        top = largest_gain(states_given(X, problem), points, problem, _FURTHER)
        if top is None or q * top.error <= _LARGEST_ERROR * (value + q * top.gain):
            return None if top is None else value + q * top.gain
    if q > 1 and not problem.starts_from_a_value:
        return None
    top = largest_gain(states_given(X[:0], problem), points, problem, *_FIRST)
    if top is not None and top.error > _LARGEST_ERROR * top.gain:
        # Without the pending points nothing needs to be resolved, and gains are no smaller.
        alone = replace(problem, pending=problem.pending[:0])
        usable = np.isfinite(utility.empty)
        top = largest_gain(states_given(X[:0], alone), points, alone, *_FIRST) if usable else None
    return None if top is None else q * top.gain


class Top(NamedTuple):
    """The largest gain that was found, and its standard error over the states."""

    gain: float
    error: float


def largest_gain(
    state: Incremental, points: Array, problem: Problem, *searches: tuple[LBFGS, int]
) -> Top | None:
    """The most that one more query adds, searched from points (N, d); None if cut short.

    searches: one after the other, each with the number of its starts.
    """
    screen = Allowance(_weighed(state.thinned(_SCREENING_STATES), problem), problem.meter)
    if screen.affordable(len(points)) < len(points):
        return None
    order = np.argsort(-screen.value(points[:, None]), kind="stable")[:_SPREAD_FROM]
    kernel = problem.posterior.gp.kernel
    starts = points[order][spread_out(points[order], kernel, searches[0][1])][:, None]
    for search, number in searches:
        allowance = Allowance(_weighed(state, problem), problem.meter)
        X, value = problem.maximize(search, allowance, starts[:number])
        if allowance.cut_short:
            return None
        starts = X
    gain = float(np.exp(value[0])) if state.log else float(value[0])
    has_bar = state.utility.bar(state.floor) is not None
    return Top(gain, gain * state.relative_error(X[0, 0]) if has_bar else 0.0)


def states_given(X: Array, problem: Problem) -> Incremental:
    """Fantasy states of the pending points and a batch X (q, d), which may be empty."""
    utility, p = myopic(problem), len(problem.pending)
    fixed = np.concatenate([problem.pending, X])
    z = reflected_sobol_normal(_STATES, max(len(fixed), 1), problem.generator)
    log, log_weights = utility.has_log_gain, None
    if log and len(fixed):
        z, log_weights = _stretched(z, fixed, problem)
    state = Incremental(utility, problem.posterior, z, log=log, log_weights=log_weights)
    if not len(fixed):
        return state
    succeeds = problem.successes(X, _STATES)
    if succeeds is not None:
        succeeds = np.hstack([np.ones((_STATES, p), dtype=bool), succeeds])
    return state.extend(fixed, succeeds=succeeds)


def _stretched(z: Array, fixed: Array, problem: Problem) -> tuple[Array, Array | None]:
    """Draws z (m, f) of which half are moved to where one of the fixed points meets its bar.

    Plain draws rarely go where improvements come from, if these are rare. Half of them are moved by
    some a_j each, and all are weighed by the ratio of the densities,
    1 / (1/2 + 1/2 mean_j exp(a_j . z - |a_j|^2 / 2)), which is 2 at most.
    """
    mean, factor = Fantasies(problem.posterior).paths(problem.posterior.unchecked_belief(fixed))
    utility, p = myopic(problem), len(problem.pending)
    bar = utility.bar(utility.nothing_held())
    if bar is not None:
        gap, rows = float(bar[0]) - mean, factor
    else:  # the best that is held is the bar
        best = int(np.argmax(mean[:p]))
        gap, rows = mean[best] - mean[p:], factor[p:] - factor[best]
    if not len(rows):
        return z, None
    square = np.maximum((rows**2).sum(axis=1), problem.posterior.gp.kernel.smallest_variance)
    moves = (np.maximum(gap, 0.0) / square)[:, None] * rows
    half = len(z) // 2
    z = z.copy()
    z[half:] += moves[np.arange(len(z) - half) * len(moves) // (len(z) - half)]
    exponents = z @ moves.T - 0.5 * (moves**2).sum(axis=1)
    both = np.logaddexp(0.0, np.logaddexp.reduce(exponents, axis=1) - np.log(len(moves)))
    return z, np.log(2.0) - both


def _is_resolvable(X: Array, problem: Problem, utility: Utility) -> bool:
    """Whether there is enough variance at X (q, d) for fantasies to tell gains apart."""
    if not utility.has_log_gain:
        return True
    _, variance = problem.posterior.marginals(X)
    return bool(variance.min() > _SMALLEST_VARIANCE * problem.posterior.gp.kernel.variance)


def _chance(X: Array, problem: Problem) -> float:
    """The largest chance of one of X (q, d) to be above the bar."""
    utility = myopic(problem)
    bar = utility.bar(utility.nothing_held())
    if bar is None:
        return 1.0
    mean, variance = problem.posterior.marginals(X)
    smallest = problem.posterior.gp.kernel.smallest_variance
    return float(ndtr((mean - bar[0]) / np.sqrt(np.maximum(variance, smallest))).max())


def _weighed(state: Incremental, problem: Problem) -> Objective:
    return state if problem.chance is None else WithChance(state, problem.chance)
