"""Greedy batches: query by query, each adding the most to those before (algorithm 2)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from innerloop.acquisition.draws import FreshDraws
from innerloop.acquisition.joint import Joint
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.batches.approach import with_approaches
from innerloop.batches.problem import Filled, Problem, near
from innerloop.batches.states import Incremental, States
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer, search
from innerloop.maximizers.objective import Objective, Solution, best_first
from innerloop.maximizers.starts import PointPool, make_pool
from innerloop.types import Array

# Later rounds start from the local maxima of earlier ones too.
_FIRST_POOL, _POOL = 512, 128
# A pool is valued in about so many of the states.
_SCREENING_STATES = 16
# Ends of a search on changing draws that are valued once more on fixed ones.
_VALUED_AGAIN = 16


def fill_greedily(rounds: Rounds, maximizer: Maximizer, problem: Problem) -> Filled:
    """q rounds, each maximizing what one more query adds to those before (algorithm 2)."""
    number = problem.q + problem.meter.budget.certify
    suited, domain, generator = problem.suited(maximizer), problem.domain, problem.generator
    taken, centers, ends = problem.taken, problem.centers, np.zeros((0, problem.domain.d))
    chosen, gains = [], []
    for j in range(problem.q):
        until = (j + 1) / number
        screen = Allowance(rounds.screen, problem.meter, until)
        size = _POOL if len(ends) else _FIRST_POOL
        pool = make_pool(screen, domain, centers, ends, generator, size=size, log=rounds.log)
        starts = rounds.approached(pool.best(maximizer.starts[0], generator))
        allowance = Allowance(rounds.search, problem.meter, until)
        again = valued_again(rounds, allowance)
        with problem.meter.holding_back(again + 1):  # one more if all that is found is taken
            solution = search(suited, allowance, starts, domain, generator)
        solution = rounds.valued(solution, again)
        x, value = first_new(problem, solution, pool, taken, rounds.exact)
        gains.append(rounds.gain(value))
        chosen.append(x)
        if j + 1 < problem.q:
            rounds.fix(x, value)
            taken = np.concatenate([taken, x[None]])
            ends = solution.X[:, 0]
    return Filled(np.array(chosen), np.array(gains))


def valued_again(rounds: Rounds, allowance: Allowance) -> int:
    """How many ends of a search to value once more on fixed draws: a quarter of what is left."""
    if not rounds.fresh:
        return 0
    return min(_VALUED_AGAIN, allowance.affordable(4 * _VALUED_AGAIN) // 4)


def first_new(
    problem: Problem, solution: Solution, pool: PointPool, taken: Array, exact: Objective
) -> tuple[Array, float]:
    """The best query found that is not one of `taken`; failing that, the best one."""
    new = ~near(solution.X[:, 0], taken)
    if new.any():
        first = int(np.argmax(new))
        return solution.X[first, 0], float(solution.value[first])
    spare = np.concatenate([pool.points, problem.domain.sample(_POOL, problem.generator)])
    new = ~near(spare, taken)
    if new.any():
        x = spare[int(np.argmax(new))]
        with Allowance(exact, problem.meter).spending(1) as objective:
            return x, float(objective.value(x[None, None])[0])
    return solution.X[0, 0], float(solution.value[0])


class Rounds(Protocol):
    """The objective of each round: exact, on fixed draws; as a search sees it; and rough."""

    log: bool
    #: Whether a search sees new draws at every evaluation.
    fresh: bool

    @property
    def exact(self) -> Objective:
        """The objective on fixed draws; a logarithm of the gain if `log`."""

    @property
    def search(self) -> Objective:
        """The same, or with new draws at every evaluation."""

    @property
    def screen(self) -> Objective:
        """A rougher and cheaper estimate, good enough to choose starts."""

    def approached(self, starts: Array) -> Array:
        """Starts of a search (R, 1, d), and more, where walls would keep it from the top."""

    def valued(self, solution: Solution, number: int) -> Solution:
        """The first ends of a search, valued on fixed draws; all as they are if `number` is 0."""

    def gain(self, value: float) -> float:
        """What a query of that objective value adds."""

    def fix(self, x: Array, value: float) -> None:
        """Choose a query (d,), whose objective value was `value`."""


class IncrementalRounds:
    """Rounds of the incremental form, in log space where the utility has one."""

    fresh = False

    def __init__(self, utility: Utility, problem: Problem) -> None:
        self.log = utility.has_log_gain
        self._problem = problem
        z = problem.draw(len(problem.pending) + problem.q)
        self.states = States.start(utility, problem.posteriors, z)
        if len(problem.pending):
            self.states = self.states.extend(problem.pending)

    @property
    def exact(self) -> Incremental:
        """The expected gain over the states, times the chance that it comes about."""
        return Incremental.of(self.states, log=self.log, chance=self._problem.chance)

    search = exact

    @property
    def screen(self) -> Incremental:
        """The same over a few of the states."""
        some = slice(None, None, max(1, len(self.states.z) // _SCREENING_STATES))
        return Incremental.of(self.states, log=self.log, chance=self._problem.chance, some=some)

    def approached(self, starts: Array) -> Array:
        """The starts, and where those lead to as beliefs become sure."""
        return with_approaches(starts, self.states, self._problem)

    def valued(self, solution: Solution, number: int) -> Solution:
        """As they are: the search saw fixed draws."""
        return solution

    def gain(self, value: float) -> float:
        """What a query of that objective value adds."""
        return float(np.exp(value)) if self.log else value

    def fix(self, x: Array, value: float) -> None:
        """Fantasize the outcome at x, where there is one."""
        succeeds = self._problem.successes(x[None], len(self.states.z))
        self.states = self.states.extend(x[None], succeeds).still_open


class JointRounds:
    """Rounds of the joint form: what is chosen becomes pending."""

    log = False

    def __init__(
        self, utility: Utility | Lookahead, maximizer: Maximizer, problem: Problem
    ) -> None:
        self._utility, self._problem, self.fresh = utility, problem, maximizer.fresh_draws
        self._z = problem.draw(len(problem.pending) + problem.q + 1)
        self._fixed = problem.pending
        self.total = 0.0
        if len(self._fixed):
            alone = Joint(utility, problem.posteriors, self._z)
            self.total = float(alone.value(self._fixed[None])[0])
            problem.meter.evaluations += 1
        self._bind()

    def _bind(self) -> None:
        problem, fixed = self._problem, self._fixed if len(self._fixed) else None
        self.exact = Joint(self._utility, problem.posteriors, self._z, pending=fixed)
        self.search = self.screen = self.exact
        if self.fresh:
            columns, outcomes = self._z.shape[1], len(problem.posteriors)
            fresh = FreshDraws(problem.draws, columns, problem.generator, outcomes=outcomes)
            self.search = Joint(self._utility, problem.posteriors, fresh, pending=fixed)

    def approached(self, starts: Array) -> Array:
        """As they are: limits are relaxed."""
        return starts

    def valued(self, solution: Solution, number: int) -> Solution:
        """The first of them, once more, if the search saw new draws at every evaluation."""
        if number == 0:
            return solution
        X = solution.X[:number]
        with Allowance(self.exact, self._problem.meter).spending(len(X)) as objective:
            return best_first(X, objective.value(X))

    def gain(self, value: float) -> float:
        """What a query of that objective value adds."""
        return value - self.total

    def gains(self, X: Array) -> Array:
        """What each query of X (q, d) adds to those before it: (q,)."""
        self._problem.meter.evaluations += len(X)
        totals = [self.exact.value(X[None, : j + 1])[0] for j in range(len(X))]
        return np.diff(totals, prepend=self.total)

    def fix(self, x: Array, value: float) -> None:
        """Count x among the pending."""
        self._fixed = np.concatenate([self._fixed, x[None]])
        self.total = value
        self._bind()
