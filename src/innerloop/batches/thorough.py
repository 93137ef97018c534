"""The default way to fill a batch: local maxima, greedy choice, joint ascent, certificate.

Maximizing afresh in every greedy round is what the theory describes and most of what it costs.
Here one batched search finds the local maxima of the marginal gain; greedy choice among these,
points around them and a pool finds a batch in the right places; joint ascent moves all its
queries to where they are worth most together; and one last search for what a further query could
add bounds the value of any batch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from innerloop.batches.choosing import SAME_HILL, choose
from innerloop.batches.greedy import first_new
from innerloop.batches.problem import Filled, Problem
from innerloop.batches.refine import refine
from innerloop.batches.rounds import IncrementalRounds
from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.exchange import Exchange
from innerloop.maximizers.lbfgs import LBFGS
from innerloop.maximizers.objective import Solution
from innerloop.maximizers.starts import Pool, make_pool

# Valuing the pool takes n^2 per point: it shrinks once there are many observations.
_POOL, _SMALLEST_POOL, _POOL_UP_TO = 512, 128, 250
_STARTS = 32
_SPREAD_FROM = 160
_NEIGHBOURS, _NEIGHBOURS_PER_QUERY = 64, 6
_FROM_POOL = 32
_FROM_MOVES = 256
_TO_THE_TOP = 8
# Small batches are chosen twice and climb together: they have fewer ways to make up for a query
# on the wrong hill.
_CHOICES, _FEW_QUERIES = 2, 4
# Shares of the budget after which the local maxima and the joint ascent must be done.
_UNTIL_MAXIMA, _UNTIL_ASCENT = 0.5, 0.9
# A few steps each: enough to tell the hills apart, not so many that their climbers meet.
_SHORT = LBFGS(tolerance=1e-3, steps=4, patience=100)
_SEARCH = Exchange(LBFGS(tolerance=1e-3, steps=5, patience=100), again=_SHORT, rounds=2)
_CONVERGE = Exchange(LBFGS(tolerance=1e-4, patience=3), searches=1)
_CERTIFY = Exchange(LBFGS(tolerance=1e-3, steps=8, patience=4), again=_SHORT, rounds=2)


def fill_thoroughly(problem: Problem) -> Filled:
    """A batch that is as good as can be had in little time, with a certificate."""
    rounds = IncrementalRounds(problem)
    maxima, pool = _local_maxima(problem, rounds)
    if problem.q == 1:
        return _single(maxima, rounds, pool, problem)
    candidates = _candidates(problem, maxima, pool)
    number = _CHOICES if problem.q <= _FEW_QUERIES else 1
    choices = choose(candidates, rounds, problem, number)
    filled = refine(choices.X, problem, _UNTIL_ASCENT)
    return _certified(filled, choices.runners_up, problem, rounds)


def _single(maxima: Solution, rounds: IncrementalRounds, pool: Pool, problem: Problem) -> Filled:
    """The best single query: the highest of the local maxima, climbed to the top."""
    allowance = Allowance(rounds.exact, problem.meter)
    starts = maxima.X[:_TO_THE_TOP]
    solution = problem.maximize(_CONVERGE, allowance, starts)
    x, value = first_new(problem, solution, pool, problem.taken, rounds.exact)
    gain = rounds.gain(value)
    largest = rounds.gain(float(solution.value[0]))
    return Filled(x[None], gain, np.array([gain]), max(gain, largest))


def _local_maxima(problem: Problem, rounds: IncrementalRounds) -> tuple[Solution, Pool]:
    """Points near the local maxima of the marginal gain, and the pool they were started from."""
    pool = make_pool(
        Allowance(rounds.screen, problem.meter, _UNTIL_MAXIMA),
        problem.domain,
        problem.centers(),
        np.zeros((0, problem.domain.d)),
        problem.generator,
        size=min(_POOL, max(_SMALLEST_POOL, _POOL * _POOL_UP_TO // problem.posterior.n)),
        log=rounds.log,
    )
    starts = pool.points[_spread_out(pool.points[:_SPREAD_FROM], problem)][:, None]
    allowance = Allowance(rounds.exact, problem.meter, _UNTIL_MAXIMA)
    return problem.maximize(_SEARCH, allowance, starts), pool


def _spread_out(points: Array, problem: Problem) -> list[int]:
    """The first points (N, d) that are not close to an earlier one: one for every hill, or so."""
    correlation = problem.posterior.gp.kernel(points, points) / problem.posterior.gp.kernel.variance
    free = np.ones(len(points), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < _STARTS and free.any():
        chosen.append(int(np.argmax(free)))
        free &= correlation[chosen[-1]] < SAME_HILL
    return chosen


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
        moved = problem.domain.neighbours(maxima.X[:_TO_THE_TOP], generator).sets[:, 0]
        parts.append(moved[:_FROM_MOVES])
    return np.concatenate(parts)


def _certified(
    filled: Filled,
    runners_up: Array,
    problem: Problem,
    rounds: IncrementalRounds,
) -> Filled:
    """With the bound L(X) + q max_x Delta(x; X), which holds for any X by submodularity."""
    further = rounds.state.extend(filled.X)
    allowance = Allowance(further, problem.meter)
    solution = problem.maximize(_CERTIFY, allowance, runners_up)
    largest = max(rounds.gain(float(solution.value[0])), 0.0)
    return replace(filled, upper_bound=filled.value + problem.q * largest)
