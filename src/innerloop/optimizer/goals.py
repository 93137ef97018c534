"""What is wanted of several outcomes: objectives with their directions, and limits of others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from innerloop import checks
from innerloop.acquisition.boxes import non_dominated, volume
from innerloop.errors import InputError
from innerloop.space.quotes import QUOTED, unquoted
from innerloop.types import Array

#: The name of the objective, where there is one and it has none.
VALUE = "value"
DIRECTIONS = {"minimize": -1.0, "maximize": 1.0}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = rf"(?:(?P<factor>{_NUMBER})\s*\*\s*)?trial\s+(?P<trial>\d+)|(?P<number>{_NUMBER})"
_NAME = rf"(?P<name>{QUOTED}|.+?)"
_NAME_FIRST = re.compile(rf"\s*{_NAME}\s*(?P<sign><=|>=)\s*(?:{_BOUND})\s*\Z")
_BOUND_FIRST = re.compile(rf"\s*(?:{_BOUND})\s*(?P<sign><=|>=)\s*{_NAME}\s*\Z")


class Told(Protocol):
    """A trial, wherever it is kept: its state, and what was told of it so far."""

    @property
    def state(self) -> str:
        """ "complete", if all of it was."""

    @property
    def outcomes(self) -> Mapping[str, float] | None:
        """Numbers by name."""

    @property
    def outside(self) -> str | None:
        """Why its params are not in the space, if they are not."""


AnyTrial = TypeVar("AnyTrial", bound=Told)


@dataclass(frozen=True)
class OutcomeConstraint:
    """A limit of an outcome, such as "impurity <= 2" or "latency <= 1.1 * trial 0".

    Args:
        name: the outcome's.
        sign: 1 if it has to be at most the bound, -1 if at least.
        bound: the bound, or the factor on what a trial had.
        trial: the trial that the bound is relative to, if there is one.
        text: as it was written.
    """

    name: str
    sign: float
    bound: float
    trial: int | None
    text: str

    @staticmethod
    def read(text: Any) -> OutcomeConstraint:
        """The constraint that a text says."""
        first = _NAME_FIRST.match(text) if isinstance(text, str) else None
        last = _BOUND_FIRST.match(text) if isinstance(text, str) and first is None else None
        found = first or last
        if found is None:
            raise InputError(
                "an outcome constraint must read like 'impurity <= 2', 'accuracy >= 0.9' or "
                f"'latency <= 1.1 * trial 0', got {text!r}"
            )
        at_most = (found["sign"] == "<=") == (first is not None)
        trial = None if found["trial"] is None else int(found["trial"])
        bound = float(found["number"] or found["factor"] or 1.0)
        name = unquoted(found["name"])
        return OutcomeConstraint(name, 1.0 if at_most else -1.0, bound, trial, text)

    def limit(self, trials: Sequence[Told]) -> float | None:
        """The bound as a number; None as long as the trial it is relative to has no value."""
        if self.trial is None:
            return self.bound
        told = trials[self.trial].outcomes if self.trial < len(trials) else None
        value = (told or {}).get(self.name)
        return None if value is None else self.bound * value

    def excess(self, value: float, trials: Sequence[Told]) -> float | None:
        """By how much a value is beyond the limit, up to 0 if it is not; None without a limit."""
        limit = self.limit(trials)
        return None if limit is None else self.sign * (value - limit)


@dataclass(frozen=True)
class Goals:
    """Objectives, outcome constraints, and the worst outcome of interest.

    Args:
        objectives: names with "minimize" or "maximize".
        constraints: limits of other outcomes.
        reference: the worst value of interest of each objective; found from the trials if None.
    """

    objectives: dict[str, str]
    constraints: tuple[OutcomeConstraint, ...] = ()
    reference: dict[str, float] | None = None

    @staticmethod
    def of(
        objectives: Mapping[str, str] | None,
        outcome_constraints: Sequence[str] = (),
        reference: Mapping[str, float] | None = None,
        direction: str = "minimize",
    ) -> Goals:
        """Goals that make sense, or an error that says why they do not."""
        wanted = {VALUE: direction} if objectives is None else objectives
        checks.instance("objectives", wanted, Mapping, "a mapping from names to directions")
        if not wanted or not all(isinstance(name, str) and name for name in wanted):
            raise InputError(f"objectives must have names, got {dict(wanted)!r}")
        for name, way in wanted.items():
            checks.one_of(f"the direction of {name!r}", way, tuple(DIRECTIONS))
        if isinstance(outcome_constraints, str) or not isinstance(outcome_constraints, Sequence):
            raise InputError(f"outcome_constraints must be a list, got {outcome_constraints!r}")
        constraints = tuple(OutcomeConstraint.read(text) for text in outcome_constraints)
        names = [each.name for each in constraints]
        for name in names:
            if name in wanted:
                raise InputError(f"{name!r} is an objective: give its limit as `reference`")
            if names.count(name) > 1:
                raise InputError(f"{name!r} has more than one outcome constraint")
        return Goals(dict(wanted), constraints, _reference(reference, wanted))

    @property
    def is_plain(self) -> bool:
        """Whether there is one objective and nothing else."""
        return len(self.objectives) == 1 and not self.constraints

    @property
    def names(self) -> tuple[str, ...]:
        """Of all outcomes, objectives first."""
        return (*self.objectives, *(each.name for each in self.constraints))

    @property
    def signs(self) -> Array:
        """1 for each objective that is to be maximized, -1 for the others: (M,)."""
        return np.array([DIRECTIONS[each] for each in self.objectives.values()])

    def sign_of(self, name: str) -> float:
        """1 if large values of an outcome are good, -1 if small ones are."""
        if name in self.objectives:
            return DIRECTIONS[self.objectives[name]]
        return next(-each.sign for each in self.constraints if each.name == name)

    def bends(self, name: str) -> bool:
        """Whether an outcome may be seen through a logarithm.

        It would bend fronts, and limits are as far away as they are.
        """
        return len(self.objectives) == 1 and name in self.objectives

    def unnamed(self, value: Any) -> Any:
        """What was told of the one outcome without its name, if that is all that was told."""
        if self.is_plain and isinstance(value, Mapping) and set(value) == set(self.names):
            return value[self.names[0]]
        return value

    @property
    def is_relative(self) -> bool:
        """Whether some limit is relative to a trial."""
        return any(each.trial is not None for each in self.constraints)

    def resolved(self, trials: Sequence[Told]) -> Goals:
        """The same with numbers for all limits, without those that are not known yet."""
        limits = [(each, each.limit(trials)) for each in self.constraints]
        known = [replace(c, bound=limit, trial=None) for c, limit in limits if limit is not None]
        return replace(self, constraints=tuple(known))

    def wanted(self, trials: Sequence[Told]) -> Array:
        """Objectives of complete trials, larger is better: (n, M)."""
        rows = [[(t.outcomes or {})[name] for name in self.objectives] for t in trials]
        return np.array(rows, dtype=np.float64).reshape(-1, len(self.objectives)) * self.signs

    def feasible(self, trial: Told, trials: Sequence[Told]) -> bool:
        """Whether a complete trial is within all limits that are known."""
        told = trial.outcomes or {}
        for each in self.constraints:
            excess = each.excess(told.get(each.name, np.nan), trials)
            if excess is not None and not excess <= 0.0:
                return False
        return True

    def front(self, trials: Sequence[AnyTrial]) -> tuple[AnyTrial, ...]:
        """Complete trials within all limits that no other one beats in all objectives."""
        complete = [t for t in trials if t.state == "complete" and t.outside is None]
        feasible = [trial for trial in complete if self.feasible(trial, trials)]
        return tuple(feasible[i] for i in non_dominated(self.wanted(feasible)))

    def hypervolume(self, trials: Sequence[Told]) -> float:
        """The volume between the front of trials and the reference; 0 without a front."""
        if len(self.objectives) < 2:
            raise InputError("a hypervolume needs several objectives")
        points = self.wanted(self.front(trials))
        if not len(points):
            return 0.0
        complete = [trial for trial in trials if trial.state == "complete"]
        return volume(points, self.reference_of(points, self.wanted(complete)))

    def reference_of(self, front: Array, everything: Array) -> Array:
        """The worst outcome of interest, larger is better: (M,).

        As it was given; or below the worst of a front (P, M) by a tenth of its range. Without a
        front, of all outcomes (n, M).
        """
        if self.reference is not None:
            given = [self.reference[name] for name in self.objectives]
            return np.array(given) * self.signs
        points = front if len(front) else everything
        worst, spread = points.min(axis=0), np.ptp(points, axis=0)
        spread = np.where(spread > 0.0, spread, np.ptp(everything, axis=0))
        spread = np.where(spread > 0.0, spread, np.maximum(np.abs(worst), 1.0))
        return np.asarray(worst - 0.1 * spread)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "objectives": self.objectives,
            "outcome_constraints": [each.text for each in self.constraints],
            "reference": self.reference,
        }


def _reference(
    reference: Mapping[str, float] | None, objectives: Mapping[str, str]
) -> dict[str, float] | None:
    if reference is None:
        return None
    checks.instance("reference", reference, Mapping, "a mapping from objectives to numbers")
    if set(reference) != set(objectives):
        raise InputError(
            f"reference must have a number for each of {list(objectives)}, got {dict(reference)!r}"
        )
    return {name: checks.scalar(f"reference of {name!r}", reference[name]) for name in objectives}
