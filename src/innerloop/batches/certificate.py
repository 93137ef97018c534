"""How good a batch is: its value, and an upper bound on the value of any other.

By submodularity (eq. 8-11), for any batch X

    max over X* of q queries of L(X*)  <=  L(X) + q max_x Delta(x; X),

so one more search, for the largest gain of a further query, bounds what all others could be worth.
For X = {} the bound is q times the best single value. The search has the same strength whatever
filled the batch. A bound holds up to Monte Carlo error and that search having found the largest
gain; one that a budget has cut short has not found it, and gives no bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from innerloop.acquisition.joint import Joint
from innerloop.acquisition.utility import Utility
from innerloop.batches.approach import AGAIN, SEARCH, with_approaches
from innerloop.batches.problem import Filled, Problem, draws_for
from innerloop.batches.states import ALL, Incremental, States
from innerloop.domain.domain import Domain
from innerloop.maximizers.bfgs import BFGS
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.exchange import Exchange
from innerloop.maximizers.starts import scatter
from innerloop.surrogate.kernels import ScaledPoints, squared_distances
from innerloop.types import Array


class Effort(NamedTuple):
    """Points that are valued, the best of them that are looked at, starts, and ends to climb on."""

    pool: int
    spread_from: int
    starts: int
    to_the_top: int


#: Enough for the places where a batch begins.
EFFORT = Effort(512, 160, 32, 8)
#: Several outcomes have more hills: the best of one objective may be far down the pool.
EFFORT_FOR_OUTCOMES = Effort(512, 512, 48, 8)
# In few dimensions a search can be nearly sure to miss nothing, for little more.
_THOROUGH_EFFORT, _FEW_DIMENSIONS = Effort(1024, 512, 64, 16), 3
# States that a bound is searched in, and those by which places to begin are chosen.
_STATES, _SCREENING_STATES = 128, slice(None, None, 8)
# Points closer than this many lengthscales are taken to lie on the same hill.
_HILL = 0.35
#: To the top, as exactly as a value needs that is to be a bound.
CONVERGE = Exchange(
    BFGS(tolerance=1e-7, patience=4), again=BFGS(tolerance=1e-5, steps=10), searches=1
)
# What a further query adds to a batch is little: it need not be known to more digits.
_FURTHER_EFFORT = Effort(512, 128, 12, 0)
# Several outcomes have more hills, of which the states that choose places are less sure.
_FURTHER_EFFORT_FOR_OUTCOMES = Effort(512, 512, 32, 0)
_FURTHER = Exchange(BFGS(tolerance=1e-3, steps=6, patience=3), again=AGAIN, searches=2, rounds=1)
# Bounds with a larger error than this share are not shown.
_LARGEST_ERROR = 0.05
# States resolve improvements that take so many standard deviations: plain ones, stretched ones.
_NEAR, _NOT_FAR = 0.8, 3.0
# Values of a batch from so many draws each, and how far they may spread if those are to tell it.
_PARTS, _DRAWS_OF_PART, _LARGEST_SPREAD = 8, 64, 0.5
# Searches end within about this share of a top; long ridges are as flat as that.
_TOLERANCE = 1e-4
# A search that ends on a slope may have missed what this part of the unit cube has to offer.
_SHORT_WAY, _SMALLEST_SLOPE, _MOST_TO_CLIMB = 0.25, 1e-300, 1.0
# Variances below this share of the prior's are blurred by the jitter of the fantasies.
_SMALLEST_VARIANCE = 1e-6


def effort_for_one(problem: Problem) -> Effort:
    """What to spend on the best single query, whose value is to be a bound."""
    return _THOROUGH_EFFORT if problem.domain.d <= _FEW_DIMENSIONS else EFFORT


def upper_bound(filled: Filled, gains: Array, utility: Utility, problem: Problem) -> float | None:
    """What no batch is worth more than, given what the queries of one add; None if unknown.

    Never below the value of that batch, or above the most that any can be worth.

    Args:
        filled: the batch.
        gains: (q,), what its queries add, one after the other.
        utility: what they are worth.
        problem: what the batch was filled for.
    """
    value, bound = float(gains.sum()), filled.bound
    if filled.largest is not None:
        bound = _over_candidates(filled.X, gains, filled.largest, utility, problem)
    elif bound is None and not problem.meter.is_spent:
        for view in _views(filled, value, utility, problem):
            top = _largest_gain(view)
            gain = None if top is None else view.to_the_top(top)
            if top is None or gain is None:  # cut short
                return None
            largest = view.value + problem.q * gain
            if problem.q * top.error <= _LARGEST_ERROR * largest:
                bound = largest
                break
    return None if bound is None else max(min(bound, utility.most), value)


def starts_from_a_value(utility: Utility, problem: Problem) -> bool:
    """Whether the first query's gain is a difference, not the whole utility of a batch."""
    return bool(np.isfinite(utility.empty)) or len(problem.pending) > 0


def _over_candidates(
    X: Array, gains: Array, largest: tuple[float, ...], utility: Utility, problem: Problem
) -> float | None:
    """The smallest bound at the first queries of a batch, by the largest gain in each round."""
    q, before = len(X), np.concatenate([[0.0], np.cumsum(gains)])
    bounds = [float(before[j]) + q * top for j, top in enumerate(largest)]
    usable = bounds[:1] if q == 1 or starts_from_a_value(utility, problem) else []
    if _is_resolved(X, utility, problem, shortest_moves(X, utility, problem), _NEAR):
        usable += bounds[1:]
    return min(usable, default=None)


@dataclass(frozen=True, eq=False)
class _View:
    """Where a bound may be taken: L(X) + q max_x Delta(x; X) at a batch X, or at none.

    value: L(X), 0 at none. states: given X. points: (N, d), to search the largest gain from.
    problem: with the pending points that count. raises: whether to add what a slope at the end of
    the search promises.
    """

    value: float
    states: States
    points: Array
    problem: Problem
    effort: Effort
    search: Exchange
    raises: bool

    def objective(self, some: slice = ALL) -> Incremental:
        """What a further query gains, in log space where there is one."""
        log = self.states.utility.has_log_gain
        return Incremental.of(self.states, log=log, chance=self.problem.chance, some=some)

    def to_the_top(self, top: Top) -> float | None:
        """The largest gain, with what there is left to climb; None if that cannot be afforded."""
        if not self.raises:
            return top.gain
        allowance = Allowance(self.objective(), self.problem.meter)
        if allowance.is_spent:
            return None
        climb = left_to_climb(allowance, top.x, self.problem.domain)
        return raised(top.gain, climb, self.states.utility.has_log_gain)


def _views(filled: Filled, value: float, utility: Utility, problem: Problem) -> Iterator[_View]:
    """At the batch; else beside the pending points alone, or without them.

    The batch comes first, as gains are smallest there, if states resolve what it is worth.
    """
    X, points = filled.X, filled.points
    if points is None:
        size = effort_for_one(problem).pool
        points = scatter(problem.domain, problem.centers, size, problem.generator)
    points = np.concatenate([X, points])
    moves = shortest_moves(X, utility, problem)
    if problem.q > 1 and _is_resolved(X, utility, problem, moves, _NOT_FAR):
        states = _states(X, utility, problem, moves)
        effort = _FURTHER_EFFORT if utility.outcomes == 1 else _FURTHER_EFFORT_FOR_OUTCOMES
        yield _View(value, states, points, problem, effort, _FURTHER, raises=False)
    if problem.q > 1 and not starts_from_a_value(utility, problem):
        return
    # Without the pending points nothing needs to be resolved, and gains are no smaller.
    alone = [replace(problem, pending=problem.pending[:0])] if np.isfinite(utility.empty) else []
    nothing, effort = points[:0], effort_for_one(problem)
    for beside in (problem, *alone):
        states = _states(nothing, utility, beside, shortest_moves(nothing, utility, beside))
        yield _View(0.0, states, points, beside, effort, SEARCH, raises=True)


def raised(gain: float, climb: float, log: bool) -> float:
    """A gain with what its objective, which may be its logarithm, has left to climb."""
    return gain * float(np.exp(climb + _TOLERANCE)) if log else gain + climb


class Top(NamedTuple):
    """The query x (d,) with the largest gain that was found, and the gain's error over states."""

    x: Array
    gain: float
    error: float


def _largest_gain(view: _View) -> Top | None:
    """The most that one more query adds; None if the search was cut short."""
    points, problem, effort = view.points, view.problem, view.effort
    log, domain = view.states.utility.has_log_gain, problem.domain
    screen = Allowance(view.objective(_SCREENING_STATES), problem.meter)
    if screen.affordable(len(points)) < len(points):
        return None
    with screen.spending(len(points)) as objective:
        rough = objective.value(points[:, None])
    order = np.argsort(-rough, kind="stable")[: effort.spread_from]
    scales = problem.inverse_lengthscales
    starts = points[order][spread_out(points[order], scales, effort.starts)][:, None]
    allowance = Allowance(view.objective(), problem.meter)
    if allowance.is_spent:
        return None
    starts = with_approaches(starts, view.states, problem)
    X, value = problem.suited(view.search)(allowance, starts, domain, problem.generator)
    if effort.to_the_top and allowance.affordable(1):
        tops, converge = X[: effort.to_the_top], problem.suited(CONVERGE)
        X, value = converge(allowance, tops, domain, problem.generator)
    if allowance.cut_short:
        return None
    gain = float(np.exp(value[0])) if log else float(value[0])
    utility = view.states.utility
    is_drawn = utility.bar(view.states.floor) is not None or utility.outcomes > 1
    error = gain * view.states.relative_error(X[0, 0], log=log) if is_drawn else 0.0
    return Top(X[0, 0], gain, error)


def spread_out(points: Array, inverse_lengthscales: Array, number: int) -> list[int]:
    """The first points (N, d) that are not close to an earlier one: one for every hill, or so."""
    scaled = ScaledPoints((points - points[0]) * inverse_lengthscales)
    apart = squared_distances(scaled, scaled) > _HILL**2
    free = np.ones(len(points), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < number and free.any():
        chosen.append(int(np.argmax(free)))
        free &= apart[chosen[-1]]
        free[chosen[-1]] = False
    return chosen


def left_to_climb(allowance: Allowance, x: Array, domain: Domain) -> float:
    """What the slope at a query x (d,) promises over a short way: 0 at a maximum."""
    with allowance.spending(1) as objective:
        grad = objective.value_and_grad(x[None, None])[1][0, 0]
    slope = domain.moving(np.where(np.isfinite(grad) & domain.continuous, grad, 0.0), x)
    steepest = max(float(np.abs(slope).max()), _SMALLEST_SLOPE)
    ahead = domain.project((x + _SHORT_WAY * (slope / steepest))[None])[0]
    return min(max(float(slope @ (ahead - x)), 0.0), _MOST_TO_CLIMB)


def _states(X: Array, utility: Utility, problem: Problem, moves: Array) -> States:
    """Fantasy states of the pending points and a batch X (q, d), which may be empty."""
    p = len(problem.pending)
    fixed = np.concatenate([problem.pending, X])
    z = draws_for(problem.posteriors, _STATES, max(len(fixed), 1), problem.generator)
    log_weights = None
    if len(moves):
        z, log_weights = stretched(z, moves)
    states = States.start(utility, problem.posteriors, z, log_weights)
    if not len(fixed):
        return states
    succeeds = problem.successes(X, _STATES)
    if succeeds is not None:
        succeeds = np.hstack([np.ones((_STATES, p), dtype=bool), succeeds])
    return states.extend(fixed, succeeds)


def shortest_moves(X: Array, utility: Utility, problem: Problem) -> Array:
    """The shortest moves of draws z (f,) by which pending points or X (q, d) meet the bar: (k, f).

    None at all for utilities without a bar, or without anything that could meet it. Of K outcomes,
    with draws z (f, K), moves are (k, f K).

    Args:
        X: (q, d), the queries.
        utility: what they are worth.
        problem: what the batch was filled for.
    """
    p = len(problem.pending)
    fixed = np.concatenate([problem.pending, X])
    if not (utility.has_log_gain and len(fixed)):
        return np.zeros((0, len(fixed)))
    if utility.outcomes > 1:
        return _moves_of_outcomes(fixed, utility, problem)
    mean, factor = problem.posterior.unchecked_belief(fixed).paths
    bar = utility.bar(utility.nothing_held())
    if bar is not None:
        gap, rows = float(bar[0]) - mean, factor
    else:  # the best that is held is the bar
        best = int(np.argmax(mean[:p]))
        gap, rows = mean[best] - mean[p:], factor[p:] - factor[best]
    square = np.maximum((rows**2).sum(axis=1), problem.posterior.gp.kernel.smallest_variance)
    moves: Array = (np.maximum(gap, 0.0) / square)[:, None] * rows
    return moves


def _moves_of_outcomes(fixed: Array, utility: Utility, problem: Problem) -> Array:
    """The same for each of the points (f, d) of K outcomes: (f, f K)."""
    paths = [each.unchecked_belief(fixed).paths for each in problem.posteriors]
    mean = np.stack([path.mean for path in paths], axis=-1)
    rows = np.stack([path.factor for path in paths], axis=-1)  # (f, f, K)
    smallest = [each.gp.kernel.smallest_variance for each in problem.posteriors]
    square = np.maximum((rows**2).sum(axis=1), smallest)
    gap = utility.verge(mean, np.sqrt(square)) - mean
    return np.asarray((gap / square)[:, None] * rows).reshape(len(fixed), -1)


def stretched(z: Array, moves: Array) -> tuple[Array, Array]:
    """Draws z (m, f) of which half are moved by one of the moves a_j, and their log weights (m,).

    Plain draws rarely go where improvements come from, if these are rare. All draws are weighed by
    the ratio of densities, 1 / (1/2 + 1/2 mean_j exp(a_j . z - |a_j|^2 / 2)), which is 2 at most.

    Args:
        z: (m, f), or (m, f, K).
        moves: (k, f), or (k, f K).

    Returns:
        Draws of the shape of z, and logarithms of their weights.
    """
    half, shape = len(z) // 2, z.shape
    z = z.reshape(len(z), -1).copy()
    z[half:] += moves[np.arange(len(z) - half) * len(moves) // (len(z) - half)]
    exponents = z @ moves.T - 0.5 * (moves**2).sum(axis=1)
    both = np.logaddexp(0.0, np.logaddexp.reduce(exponents, axis=1) - np.log(len(moves)))
    return z.reshape(shape), np.log(2.0) - both


def is_resolved(X: Array, utility: Utility, problem: Problem) -> bool:
    """Whether draws tell what batches near X (q, d) are worth."""
    if utility.outcomes > 1:
        return _agree(X, utility, problem)
    return _is_resolved(X, utility, problem, shortest_moves(X, utility, problem), _NOT_FAR)


def _agree(X: Array, utility: Utility, problem: Problem) -> bool:
    """Whether some draws and others tell much the same of what X (q, d) is worth."""
    z = draws_for(problem.posteriors, _PARTS * _DRAWS_OF_PART, len(X), problem.generator)
    prepared = Joint(utility, problem.posteriors, z).prepare(X[None])
    starts = range(0, len(z), _DRAWS_OF_PART)
    totals = np.array([prepared.total(i, i + _DRAWS_OF_PART)[0] for i in starts])
    return bool(totals.std() < _LARGEST_SPREAD * totals.mean())


def _is_resolved(X: Array, utility: Utility, problem: Problem, moves: Array, reach: float) -> bool:
    """Whether states tell gains beside X (q, d) apart: improvements are no farther than `reach`.

    Nor must there be so little variance that the jitter of fantasies blurs it.
    """
    if not utility.has_log_gain:
        return True
    if len(moves) and (moves**2).sum(axis=1).min() > reach**2:
        return False
    if utility.outcomes > 1:
        return True
    _, variance = problem.posterior.marginals(X)
    return bool(variance.min() > _SMALLEST_VARIANCE * problem.posterior.gp.kernel.variance)
