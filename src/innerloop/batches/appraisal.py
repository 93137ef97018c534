"""What the queries of a batch add, one after the other, right however small it is.

Plain draws of the outcomes see no improvement that is rarer than one in so many draws. So for
utilities that reward outcomes above a bar, every query's own share is taken in closed form and only
how it overlaps with the others is drawn. With rewards v_j >= 0,

    E[max_j v_j] = sum_j E[v_j] E_j[max_k v_k / sum_k v_k],

where E_j draws all outcomes with a density that v_j / E[v_j] is a factor of: outcome j above its
bar, the others given that one. The ratio lies between 1/q and 1, so its error is small and
relative: values from 1e-300 to 1e300 are equally exact, and one query alone has none at all. Beside
pending points, max_k v_k less the best of theirs takes the place of max_k v_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri_exp

from innerloop import linalg
from innerloop.acquisition.draws import reflected_sobol_normal
from innerloop.acquisition.utility import Utility
from innerloop.batches.certificate import shortest_moves, stretched
from innerloop.batches.problem import Problem, draws_for
from innerloop.batches.states import States
from innerloop.types import Array

# Draws for all queries together, and at least for each; fantasies of what is held; plain draws.
_DRAWS, _FEWEST_DRAWS = 1024, 32
_STATES = 1024
# Of several outcomes, gains are averages over so many fantasies of the queries before: fewer where
# each of them takes many floats.
_OUTCOME_STATES, _FEWEST_OUTCOME_STATES, _OUTCOME_FLOATS = 4096, 1024, 2**21
_PLAIN_DRAWS = 4096
# Bars are at most so many standard deviations away: beyond, nothing is gained.
_FARTHEST = -1e8
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Outlook:
    """Beliefs at p pending points and the q queries of a batch, given fantasies of what is held.

    Noisy EI holds pending points, the best of which is its bar; p is 0 then. mean, sd: (p + q,);
    shift: (p + q, s), by which each of s states moves the mean; correlation: (p + q, p + q);
    floor: (s,), what the states hold, or None; log_chance: (q,), of the queries' success.
    """

    utility: Utility
    p: int
    mean: Array
    sd: Array
    shift: Array
    correlation: Array
    floor: Array | None
    log_chance: Array

    @staticmethod
    def of(X: Array, utility: Utility, problem: Problem) -> Outlook:
        """Beliefs at X (q, d)."""
        # Where the bar is the best of what is pending, that has to be held.
        beside = np.isfinite(utility.empty) or not utility.has_log_gain
        held = 0 if beside else len(problem.pending)
        z = reflected_sobol_normal(_STATES if held else 1, max(held, 1), problem.generator)
        states = States.start(utility, (problem.posterior,), z)
        if held:
            states = states.extend(problem.pending)
        points = np.concatenate([problem.pending, X]) if beside else X
        belief = states.given[0].unchecked_belief(points)
        smallest = problem.posterior.smallest_variance
        sd = np.sqrt(np.maximum(linalg.diagonals(belief.cov), smallest))
        correlation = np.clip(belief.cov / np.multiply.outer(sd, sd), -1.0, 1.0)
        linalg.diagonals(correlation)[...] = 1.0
        return Outlook(
            utility=utility,
            p=len(points) - len(X),
            mean=belief.mean,
            sd=sd,
            shift=belief.loadings @ z.T if held else np.zeros((len(points), 1)),
            correlation=correlation,
            floor=states.floor,
            log_chance=np.zeros(len(X)) if problem.chance is None else problem.chance.log(X)[0],
        )

    @property
    def log_alone(self) -> Array:
        """Logarithm of the gain of each query alone in every state, success included: (q, s)."""
        mean, shift, sd = self.mean[self.p :, None], self.shift[self.p :], self.sd[self.p :, None]
        gain = self.utility.log_gain(mean, shift, sd, self.floor).value
        return gain + self.log_chance[:, None]

    def paths(self, zeta: Array) -> Array:
        """Outcomes in units of sd around their mean, from draws zeta (m, p + q): (m, p + q)."""
        return zeta @ linalg.root(self.correlation).T


def gains_of(X: Array, utility: Utility, problem: Problem, *, roughly: bool = False) -> Array:
    """What each query of X (q, d) adds to pending points and those before it: (q,).

    Roughly, where that takes less time, if it is only to be compared.
    """
    problem.meter.evaluations += 1
    if utility.outcomes > 1:
        most = _FEWEST_OUTCOME_STATES if roughly else _OUTCOME_STATES
        return _gains_over_states(X, utility, problem, most)
    outlook = Outlook.of(X, utility, problem)
    bar = utility.bar(outlook.floor)
    if bar is None:
        return _plain_gains(outlook, problem.generator)
    return _gains_above(bar, outlook, problem.generator)


def _gains_over_states(X: Array, utility: Utility, problem: Problem, most_states: int) -> Array:
    """The expected gain of each query in closed form, over fantasies of those before it."""
    fixed = len(problem.pending) + len(X)
    number = _OUTCOME_FLOATS // (utility.floats_per_gain * (1 + len(problem.pending)))
    number = min(max(number, _FEWEST_OUTCOME_STATES), most_states)
    z = draws_for(problem.posteriors, number, fixed, problem.generator)
    nothing = States.start(utility, problem.posteriors, z)
    z, log_weights = stretched(z, shortest_moves(X, utility, problem))
    states = States.start(utility, problem.posteriors, z, log_weights)
    if len(problem.pending):
        states = states.extend(problem.pending)
    # Known exactly, and the most that it adds to anything: weights may overstate rare gains.
    alone = nothing.gains(nothing.beliefs(X), log=True).value[:, 0]
    log_gains = []
    for j, most in enumerate(alone):
        if j:
            x = X[j - 1 : j]
            states = states.extend(x, problem.successes(x, number))
        if len(states.points):
            gain = states.gains(states.beliefs(X[j : j + 1]), log=True).value[0]
            most = min(most, np.logaddexp.reduce(gain) - np.log(gain.size))
        log_gains.append(most)
    chance = np.zeros(len(X)) if problem.chance is None else problem.chance.log(X)[0]
    return np.asarray(np.exp(np.array(log_gains) + chance))


def _plain_gains(outlook: Outlook, generator: np.random.Generator) -> Array:
    """From draws of the outcomes; what the first query adds is known in closed form."""
    utility, floor, p = outlook.utility, outlook.floor, outlook.p
    mean, sd = outlook.mean[:, None], outlook.sd[:, None]
    residual = sd * outlook.paths(reflected_sobol_normal(_PLAIN_DRAWS, len(mean), generator)).T
    grades = utility.grade(mean, residual)
    if floor is not None:
        grades = np.maximum(grades, floor)
    best = np.maximum.accumulate(grades, axis=0).mean(axis=1)
    gains: Array = np.diff(best, prepend=0.0 if floor is None else float(floor[0]))[p:]
    if p == 0:
        gains[0] = utility.gain(mean[:1], outlook.shift[:1], sd[:1], floor).value.mean()
    return gains


def _gains_above(bar: Array, outlook: Outlook, generator: np.random.Generator) -> Array:
    """For utilities that reward outcomes above a bar (s,)."""
    p, log_alone = outlook.p, outlook.log_alone
    q, states = log_alone.shape
    each = np.logaddexp.reduce(log_alone, axis=1) - np.log(states)
    top = float(each.max())
    if p + q == 1 or not np.isfinite(top):
        return np.asarray(np.exp(each))
    draws = reflected_sobol_normal(max(_FEWEST_DRAWS, _DRAWS // q), p + q + 2, generator)
    weight, rewards = _rewards(bar, log_alone, outlook, draws)
    pending, rewards = rewards[..., :p], rewards[..., p:]
    if outlook.log_chance.any():
        succeeds = generator.random(rewards.shape) < np.exp(outlook.log_chance)
        succeeds[np.arange(q), :, np.arange(q)] = True
        rewards = rewards * succeeds
    together = np.cumsum(rewards, axis=2)
    added = np.maximum.accumulate(rewards, axis=2) - pending.max(axis=2, initial=0.0)[..., None]
    overlap = np.maximum(added, 0.0) / np.where(together > 0.0, together, 1.0)
    # Query j has a share in the value of the first k + 1 queries from k = j on.
    share = np.triu((weight[:, None] @ overlap)[:, 0])
    total = np.exp(top) * (np.exp(each - top) @ share)
    # By submodularity no query adds more than it would alone.
    gains: Array = np.clip(np.diff(total, prepend=0.0), 0.0, np.exp(each))
    held = 0.0 if outlook.floor is None else float(outlook.floor.mean())
    gains *= min(1.0, (outlook.utility.most - held) / max(float(gains.sum()), _TINY))
    return gains


def _rewards(bar: Array, log_alone: Array, outlook: Outlook, draws: Array) -> tuple[Array, Array]:
    """Rewards (q, m, p + q) of all points in m draws with query j above its bar; weights (q, m).

    Draws of a query have weights that add up to 1. draws: (m, p + q + 2), for the outcomes, for how
    far j goes above its bar, and for the state that it happens in.
    """
    q, points = len(log_alone), len(outlook.mean)
    query, draw = np.arange(q)[:, None], np.arange(len(draws))
    column = outlook.p + query
    state = _states(log_alone, ndtr(draws[:, points + 1]))
    u = (outlook.mean[:, None] + outlook.shift - bar) / outlook.sd[:, None]  # (p + q, s)
    u = np.maximum(u, _FARTHEST)
    own = u[column, state]
    # A standard normal above -u, exact far out in its tail.
    above = -ndtri_exp(log_ndtr(draws[:, points]) + log_ndtr(own))
    paths = outlook.paths(draws[:, :points])
    # All outcomes follow query j from where it would have been to where it is now.
    step = above - paths[:, outlook.p :].T
    moved = paths + step[..., None] * outlook.correlation[outlook.p :, None]
    rewards = outlook.utility.reward(outlook.sd * (u.T[state] + moved))
    excess = outlook.sd[outlook.p :, None] * (own + above)
    rewards[query, draw, column] = reward = outlook.utility.reward(np.maximum(excess, _TINY))
    # States were drawn by their gain: within one, outcomes count by their reward.
    gain = log_alone[query, state]
    log_weight = np.log(reward) + log_ndtr(own) - np.where(np.isfinite(gain), gain, 0.0)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True), rewards


def _states(log_alone: Array, u: Array) -> NDArray[np.intp]:
    """For every query, states drawn by its gain in them, from uniform draws u (m,): (q, m)."""
    if log_alone.shape[1] == 1:
        return np.zeros((len(log_alone), len(u)), dtype=np.intp)
    top = log_alone.max(axis=1, keepdims=True)
    gain = np.exp(log_alone - np.where(np.isfinite(top), top, 0.0))
    places = [np.searchsorted(row, u * row[-1], side="right") for row in np.cumsum(gain, axis=1)]
    return np.asarray(np.minimum(places, log_alone.shape[1] - 1))
