"""The incremental form: expected gain of one more query over m fantasy states (eq. 9-11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks
from innerloop.acquisition.fantasies import Fantasies
from innerloop.acquisition.shards import Evaluation, in_shards
from innerloop.acquisition.utility import Gain, Utility
from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.surrogate.gaussian_process import Belief, Posterior

# Variances below this, relative to the kernel's, are rounding error.
_SMALLEST_VARIANCE = 1e-16


@dataclass(frozen=True, eq=False)
class Incremental:
    """Delta(x; X_<j) = 1/m sum_i EI_l(x; D_i), in closed form over fantasy states (eq. 9-11).

    A q = 1 objective: X is (R, 1, d). z: base draws (m, q); column j fantasizes the j-th point
    fixed by `extend`. With log=True, the logarithm of the gain, exact and stable where the gain
    itself underflows (EI and PI).

    fantasies, floor: the points fixed so far, and the utility (m,) each state already holds.
    """

    utility: Utility
    posterior: Posterior
    z: Array
    log: bool = field(default=False, kw_only=True)
    fantasies: Fantasies = field(default=None, kw_only=True, repr=False)  # type: ignore[assignment]
    floor: Array | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.utility, Utility):
            raise InputError(
                f"the incremental form needs a myopic maximal utility, got "
                f"{type(self.utility).__name__}; use Joint with the chosen points as pending"
            )
        checks.instance("posterior", self.posterior, Posterior, "a Posterior")
        if self.log and type(self.utility).log_gain is Utility.log_gain:
            raise InputError(f"{type(self.utility).__name__} has no gain in log space")
        if self.fantasies is None:
            object.__setattr__(self, "z", checks.base_draws("z", self.z).copy())
            object.__setattr__(self, "fantasies", Fantasies(self.posterior))
            object.__setattr__(self, "floor", self.utility.nothing_held(1))

    def extend(self, x: ArrayLike) -> Incremental:
        """Fix a point x (d,), or several (p, d), and fantasize the outcome once per state.

        The first extension turns the single state into m; later ones keep their number, and
        outcomes are never resampled (appendix B.3). O(n^2 + m j) for the j-th point.
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
        floor = self.utility.hold(self.floor, mean[:, None], residual)
        return replace(self, fantasies=fantasies, floor=floor)

    def value(self, X: ArrayLike) -> Array:
        """Expected gain of R single queries: (R, 1, d) -> (R,)."""
        return self._evaluate(X, gradient=False)[0]

    def value_and_grad(self, X: ArrayLike) -> tuple[Array, Array]:
        """Expected gain and its gradient: (R, 1, d) -> (R,), (R, 1, d)."""
        value, grad = self._evaluate(X, gradient=True)
        assert grad is not None  # narrows the type; asked for above
        return value, grad

    def _evaluate(self, X: ArrayLike, gradient: bool) -> Evaluation:
        sets = checks.query_sets("X", X, self.posterior.d, q=1)
        floats = self.fantasies.posterior.n + len(self.z) * self.utility.floats_per_gain
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
        d_variance = (variance > self._smallest) * (0.5 * d_sd / self._sd(variance))
        d_loadings = d_shift @ self.z[:, : self.fantasies.size] if self.fantasies.size else None
        return value, belief.pullback(d_mean, d_variance, d_loadings)

    @property
    def _smallest(self) -> float:
        return _SMALLEST_VARIANCE * self.posterior.gp.kernel.variance

    def _sd(self, variance: Array) -> Array:
        sd: Array = np.sqrt(np.maximum(variance, self._smallest))
        return sd

    def _gain(self, belief: Belief) -> Gain:
        """Gain (R, m) of every query in every state; one state before anything is fixed."""
        size = self.fantasies.size
        if size:
            shift = self.fantasies.loadings(belief)[:, 0] @ self.z[:, :size].T
        else:
            shift = np.zeros_like(belief.mean)
        grade = self.utility.log_gain if self.log else self.utility.gain
        return grade(belief.mean, shift, self._sd(belief.cov[:, 0]), self.floor)

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
