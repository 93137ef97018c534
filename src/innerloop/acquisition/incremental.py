"""The incremental form: expected gain of one more query over m fantasy states (eq. 9-11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.acquisition.acquisition import Acquisition
from innerloop.acquisition.fantasies import Fantasies
from innerloop.acquisition.prepared import PreparedSets
from innerloop.acquisition.shards import Evaluation, in_shards
from innerloop.acquisition.utility import Gain, Utility
from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.surrogate.gaussian_process import Belief, Posterior

# The unit of totals in log space: how many queries are valued in full to find it, after a glance
# at how many states; and the logarithm of the largest gain in that unit.
_UNIT_QUERIES, _UNIT_STATES, _LARGEST_EXPONENT = 8, 16, 600.0


@dataclass(frozen=True, eq=False)
class Incremental(Acquisition):
    """Delta(x; X_<j) = 1/m sum_i EI_l(x; D_i), in closed form over fantasy states (eq. 9-11).

    A q = 1 objective: X is (R, 1, d). z: base draws (m, q); column j fantasizes the j-th point
    fixed by `extend`. With log=True, the logarithm of the gain, exact and stable where the gain
    itself underflows (EI and PI).

    fantasies, floor: the points fixed so far, and the utility (m,) each state already holds.
    log_weights: (m,), with log=True, where z are no plain draws: logarithms of the states' weights.
    """

    utility: Utility
    posterior: Posterior
    z: Array
    log: bool = field(default=False, kw_only=True)
    fantasies: Fantasies = field(default=None, kw_only=True, repr=False)  # type: ignore[assignment]
    floor: Array | None = field(default=None, kw_only=True, repr=False)
    log_weights: Array | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.utility, Utility):
            raise InputError(
                f"the incremental form needs a myopic maximal utility, got "
                f"{type(self.utility).__name__}; use Joint with the chosen points as pending"
            )
        checks.instance("posterior", self.posterior, Posterior, "a Posterior")
        if self.log_weights is not None and not self.log:
            raise InputError("weights of states go with log=True")
        if self.log and not self.utility.has_log_gain:
            raise InputError(f"{type(self.utility).__name__} has no gain in log space")
        if self.fantasies is None:
            object.__setattr__(self, "z", checks.base_draws("z", self.z).copy())
            object.__setattr__(self, "fantasies", Fantasies(self.posterior))
            object.__setattr__(self, "floor", self.utility.nothing_held())

    def extend(self, x: ArrayLike, *, succeeds: NDArray[np.bool_] | None = None) -> Incremental:
        """Fix a point x (d,), or several (p, d), and fantasize the outcome once per state.

        The first extension turns the single state into m; later ones keep their number, and
        outcomes are never resampled (appendix B.3). O(n^2 + m j) for the j-th point. succeeds:
        (m, p), in which states an evaluation has an outcome to hold; by default in all.
        """
        points = checks.points("x", np.atleast_2d(checks.floats("x", x)), self.posterior.d)
        fixed = self.fantasies.size + points.shape[0]
        if fixed > self.z.shape[1]:
            raise InputError(
                f"z has {self.z.shape[1]} columns, but {fixed} points are to be fixed; "
                "give z one column for every fixed point"
            )
        fantasies, (mean, factor) = self.fantasies.append(points)
        residual = factor @ self.z[:, :fixed].T
        counts = None if succeeds is None else succeeds.T
        floor = self.utility.hold(self.floor, mean[:, None], residual, counts)
        return replace(self, fantasies=fantasies, floor=floor)

    @property
    def draws(self) -> int:
        """m, the number of fantasy states: 1 before anything is fixed."""
        return len(self.z) if self.fantasies.size else 1

    def thinned(self, states: int) -> Incremental:
        """A rougher and cheaper estimate from about that many of the states, evenly chosen."""
        every = slice(None, None, max(1, len(self.z) // states))
        few = [None if each is None else each[every] for each in (self.floor, self.log_weights)]
        return replace(self, z=self.z[every], floor=few[0], log_weights=few[1])

    def relative_error(self, x: ArrayLike) -> float:
        """Standard error of the gain of one query x (d,) over the states, as a share of it."""
        queries = checks.points("x", np.atleast_2d(checks.floats("x", x)), self.posterior.d)
        gain = self._gain(self.fantasies.posterior.unchecked_belief(queries[:, None])).value
        top = gain.max()
        if gain.size == 1 or not np.isfinite(top):
            return 0.0
        gains = np.exp(gain - top) if self.log else gain
        return float(gains.std() / (np.abs(gains.mean()) * np.sqrt(gains.size)))

    def prepare(self, X: ArrayLike) -> PreparedSets:
        """The beliefs at R single queries (R, 1, d), to be graded in any of the states at a time.

        Totals are sums of gains, also with log=True: then in units of exp(`log_unit`), which is
        about the gain of the best query, so that those that matter do not underflow.
        """
        queries = checks.query_sets("X", X, self.posterior.d, q=1)
        beliefs, _ = in_shards(
            lambda shard: (self._beliefs(shard), None), queries, self._floats_per_query(1)
        )
        log_unit = self._log_unit(queries, beliefs) if self.log else 0.0

        def total(beliefs: Array, first: int, last: int) -> Array:
            gain = self._gain_from(beliefs, first, last)
            if self.log:
                gain = np.exp(np.minimum(gain - log_unit, _LARGEST_EXPONENT))
            total: Array = gain.sum(axis=1)
            return total

        return PreparedSets(beliefs, total, self._floats_per_query, log_unit)

    def _log_unit(self, queries: Array, beliefs: Array) -> float:
        """About the largest log gain: that of queries which promise most in the first states."""
        promise, _ = in_shards(
            lambda shard: (self._gain_from(shard, 0, _UNIT_STATES).max(axis=1), None),
            beliefs,
            self._floats_per_query(_UNIT_STATES),
        )
        best = self.value(queries[np.argsort(-promise)[:_UNIT_QUERIES]]).max()
        return float(best) if np.isfinite(best) else 0.0

    def _gain_from(self, beliefs: Array, first: int, last: int) -> Array:
        """Gain (R, last - first) in some of the states, from what `_beliefs` gave."""
        mean, variance, loadings = beliefs[:, :1], beliefs[:, 1:2], beliefs[:, 2:]
        return self._gain_in(slice(first, last), mean, variance, loadings).value

    def _beliefs(self, X: Array) -> Array:
        """Mean, variance and loadings of each query, side by side: (R, 2 + size)."""
        belief = self.fantasies.posterior.unchecked_belief(X)
        loadings = self.fantasies.loadings(belief)[:, 0]
        return np.concatenate([belief.mean, belief.cov[:, 0], loadings], axis=1)

    def _floats_per_query(self, states: int) -> int:
        return self.fantasies.posterior.n + states * self.utility.floats_per_gain

    def _evaluate(self, X: ArrayLike, gradient: bool) -> Evaluation:
        sets = checks.query_sets("X", X, self.posterior.d, q=1)
        floats = self._floats_per_query(len(self.z))
        return in_shards(lambda shard: self._evaluate_shard(shard, gradient), sets, floats)

    def _evaluate_shard(self, X: Array, gradient: bool) -> Evaluation:
        belief = self.fantasies.posterior.unchecked_belief(X)
        gain = self._gain(belief)
        value, weights = self._average(gain)
        if not gradient:
            return value, None
        d_shift = weights * gain.d_shift
        d_mean = (d_shift if gain.d_mean is gain.d_shift else weights * gain.d_mean).sum(axis=1)
        d_sd = (weights * gain.d_sd).sum(axis=1)
        variance = belief.cov[:, 0, 0]
        d_variance = (variance > self.posterior.gp.kernel.smallest_variance) * (
            0.5 * d_sd / self._sd(variance)
        )
        d_loadings = d_shift @ self.z[:, : self.fantasies.size] if self.fantasies.size else None
        return value, belief.pullback(d_mean, d_variance, d_loadings)

    def _sd(self, variance: Array) -> Array:
        sd: Array = np.sqrt(np.maximum(variance, self.posterior.gp.kernel.smallest_variance))
        return sd

    def _gain(self, belief: Belief) -> Gain:
        """Gain (R, m) of every query in every state; one state before anything is fixed."""
        loadings = self.fantasies.loadings(belief)[:, 0]
        return self._gain_in(slice(None), belief.mean, belief.cov[:, 0], loadings)

    def _gain_in(self, states: slice, mean: Array, variance: Array, loadings: Array) -> Gain:
        """Gain in some of the states; mean, variance: (R, 1), loadings: (R, size)."""
        size = self.fantasies.size
        shift = loadings @ self.z[states, :size].T if size else np.zeros_like(mean)[:, states]
        floor = None if self.floor is None else self.floor[states]
        grade = self.utility.log_gain if self.log else self.utility.gain
        gain = grade(mean, shift, self._sd(variance), floor)
        if self.log_weights is None:
            return gain
        return gain._replace(value=gain.value + self.log_weights[states])

    def _average(self, gain: Gain) -> tuple[Array, Array | float]:
        """Average over states (R,), and the weight (R, m) of each state in its gradient."""
        states = gain.value.shape[1]
        if not self.log:
            return gain.value.sum(axis=1) / states, 1.0 / states
        # log 1/m sum_i exp(log gain_i); a query that gains nothing in any state is at -inf.
        top = gain.value.max(axis=1, keepdims=True)
        weights = np.exp(gain.value - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(axis=1, keepdims=True)
        weights /= np.where(total > 0.0, total, 1.0)
        with np.errstate(divide="ignore"):
            return (top + np.log(total / states))[:, 0], weights
