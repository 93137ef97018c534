"""Everything a report is about: the trials, what the model makes of them, and what is next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from innerloop.errors import InnerLoopError
from innerloop.insight.model import FittedModel
from innerloop.insight.outcomes import OutcomesModel
from innerloop.insight.progress import AskedBatch, batches_of
from innerloop.optimizer.goals import DIRECTIONS, Goals
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial, point_of, tried
from innerloop.report.case import Case
from innerloop.report.thinned_copy import Copy, copy_of
from innerloop.space.parameters import Choice, Integer, Parameter, Plain, Real
from innerloop.types import Array

# Of more trials than this the page shows some, the last of them in any case.
_MOST_SHOWN, _LAST_SHOWN = 5000, 500
_Kept = TypeVar("_Kept")


@dataclass(frozen=True, eq=False)
class Subject:
    """What there is to report.

    copy: of what learns from the trials, if anything does. model: None as long as there are no
    results, or if they cannot be modelled, for a reason that `trouble` gives. outcomes: in its
    place, where there are several. next_trials: what would be asked now.
    """

    case: Case
    copy: Copy | None
    model: FittedModel | None
    trouble: str | None
    next_trials: tuple[Trial, ...]
    outcomes: OutcomesModel | None = None

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order of their ids."""
        return self.case.trials

    @property
    def goals(self) -> Goals:
        """What is wanted of the outcomes."""
        return self.case.goals

    @property
    def learner(self) -> Optimizer:
        """The copy of what learns from the trials, where there is one."""
        assert self.copy is not None
        return self.copy.optimizer

    @cached_property
    def learned_from(self) -> tuple[int, ...]:
        """The ids of the trials that the learner has, in its order."""
        return () if self.copy is None else tuple(self.case.numbers[k] for k in self.copy.kept)

    @property
    def modelled(self) -> int:
        """How many parameters the model has."""
        return len(self.learner.space.varying)

    @property
    def used(self) -> int:
        """How many values the learner knows."""
        return 0 if self.copy is None else self.copy.used

    @property
    def results(self) -> int:
        """How many values there are to learn from."""
        return 0 if self.copy is None else self.copy.results

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite space has been tried or is pending."""
        return self.case.optimizer is not None and self.case.optimizer.exhausted

    @property
    def has_limits(self) -> bool:
        """Whether outcomes have limits, and all of these are known."""
        limits = [each.limit(self.trials) for each in self.goals.constraints]
        return bool(limits) and None not in limits

    @cached_property
    def front(self) -> tuple[Trial, ...]:
        """Of several outcomes, the trials that no other one beats."""
        return self.goals.front(self.trials)

    @cached_property
    def shown(self) -> tuple[Trial, ...]:
        """The trials in figures and tables: all, or those that count and an even choice of others.

        Those that count are the ones that were better than all before, those on the front, those
        that the model has learned from, and the last ones.
        """
        if len(self.trials) <= _MOST_SHOWN:
            return self.trials
        kept = {*self.learned_from, *(trial.id for trial in self._improvements())}
        kept.update(trial.id for trial in self.trials[-_LAST_SHOWN:])
        kept.update(() if self.goals.is_plain else (trial.id for trial in self.front))
        others = [trial.id for trial in self.trials if trial.id not in kept]
        kept.update(thinned(others, max(_MOST_SHOWN - len(kept), 1)))
        return tuple(self.trials[id] for id in sorted(kept))

    @property
    def shows_all(self) -> bool:
        """Whether figures and tables show every trial."""
        return len(self.shown) == len(self.trials)

    def _improvements(self) -> list[Trial]:
        """Trials with a better value than all before them."""
        found, best = list[Trial](), -np.inf
        for trial in self.complete():
            if trial.value is not None and self.sign * trial.value > best:
                found.append(trial)
                best = self.sign * trial.value
        return found

    @property
    def sign(self) -> float:
        """1 if large values are good, -1 if small ones are."""
        return DIRECTIONS[next(iter(self.goals.objectives.values()))]

    def counts(self) -> dict[str, int]:
        """How many trials there are in each state that occurs."""
        states = [trial.state for trial in self.trials]
        return {state: states.count(state) for state in sorted(set(states))}

    @property
    def best(self) -> Trial | None:
        """The best trial of all, as the optimizer sees it; by its value alone if in trouble."""
        if not self.goals.is_plain:
            return self.front[0] if self.front and len(self.goals.objectives) == 1 else None
        if self.model is not None:
            return self.trials[self.learned_from[self.model.best.id]]
        complete = [(self.sign * t.value, t) for t in self.complete() if t.value is not None]
        return max(complete, key=lambda pair: pair[0])[1] if complete else None

    @property
    def is_tied(self) -> bool:
        """Whether an equation ties parameters to each other."""
        return self.case.space is not None and self.case.space.domain().is_flat

    @property
    def is_conditional(self) -> bool:
        """Whether some parameters apply only with certain values of others."""
        return self.case.space is not None and bool(self.case.space.branches.needs)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Those of parameters, as they were written."""
        return () if self.case.space is None else self.case.space.texts

    @property
    def fixed(self) -> dict[str, Plain]:
        """Parameters that have a single value."""
        varied = self.varied
        single = {n: p for n, p in self._parameters.items() if n not in varied}
        return {n: p.decode(()) if isinstance(p, Parameter) else p for n, p in single.items()}

    @property
    def varied(self) -> dict[str, Real | Integer | Choice]:
        """Parameters that have several values."""
        items = self._parameters.items()
        return {n: p for n, p in items if isinstance(p, (Real, Integer, Choice)) and p.width}

    @property
    def _parameters(self) -> Mapping[str, Real | Integer | Choice | Plain]:
        """All parameters, by name."""
        return {} if self.case.space is None else self.case.space.parameters

    def complete(self) -> list[Trial]:
        """All trials that were told all there is."""
        return [trial for trial in self.trials if trial.state == "complete"]

    def values(self) -> Array:
        """The values of complete trials: (n,)."""
        return np.array([t.value for t in self.complete() if t.value is not None])

    def params_of(self, trial: Trial) -> dict[str, Plain]:
        """The parameters that a trial has, in the order of the space, and those that are fixed."""
        return {n: trial.params[n] for n in self.varied if n in trial.params} | self.fixed

    def times(self) -> list[float]:
        """All times that are known."""
        return [t for trial in self.trials for t in (trial.asked, trial.told) if t is not None]

    def batches(self) -> list[AskedBatch]:
        """Trials that were asked together, where there is a certificate."""
        return batches_of(self.trials)


def thinned(items: Sequence[_Kept], most: int) -> Sequence[_Kept]:
    """Every k-th item, so that there are no more than so many."""
    return items[:: -(-len(items) // most)] if len(items) > most else items


def subject_of(case: Case, next_points: int) -> Subject:
    """A case as it is now, with so many points that would be asked next."""
    optimizer = case.optimizer
    if optimizer is None:
        return Subject(case, None, None, None, ())
    copied, trials = copy_of(optimizer), optimizer.trials
    model, outcomes, trouble, asked = None, None, None, list[Trial]()
    try:
        if not optimizer.goals.is_plain:
            outcomes = OutcomesModel.of(copied.optimizer)
        elif copied.used:
            model = FittedModel.of(copied.optimizer)
        if next_points and not optimizer.exhausted:
            points = tried(trials)
            asked = copied.optimizer.ask(next_points)
            # A copy of a part of the trials does not know of the others.
            asked = [trial for trial in asked if point_of(trial.params) not in points]
    except InnerLoopError as error:
        trouble = str(error)
    return Subject(case, copied, model, trouble, tuple(asked), outcomes)
