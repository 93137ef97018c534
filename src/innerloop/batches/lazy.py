"""Exact greedy selection from a finite set of candidates, with lazy evaluation.

For the incremental form, what a candidate needs to be valued in any state are its beliefs, and
choosing a query brings those of all candidates up to date for the price of one row of covariances.
An optimistic gain, that of the most favourable state, costs a fraction of the true one, and only
candidates whose optimistic gain exceeds the best true gain are valued. The selection is the same
as if all had been.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.utility import Utility
from innerloop.batches.greedy import IncrementalRounds, Rounds
from innerloop.batches.problem import Filled, Problem, near
from innerloop.batches.states import ALL
from innerloop.errors import InputError
from innerloop.types import Array

# Candidates whose optimistic gains are worked out at a time, and whose true gains are.
_SHARD, _VALUED_AT_ONCE = 4096, 256


def choose_from(candidates: Array, gains: Gains, problem: Problem) -> Filled:
    """q of the candidates (N, d), each adding the most to those before."""
    if len(candidates) < problem.q:
        raise InputError(f"q={problem.q} queries were asked of {len(candidates)} candidates")
    available = ~near(candidates, problem.taken)
    everything = np.ones(len(candidates), dtype=bool)
    chosen: list[int] = []
    estimates: list[float] = []
    largest: list[float] = []
    rounds = problem.q + problem.meter.budget.certify
    for j in range(rounds):
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
        estimates.append(gain)
        chosen.append(index)
        available &= ~near(candidates, candidates[index][None])
        if j + 1 < rounds:
            gains.fix(index)
    return Filled(candidates[chosen], np.array(estimates), largest=tuple(largest))


class Gains(Protocol):
    """Gains of all candidates, given those that are fixed."""

    def largest(self, available: NDArray[np.bool_]) -> tuple[int, float]:
        """The available candidate that adds the most, the first of equals, and what it adds."""

    def fix(self, index: int) -> None:
        """Choose a candidate."""


class PlainGains:
    """Every candidate is valued in every round; for any acquisition function."""

    def __init__(self, candidates: Array, rounds: Rounds, problem: Problem) -> None:
        self._candidates, self._rounds, self._meter = candidates, rounds, problem.meter
        self._value = np.zeros(len(candidates))

    def largest(self, available: NDArray[np.bool_]) -> tuple[int, float]:
        """The available candidate that adds the most, the first of equals, and what it adds."""
        rows = np.flatnonzero(available)
        self._value = np.full(len(self._candidates), -np.inf)
        self._value[rows] = self._rounds.exact.value(self._candidates[rows][:, None])
        self._meter.evaluations += len(rows)
        index = int(rows[np.argmax(self._value[rows])])
        return index, self._rounds.gain(float(self._value[index]))

    def fix(self, index: int) -> None:
        """Choose a candidate."""
        self._rounds.fix(self._candidates[index], float(self._value[index]))


class LazyGains:
    """Closed-form gains over fantasy states, of few candidates in each round."""

    def __init__(self, candidates: Array, utility: Utility, problem: Problem) -> None:
        self._problem = problem
        self._states = IncrementalRounds(utility, problem).states
        self._beliefs = self._states.many_beliefs(candidates)
        self._share = np.ones(len(candidates))
        if problem.chance is not None:
            self._share = np.exp(problem.chance.log(candidates)[0])

    def largest(self, available: NDArray[np.bool_]) -> tuple[int, float]:
        """The available candidate that adds the most, the first of equals, and what it adds."""
        N = len(self._beliefs)
        shards = (slice(i, i + _SHARD) for i in range(0, N, _SHARD))
        bounds = self._share * np.concatenate([self._optimistic(rows) for rows in shards])
        bounds[~available] = -np.inf
        best_index, best = -1, -np.inf
        order = np.argsort(-bounds, kind="stable")
        for i in range(0, N, _VALUED_AT_ONCE):
            rows = order[i : i + _VALUED_AT_ONCE]
            rows = rows[available[rows] & (bounds[rows] >= best)]
            if not rows.size:
                break
            gains = self._states.gains(self._beliefs[rows]).value.mean(axis=1) * self._share[rows]
            self._problem.meter.evaluations += len(rows)
            top = float(gains.max())
            index = int(rows[gains == top].min())
            if top > best or (top == best and index < best_index):
                best_index, best = index, top
        return best_index, best

    def fix(self, index: int) -> None:
        """Fantasize the outcome of a candidate, and how all others move with it."""
        x = self._beliefs.X[index : index + 1]
        succeeds = self._problem.successes(x, len(self._states.z))
        states, self._beliefs = self._states.update(self._beliefs, index, succeeds)
        self._states = states.still_open

    def _optimistic(self, rows: slice) -> Array:
        """A gain that no state exceeds: the most favourable shifts over the lowest floor."""
        beliefs, states = self._beliefs[rows], self._states
        mean, shift, sd = beliefs.mean, states.shift(beliefs, ALL), beliefs.sd
        if len(states.posteriors) == 1:
            shift = shift[..., 0]
        else:
            mean, sd = mean[:, None], sd[:, None]
        extremes, least = states.utility.most_favourable(shift, states.floor)
        gain = states.utility.gain(mean, extremes, sd, least)
        bound: Array = gain.value.max(axis=1)
        # Room for the rounding error of an average that equals its bound.
        return bound + 1e-9 * np.abs(bound)
