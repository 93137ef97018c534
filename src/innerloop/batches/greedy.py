"""Greedy batches: query by query, each adding the most to those before (algorithm 2)."""

from __future__ import annotations

import numpy as np

from innerloop.acquisition.utility import Utility
from innerloop.batches.certificate import certified
from innerloop.batches.problem import Filled, Problem, near
from innerloop.batches.rounds import Rounds, make_rounds
from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.objective import Objective, Solution, best_first
from innerloop.maximizers.starts import Pool, make_pool

# Later rounds start from the local maxima of earlier ones too.
_FIRST_POOL = 512
_POOL = 128
# Ends of a stochastic search that are valued once more on fixed draws.
_VALUED_AGAIN = 16


def fill_greedily(problem: Problem) -> Filled:
    """q rounds, each maximizing what one more query adds to those before (algorithm 2)."""
    rounds = make_rounds(problem)
    number = problem.q + problem.certify
    taken = problem.taken
    centers, ends = problem.centers(), np.zeros((0, problem.domain.d))
    chosen, gains = [], []
    for j in range(problem.q):
        until = (j + 1) / number
        solution, pool = _maximize_round(problem, rounds, centers, ends, until)
        x, value = first_new(problem, solution, pool, taken, rounds.exact)
        gains.append(rounds.gain(value))
        chosen.append(x)
        if j + 1 < problem.q:
            rounds.fix(x, value)
            taken = np.concatenate([taken, x[None]])
            # Local maxima of this round are good starts for the next.
            ends = solution.X[:, 0]
    X = np.array(chosen)
    if isinstance(problem.utility, Utility):
        return certified(X, problem)
    return Filled(X, float(np.sum(gains)), np.array(gains), None)  # ES and KG: not submodular


def _maximize_round(
    problem: Problem, rounds: Rounds, centers: Array, ends: Array, until: float
) -> tuple[Solution, Pool]:
    """Value a pool of points, and maximize from the starts it offers."""
    pool = make_pool(
        Allowance(rounds.screen, problem.meter, until),
        problem.domain,
        centers,
        ends,
        problem.generator,
        size=_FIRST_POOL if not len(ends) else _POOL,
        log=rounds.log,
    )
    starts = pool.best(problem.starts()[0], problem.generator)
    allowance = Allowance(rounds.search, problem.meter, until)
    solution = problem.maximize(problem.maximizer, allowance, starts)
    return valued_exactly(solution, rounds, problem), pool


def valued_exactly(solution: Solution, rounds: Rounds, problem: Problem) -> Solution:
    """The ends of a search, valued on fixed draws where the search saw changing ones."""
    if rounds.search is rounds.exact:
        return solution
    X = solution.X[:_VALUED_AGAIN]
    return best_first(X, Allowance(rounds.exact, problem.meter).value(X))


def first_new(
    problem: Problem, solution: Solution, pool: Pool, taken: Array, exact: Objective
) -> tuple[Array, float]:
    """The best query found that is not one of `taken`; failing that, the best one."""
    new = ~near(solution.X[:, 0], taken)
    if new.any():
        first = int(np.argmax(new))
        return solution.X[first, 0], float(solution.value[first])
    spare = np.concatenate([pool.points, problem.domain.sample(_POOL, problem.generator)])
    new = ~near(spare, taken)
    if new.any():
        x = spare[int(np.argmax(new))]
        return x, float(Allowance(exact, problem.meter).value(x[None, None])[0])
    return solution.X[0, 0], float(solution.value[0])
