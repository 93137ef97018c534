"""Refinement: joint ascent from where greedy selection ended.

Greedy selection finds the right basin and is near-optimal there; moving all queries together then
gains a few percent more, for the price of one more round.
"""

from __future__ import annotations

import numpy as np

from innerloop.acquisition.draws import reflected_sobol_normal
from innerloop.acquisition.joint import Joint
from innerloop.batches.appraisal import gains_of
from innerloop.batches.problem import NEAR, Problem, myopic, near
from innerloop.checks import Array
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.exchange import Exchange
from innerloop.maximizers.lbfgs import LBFGS

# More coordinates can suit themselves to more draws.
_DRAWS_PER_QUERY = 128
_FEWEST_DRAWS, _MOST_DRAWS = 512, 1024
_ASCENT = Exchange(
    LBFGS(tolerance=2e-4, steps=80, patience=3),
    again=LBFGS(tolerance=2e-4, steps=6),
    searches=2,
    rounds=3,
)


def refine(batches: Array, problem: Problem, until: float) -> tuple[Array, Array]:
    """The best that joint ascent makes of batches (c, q, d), and its gains: (q, d), (q,).

    The first of them, where ascent does not help.
    """
    utility, posterior, q = problem.utility, problem.posterior, problem.q
    pending = problem.pending if len(problem.pending) else None
    columns = q + len(problem.pending)
    m = min(max(_DRAWS_PER_QUERY * q, _FEWEST_DRAWS), _MOST_DRAWS)
    z = reflected_sobol_normal(m, columns, problem.generator)
    allowance = Allowance(Joint(utility, posterior, z, pending=pending), problem.meter, until)
    solution = problem.maximize(_ASCENT, allowance, batches)
    first: Array = batches[0]
    ascended: Array = solution.X[0]
    before = gains_of(first, myopic(problem), problem)
    if _repeats(ascended, problem):
        return first, before
    # By other draws than the ascent saw, which it may have come to suit.
    after = gains_of(ascended, myopic(problem), problem)
    return (ascended, after) if after.sum() > before.sum() else (first, before)


def _repeats(X: Array, problem: Problem) -> bool:
    """Whether queries X (q, d) coincide with one another or with what is taken."""
    among = np.abs(X[:, None] - X).max(axis=-1) + np.eye(len(X))
    return bool(near(X, problem.taken).any() or among.min() < NEAR)
