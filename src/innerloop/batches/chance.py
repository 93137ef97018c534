"""The chance that an evaluation succeeds, learned from those that did and those that failed.

Failures have reasons, or they are accidents. Accidents happen anywhere, with one probability for
all, or while something was out of order. Reasons are learned by a Gaussian process classifier:
evaluations succeed with probability Phi(f(x)), and given those that were made, the latent function
f has some mean and variance at x, so that the chance is Phi(mean(x) / sqrt(1 + variance(x))). It
falls from almost 1 to almost 0 between successes and failures, and coordinates that do not tell the
two apart have long lengthscales.

    p(x) = a p_accidents + (1 - a) Phi(mean(x) / sqrt(1 + variance(x)))

where a is how probable it is that accidents explain all failures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, log_expit, log_ndtr

from innerloop import linalg
from innerloop.surrogate.expectation_propagation import Sites, evidence
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import SquaredExponential
from innerloop.surrogate.quasi_newton import Descents, Found, advance
from innerloop.types import Array

# The prior of rates, 1 / lengthscales: a Cauchy density of this scale. A coordinate that has no say
# costs nothing. Center and sd of those of log variance and mean, which are normal.
_RATE = 1.0
_LOG_VARIANCE = (float(np.log(1e4)), 2.0)
_MEAN = (1.0, 1.0)
_RATES, _VARIANCES, _MEANS = (1e-2, 20.0), (1e-2, 1e6), (-3.0, 5.0)
# If all failures are accidents: the Beta density of how often evaluations succeed.
_SUCCESSES, _FAILURES = 9.0, 1.0
# Searches start where all coordinates count alike (divided by the root of d), and where one does.
_ALL, _ONE, _OTHERS = 1.5, 3.0, 0.1
# So many evaluations decide where to start, so many on the prior, and so many on the posterior.
_SCREENED, _LEARNED_FROM, _MOST_POINTS = 40, 96, 256
# A search takes so many steps, while they gain so much relative to the value.
_STEPS, _TOLERANCE = 14, 1e-3
_ROUGHLY, _SEARCHING, _IN_THE_END = 0.1, 0.03, 1e-3
_LOG_ROOT_2_PI = 0.5 * np.log(2.0 * np.pi)


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance of success near evaluations that succeeded or failed.

    Args:
        latent: the belief over f, which is positive where evaluations tend to succeed.
        failed: (f, d), points that failed.
        log_odds: that failures have reasons, against that all are accidents.
        overall: the chance of success if all failures are accidents.
        times: what counts as a success is so many of them in a row.
    """

    latent: Posterior
    failed: Array
    log_odds: float
    overall: float
    times: float = 1.0

    @staticmethod
    def of(succeeded: Array, failed: Array, *, for_a_while: bool = False) -> Chance:
        """Learn which coordinates tell successes from failures, and where.

        Args:
            succeeded: (s, d), points that did.
            failed: (f, d), points that did not.
            for_a_while: whether all failures came one after the other, and successes thereafter.
                Then something may have been out of order for a while.

        Returns:
            The chance near all of them.
        """
        seen = _thinned(succeeded, failed, _LEARNED_FROM)
        with linalg.one_blas_thread():
            prior, sites = _learned(seen, _thinned(succeeded, failed, _SCREENED))
            log_odds = prior.log_evidence - _log_evidence_of_accidents(seen.signs, for_a_while)
            if len(succeeded) + len(failed) > _LEARNED_FROM:
                seen, sites = _thinned(succeeded, failed, _MOST_POINTS), None
            latent = prior.given(seen, sites)
        s, f = len(succeeded) + _SUCCESSES, len(failed) + _FAILURES
        return Chance(latent, failed, log_odds, s / (s + f))

    def in_a_row(self, times: float) -> Chance:
        """The chance of so many successes in place of one: p(x)^times, to err on the safe side.

        Between the last success and the first failure on the way to better values, gain times
        chance is largest half way, and half of all trials there fail, however close the two are.
        Gain times the chance of k successes is largest where one succeeds with chance k / (k + 1).

        Args:
            times: how many.

        Returns:
            That chance.
        """
        return replace(self, times=times)

    def log(self, X: Array) -> tuple[Array, Array]:
        """Logarithm of the chance, and its gradient.

        Args:
            X: (N, d), where to evaluate.

        Returns:
            (N,) and (N, d).
        """
        if len(X) == 0:
            return np.zeros(0), np.zeros_like(X)
        belief = self.latent.unchecked_belief(X[:, None])
        scale = 1.0 / np.sqrt(1.0 + np.maximum(belief.cov[:, 0, 0], 0.0))
        u = belief.mean[:, 0] * scale
        with_reasons = log_expit(self.log_odds) + log_ndtr(u)
        log_chance = np.logaddexp(with_reasons, log_expit(-self.log_odds) + np.log(self.overall))
        density = np.exp(log_expit(self.log_odds) - 0.5 * u**2 - _LOG_ROOT_2_PI - log_chance)
        d_u = self.times * density
        d_variance = -0.5 * d_u * u * scale**2
        slope = belief.pullback((d_u * scale)[:, None], d_variance[:, None, None])
        return self.times * log_chance, slope[:, 0]


@dataclass(frozen=True, eq=False)
class _Evaluations:
    """Points (n, d), and 1 where they succeeded, -1 where they failed (n,)."""

    points: Array
    signs: Array


@dataclass(frozen=True, eq=False)
class _Prior:
    """What f is like before anything is evaluated; rates (d,) are 1 / lengthscales.

    log_evidence: of the evaluations that it was learned from, times its own density.
    """

    rates: Array
    variance: float
    mean: float
    log_evidence: float

    def given(self, seen: _Evaluations, start: Sites | None) -> Posterior:
        """The belief over f: that of a process observed with noise, as the sites have it."""
        kernel = SquaredExponential(1.0 / self.rates, self.variance)
        K = kernel(seen.points, seen.points)
        linalg.diagonals(K)[...] = self.variance
        mean, end = np.array([self.mean]), _IN_THE_END
        precision, shift = evidence(K[None], mean, seen.signs, start=start, tolerance=end).sites
        gp = GaussianProcess(kernel, mean=self.mean, noise=1.0 / precision[0])
        return gp.condition(seen.points, self.mean + shift[0] / precision[0])


def _thinned(succeeded: Array, failed: Array, most: int) -> _Evaluations:
    """So many evaluations at most: failures, evenly, and the successes closest to them."""
    rows = np.linspace(0, len(failed) - 1, min(len(failed), most // 2)).round().astype(int)
    failed = failed[rows]
    room = most - len(failed)
    if len(succeeded) > room:
        squares = ((succeeded[:, None] - failed) ** 2).sum(axis=-1)
        succeeded = succeeded[np.argsort(squares.min(axis=1), kind="stable")[:room]]
    signs = np.concatenate([np.ones(len(succeeded)), -np.ones(len(failed))])
    return _Evaluations(np.concatenate([succeeded, failed]), signs)


def _log_evidence_of_accidents(signs: Array, for_a_while: bool) -> float:
    """Log p(signs), of signs (n,), whatever the points are.

    Each is 1 with the same probability; or all are -1 in one stretch of time, any of those there
    are, and 1 with the same probability beyond.
    """
    n, succeeded = len(signs), float((signs > 0.0).sum())
    prior = betaln(_SUCCESSES, _FAILURES)
    alike = betaln(succeeded + _SUCCESSES, n - succeeded + _FAILURES) - prior
    if not for_a_while:
        return float(alike)
    beyond = betaln(succeeded + _SUCCESSES, _FAILURES) - prior
    return float(np.logaddexp(alike, beyond - np.log(0.5 * n * (n + 1))))


def _learned(seen: _Evaluations, few: _Evaluations) -> tuple[_Prior, Sites | None]:
    """The most probable prior, and about its sites; the search starts from the best for a few."""
    d = seen.points.shape[1]
    starts = _starts(d)
    screened = _Objective(few)(starts, _ROUGHLY)
    x = starts[[int(np.argmin(screened.values))]]
    objective = _Objective(seen)
    ends = advance(
        objective,
        Descents(x, *objective(x)[:3], np.eye(d + 2)[None], np.zeros(1, dtype=np.bool_)),
        np.concatenate([np.log([_RATES] * d + [_VARIANCES]), [_MEANS]]),
        evaluations=_STEPS,
        tolerance=_TOLERANCE,
    )
    rates, (variance, mean), value = np.exp(ends.x[0, :d]), ends.x[0, d:], -float(ends.values[0])
    return _Prior(rates, float(np.exp(variance)), float(mean), value), objective.start(ends.x)


def _starts(d: int) -> Array:
    """All coordinates alike, and each of them by itself: (d + 1, d + 2)."""
    rates = np.full((d + 1, d), _OTHERS)
    rates[0] = _ALL / np.sqrt(d)
    rates[np.arange(1, d + 1), np.arange(d)] = _ONE
    rest = np.broadcast_to([_LOG_VARIANCE[0], _MEAN[0]], (d + 1, 2))
    return np.concatenate([np.log(rates), rest], axis=1)


class _Objective:
    """-log p(signs | theta) p(theta), of theta = (log rates, log variance, mean), (S, d + 2).

    Remembers the last sites, to go on from those of the closest theta.
    """

    def __init__(self, seen: _Evaluations) -> None:
        self._signs, n = seen.signs, len(seen.signs)
        differences = seen.points[:, None] - seen.points
        self._squares = (differences**2).reshape(n * n, -1).T.copy()
        self._last: tuple[Array, Sites] | None = None

    def __call__(self, theta: Array, tolerance: float = _SEARCHING) -> Found:
        """Values (S,), gradients (S, d + 2), and nothing of note (S,)."""
        S, n, d = len(theta), len(self._signs), theta.shape[1] - 2
        weights, log_variance, mean = np.exp(2.0 * theta[:, :d]), theta[:, d], theta[:, d + 1]
        K = np.exp(log_variance[:, None] - 0.5 * (weights @ self._squares)).reshape(S, n, n)
        found = evidence(K, mean, self._signs, start=self.start(theta), tolerance=tolerance)
        self._last = theta, found.sites
        by_log_K = (found.d_covariance * K).reshape(S, n * n)
        grad = np.empty_like(theta)
        grad[:, :d] = -weights * (by_log_K @ self._squares.T)
        grad[:, d], grad[:, d + 1] = by_log_K.sum(axis=1), found.d_mean
        value, slope = _log_density(theta)
        return Found(-(found.log + value), -(grad + slope), np.zeros(S))

    def start(self, theta: Array) -> Sites | None:
        """The last sites of the closest theta, if there are any."""
        if self._last is None:
            return None
        before, sites = self._last
        closest = np.abs(theta[:, None] - before).max(axis=-1).argmin(axis=1)
        return Sites(sites.precision[closest], sites.shift[closest])


def _log_density(theta: Array) -> tuple[Array, Array]:
    """log p(theta) and its gradient, up to a constant: (S,), (S, d + 2)."""
    d = theta.shape[1] - 2
    squares = np.exp(2.0 * theta[:, :d]) / _RATE**2
    centers, sds = np.array([_LOG_VARIANCE, _MEAN]).T
    off = (theta[:, d:] - centers) / sds
    value = -np.log1p(squares).sum(axis=1) - 0.5 * (off**2).sum(axis=1)
    slope = np.concatenate([-2.0 * squares / (1.0 + squares), -off / sds], axis=1)
    return value, slope
