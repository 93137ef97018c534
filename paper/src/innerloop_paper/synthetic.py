"""Functions drawn from a known prior, and where they are largest (appendix B.1).

A draw is a sum of 2^14 random features, a cosine and a sine for each of 2^13 frequencies. The
largest of a great many values and the ends of local searches from them are taken for its maximum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from innerloop import FunctionDraws, GaussianProcess, Matern52, make_domain, prior_draws
from innerloop.maximizers import BFGS, Allowance
from innerloop_paper.arrays import Array
from innerloop_paper.jobs import Settings
from innerloop_paper.table import Table
from innerloop_paper.threads import one_blas_thread

NOISE = 1e-3
FEATURES = 2**14
# Numbers that one shard of points may keep in flight.
_WORKSPACE = 2**22
_POLISHED = 16


def prior(d: int) -> GaussianProcess:
    """The prior that functions of d inputs are drawn from: Matern-5/2, lengthscale sqrt(d)/4."""
    return GaussianProcess(Matern52(np.full(d, np.sqrt(d) / 4.0)), noise=NOISE)


def draw(d: int, trial: int, features: int = FEATURES) -> FunctionDraws:
    """The function of a trial."""
    return prior_draws(prior(d), d, features=features, seed=np.random.default_rng([d, trial]))


@dataclass(frozen=True)
class Maximum(Settings):
    """The largest value of a draw: the best of `searches` ascents from the best of `points`.

    Its table has one row: the value, and the coordinates x0, x1, ... where it is taken.
    """

    kind: ClassVar[str] = "maximum"

    d: int
    trial: int
    features: int = FEATURES
    points: int = 2**16
    searches: int = 1024

    def compute(self) -> Table:
        """Search for the maximum."""
        with one_blas_thread():
            x, value = _search(self)
        return {"value": [value], **{f"x{k}": [float(u)] for k, u in enumerate(x)}}


class SingleDraw:
    """One draw as an objective of maximizers, in the precision of its numbers.

    w_c cos(p) + w_s sin(p) = A cos(p - phi) takes one cosine a frequency instead of two waves; in
    single precision it takes a twentieth of the time, which is enough to find the hills.
    """

    def __init__(self, function: FunctionDraws, precision: type[Any]) -> None:
        cosines, sines = np.split(function.weights[:, 0], 2)
        self._frequencies = function.frequencies.astype(precision)
        self._amplitude = np.hypot(cosines, sines).astype(precision)
        self._phase = np.arctan2(sines, cosines).astype(precision)
        self._mean = function.mean

    def value(self, X: Array) -> Array:
        """Values (R,) at points (R, 1, d)."""
        shards = [np.cos(phase) @ self._amplitude for phase in self._phases(X)]
        return np.concatenate(shards).astype(np.float64) + self._mean

    def value_and_grad(self, X: Array) -> tuple[Array, Array]:
        """Values (R,) and gradients (R, 1, d) at points (R, 1, d)."""
        values, slopes = [], []
        for phase in self._phases(X):
            values.append(np.cos(phase) @ self._amplitude)
            slopes.append(-(np.sin(phase) * self._amplitude) @ self._frequencies)
        slope = np.concatenate(slopes).astype(np.float64)
        return np.concatenate(values).astype(np.float64) + self._mean, slope[:, None]

    def _phases(self, X: Array) -> Iterator[NDArray[Any]]:
        """p - phi of every frequency, for a shard of the points after the other."""
        points = X[:, 0].astype(self._frequencies.dtype)
        shard = max(1, _WORKSPACE // len(self._frequencies))
        for first in range(0, len(points), shard):
            yield points[first : first + shard] @ self._frequencies.T - self._phase


def _search(job: Maximum) -> tuple[Array, float]:
    """The best point (d,) of a draw, and its value."""
    from scipy.stats import qmc  # slow to import

    function = draw(job.d, job.trial, job.features)
    rough, exact = SingleDraw(function, np.float32), SingleDraw(function, np.float64)
    seed = np.random.default_rng([job.d, job.trial, 1])
    points = qmc.Sobol(job.d, rng=seed).random(job.points)[:, None]
    best = np.argsort(-rough.value(points), kind="stable")[: job.searches]
    domain = make_domain(job.d)
    climb = BFGS(tolerance=1e-6, steps=60, patience=1000)
    hills = climb(Allowance(rough), points[best], domain, seed)
    polish = BFGS(tolerance=1e-12, steps=60, patience=1000)
    tops = polish(Allowance(exact), hills.X[:_POLISHED], domain, seed)
    x = tops.X[0, 0]
    return x, float(function(x)[0])
