"""What jobs will cost, from a few short measurements on this machine.

The inner budget is the larger part of a cell: N values of the acquisition function a batch. So a
few hundred of these are timed for every size of problem, halfway through a run, and the fit of
the hyperparameters once. It is right within a factor of two or so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from functools import cache

import numpy as np

from innerloop import ExpectedImprovement, fit, measured_budget
from innerloop_paper.cells import Cell
from innerloop_paper.jobs import Job
from innerloop_paper.methods import BUDGET_DRAWS
from innerloop_paper.synthetic import Maximum, prior
from innerloop_paper.threads import one_blas_thread

_PROBES = 256
# With a budget of time, the time of 3 x 1024 values is measured first.
_MEASURING = 3 * 1024
# A budget of evaluations takes so many times as long as that many values do.
_COST_OF_EVALUATION = {"adam": 2.0, "cmaes": 2.0, "random_search": 2.5}
# innerloop's default converges, and leaves the rest of a large budget unspent.
_CONVERGED = 2**12
_MAXIMUM_SECONDS = 3.0
_OTHER_SECONDS = 15.0


def cpu_seconds(jobs: Iterable[Job]) -> list[float]:
    """CPU seconds that each job will take, or so."""
    with one_blas_thread():
        return [_seconds(job) for job in jobs]


def _seconds(job: Job) -> float:
    if isinstance(job, Maximum):
        return _MAXIMUM_SECONDS
    if not isinstance(job, Cell):
        return _OTHER_SECONDS
    halfway = max(2, job.evaluations // 2)
    budget = min(job.budget, _CONVERGED) if job.maximizer == "innerloop" else job.budget
    if job.clock == "cpu":
        values = float(budget + _MEASURING)
    else:
        values = _COST_OF_EVALUATION.get(job.maximizer, 1.0) * budget
    batch = values * _seconds_of_value(job.d, job.q, halfway)
    if job.task != "synthetic":
        batch += _seconds_of_fit(job.d, halfway)
    return batch * math.ceil(job.evaluations / job.q)


@cache
def _seconds_of_value(d: int, q: int, n: int) -> float:
    X, y = _observations(d, n)
    posterior = prior(d).condition(X, y)
    utility = ExpectedImprovement(float(y.max()))
    time = measured_budget(_PROBES, posterior, q, utility, draws=BUDGET_DRAWS, clock="cpu")
    return (time.seconds or 0.0) / _PROBES


@cache
def _seconds_of_fit(d: int, n: int) -> float:
    X, y = _observations(d, n)
    started = time.process_time()
    fit(X, y)
    return time.process_time() - started


def _observations(d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).random((n, d))
    return X, np.sin(5.0 * X).sum(axis=1)
