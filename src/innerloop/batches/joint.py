"""Joint batches: all q d coordinates at once."""

from __future__ import annotations

import numpy as np

from innerloop.acquisition.utility import Utility
from innerloop.batches.certificate import certified
from innerloop.batches.greedy import valued_exactly
from innerloop.batches.problem import Filled, Problem, near
from innerloop.batches.rounds import JointRounds
from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.starts import Pool, make_pool

_POOL = 1024


def fill_jointly(problem: Problem) -> Filled:
    """Maximize over all q d coordinates at once, from sets drawn by their marginal values."""
    rounds = JointRounds(problem)
    meter, generator, domain = problem.meter, problem.generator, problem.domain
    pool = make_pool(
        Allowance(rounds.exact, meter),
        domain,
        problem.centers(),
        np.zeros((0, domain.d)),
        generator,
        size=_POOL,
        log=False,
    )
    sets = pool.sets(problem.starts()[1], problem.q, generator)
    solution = problem.maximize(problem.maximizer, Allowance(rounds.search, meter), sets)
    solution = valued_exactly(solution, rounds, problem)
    X = distinct(solution.X[0], pool, problem)
    if isinstance(problem.utility, Utility):
        return certified(X, problem)
    totals = np.array([rounds.exact.value(X[None, : j + 1])[0] for j in range(problem.q)])
    gains = np.diff(totals, prepend=rounds.total)
    return Filled(X, float(gains.sum()), gains, None)  # ES and KG: not submodular


def distinct(X: Array, pool: Pool, problem: Problem) -> Array:
    """A query set (q, d) with new points in place of those that are taken or repeated."""
    X = X.copy()
    for j in range(len(X)):
        others = np.concatenate([problem.taken, X[:j]])
        if near(X[j : j + 1], others)[0]:
            spare = np.concatenate([pool.points, problem.domain.sample(64, problem.generator)])
            new = ~near(spare, others)
            if new.any():
                X[j] = spare[int(np.argmax(new))]
    return X
