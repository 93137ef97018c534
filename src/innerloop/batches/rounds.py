"""The objective of each greedy round, given what was chosen before."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from innerloop.acquisition.draws import FreshDraws
from innerloop.acquisition.incremental import Incremental
from innerloop.acquisition.joint import Joint
from innerloop.acquisition.utility import Utility
from innerloop.batches.chance import weighed
from innerloop.batches.problem import Problem
from innerloop.checks import Array
from innerloop.maximizers.objective import Objective

_SCREENING_STATES = 16


class Rounds(Protocol):
    """exact: the objective; search: the same, or with new draws at every evaluation.

    log: whether values of the objective are logarithms of gains.
    """

    @property
    def exact(self) -> Objective:
        """The objective on fixed draws."""

    @property
    def search(self) -> Objective:
        """What the maximizer sees."""

    @property
    def screen(self) -> Objective:
        """A rougher and cheaper estimate, good enough to choose starts."""

    @property
    def log(self) -> bool:
        """Whether values of the objective are logarithms of gains."""

    def gain(self, value: float) -> float:
        """What a query of that objective value adds."""

    def fix(self, x: Array, value: float) -> None:
        """Choose a query (d,), whose objective value was `value`."""


class IncrementalRounds:
    """Rounds of the incremental form; EI and PI are maximized in log space."""

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.utility, Utility)  # settled by Settings.resolve
        self.log = problem.utility.has_log_gain
        self._problem = problem
        z = problem.draw(len(problem.pending) + problem.q)
        self.state = Incremental(problem.utility, problem.posterior, z, log=self.log)
        if len(problem.pending):
            self.state = self.state.extend(problem.pending)

    @property
    def exact(self) -> Objective:
        """The expected gain over the states."""
        return weighed(self.state, self._problem.chance)

    search = exact

    @property
    def screen(self) -> Objective:
        """The expected gain over a few of the states."""
        return weighed(self.state.thinned(_SCREENING_STATES), self._problem.chance)

    def gain(self, value: float) -> float:
        """What a query of that objective value adds."""
        return float(np.exp(value)) if self.log else value

    def fix(self, x: Array, value: float) -> None:
        """Fantasize the outcome at x, where there is one."""
        self.state = extended(self.state, x, self._problem)


def extended(state: Incremental, x: Array, problem: Problem) -> Incremental:
    """The states once a query x (d,) is chosen, whose outcome there is by its chance of success."""
    further = state.extend(x, succeeds=problem.successes(x[None], len(state.z)))
    bar = further.utility.bar(further.floor)
    if bar is None or state.floor is None or np.isfinite(bar).any():
        return further
    # No state can gain more: what comes next is for the case that this query gains nothing.
    return replace(further, floor=np.resize(state.floor, len(state.z)))


class JointRounds:
    """Rounds of the joint form: what is chosen becomes pending."""

    log = False

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._z = problem.draw(len(problem.pending) + problem.q + 1)
        self._fixed = problem.pending
        self.total = 0.0
        if len(self._fixed):
            alone = Joint(problem.utility, problem.posterior, self._z)
            self.total = float(alone.value(self._fixed[None])[0])
        self._bind()

    def _bind(self) -> None:
        problem, fixed = self._problem, self._fixed if len(self._fixed) else None
        self.exact = self.screen = Joint(problem.utility, problem.posterior, self._z, pending=fixed)
        self.search = self.exact
        if problem.settings.fresh:
            fresh = FreshDraws(problem.settings.draws, self._z.shape[1], problem.generator)
            self.search = Joint(problem.utility, problem.posterior, fresh, pending=fixed)

    def gain(self, value: float) -> float:
        """What a query of that objective value adds."""
        return value - self.total

    def fix(self, x: Array, value: float) -> None:
        """Count x among the pending."""
        self._fixed = np.concatenate([self._fixed, x[None]])
        self.total = value
        self._bind()


def make_rounds(problem: Problem) -> Rounds:
    """Rounds of the form that was settled on."""
    if problem.settings.form == "incremental":
        return IncrementalRounds(problem)
    return JointRounds(problem)
