"""Exact greedy selection from a finite set of candidates, with lazy evaluation.

For the incremental form, what a candidate needs to be valued in any state are its beliefs, and
choosing a query brings those of all candidates up to date for the price of one row of covariances.
An optimistic gain, that of the most favourable state, costs a fraction of the true one, and only
candidates whose optimistic gain exceeds the best true gain are valued. The selection is the same
as if all had been.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.utility import Utility
from innerloop.batches.greedy import IncrementalRounds, Rounds
from innerloop.batches.problem import Filled, Problem, near
from innerloop.batches.states import ALL, Beliefs, States
from innerloop.errors import InputError
from innerloop.types import Array

# Candidates whose optimistic gains are worked out at a time, and whose true gains are.
_SHARD, _VALUED_AT_ONCE = 4096, 256
# States of several outcomes that share an optimistic gain.
_GROUP = 8


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
        self._least = self._held_at_least(utility)
        self._share = np.ones(len(candidates))
        if problem.chance is not None:
            self._share = np.exp(problem.chance.log(candidates)[0])

    def _held_at_least(self, utility: Utility) -> _Least | None:
        """With several outcomes, what groups of states hold of the pending points."""
        nothing, pending, z = utility.nothing_held(), self._problem.pending, self._states.z
        if utility.outcomes == 1 or nothing is None:
            return None
        least = _Least(utility, len(z), nothing)
        if not len(pending):
            return least
        paths = [each.unchecked_belief(pending).paths for each in self._problem.posteriors]
        Y = [
            path.mean[:, None] + path.factor @ z[:, : len(pending), k].T
            for k, path in enumerate(paths)
        ]
        return least.holding(np.stack(Y, axis=-1))

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
        if self._least is not None:
            self._least = self._least.holding(
                _outcomes(self._beliefs, index, self._states), succeeds
            )
        states, self._beliefs = self._states.update(self._beliefs, index, succeeds)
        self._states = states.still_open

    def _optimistic(self, rows: slice) -> Array:
        """A gain that the average over states does not exceed: (N,)."""
        beliefs, states = self._beliefs[rows], self._states
        shift = states.shift(beliefs, ALL)
        if self._least is not None:
            bound = self._least.gain(beliefs, shift)
        else:  # the most favourable shifts over the lowest floor
            extremes = np.stack([shift.max(axis=1), shift.min(axis=1)], axis=1)[..., 0]
            lowest = None if states.floor is None else np.full(2, states.floor.min())
            gain = states.utility.gain(beliefs.mean, extremes, beliefs.sd, lowest)
            bound = gain.value.max(axis=1)
        # Room for the rounding error of an average that equals its bound.
        return bound + 1e-9 * np.abs(bound)


@dataclass(frozen=True, eq=False)
class _Least:
    """The least that the states of each group hold, for utilities of several outcomes.

    Gains grow with the mean of every objective, fall with that of every constraint, and fall with
    what is held. So no state of a group gains more than one with the most favourable shift of each
    outcome that holds what the least favourable outcomes would leave it with.

    Args:
        utility: what outcomes are worth.
        m: the number of states.
        floor: (G, ...), what each group holds at least; (1, ...) before anything is fixed.
    """

    utility: Utility
    m: int
    floor: Array

    def holding(self, Y: Array, succeeds: NDArray[np.bool_] | None = None) -> _Least:
        """With outcomes Y (p, m, K) held besides, in states where evaluations succeed, (m, p)."""
        groups = self._groups(self.m)
        worst = self._extremes(Y, groups, favourable=False)
        counts = None if succeeds is None else np.logical_and.reduceat(succeeds.T, groups, axis=1)
        return replace(self, floor=self.utility.hold(self.floor, worst, np.zeros(1), counts))

    def gain(self, beliefs: Beliefs, shift: Array) -> Array:
        """No less than the average gain of states that move the beliefs by shift (N, m, K)."""
        groups = self._groups(shift.shape[1])
        sizes = np.diff(groups, append=shift.shape[1])
        best = self._extremes(shift, groups, favourable=True)
        gain = self.utility.gain(beliefs.mean[:, None], best, beliefs.sd[:, None], self.floor)
        bound: Array = gain.value @ sizes / shift.shape[1]
        return bound

    def _groups(self, m: int) -> NDArray[np.intp]:
        """The first state of each group."""
        return np.arange(0, m, _GROUP)

    def _extremes(self, values: Array, groups: NDArray[np.intp], *, favourable: bool) -> Array:
        """The most or the least favourable value of each outcome in a group: (N, G, K)."""
        M = self.utility.objectives
        up, down = np.maximum.reduceat, np.minimum.reduceat
        of_objectives, of_constraints = (up, down) if favourable else (down, up)
        parts = [of_objectives(values[..., :M], groups, axis=1)]
        if values.shape[-1] > M:
            parts.append(of_constraints(values[..., M:], groups, axis=1))
        return np.concatenate(parts, axis=-1)


def _outcomes(beliefs: Beliefs, i: int, states: States) -> Array:
    """The outcomes that `States.update` fantasizes for the i-th query: (1, m, K)."""
    j, one = beliefs.loadings.shape[1], beliefs[i : i + 1]
    return one.mean[:, None] + states.shift(one) + one.sd[:, None] * states.z[:, j]
