"""Exact greedy selection from a finite set of candidates, with lazy evaluation.

For the incremental form, what a candidate needs to be valued in any state is its mean, its
variance and its loadings on the fantasies; choosing a query adds one loading to each, for the
price of one row of covariances. An optimistic gain, that of the most favourable state, costs a
fraction of the true one, and only candidates whose optimistic gain exceeds the best true gain
are valued. The selection is the same as if all had been.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.utilities import (
    ExpectedImprovement,
    ProbabilityOfImprovement,
    SimpleRegret,
    UpperConfidenceBound,
)
from innerloop.acquisition.utility import Utility
from innerloop.batches.certificate import certified_choice
from innerloop.batches.problem import Filled, Problem, near
from innerloop.batches.rounds import IncrementalRounds, extended, make_rounds
from innerloop.checks import Array
from innerloop.errors import InputError

# Candidates that are worked on at a time.
_SHARD = 4096
_VALUED_AT_ONCE = 256
# Gains of these only grow with a state's mean and fall with what it holds: they have optimists.
_MONOTONE = (ExpectedImprovement, ProbabilityOfImprovement, SimpleRegret, UpperConfidenceBound)


def choose_from(candidates: Array, problem: Problem) -> Filled:
    """q of the candidates (N, d), each adding the most to those before."""
    if len(candidates) < problem.q:
        raise InputError(f"q={problem.q} queries were asked of {len(candidates)} candidates")
    gains: _Gains
    if problem.settings.form == "incremental" and isinstance(problem.utility, _MONOTONE):
        gains = _LazyGains(candidates, problem)
    else:
        gains = _PlainGains(candidates, problem)
    available = ~near(candidates, problem.taken)
    everything = np.ones(len(candidates), dtype=bool)
    chosen: list[int] = []
    best_gains: list[float] = []
    largest: list[float] = []
    for j in range(problem.q + problem.certify):
        if not available.any():  # nothing new is left: what was seen before is better than nothing
            available = everything.copy()
            available[chosen] = False
        # Other batches may hold what was seen before, or is close to a choice.
        index, gain = gains.largest(everything)
        largest.append(gain)
        if j == problem.q:
            break
        if not available[index]:
            index, gain = gains.largest(available)
        best_gains.append(gain)
        chosen.append(index)
        available &= ~near(candidates, candidates[index][None])
        if j + 1 < problem.q + problem.certify:
            gains.fix(index)
    if isinstance(problem.utility, Utility):
        return certified_choice(candidates[chosen], largest, problem)
    return Filled(candidates[chosen], float(np.sum(best_gains)), np.array(best_gains), None)


class _Gains(Protocol):
    """Gains of all candidates, given those that are fixed."""

    def largest(self, available: NDArray[np.bool_]) -> tuple[int, float]:
        """The available candidate that adds the most, the first of equals, and what it adds."""

    def fix(self, index: int) -> None:
        """Choose a candidate."""


class _PlainGains:
    """Every candidate is valued in every round; for any acquisition function."""

    def __init__(self, candidates: Array, problem: Problem) -> None:
        self._candidates = candidates
        self._rounds = make_rounds(problem)
        self._meter = problem.meter
        self._value = np.zeros(len(candidates))

    def largest(self, available: NDArray[np.bool_]) -> tuple[int, float]:
        rows = np.flatnonzero(available)
        self._value = np.full(len(self._candidates), -np.inf)
        self._value[rows] = self._rounds.exact.value(self._candidates[rows][:, None])
        self._meter.evaluations += len(rows)
        index = int(rows[np.argmax(self._value[rows])])
        return index, self._rounds.gain(float(self._value[index]))

    def fix(self, index: int) -> None:
        self._rounds.fix(self._candidates[index], float(self._value[index]))


class _LazyGains:
    """Closed-form gains over fantasy states, of few candidates in each round."""

    def __init__(self, candidates: Array, problem: Problem) -> None:
        self._candidates = candidates
        self._problem = problem
        self._state = IncrementalRounds(problem).state
        N = len(candidates)
        self._share: Array | float = 1.0
        if problem.chance is not None:
            self._share = np.exp(problem.chance.log(candidates)[0])
        self._mean, self._variance = np.empty(N), np.empty(N)
        fantasies = self._state.fantasies
        self._loadings = np.empty((N, fantasies.size))
        for rows in self._shards():
            belief = fantasies.posterior.unchecked_belief(candidates[rows][:, None])
            self._mean[rows], self._variance[rows] = belief.mean[:, 0], belief.cov[:, 0, 0]
            self._loadings[rows] = fantasies.loadings(belief)[:, 0]

    def largest(self, available: NDArray[np.bool_]) -> tuple[int, float]:
        bounds = np.full(len(self._candidates), -np.inf)
        for shard in self._shards():
            bounds[shard] = self._optimistic(shard)
        bounds *= self._share
        bounds[~available] = -np.inf
        best_index, best = -1, -np.inf
        order = np.argsort(-bounds, kind="stable")
        for i in range(0, len(order), _VALUED_AT_ONCE):
            rows = order[i : i + _VALUED_AT_ONCE]
            rows = rows[available[rows] & (bounds[rows] >= best)]
            if not rows.size:
                break
            gains = self._gains(rows)
            if not isinstance(self._share, float):
                gains = gains * self._share[rows]
            self._problem.meter.evaluations += len(rows)
            top = float(gains.max())
            index = int(rows[gains == top].min())
            if top > best or (top == best and index < best_index):
                best_index, best = index, top
        return best_index, best

    def fix(self, index: int) -> None:
        """Fantasize the outcome of a candidate, and how all others move with it."""
        x = self._candidates[index][None]
        posterior = self._state.fantasies.posterior
        features = posterior.unchecked_belief(x).features[0]
        weights = features @ posterior.whitener
        self._state = extended(self._state, x[0], self._problem)
        pivot = 1.0 / self._state.fantasies.posterior.whitener[-1, -1]
        column = np.empty(len(self._candidates))
        for rows in self._shards():
            with_chosen = posterior.gp.kernel(self._candidates[rows], x)[:, 0]
            with_observed, _ = posterior.cross_covariance(self._candidates[rows])
            column[rows] = (with_chosen - with_observed @ weights) / pivot
        # No outcome moves with another by more than it varies at all.
        most = np.sqrt(np.maximum(self._variance, 0.0))
        column = np.clip(column, -most, most)
        self._variance = self._variance - column**2
        self._loadings = np.column_stack([self._loadings, column])

    def _shards(self) -> list[slice]:
        return [slice(i, i + _SHARD) for i in range(0, len(self._candidates), _SHARD)]

    def _beliefs(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Mean (r, 1), shift (r, m) and sd (r, 1) of some candidates."""
        smallest = self._state.posterior.gp.kernel.smallest_variance
        sd = np.sqrt(np.maximum(self._variance[rows], smallest))[:, None]
        size = self._state.fantasies.size
        shift = self._loadings[rows] @ self._state.z[:, :size].T if size else np.zeros_like(sd)
        return self._mean[rows][:, None], shift, sd

    def _gains(self, rows: NDArray[np.intp]) -> Array:
        gain = self._state.utility.gain(*self._beliefs(rows), self._state.floor).value
        return np.asarray(gain.mean(axis=1))

    def _optimistic(self, rows: slice) -> Array:
        """A gain that no state exceeds: the most favourable shifts over the lowest floor."""
        mean, shift, sd = self._beliefs(rows)
        extremes = np.stack([shift.max(axis=1), shift.min(axis=1)], axis=1)
        floor = self._state.floor
        lowest = None if floor is None else np.full(2, floor.min())
        bound: Array = self._state.utility.gain(mean, extremes, sd, lowest).value.max(axis=1)
        # Room for the rounding error of an average that equals its bound.
        return bound + 1e-9 * np.abs(bound)
