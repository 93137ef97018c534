"""The default way to fill a batch: local maxima, greedy choice, joint ascent, certificate.

Maximizing afresh in every greedy round is what the theory describes and most of what it costs.
Here one batched search finds the local maxima of the marginal gain; greedy choice among these,
points around them and a pool finds a batch in the right places; joint ascent moves all its
queries to where they are worth most together; and one last search for what a further query could
add bounds the value of any batch.
"""

from __future__ import annotations

import numpy as np

from innerloop.batches.certificate import (
    CONVERGE,
    EFFORT,
    SEARCH,
    Effort,
    appraised,
    certified,
    effort_for_one,
    is_resolved,
    left_to_climb,
    raised,
)
from innerloop.batches.choosing import choose, spread_out
from innerloop.batches.greedy import fill_greedily, first_new
from innerloop.batches.problem import Filled, Problem, myopic
from innerloop.batches.refine import refine
from innerloop.batches.rounds import IncrementalRounds
from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.objective import Solution
from innerloop.maximizers.starts import Pool, make_pool

# Valuing the pool takes n^2 per point: it shrinks once there are many observations.
_SMALLEST_POOL, _POOL_UP_TO = 128, 250
_NEIGHBOURS, _NEIGHBOURS_PER_QUERY = 64, 6
_FROM_POOL, _CERTIFYING_POOL = 32, 160
_FROM_MOVES, _MOVING = 256, 8
# Small batches are chosen twice and climb together: they have fewer ways to make up for a query
# on the wrong hill.
_CHOICES, _FEW_QUERIES = 2, 4
# Shares of the budget after which the local maxima and the joint ascent must be done.
_UNTIL_MAXIMA, _UNTIL_ASCENT = 0.5, 0.9


def fill_thoroughly(problem: Problem) -> Filled:
    """A batch that is as good as can be had in little time, with a certificate."""
    rounds = IncrementalRounds(problem)
    if problem.q == 1:
        return _single(rounds, problem)
    maxima, pool = _local_maxima(problem, rounds, EFFORT)
    candidates = _candidates(problem, maxima, pool)
    number = _CHOICES if problem.q <= _FEW_QUERIES else 1
    chosen = choose(candidates, rounds, problem, number)
    if not is_resolved(chosen[0], problem):
        # Joint ascent would be blind; rounds in log space are not.
        return fill_greedily(problem)
    X, gains = refine(chosen, problem, _UNTIL_ASCENT)
    if not problem.meter.is_unlimited:
        return certified(X, problem, gains=gains)
    # What adds little to nothing adds less to a batch: the best of the pool will do.
    points = np.concatenate([candidates, pool.points[_FROM_POOL:_CERTIFYING_POOL]])
    return certified(X, problem, points, gains)


def _single(rounds: IncrementalRounds, problem: Problem) -> Filled:
    """The best single query: the highest of the local maxima, climbed to the top."""
    effort = effort_for_one(problem)
    maxima, pool = _local_maxima(problem, rounds, effort)
    allowance = Allowance(rounds.exact, problem.meter)
    solution = problem.maximize(CONVERGE, allowance, maxima.X[: effort.to_the_top])
    x, value = first_new(problem, solution, pool, problem.taken, rounds.exact)
    if len(problem.pending) or not problem.meter.is_unlimited:
        return certified(x[None], problem)
    # A closed form that was searched to its end: its largest value is the bound.
    climb = left_to_climb(rounds.exact, solution.X[0, 0], problem.domain)
    bound = raised(rounds.gain(float(solution.value[0])), climb, rounds.log)
    return appraised(x[None], np.array([rounds.gain(value)]), bound, myopic(problem))


def _local_maxima(
    problem: Problem, rounds: IncrementalRounds, effort: Effort
) -> tuple[Solution, Pool]:
    """Points near the local maxima of the marginal gain, and the pool they were started from."""
    pool = make_pool(
        Allowance(rounds.screen, problem.meter, _UNTIL_MAXIMA),
        problem.domain,
        problem.centers(),
        np.zeros((0, problem.domain.d)),
        problem.generator,
        size=min(
            effort.pool, max(_SMALLEST_POOL, effort.pool * _POOL_UP_TO // problem.posterior.n)
        ),
        log=rounds.log,
    )
    kernel = problem.posterior.gp.kernel
    best = pool.points[: effort.spread_from]
    starts = best[spread_out(best, kernel, effort.starts)][:, None]
    allowance = Allowance(rounds.exact, problem.meter, _UNTIL_MAXIMA)
    return problem.maximize(SEARCH, allowance, starts), pool


def _candidates(problem: Problem, maxima: Solution, pool: Pool) -> Array:
    """Local maxima, points around them and one discrete move away, and the best of the pool."""
    tops, generator = maxima.X[:, 0], problem.generator
    number = max(_NEIGHBOURS, _NEIGHBOURS_PER_QUERY * problem.q)
    # Better maxima get more neighbours, near and far in units of the lengthscales.
    chosen = tops[np.minimum(generator.geometric(0.3, number) - 1, len(tops) - 1)]
    unit = 1.0 / problem.posterior.gp.kernel.inverse_lengthscales(problem.domain.d)
    reach = generator.random((number, 1)) / np.sqrt(problem.domain.d)
    around = chosen + reach * unit * generator.standard_normal(chosen.shape)
    spare = problem.domain.sample(problem.q, generator)  # never fewer than are needed
    parts = [tops, problem.domain.project(around), pool.points[:_FROM_POOL], spare]
    if problem.domain.discrete:
        moved = problem.domain.neighbours(maxima.X[:_MOVING], generator).sets[:, 0]
        parts.append(moved[:_FROM_MOVES])
    return np.concatenate(parts)
