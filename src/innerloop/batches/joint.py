"""Joint batches: all q d coordinates at once."""

from __future__ import annotations

import numpy as np

from innerloop.batches.greedy import JointRounds, valued_again
from innerloop.batches.problem import Filled, Problem, near
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer, search
from innerloop.maximizers.starts import PointPool, make_pool
from innerloop.types import Array

_POOL = 1024


def fill_jointly(rounds: JointRounds, maximizer: Maximizer, problem: Problem) -> Filled:
    """Maximize over all q d coordinates at once, from sets drawn by their marginal values."""
    meter, generator, domain = problem.meter, problem.generator, problem.domain
    with meter.holding_back(problem.q):  # for the gains of the batch
        pool = make_pool(
            Allowance(rounds.exact, meter),
            domain,
            problem.centers,
            np.zeros((0, domain.d)),
            generator,
            size=_POOL,
            log=False,
        )
        sets = pool.sets(maximizer.starts[1], problem.q, generator)
        suited, allowance = problem.suited(maximizer), Allowance(rounds.search, meter)
        again = valued_again(rounds, allowance)
        with meter.holding_back(again):
            solution = search(suited, allowance, sets, domain, generator)
        X = distinct(rounds.valued(solution, again).X[0], pool, problem)
    return Filled(X, rounds.gains(X))


def distinct(X: Array, pool: PointPool, problem: Problem) -> Array:
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
