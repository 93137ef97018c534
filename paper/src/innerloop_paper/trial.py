"""One run of the outer loop: fit, choose a batch, evaluate it, and again (algorithm 1)."""

from __future__ import annotations

import time

import numpy as np

from innerloop import Posterior, expected_utility, fit, sobol_normal
from innerloop_paper.arrays import Array
from innerloop_paper.methods import Method
from innerloop_paper.table import Table
from innerloop_paper.tasks import Task, initial_points, noise
from innerloop_paper.threads import one_blas_thread

# Batches of all methods are graded by the same draws.
_GRADING_DRAWS = 1024


class _Stopwatch:
    """CPU seconds since the last lap, to the microsecond."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def lap(self) -> float:
        now = time.process_time()
        lap, self._last = now - self._last, now
        return round(lap, 6)


def run_trial(task: Task, method: Method, *, q: int, evaluations: int, trial: int) -> Table:
    """One row after the initial points, and one after every batch.

    evaluations: how many there have been; regret: |f_max - f(x*)| with x* the query whose
    observation is the largest; acquisition: the value of the batch, of which a larger one is
    better; inner_evaluations: query sets valued to find it; CPU seconds of each phase. The last
    batch is smaller if the evaluations would not suffice.
    """
    table: Table = {name: [] for name in _COLUMNS}
    errors = noise(task.d, trial, evaluations)
    X = initial_points(task.d, trial)[:evaluations]
    true = task.function(X)
    _append(table, task, true, errors, (float("nan"), 0, 0.0, 0.0, 0.0))
    generator = np.random.default_rng([task.d, trial, 4])
    with one_blas_thread():
        while len(X) < evaluations:
            watch = _Stopwatch()
            y = true + errors[: len(X)]
            posterior = (task.prior or fit(X, y)).condition(X, y)
            fitted = watch.lap()
            size = min(q, evaluations - len(X))
            limits = method.limits(posterior, size)
            watch.lap()
            batch = method.propose(posterior, size, limits=limits, generator=generator)
            suggested = watch.lap()
            value = _graded(method, posterior, batch.X)
            watch.lap()
            true = np.concatenate([true, task.function(batch.X)])
            X = np.concatenate([X, batch.X])
            spent = (fitted, suggested, watch.lap())
            _append(table, task, true, errors, (value, batch.evaluations, *spent))
    return table


_COLUMNS = (
    "evaluations",
    "regret",
    "acquisition",
    "inner_evaluations",
    "fit_seconds",
    "suggest_seconds",
    "evaluate_seconds",
)


def _append(table: Table, task: Task, true: Array, errors: Array, rest: tuple[float, ...]) -> None:
    observed = true + errors[: len(true)]
    regret = abs(task.maximum - float(true[int(np.argmax(observed))]))
    for column, value in zip(table.values(), (len(true), regret, *rest), strict=True):
        column.append(value)


def _graded(method: Method, posterior: Posterior, X: Array) -> float:
    belief = posterior.belief(X)
    z = sobol_normal(_GRADING_DRAWS, len(X), seed=0)
    return float(expected_utility(method.utility(posterior), belief.mean, belief.cov, z))
