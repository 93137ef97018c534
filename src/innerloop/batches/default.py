"""The default way to fill a batch: local maxima, greedy choice, joint ascent.

Maximizing afresh in every greedy round is what the theory describes and most of what it costs.
Here one batched search finds the local maxima of the marginal gain; greedy choice among these,
points around them and a pool finds a batch in the right places; joint ascent moves all its
queries to where they are worth most together, which gains a few percent more. What is left to the
certificate is one last search for what a further query could add.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.joint import Joint
from innerloop.acquisition.utility import Utility
from innerloop.batches.appraisal import gains_of
from innerloop.batches.approach import SEARCH, SEARCH_AMONG_LIMITS
from innerloop.batches.certificate import (
    CONVERGE,
    EFFORT,
    EFFORT_FOR_OUTCOMES,
    Effort,
    effort_for_one,
    is_resolved,
    left_to_climb,
    raised,
    spread_out,
)
from innerloop.batches.greedy import IncrementalRounds, fill_greedily, first_new
from innerloop.batches.problem import NEAR, Filled, Problem, draws_for, near
from innerloop.batches.states import States
from innerloop.maximizers.bfgs import BFGS
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.exchange import Exchange
from innerloop.maximizers.objective import Solution
from innerloop.maximizers.starts import PointPool, make_pool
from innerloop.types import Array

# Valuing the pool takes n^2 per point: it shrinks once there are many observations.
_SMALLEST_POOL, _POOL_UP_TO = 128, 250
_NEIGHBOURS, _NEIGHBOURS_PER_QUERY = 64, 6
_FROM_POOL, _CERTIFYING_POOL = 32, 160
_FROM_MOVES, _MOVING = 256, 8
# Rough gains will do to choose by: the batch is improved later.
_CHOOSING_STATES = slice(32)
# Points more correlated than this are taken to lie on the same hill.
_SAME_HILL = 0.9
# Small batches are chosen twice and climb together: they have fewer ways to make up for a query
# on the wrong hill.
_CHOICES, _FEW_QUERIES = 2, 4
# Shares of the budget after which the local maxima and the joint ascent must be done.
_UNTIL_MAXIMA, _UNTIL_ASCENT = 0.5, 0.9
# Joint ascent: more coordinates can suit themselves to more draws.
_DRAWS_PER_QUERY, _FEWEST_DRAWS, _MOST_DRAWS = 128, 512, 1024
_ASCENT = Exchange(
    BFGS(tolerance=2e-4, steps=80, patience=3),
    again=BFGS(tolerance=2e-4, steps=6),
    searches=2,
    rounds=3,
)


def fill_by_default(utility: Utility, problem: Problem) -> Filled:
    """A batch that is as good as can be had in little time.

    Without joint ascent, of utilities that cannot be refined, or where gains are weighed by their
    chance to come about, greedy rounds are the better way.
    """
    if problem.q > 1 and (problem.chance is not None or not utility.can_refine):
        return fill_greedily(IncrementalRounds(utility, problem), BFGS(), problem)
    rounds = IncrementalRounds(utility, problem)
    effort = effort_for_one(problem) if problem.q == 1 else _effort(utility)
    maxima, pool = _local_maxima(problem, rounds, effort)
    if problem.q == 1:
        return _single(maxima.X[: effort.to_the_top], pool, rounds, problem)
    candidates = _candidates(problem, maxima, pool)
    chosen = _choose(candidates, rounds.states, problem)
    if not is_resolved(chosen[0], utility, problem):
        # Joint ascent would be blind; rounds in log space are not.
        return fill_greedily(IncrementalRounds(utility, problem), BFGS(), problem)
    X, gains = _ascended(chosen, utility, problem)
    if not problem.meter.is_unlimited:
        return Filled(X, gains=gains)
    # What adds little to nothing adds less to a batch: the best of the pool will do. But beside
    # the best of one objective the best of another adds most, which may be far down the pool.
    last = _CERTIFYING_POOL if utility.outcomes == 1 else None
    points = np.concatenate([candidates, pool.points[_FROM_POOL:last]])
    return Filled(X, gains=gains, points=points)


def _effort(utility: Utility) -> Effort:
    """What to spend on the places where a batch begins."""
    return EFFORT if utility.outcomes == 1 else EFFORT_FOR_OUTCOMES


def _single(tops: Array, pool: PointPool, rounds: IncrementalRounds, problem: Problem) -> Filled:
    """The best single query: the highest of the local maxima (R, 1, d), climbed to the top."""
    allowance, converge = Allowance(rounds.exact, problem.meter), problem.suited(CONVERGE)
    with problem.meter.holding_back(1):  # if all that is found is taken
        solution = converge(allowance, tops, problem.domain, problem.generator)
    x, value = first_new(problem, solution, pool, problem.taken, rounds.exact)
    if len(problem.pending) or not problem.meter.is_unlimited:
        return Filled(x[None])
    # A closed form that was searched to its end: its largest value is the bound.
    climb = left_to_climb(allowance, solution.X[0, 0], problem.domain)
    bound = raised(rounds.gain(float(solution.value[0])), climb, rounds.log)
    return Filled(x[None], gains=np.array([rounds.gain(value)]), bound=bound)


def _local_maxima(
    problem: Problem, rounds: IncrementalRounds, effort: Effort
) -> tuple[Solution, PointPool]:
    """Points near the local maxima of the marginal gain, and the pool they were started from."""
    pool = make_pool(
        Allowance(rounds.screen, problem.meter, _UNTIL_MAXIMA),
        problem.domain,
        problem.centers,
        np.zeros((0, problem.domain.d)),
        problem.generator,
        size=min(
            effort.pool,
            max(_SMALLEST_POOL, effort.pool * _POOL_UP_TO // (problem.posterior.n or 1)),
        ),
        log=rounds.log,
    )
    best = pool.points[: effort.spread_from]
    starts = best[spread_out(best, problem.inverse_lengthscales, effort.starts)][:, None]
    allowance = Allowance(rounds.exact, problem.meter, _UNTIL_MAXIMA)
    starts = rounds.approached(starts)
    search = problem.suited(SEARCH_AMONG_LIMITS if problem.has_limits else SEARCH)
    return search(allowance, starts, problem.domain, problem.generator), pool


def _candidates(problem: Problem, maxima: Solution, pool: PointPool) -> Array:
    """Local maxima, points around them and one discrete move away, and the best of the pool."""
    tops, generator = maxima.X[:, 0], problem.generator
    number = max(_NEIGHBOURS, _NEIGHBOURS_PER_QUERY * problem.q)
    # Better maxima get more neighbours, near and far in units of the lengthscales.
    chosen = tops[np.minimum(generator.geometric(0.3, number) - 1, len(tops) - 1)]
    unit = 1.0 / problem.inverse_lengthscales
    reach = generator.random((number, 1)) / np.sqrt(problem.domain.d)
    around = chosen + reach * unit * generator.standard_normal(chosen.shape)
    spare = problem.domain.sample(problem.q, generator)  # never fewer than are needed
    parts = [tops, problem.domain.project(around), pool.points[:_FROM_POOL], spare]
    if problem.domain.values:
        moved = problem.domain.neighbours(maxima.X[:_MOVING], generator).sets[:, 0]
        parts.append(moved[:_FROM_MOVES])
    return np.concatenate(parts)


def _choose(candidates: Array, states: States, problem: Problem) -> Array:
    """Greedy choices of q candidates (N, d) by gains over some of the states: (c, q, d).

    The first is greedy throughout; the others begin with the second best candidate, the third
    and so on, so that joint ascent has different places to start from.
    """
    beliefs = states.beliefs(candidates)
    first_gains = states.gains(beliefs, some=_CHOOSING_STATES).value.mean(axis=1)
    taken, batches = problem.taken, []
    begun = np.ones(len(candidates), dtype=bool)
    for _ in range(_CHOICES if problem.q <= _FEW_QUERIES else 1):
        given, updated, gains = states, beliefs, first_gains
        available = np.ones(len(candidates), dtype=bool)
        chosen = [_best_new(gains, begun, candidates, taken)]
        begun &= ~_on_same_hill(candidates, candidates[chosen[0]], problem)
        for _ in range(problem.q - 1):
            available &= ~near(candidates, candidates[chosen[-1]][None])
            given, updated = given.update(updated, chosen[-1])
            gains = given.gains(updated, some=_CHOOSING_STATES).value.mean(axis=1)
            chosen.append(_best_new(gains, available, candidates, taken))
        batches.append(candidates[chosen])
        if not begun.any():
            break
    return np.array(batches)


def _on_same_hill(points: Array, x: Array, problem: Problem) -> NDArray[np.bool_]:
    """Which of points (N, d) are so close to x (d,) that every outcome is much the same: (N,)."""
    close = [each.likeness(points, x) > _SAME_HILL for each in problem.posteriors]
    return np.asarray(np.all(close, axis=0))


def _best_new(gain: Array, available: NDArray[np.bool_], candidates: Array, taken: Array) -> int:
    """The available candidate of the largest gain that is not taken; if all are, the best."""
    order = np.argsort(np.where(available, -gain, np.inf), kind="stable")
    for i in order[: max(1, int(available.sum()))]:
        if not near(candidates[i : i + 1], taken)[0]:
            return int(i)
    return int(order[0])


def _ascended(batches: Array, utility: Utility, problem: Problem) -> tuple[Array, Array]:
    """The best that joint ascent makes of batches (c, q, d), and its gains: (q, d), (q,).

    The first of them, where ascent does not help.
    """
    pending = problem.pending if len(problem.pending) else None
    m = min(max(_DRAWS_PER_QUERY * problem.q, _FEWEST_DRAWS), _MOST_DRAWS)
    z = draws_for(problem.posteriors, m, problem.q + len(problem.pending), problem.generator)
    joint = Joint(utility, problem.posteriors, z, pending=pending)
    allowance, ascent = Allowance(joint, problem.meter, _UNTIL_ASCENT), problem.suited(_ASCENT)
    first: Array = batches[0]
    ascended: Array = ascent(allowance, batches, problem.domain, problem.generator).X[0]
    if _repeats(ascended, problem):
        return first, gains_of(first, utility, problem)
    # By other draws than the ascent saw, which it may have come to suit.
    before = gains_of(first, utility, problem, roughly=True)
    after = gains_of(ascended, utility, problem, roughly=True)
    best, gains = (ascended, after) if after.sum() > before.sum() else (first, before)
    return best, gains if utility.outcomes == 1 else gains_of(best, utility, problem)


def _repeats(X: Array, problem: Problem) -> bool:
    """Whether queries X (q, d) coincide with one another or with what is taken."""
    among = np.abs(X[:, None] - X).max(axis=-1) + np.eye(len(X))
    return bool(near(X, problem.taken).any() or among.min() < NEAR)
