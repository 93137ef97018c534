"""Greedy choice of batches among some hundreds of candidates, for joint ascent to start from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.utility import Utility
from innerloop.batches.problem import Problem, near
from innerloop.batches.rounds import IncrementalRounds
from innerloop.checks import Array
from innerloop.surrogate.kernels import Kernel, ScaledPoints, squared_distances

# Rough gains will do: the batch is improved later.
_CHOOSING_STATES = 32
# Points more correlated than this are taken to lie on the same hill; that is about as far as this
# many lengthscales.
_SAME_HILL, _HILL = 0.9, 0.35


def choose(candidates: Array, rounds: IncrementalRounds, problem: Problem, number: int) -> Array:
    """Greedy choices of q candidates (N, d) by closed-form gains over the states: (c, q, d).

    The first is greedy throughout; the others begin with the second best candidate, the third
    and so on, so that joint ascent has different places to start from.
    """
    beliefs = Beliefs.of(candidates, rounds)
    gains = beliefs.gains()
    taken, batches = problem.taken, []
    begun = np.ones(len(candidates), dtype=bool)
    for _ in range(number):
        state, available = beliefs, np.ones(len(candidates), dtype=bool)
        chosen = [_best_new(gains, begun, candidates, taken)]
        begun &= ~_same_hill(candidates, chosen[0], problem)
        for j in range(problem.q):
            if j:
                chosen.append(_best_new(state.gains(), available, candidates, taken))
            available &= ~near(candidates, candidates[chosen[-1]][None])
            if j + 1 < problem.q:
                state = state.fix(chosen[-1])
        batches.append(candidates[chosen])
        if not begun.any():
            break
    return np.array(batches)


def spread_out(points: Array, kernel: Kernel, number: int) -> list[int]:
    """The first points (N, d) that are not close to an earlier one: one for every hill, or so."""
    scaled = ScaledPoints((points - points[0]) * kernel.inverse_lengthscales(points.shape[1]))
    apart = squared_distances(scaled, scaled) > _HILL**2
    free = np.ones(len(points), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < number and free.any():
        chosen.append(int(np.argmax(free)))
        free &= apart[chosen[-1]]
        free[chosen[-1]] = False
    return chosen


def _same_hill(candidates: Array, index: int, problem: Problem) -> NDArray[np.bool_]:
    """Which candidates are close to that one."""
    kernel = problem.posterior.gp.kernel
    close: NDArray[np.bool_] = (
        kernel(candidates, candidates[index][None])[:, 0] > _SAME_HILL * kernel.variance
    )
    return close


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the gains of N candidates depend on, in every fantasy state.

    mean, variance: (N, 1); shift: (N, m); floor: (m,), what the states hold; features: (N, n)
    and columns: (N, j), whitened covariances with the observations and with the j fixed so far;
    z: (m, q), draws of the outcomes to be fixed.
    """

    candidates: Array
    utility: Utility
    kernel: Kernel
    mean: Array
    variance: Array
    shift: Array
    floor: Array | None
    features: Array
    columns: Array
    z: Array

    @staticmethod
    def of(candidates: Array, rounds: IncrementalRounds) -> Beliefs:
        """Beliefs before any candidate is fixed."""
        state = rounds.state
        belief = state.fantasies.posterior.unchecked_belief(candidates[:, None])
        p, z = state.fantasies.size, state.z[:_CHOOSING_STATES]
        loadings = state.fantasies.loadings(belief)[:, 0]
        return Beliefs(
            candidates=candidates,
            utility=state.utility,
            kernel=state.posterior.gp.kernel,
            mean=belief.mean,
            variance=belief.cov[:, 0],
            shift=loadings @ z[:, :p].T if p else np.zeros_like(belief.mean),
            floor=None if state.floor is None else state.floor[:_CHOOSING_STATES],
            features=belief.features[:, 0],
            columns=np.zeros((len(candidates), 0)),
            z=z[:, p:],
        )

    @property
    def sd(self) -> Array:
        """Standard deviations (N, 1), never quite 0."""
        deviation: Array = np.sqrt(np.maximum(self.variance, self.kernel.smallest_variance))
        return deviation

    def gains(self) -> Array:
        """Expected gain of every candidate, averaged over the states: (N,)."""
        gain = self.utility.gain(self.mean, self.shift, self.sd, self.floor).value
        return np.asarray(gain.mean(axis=1))

    def fix(self, i: int) -> Beliefs:
        """Fantasize candidate i: all others move with its outcome, by a column of covariances."""
        sd, draw = self.sd[i], self.z[:, self.columns.shape[1]]
        explained = self.features @ self.features[i] + self.columns @ self.columns[i]
        column = (self.kernel(self.candidates, self.candidates[i][None]) - explained[:, None]) / sd
        # No outcome moves with another by more than it varies at all: where next to no variance
        # is left, anything more is rounding error, which the next column would multiply.
        column = np.clip(column, -self.sd, self.sd)
        residual = self.shift[i : i + 1] + sd * draw
        return replace(
            self,
            variance=self.variance - column**2,
            shift=self.shift + column * draw,
            floor=self.utility.hold(self.floor, self.mean[i : i + 1], residual),
            columns=np.concatenate([self.columns, column], axis=1),
        )


def _best_new(gain: Array, available: NDArray[np.bool_], candidates: Array, taken: Array) -> int:
    """The available candidate of the largest gain that is not taken; if all are, the best."""
    order = np.argsort(np.where(available, -gain, np.inf), kind="stable")
    for i in order[: max(1, int(available.sum()))]:
        if not near(candidates[i : i + 1], taken)[0]:
            return int(i)
    return int(order[0])
