"""Fantasy states: what has been decided on, as it may come out, and what one more query gains.

State i holds an outcome of every point that is fixed. Given those, the belief at a query x is

    N(mean(x) + loadings(x) . z_i,  variance(x))                                      (eq. 3)

with base draws z_i, and a variance that all states share. So a state is a row of z together with
the utility that it holds, its floor, and the expected gain of one more query is the average of
closed forms over the states (eq. 9-11). Fantasies concern the latent f: they carry no noise.

Beliefs have a trailing axis of K independent outcomes, each with a posterior of its own. Utilities
of one outcome are given arrays without that axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.acquisition.shards import PreparedSets, shards
from innerloop.acquisition.utility import Gain, Utility
from innerloop.batches.chance import Chance
from innerloop.errors import InputError
from innerloop.surrogate.model import JointBelief, Model, Surrogate
from innerloop.surrogate.own_model import surrogate_of
from innerloop.types import Array

ALL = slice(None)
# Queries whose beliefs are worked out at a time, where there are many.
_SHARD = 4096
# The unit of totals in log space: how many queries are valued in full to find it, after a glance
# at how many states; and the logarithm of the largest gain in that unit.
_UNIT_QUERIES, _UNIT_STATES, _LARGEST_EXPONENT = 8, 16, 600.0


@dataclass(eq=False, slots=True)  # not frozen: it is made in the innermost loop, which that slows
class Beliefs:
    """What the gains of N queries depend on, given the data and j fixed points.

    Args:
        X: (N, d), the queries.
        mean: (N, K), under the data alone.
        variance: (N, K), given all, as it is computed, also where it is rounding error.
        sd: (N, K), its root, never below what is not rounding error.
        loadings: (N, j, K), on the draws of the fixed outcomes.
        sources: the beliefs that all came from, one for each outcome, unless there are too many
            queries.
    """

    X: Array
    mean: Array
    variance: Array
    sd: Array
    loadings: Array
    sources: tuple[JointBelief, ...] = ()

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Beliefs:
        """Those at some of the queries."""
        return Beliefs(
            self.X[rows], self.mean[rows], self.variance[rows], self.sd[rows], self.loadings[rows]
        )


@dataclass(frozen=True, eq=False)
class States:
    """m fantasies of the outcomes at fixed points, and the utility that each of them holds.

    Args:
        utility: what outcomes are worth.
        posteriors: K of them, given the data alone.
        z: (m, columns, K), base draws, whose column j is for the j-th fixed point.
        points: (j, d), fixed so far.
        floor: (m,), the utility each state holds, (1,) before anything is fixed, or None where the
            empty batch has no utility.
        log_weights: (m,), where z are no plain draws: logarithms of the states' weights.
        before: the states that these extend.
        last: the beliefs at the points that those did not have, one for each outcome, if they were
            worked out.
        blur: a standard deviation by which all outcomes are taken to be less sure than they are.
    """

    utility: Utility
    posteriors: tuple[Surrogate, ...]
    z: Array
    points: Array
    floor: Array | None
    log_weights: Array | None = None
    before: States | None = None
    last: tuple[JointBelief, ...] | None = None
    blur: float = 0.0

    @staticmethod
    def start(
        utility: Utility,
        posteriors: tuple[Surrogate, ...],
        z: Array,
        log_weights: Array | None = None,
    ) -> States:
        """The one state in which nothing is fixed; z: (m, columns), or (m, columns, K)."""
        nothing = np.zeros((0, posteriors[0].d))
        draws = z if z.ndim == 3 else z[..., None]
        return States(utility, posteriors, draws, nothing, utility.nothing_held(), log_weights)

    @property
    def m(self) -> int:
        """How many states there are: 1 before anything is fixed."""
        return len(self.z) if len(self.points) else 1

    @cached_property
    def given(self) -> tuple[Surrogate, ...]:
        """The posteriors given the fixed points too; worked out when first needed, in O(n^2)."""
        if self.before is None:
            return self.posteriors
        new = self.points[len(self.before.points) :]
        beliefs = self.last or (None,) * len(self.posteriors)
        return tuple(
            posterior.fantasize(new, belief=belief)
            for posterior, belief in zip(self.before.given, beliefs, strict=True)
        )

    @cached_property
    def _smallest(self) -> Array:
        """Variances below these are rounding error: (K,)."""
        return np.array([each.smallest_variance for each in self.posteriors])

    def beliefs(self, X: Array) -> Beliefs:
        """What gains depend on at queries X (N, d)."""
        if len(self.given) == 1:  # the axis of queries in a set of one becomes that of outcomes
            one = self.given[0].unchecked_belief(X[:, None])
            variance, loadings = one.cov[:, 0], one.loadings[:, 0, :, None]
            return Beliefs(X, one.mean, variance, self._sd(variance), loadings, (one,))
        sources = tuple(each.unchecked_belief(X[:, None]) for each in self.given)
        mean = np.concatenate([each.mean for each in sources], axis=1)
        variance = np.concatenate([each.cov[:, 0] for each in sources], axis=1)
        loadings = np.stack([each.loadings[:, 0] for each in sources], axis=-1)
        return Beliefs(X, mean, variance, self._sd(variance), loadings, sources)

    def many_beliefs(self, X: Array) -> Beliefs:
        """The same for any number of queries, in bounded memory."""
        parts = [self.beliefs(X[i : i + _SHARD]) for i in range(0, len(X), _SHARD)]
        return Beliefs(
            X,
            np.concatenate([each.mean for each in parts]),
            np.concatenate([each.variance for each in parts]),
            np.concatenate([each.sd for each in parts]),
            np.concatenate([each.loadings for each in parts]),
        )

    def gains(self, beliefs: Beliefs, *, log: bool = False, some: slice = ALL) -> Gain:
        """The expected gain of each query in some of the states (eq. 11), or its logarithm.

        Args:
            beliefs: at N queries.
            log: whether to give logarithms, for utilities that have them.
            some: which of the states.

        Returns:
            Values (N, m), with their derivatives in mean, shift and sd.
        """
        grade = self.utility.log_gain if log else self.utility.gain
        floor = None if self.floor is None else self.floor[some]
        mean, shift, sd = beliefs.mean, self.shift(beliefs, some), beliefs.sd
        if len(self.posteriors) == 1:
            gain = grade(mean, shift[..., 0], sd, floor)
        else:
            gain = grade(mean[:, None], shift, sd[:, None], floor)
        if not isinstance(gain, Gain) or np.shape(gain.value) != shift.shape[:2]:
            got = checks.shown(gain.value if isinstance(gain, Gain) else gain)
            raise InputError(
                f"{type(self.utility).__name__}.{grade.__name__} must return a Gain with value of "
                f"shape {shift.shape[:2]}, got {got}"
            )
        if self.log_weights is None:
            return gain
        return gain._replace(value=gain.value + self.log_weights[some])

    def shift(self, beliefs: Beliefs, some: slice = ALL) -> Array:
        """By how much some of the states move the mean of each query: (N, m, K)."""
        loadings = beliefs.loadings
        N, j, K = loadings.shape
        if j == 0:
            return np.zeros((N, 1, K))[:, some]
        if K == 1:
            return (loadings[..., 0] @ self.z[some, :j, 0].T)[..., None]
        return np.stack([loadings[..., k] @ self.z[some, :j, k].T for k in range(K)], axis=-1)

    def extend(self, points: Array, succeeds: NDArray[np.bool_] | None = None) -> States:
        """Fix points too, and fantasize their outcomes once per state (eq. 3).

        The first extension turns the one state into m; later ones keep their number, and outcomes
        are never resampled (appendix B.3).

        Args:
            points: (p, d).
            succeeds: (m, p), in which states an evaluation has an outcome to hold; by default in
                all.

        Returns:
            The states with those outcomes held.
        """
        fixed = len(self.points) + len(points)
        beliefs = tuple(each.unchecked_belief(points) for each in self.given)
        paths = [belief.paths for belief in beliefs]
        mean = np.stack([path.mean for path in paths], axis=-1)
        residual = np.stack(
            [path.factor @ self.z[:, :fixed, k].T for k, path in enumerate(paths)], axis=-1
        )
        return replace(self._holding(points, mean, residual, succeeds), last=beliefs)

    def update(
        self, beliefs: Beliefs, i: int, succeeds: NDArray[np.bool_] | None = None
    ) -> tuple[States, Beliefs]:
        """Fix the i-th of the queries whose beliefs are at hand, and bring these up to date.

        All beliefs move with the outcome there by one column of covariances: the rank-one update
            loading = cov(f(x), f(x_i)) / sd(x_i),  variance <- variance - loading^2.
        No posterior is extended.

        Args:
            beliefs: at N queries, given these states.
            i: which of the queries.
            succeeds: (m, 1), in which states there is an outcome; by default in all.

        Returns:
            The states with that outcome held, and the beliefs given those.
        """
        j, sd = beliefs.loadings.shape[1], beliefs.sd[i]
        residual = self.shift(beliefs[i : i + 1])[0] + sd * self.z[:, j]  # (m, K)
        states = self._holding(
            beliefs.X[i : i + 1], beliefs.mean[i : i + 1], residual[None], succeeds
        )
        column = self._covariances(beliefs, i) / sd
        # No outcome moves with another by more than it varies at all: where next to no variance
        # is left, anything more is rounding error, which the next column would multiply.
        column = np.clip(column, -beliefs.sd, beliefs.sd)
        variance = beliefs.variance - column**2
        loadings = np.concatenate([beliefs.loadings, column[:, None]], axis=1)
        updated = replace(beliefs, variance=variance, sd=self._sd(variance), loadings=loadings)
        return states, updated

    @property
    def still_open(self) -> States:
        """These states; or, if none of them can gain any more, as if the last points held nothing.

        What comes next is then for the case that those points gain nothing.
        """
        before, bar = self.before, self.utility.bar(self.floor)
        if before is None or before.floor is None or bar is None or np.isfinite(bar).any():
            return self
        return replace(self, floor=np.resize(before.floor, len(self.z)))

    def relative_error(self, x: Array, *, log: bool) -> float:
        """Standard error of the gain of one query x (d,) over the states, as a share of it."""
        gain = self.gains(self.beliefs(x[None]), log=log).value
        top = gain.max()
        if gain.size == 1 or not np.isfinite(top):
            return 0.0
        gains = np.exp(gain - top) if log else gain
        return float(gains.std() / (np.abs(gains.mean()) * np.sqrt(gains.size)))

    def _sd(self, variance: Array) -> Array:
        sd: Array = np.sqrt(np.maximum(variance, self._smallest) + self.blur**2)
        return sd

    def _holding(
        self, points: Array, mean: Array, residual: Array, succeeds: NDArray[np.bool_] | None
    ) -> States:
        """With outcomes mean (p, K) + residual (p, m, K) at points (p, d) held besides."""
        counts = None if succeeds is None else succeeds.T
        mean = mean[:, None]
        if len(self.posteriors) == 1:
            mean, residual = mean[..., 0], residual[..., 0]
        floor = self.utility.hold(self.floor, mean, residual, counts)
        fixed = np.concatenate([self.points, points])
        return replace(self, points=fixed, floor=floor, before=self, last=None)

    def _covariances(self, beliefs: Beliefs, i: int) -> Array:
        """Covariance of every query with the i-th, given data and fixed points: (N, K)."""
        sources = beliefs.sources or (None,) * len(self.posteriors)
        loadings = beliefs.loadings
        columns = [
            each.covariances(beliefs.X, i, source) - loadings[..., k] @ loadings[i, :, k]
            for k, (each, source) in enumerate(zip(self.posteriors, sources, strict=True))
        ]
        return np.stack(columns, axis=-1)


class Incremental:
    """Delta(x; X_<j) = 1/m sum_i EI_l(x; D_i), in closed form over fantasy states (eq. 9-11).

    `States` as a function of single queries, X (R, 1, d), with its gradient.

    Args:
        utility: a myopic maximal `Utility`.
        posterior: the belief given the data: a `Posterior`, or a `Model` of your own.
        z: base draws (m, q); column j fantasizes the j-th point that `extend` fixes.
        log: whether values are logarithms of gains, exact and stable where gains underflow; for
            utilities that have them, such as EI and PI.
    """

    def __init__(
        self, utility: Utility, posterior: Model, z: ArrayLike, *, log: bool = False
    ) -> None:
        if not isinstance(utility, Utility):
            raise InputError(
                f"the incremental form needs a myopic maximal utility, got "
                f"{type(utility).__name__}; use Joint with the chosen points as pending"
            )
        surrogate = surrogate_of(posterior)
        if log and not utility.has_log_gain:
            raise InputError(f"{type(utility).__name__} has no gain in log space")
        draws = checks.base_draws("z", z).copy()
        self._bind(States.start(utility, (surrogate,), draws), log, None, ALL)

    @classmethod
    def of(
        cls, states: States, *, log: bool, chance: Chance | None = None, some: slice = ALL
    ) -> Incremental:
        """The gains over some of the states of a `States`.

        Args:
            states: what is fixed so far.
            log: whether values are logarithms of gains.
            chance: with log=True, that gains come about.
            some: which of the states count.

        Returns:
            A function of single queries.
        """
        new = object.__new__(cls)
        new._bind(states, log, chance, some)
        return new

    def _bind(self, states: States, log: bool, chance: Chance | None, some: slice) -> None:
        self.states, self.log = states, log
        self._chance, self._some = chance, some
        self._d = states.posteriors[0].d
        self._floats = self._floats_per_query(self.draws)

    def extend(self, x: ArrayLike) -> Incremental:
        """Fix one point or several, and fantasize their outcomes once per state.

        The first extension turns the single state into m; later ones keep their number, and
        outcomes are never resampled (appendix B.3). O(n^2 + m j) for the j-th point.

        Args:
            x: (d,), or (p, d).

        Returns:
            The gains of one more query given these.
        """
        points = checks.points("x", np.atleast_2d(checks.floats("x", x)), self._d)
        columns, fixed = self.states.z.shape[1], len(self.states.points) + len(points)
        if fixed > columns:
            raise InputError(
                f"z has {columns} columns, but {fixed} points are to be fixed; "
                "give z one column for every fixed point"
            )
        return Incremental.of(
            self.states.extend(points), log=self.log, chance=self._chance, some=self._some
        )

    @property
    def draws(self) -> int:
        """m, the number of fantasy states: 1 before anything is fixed."""
        return len(range(*self._some.indices(self.states.m)))

    def value(self, X: ArrayLike) -> Array:
        """Gains of R queries, or their logarithms.

        Args:
            X: (R, 1, d), the queries.

        Returns:
            (R,).
        """
        queries, values = self._queries(X), []
        for rows in shards(len(queries), self._floats):
            beliefs = self.states.beliefs(queries[rows])
            gain = self.states.gains(beliefs, log=self.log, some=self._some)
            values.append(self._average(gain)[0])
        value = checks.numbers(self.states.utility, _joined(values))
        return value if self._chance is None else value + self._chance.log(queries)[0]

    def value_and_grad(self, X: ArrayLike) -> tuple[Array, Array]:
        """Gains of R queries, or their logarithms, with gradients (eq. 5).

        Args:
            X: (R, 1, d), the queries.

        Returns:
            (R,) and (R, 1, d).
        """
        queries, values, grads = self._queries(X), [], []
        for rows in shards(len(queries), self._floats):
            beliefs = self.states.beliefs(queries[rows])
            gain = self.states.gains(beliefs, log=self.log, some=self._some)
            value, weights = self._average(gain)
            values.append(value)
            grads.append(self._pulled_back(beliefs, gain, weights))
        value, grad = checks.numbers(self.states.utility, _joined(values)), _joined(grads)
        if self._chance is not None:
            log_chance, slope = self._chance.log(queries)
            value, grad = value + log_chance, grad + slope[:, None]
        return value, grad

    def prepare(self, X: ArrayLike) -> PreparedSets[Beliefs]:
        """The beliefs at R single queries, to be graded in any of the states at a time.

        Totals are sums of gains, also with log=True: then in units of exp(`log_unit`), which is
        about the gain of the best query, so that those that matter do not underflow.

        Args:
            X: (R, 1, d), the queries.

        Returns:
            The beliefs, ready to be graded.
        """
        beliefs = self.states.many_beliefs(self._queries(X))
        log_unit = self._log_unit(beliefs) if self.log else 0.0

        def total(beliefs: Beliefs, first: int, last: int) -> Array:
            gain = self.states.gains(beliefs, log=self.log, some=slice(first, last)).value
            if self.log:
                gain = np.exp(np.minimum(gain - log_unit, _LARGEST_EXPONENT))
            total: Array = gain.sum(axis=1)
            return total

        return PreparedSets(beliefs, total, self._floats_per_query, log_unit)

    def _queries(self, X: ArrayLike) -> Array:
        """X checked, without the axis of the one query: (R, d)."""
        return checks.query_sets("X", X, self._d, q=1)[:, 0]

    def _floats_per_query(self, states: int) -> int:
        n = self.states.posteriors[0].n + len(self.states.points)
        return n + states * self.states.utility.floats_per_gain

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

    def _pulled_back(self, beliefs: Beliefs, gain: Gain, weights: Array | float) -> Array:
        """The gradient in the queries (R, 1, d): eq. 5, through every belief."""
        if len(beliefs.sources) > 1 and not isinstance(weights, float):
            weights = weights[..., None]  # the same for all outcomes
        d_shift = weights * gain.d_shift
        d_mean = (d_shift if gain.d_mean is gain.d_shift else weights * gain.d_mean).sum(axis=1)
        d_sd = (weights * gain.d_sd).sum(axis=1)
        if len(beliefs.sources) == 1:
            return self._pulled_back_to(beliefs, 0, d_mean, d_shift, d_sd)
        pulled = [
            self._pulled_back_to(beliefs, k, d_mean[..., k], d_shift[..., k], d_sd[..., k])
            for k in range(len(beliefs.sources))
        ]
        return np.asarray(np.sum(pulled, axis=0))

    def _pulled_back_to(
        self, beliefs: Beliefs, k: int, d_mean: Array, d_shift: Array, d_sd: Array
    ) -> Array:
        """The same through the belief of the k-th outcome: (R,), (R, m), (R,) -> (R, 1, d)."""
        states, j, sd = self.states, beliefs.loadings.shape[1], beliefs.sd[:, k]
        d_variance = (beliefs.variance[:, k] > states._smallest[k]) * (0.5 * d_sd / sd)
        d_loadings = d_shift @ states.z[self._some, :j, k] if j else None
        return beliefs.sources[k].pullback(d_mean, d_variance, d_loadings)

    def _log_unit(self, beliefs: Beliefs) -> float:
        """About the largest log gain: that of queries which promise most in the first states."""
        promise = np.concatenate(
            [
                self.states.gains(beliefs[rows], log=True, some=slice(_UNIT_STATES)).value.max(1)
                for rows in shards(len(beliefs), self._floats_per_query(_UNIT_STATES))
            ]
        )
        best = self.value(beliefs.X[np.argsort(-promise)[:_UNIT_QUERIES]][:, None]).max()
        return float(best) if np.isfinite(best) else 0.0


def _joined(parts: list[Array]) -> Array:
    """The parts one after the other; most often there is one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
