"""What a report is about, whoever keeps it: all trials, and an optimizer that learns from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from innerloop.columns import sheet_of
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.rows import rows_of
from innerloop.optimizer.trials import STATES, Trial
from innerloop.space.space import Space
from innerloop.studies.branches import searched_of
from innerloop.studies.optimizers import inside_of, state_of, trial_from
from innerloop.studies.records import OWNER, Record, row_of_record
from innerloop.studies.view import StudyView

#: The states that trials are shown in.
SHOWN_STATES = (*STATES, "pruned", "waiting", "outside")
_BY_HAND = "asked by hand"


@dataclass(frozen=True, eq=False)
class Case:
    """All there is to report.

    trials: of any of the `SHOWN_STATES`, in the order of their ids; `params` has what a trial has.
    space: of all their parameters, if any varies; is_inferred: whether it was found in them.
    optimizer: what learns from them, in that space or a part of it; None if there is nothing to
    search. numbers: which trials it has, by its own ids. workers: who ran trials, by id, where that
    is known. rows: the trials as tables and data frames have them.
    """

    goals: Goals
    trials: tuple[Trial, ...]
    space: Space | None
    is_inferred: bool
    optimizer: Optimizer | None
    numbers: tuple[int, ...]
    workers: Mapping[int, str]
    rows: Sequence[Mapping[str, Any]]

    @property
    def csv(self) -> str:
        """The trials as CSV; of a study, what `innerloop trials -f csv` prints."""
        lines = sheet_of(self.rows, ("id", "state", *self.goals.names)).csv_lines()
        return "".join(f"{line}\n" for line in lines)

    @property
    def lacks(self) -> bool:
        """Whether some finished trial lacks parameters that others have."""
        varying = set() if self.space is None else set(self.space.varying)
        finished = (t for t in self.trials if t.params and t.state not in ("pending", "waiting"))
        return self.is_inferred and any(not varying <= trial.params.keys() for trial in finished)


def case_of_optimizer(optimizer: Optimizer) -> Case:
    """That of an optimizer; what is outside of its space has no place in its figures."""
    trials, goals = optimizer.trials, optimizer.goals
    numbers = tuple(trial.id for trial in trials if trial.outside is None)
    inside = optimizer
    if len(numbers) < len(trials):
        inside = optimizer.with_trials(trials[number] for number in numbers)
        inside.goals = goals.resolved(trials)
    rows = rows_of(trials, goals, optimizer.history, optimizer.space)
    shown = tuple(map(_placed, trials))
    return Case(goals, shown, optimizer.space, False, inside, numbers, {}, rows)


def case_of_study(study: StudyView) -> Case:
    """That of a study of any kind."""
    records = study.records()
    searched = searched_of(study, records)
    optimizer, numbers = (None, ()) if searched is None else inside_of(study, records, searched)
    owners = {
        trial.number: trial.system_attrs[OWNER]
        for trial in study.stored_trials()
        if OWNER in trial.system_attrs
    }
    return Case(
        study.goals,
        tuple(_trial(record, several=not study.goals.is_plain) for record in records),
        study.space,
        study.is_inferred,
        optimizer,
        numbers,
        _workers(owners),
        [row_of_record(record, study.goals, study.space) for record in records],
    )


def _placed(trial: Trial) -> Trial:
    """A trial as it is shown: what is complete and outside of the space is not among the others."""
    is_outside = trial.outside is not None and trial.state == "complete"
    return replace(trial, state="outside") if is_outside else trial


def _trial(record: Record, *, several: bool) -> Trial:
    """A record as figures and tables show trials."""
    state = state_of(record)
    made = trial_from(record, record.params, state or "pending", several=several)
    shown = _placed(replace(made, outside=record.outside))
    # The value of a trial that was pruned is one on the way.
    return shown if state is not None else replace(shown, state=record.state, value=None)


def _workers(owners: Mapping[int, Mapping[str, Any] | None]) -> dict[int, str]:
    """Who ran trials, in words: processes, of hosts where there are several."""
    hosts = {owner.get("host") for owner in owners.values() if owner}

    def name(owner: Mapping[str, Any] | None) -> str:
        if not owner:
            return _BY_HAND
        process = f"process {owner.get('pid')}"
        return process if len(hosts) == 1 else f"{owner.get('host')}, {process}"

    return {number: name(owner) for number, owner in owners.items()}
