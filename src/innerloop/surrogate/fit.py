"""MAP hyperparameters by a quasi-Newton search on an explicit gradient, one factorization a step.

Parameters are theta = (log lengthscales, log variance, log noise). The constant mean is profiled
out: given theta its best value is a ratio of two sums.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks, linalg
from innerloop.surrogate.cold_starts import cold_starts
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.surrogate.kernels import Kernel, Matern52
from innerloop.surrogate.log_posterior import LogPosterior
from innerloop.surrogate.posing import pose
from innerloop.surrogate.priors import DEFAULT, Priors
from innerloop.surrogate.quasi_newton import Descents, Found, advance
from innerloop.types import Array

# A cold fit looks around on half of the observations, but on so many at least and at most.
_SCREENED = (40, 60)
# Searches race on so many observations at most; the winner goes on with three times as many, and
# so on up to all. It need not settle further than this on the way.
_LARGEST_RACE, _REFINEMENT = 250, 3
_COARSE_TOLERANCE = 1e-3
# There are never more than so many observations, chosen at random. On more than a part of these a
# search, which begins where one on fewer has ended, may cost what so many steps on all of them do.
_MOST, _MANY, _STEPS_ON_MOST = 2000, 750, 4
# With less time than for so many evaluations, larger numbers of observations are not begun with.
_FEWEST_EVALUATIONS = 4
# Who goes on at first, and after a few evaluations: within so many nats of the best, so many at
# most. And for how many evaluations.
_RACE = ((40.0, 3), (2.0, 2))
_EVALUATIONS = (4, 100)
# Searches this close to each other have the same end.
_DISTINCT = 0.3


def fit(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: type[Kernel] = Matern52,
    noise: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    reach: ArrayLike | None = None,
    axes: ArrayLike | None = None,
    start: GaussianProcess | None = None,
    priors: Priors | None = DEFAULT,
    smallest_noise: float = 1e-8,
    tolerance: float = 1e-6,
    seconds: float | None = None,
) -> GaussianProcess:
    """The surrogate whose hyperparameters are a mode of their posterior.

        theta = argmax log p(y | X, theta) + log p(theta)

    where the first term is the log marginal likelihood (Rasmussen and Williams 2006, eq. 2.30).
    With more than 750 observations the search settles on some of them and goes on with all for as
    long as four steps on 2000 take; with more than 2000, on a random choice of so many.

    Args:
        X: (n, d), where f was observed.
        y: (n,), what was observed.
        kernel: the class of kernel.
        noise: known noise variance, a number or (n,); learned if None.
        groups: (d,), labels of the columns; those with equal labels share a lengthscale, as all
            columns of a choice should. By default each has its own.
        reach: (d,), how far apart values are along each column, in units of what it is for numbers
            that are uniform in [0, 1]: lengthscales are expected to be as much longer.
        axes: (d, d), perpendicular directions of the lengthscales, one in each column, in place of
            those of the coordinates; not with groups.
        start: a previous fit to continue from; without it several starts are tried.
        priors: of the hyperparameters; None to maximize the likelihood alone.
        smallest_noise: noise that is learned is at least this, times the variance of y.
        tolerance: the search ends with a step that gains less than this, relative to the log
            density.
        seconds: about how long it may take, by default as long as it needs; one that has to stop
            early is less exact, and is the start itself if there is no time to improve on it.

    Returns:
        The prior with these hyperparameters, to be conditioned on data.
    """
    checks.positive_scalar("tolerance", tolerance)
    posed = pose(
        X,
        y,
        kernel=kernel,
        noise=noise,
        groups=groups,
        reach=reach,
        axes=axes,
        priors=priors,
        smallest_noise=smallest_noise,
    )
    objective = posed.objective
    limit = _Limit(None if seconds is None else checks.positive_scalar("seconds", seconds))
    if len(objective.values) > _MOST:
        objective = replace(objective.subset(_MOST), priors=priors)
    with linalg.one_blas_thread():
        if start is None:
            x, parts = cold_starts(_few(objective)), _ever_more(objective)
            end = _End(x[0], 0.0, 0.0)
        else:
            x = posed.theta(start)[None]
            end = _End(x[0], (start.mean - posed.location) / posed.scale, 0.0)
            parts = [objective] if _is_affordable(objective, x, limit) else []
        for part in parts:
            last = tolerance if part is objective else _COARSE_TOLERANCE
            with linalg.blas_threads_for(len(part.values)):
                end = _race(part, x, last, limit)
            if not limit.allows(_FEWEST_EVALUATIONS * _REFINEMENT**3 * end.seconds):
                break
            x = end.theta[None]
    return posed.surrogate(end.theta, end.mean)


class _Limit:
    """A time to be ready by, if there is one."""

    def __init__(self, seconds: float | None) -> None:
        self.exists = seconds is not None
        self._end = time.perf_counter() + seconds if seconds is not None else np.inf

    def allows(self, seconds: float) -> bool:
        """Whether there is so much time left."""
        return not self.exists or time.perf_counter() + seconds <= self._end


class _End(NamedTuple):
    """Where a search has ended, the mean that goes with it, and what an evaluation has taken."""

    theta: Array
    mean: float
    seconds: float


def _few(objective: LogPosterior) -> LogPosterior:
    """Of so many observations that a look around costs little."""
    n = len(objective.values)
    few = min(n, int(np.clip(n // 2, *_SCREENED)))
    return objective if few == n else objective.subset(few)


def _ever_more(objective: LogPosterior) -> list[LogPosterior]:
    """Of ever more observations, and of all at the end."""
    sizes = [len(objective.values)]
    while sizes[-1] > _LARGEST_RACE:
        sizes.append(sizes[-1] // _REFINEMENT)
    return [*(objective.subset(size) for size in reversed(sizes[1:])), objective]


def _is_affordable(objective: LogPosterior, x: Array, limit: _Limit) -> bool:
    """Whether there is time for a search from x (1, p)."""
    n = len(objective.values)
    if not limit.exists or n <= _LARGEST_RACE:
        return True
    began = time.perf_counter()
    objective.subset(n // _REFINEMENT).evaluate(x)
    cost = (time.perf_counter() - began) * _REFINEMENT**3
    return limit.allows(_FEWEST_EVALUATIONS * cost)


def _race(objective: LogPosterior, x: Array, tolerance: float, limit: _Limit) -> _End:
    """The best end of searches from several places (S, p), given up once they fall behind."""
    slowest, n = 0.0, len(objective.values)

    def function(theta: Array) -> Found:
        nonlocal slowest
        began = time.perf_counter()
        found = objective.evaluate(theta, with_curvature=n > _LARGEST_RACE)
        slowest = max(slowest, (time.perf_counter() - began) / len(theta))
        return found

    found = function(x)
    rows = _ahead(found.values, x, *_RACE[0])
    x, (values, grads, means, hessians) = x[rows], found.only(rows)
    if hessians is None:
        hessians = objective.information(x)
    ended = np.zeros(len(rows), dtype=np.bool_)
    descents = Descents(x, values, grads, means, hessians, ended)
    for (margin, most), evaluations in zip(_RACE, _allowed(n), strict=True):
        descents = advance(
            function,
            descents.only(_ahead(descents.values, descents.x, margin, most)),
            objective.bounds,
            evaluations=evaluations,
            tolerance=tolerance,
            stop=lambda: not limit.allows(slowest),
        )
    best = int(np.argmin(descents.values))
    return _End(descents.x[best], float(descents.notes[best]), slowest)


def _allowed(n: int) -> tuple[int, int]:
    """How many evaluations on n observations a race may have in its two parts."""
    if n <= _MANY:
        return _EVALUATIONS
    # An evaluation is of order n^3.
    return max(round(_STEPS_ON_MOST * (_MOST / n) ** 3), _STEPS_ON_MOST), 0


def _ahead(values: Array, x: Array, margin: float, most: int) -> NDArray[np.intp]:
    """Which are within a margin of the best value and not where a better one is, best first."""
    kept: list[int] = []
    for i in np.argsort(values):
        near = kept and np.abs(x[kept] - x[i]).max(axis=1).min() < _DISTINCT
        if not near and len(kept) < most and (not kept or values[i] <= values[kept[0]] + margin):
            kept.append(int(i))
    return np.array(kept)
