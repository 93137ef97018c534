"""Refinement: joint ascent from where greedy selection ended.

Greedy selection finds the right basin and is near-optimal there; moving all queries together then
gains a few percent more, for the price of one more round.
"""

from __future__ import annotations

import numpy as np

from innerloop.acquisition.draws import reflected_sobol_normal
from innerloop.acquisition.fantasies import Fantasies
from innerloop.acquisition.joint import Joint
from innerloop.acquisition.utility import Utility
from innerloop.batches.problem import NEAR, Filled, Problem, near
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
    searches=1,
    rounds=3,
)
# Values are reported from other draws than the ascent saw, which it may have come to suit.
_REPORT_DRAWS = 1024


def refine(batches: Array, problem: Problem, until: float) -> Filled:
    """The best that joint ascent makes of batches (c, q, d); the first, where it does not help."""
    utility, posterior, q = problem.utility, problem.posterior, problem.q
    pending = problem.pending if len(problem.pending) else None
    columns = q + len(problem.pending)
    m = min(max(_DRAWS_PER_QUERY * q, _FEWEST_DRAWS), _MOST_DRAWS)
    z = reflected_sobol_normal(m, columns, problem.generator)
    allowance = Allowance(Joint(utility, posterior, z, pending=pending), problem.meter, until)
    solution = problem.maximize(_ASCENT, allowance, batches)
    z = reflected_sobol_normal(_REPORT_DRAWS, columns, problem.generator)
    before, after = totals(np.stack([batches[0], solution.X[0]]), problem, z)
    if after[-1] > before[-1] and not _repeats(solution.X[0], problem):
        X, better = solution.X[0], after
    else:
        X, better = batches[0], before
    return Filled(X, float(better[-1] - better[0]), np.diff(better), None)


def _repeats(X: Array, problem: Problem) -> bool:
    """Whether queries X (q, d) coincide with one another or with what is taken."""
    among = np.abs(X[:, None] - X).max(axis=-1) + np.eye(len(X))
    return bool(near(X, problem.taken).any() or among.min() < NEAR)


def totals(X: Array, problem: Problem, z: Array) -> Array:
    """Values of the pending points alone, and with the first 1, ..., q queries of each set.

    X: (R, q, d) -> (R, q + 1).
    """
    assert isinstance(problem.utility, Utility)  # settled by Settings.resolve
    p, empty = len(problem.pending), problem.utility.empty
    pending = np.broadcast_to(problem.pending, (len(X), *problem.pending.shape))
    problem.meter.evaluations += len(X)
    belief = problem.posterior.belief(np.concatenate([pending, X], axis=1))
    mean, factor = Fantasies(problem.posterior).paths(belief)
    grades = problem.utility.grade(mean[..., None], factor @ z.T)
    best = np.maximum.accumulate(grades, axis=1).mean(axis=-1)
    alone = best[:, p - 1] if p else np.full(len(X), empty if np.isfinite(empty) else 0.0)
    return np.column_stack([alone, best[:, p:]])
