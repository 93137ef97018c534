"""How much the inner loop may spend, and the meter that every maximizer reads.

An evaluation is one query set valued, with or without its gradient.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from innerloop import checks
from innerloop.errors import InputError
from innerloop.maximizers.objective import Objective

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Budget:
    """What the choice of a batch may take; without any limit it goes on until it has converged.

    Args:
        evaluations: query sets that may be valued, those at the start and the batch included.
            Never more are, unless these are fewer than 4 q + 2, which may always be taken; a
            choice from candidates is exact, and takes what it takes.
        seconds: how long it may take, by the clock.
        clock: "wall", or "cpu" for the processor time of this process.
        certify: whether to hold back the share of one greedy round for the upper bound. Without a
            limit that is searched for in any case; over candidates it is then looked for once more
            after the last choice.
    """

    evaluations: int | None = None
    seconds: float | None = None
    clock: str = "wall"
    certify: bool = False

    def __post_init__(self) -> None:
        if self.evaluations is not None:
            checks.count("evaluations", self.evaluations)
        if self.seconds is not None:
            checks.positive_scalar("seconds", self.seconds)
        if self.clock not in CLOCKS:
            raise InputError(f"clock must be one of {sorted(CLOCKS)}, got {self.clock!r}")
        checks.instance("certify", self.certify, bool, "True or False")


class Meter:
    """Counts what is spent of a budget, from the moment it is made.

    Args:
        budget: what may be spent.
    """

    def __init__(self, budget: Budget) -> None:
        self._clock = CLOCKS[budget.clock]
        self.started = self._clock()
        self.budget = budget
        self.evaluations = 0
        self._held_back = 0

    @contextmanager
    def holding_back(self, evaluations: int) -> Iterator[None]:
        """So many evaluations are for what comes after: none is allowed to spend them now."""
        self._held_back += evaluations
        try:
            yield
        finally:
            self._held_back -= evaluations

    def evaluations_left(self, until: float) -> float:
        """How many there are until a share of the budget is spent: 0 or below if it is."""
        if self.budget.evaluations is None:
            return np.inf
        limit = round(until * self.budget.evaluations) - self._held_back
        return limit - self.evaluations

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return self._clock() - self.started

    @property
    def is_unlimited(self) -> bool:
        """Whether there is no limit at all."""
        return self.budget.evaluations is None and self.budget.seconds is None

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of the budget."""
        return self.fraction >= 1.0

    @property
    def fraction(self) -> float:
        """Share of the budget that is spent; 0 throughout if there is no limit."""
        of_evaluations = self.evaluations / (self.budget.evaluations or np.inf)
        of_time = self.seconds / self.budget.seconds if self.budget.seconds else 0.0
        return max(of_evaluations, of_time)


class Allowance:
    """An objective together with the part of a budget that may be spent on it.

    Whoever wants a value says what it takes to get it:

        with allowance.spending(len(X)) as objective:
            value = objective.value(X)

    At least one evaluation is always allowed, so that there is something to return. cut_short:
    whether something was asked for that could not be afforded, so that a search has ended before
    its end.

    Args:
        objective: what is maximized.
        meter: of the budget; by default of one without limits.
        until: the share of the budget at which this allowance ends.
    """

    def __init__(
        self, objective: Objective, meter: Meter | None = None, until: float = 1.0
    ) -> None:
        self.objective = objective
        self.meter = Meter(Budget()) if meter is None else meter
        self.until = until
        self.cut_short = False
        self._began = self.meter.evaluations
        self._sets, self._entered = 0, 0.0
        self._seconds_per_set = 0.0

    def part(self, share: float) -> Allowance:
        """The same objective with the next share of what is left.

        Args:
            share: of the budget that is left, from 0 to 1.

        Returns:
            An allowance that ends there.
        """
        spent = self.meter.fraction
        return Allowance(self.objective, self.meter, spent + share * (self.until - spent))

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return not self.meter.is_unlimited

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left but the one evaluation that is always allowed."""
        return self._left(1) < 1

    def affordable(self, sets: int) -> int:
        """How many query sets may be evaluated now.

        Args:
            sets: how many are wanted.

        Returns:
            So many of them at most; 0 when the allowance is spent.
        """
        allowed = self._left(sets)
        self.cut_short |= allowed < sets
        return max(allowed, 1 if self.meter.evaluations == self._began else 0)

    def _left(self, sets: int) -> int:
        """How many of `sets` query sets the budget has room for."""
        seconds, meter = self.meter.budget.seconds, self.meter
        allowed = int(max(min(sets, meter.evaluations_left(self.until)), 0))
        if seconds is not None:
            left = self.until * seconds - meter.seconds
            if left <= 0.0 or self._seconds_per_set > left:
                return 0
            if self._seconds_per_set > 0.0:
                return min(allowed, max(1, int(left / self._seconds_per_set)))
        return allowed

    def spending(self, sets: int) -> Allowance:
        """To be entered for the objective, where so many query sets are evaluated.

        Args:
            sets: how many are evaluated within the `with` block.

        Returns:
            A context manager that gives the objective.
        """
        self._sets = sets
        return self

    def __enter__(self) -> Objective:
        self._entered = self.meter.seconds
        return self.objective

    def __exit__(self, *_: object) -> None:
        self._seconds_per_set = (self.meter.seconds - self._entered) / max(self._sets, 1)
        self.meter.evaluations += self._sets
