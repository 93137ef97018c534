"""Joint batches: all q d coordinates at once."""

from __future__ import annotations

import numpy as np

from innerloop.batches.greedy import upper_bound, valued_exactly
from innerloop.batches.problem import Filled, Problem, near
from innerloop.batches.rounds import JointRounds
from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.lbfgs import LBFGS
from innerloop.maximizers.starts import Pool, make_pool

_POOL = 1024
_MARGINAL = LBFGS(tolerance=1e-3, steps=15)


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
    totals = np.array([rounds.exact.value(X[None, : j + 1])[0] for j in range(problem.q)])
    value = float(totals[-1] - rounds.total)
    # The largest marginal value bounds every query's share.
    marginal = problem.maximize(_MARGINAL, Allowance(rounds.exact, meter), pool.best(8, generator))
    largest = [rounds.gain(float(marginal.value[0]))]
    bound = upper_bound(largest, largest, problem)
    return Filled(
        X,
        value,
        np.diff(totals, prepend=rounds.total),
        None if bound is None else max(bound, value),
    )


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
