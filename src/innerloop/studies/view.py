"""A study to look at: its space and goals, its trials as plain data, the best and the front."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from innerloop.errors import StudyError
from innerloop.integrations.space_changes import space_after
from innerloop.integrations.trial_changes import changes_of
from innerloop.integrations.trial_marks import StoredTrial
from innerloop.optimizer.changes import Change
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.reasons import why_none
from innerloop.optimizer.rows import frame_of
from innerloop.space.space import Space
from innerloop.studies.records import Record, record_of, row_of_record

#: The attribute of a study that has its settings, and the version of these: studies with goals of
#: their own have the second one, those that were changed the third, which an earlier innerloop
#: refuses.
ATTRIBUTE, WITH_GOALS, VERSION = "innerloop", 2, 3


class StudyView(ABC):
    """A study, however its trials are read.

    Its `space` and `seed` are None if it was made by something else and has no space yet; it may
    have been inferred from the trials.

    Args:
        name: its name.
        directions: "minimize" or "maximize" for each objective; a StudyError if there are several
            without names.
        attributes: those that the study has in its database.
        names: those of objectives that have none of innerloop's.
    """

    def __init__(
        self,
        name: str,
        directions: Sequence[str],
        attributes: Mapping[str, Any],
        names: Sequence[str] = (),
    ) -> None:
        self.name, self.is_inferred = name, False
        settings = attributes.get(ATTRIBUTE) or {}
        if settings.get("version", VERSION) > VERSION:
            raise StudyError(f"study {name!r} was written by a newer innerloop")
        table, now = settings.get("space"), space_after(changes_of(attributes))
        self.space = None if table is None else now or Space.from_dict(table)
        self.seed: int | None = settings.get("seed")
        self.goals = goals_of(name, directions, settings, names)

    @abstractmethod
    def stored_trials(self) -> Sequence[StoredTrial]:
        """All trials as they are stored, in the order of their ids."""

    @abstractmethod
    def changes(self) -> tuple[Change, ...]:
        """Every change of what was on record, the first one first."""

    @property
    def direction(self) -> str:
        """ "minimize" or "maximize", of the first objective."""
        return next(iter(self.goals.objectives.values()))

    def records(self) -> list[Record]:
        """All trials, in the order of their ids."""
        records = [record_of(trial, self.space, self.goals) for trial in self.stored_trials()]
        if not self.goals.constraints:
            return records
        feasible = self.goals.feasible
        return [
            replace(each, feasible=feasible(each, records)) if each.state == "complete" else each
            for each in records
        ]

    def to_dataframe(self, library: str | None = None) -> Any:
        """All trials as a data frame; see `Optimizer.to_dataframe`.

        Args:
            library: "pandas" or "polars"; by default pandas, or polars if only that is installed.

        Returns:
            A `DataFrame` of that library, which also says of failed trials whether they were lost.
        """
        changed = {change.trial for change in self.changes()}
        rows = [
            row_of_record(each, self.goals, self.space) | {"changed": each.id in changed}
            for each in self.records()
        ]
        last = ("started", "finished", "error", "lost", "outside", "changed")
        return frame_of(rows, self.goals, self.space, library, last)

    def best(self) -> Record:
        """The complete trial with the best value within all limits, the first one of several."""
        if len(self.goals.objectives) > 1:
            raise StudyError(
                f"study {self.name!r} has several objectives and no best trial: "
                "'innerloop front' prints those that no other one beats"
            )
        complete = [r for r in self.records() if r.state == "complete" and r.value is not None]
        if not complete:
            why = f": {said}" if (said := self.failures()) else ""
            raise StudyError(f"study {self.name!r} has no trial with a value yet{why}")
        complete = [record for record in complete if record.outside is None]
        feasible = [record for record in complete if record.feasible is not False]
        if not feasible:
            where = "within all limits" if complete else "in its space"
            raise StudyError(f"study {self.name!r} has no trial {where} yet")
        sign = -1.0 if self.direction == "maximize" else 1.0
        return min(feasible, key=lambda record: sign * (record.value or 0.0))

    def failures(self) -> str:
        """How many trials failed, and the reasons that most of them give; none if none failed."""
        records = self.records()
        errors = [r.error for r in records if r.state == "failed" and not r.lost]
        return why_none(errors, len(records))

    def front(self) -> tuple[Record, ...]:
        """Complete trials within all limits that no other one beats in all objectives."""
        return self.goals.front(self.records())

    def hypervolume(self) -> float:
        """The volume between the front of several objectives and the reference."""
        return self.goals.hypervolume(self.records())


def goals_of(
    name: str, directions: Sequence[str], settings: Mapping[str, Any], names: Sequence[str] = ()
) -> Goals:
    """What is wanted of the trials of a study.

    Args:
        name: that of the study.
        directions: "minimize" or "maximize" for each objective.
        settings: those that innerloop keeps in it, if there are any.
        names: those of objectives that have none there.

    Returns:
        Its goals; a StudyError if it has several objectives without names.
    """
    if settings.get("goals") is not None:
        return Goals.of(**settings["goals"])
    if names:
        return Goals.of(dict(zip(names, directions, strict=True)))
    if len(directions) > 1:
        raise StudyError(
            f"study {name!r} has {len(directions)} objectives without names: give "
            "--space with a file that has them in its table [objectives]"
        )
    return Goals.of(None, direction=directions[0])
