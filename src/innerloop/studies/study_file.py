"""A study in a SQLite file as it was at one moment, read at once and without Optuna."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from innerloop.integrations.optuna_tables import State, TableStudy, TableTrial, studies_of
from innerloop.integrations.trial_changes import as_changed, changes_of
from innerloop.optimizer.changes import Change
from innerloop.studies.view import ATTRIBUTE, StudyView

# Without what only SQLAlchemy knows how to read: a query, or a driver.
_PLAIN = re.compile(r"sqlite:///(?!file:|:memory:)(?P<path>[^?%]+)")


class StudyFile(StudyView):
    """A study as it was when its file was read.

    Args:
        study: what was in the file.
    """

    def __init__(self, study: TableStudy) -> None:
        super().__init__(study.name, study.directions, study.user_attrs)
        self._changes, objectives = changes_of(study.user_attrs), len(study.directions)
        self._trials = as_changed(study.trials, self._changes, objectives, _remade)

    def stored_trials(self) -> Sequence[TableTrial]:
        """All trials, in the order of their ids."""
        return self._trials

    def changes(self) -> tuple[Change, ...]:
        """Every change of what was on record, the first one first."""
        return self._changes


def study_file(url: str, name: str) -> StudyFile | None:
    """A study in a file.

    Args:
        url: that of a database.
        name: that of the study.

    Returns:
        The study; None if it is not in a file that can be read without Optuna.
    """
    found = _studies(url, name)
    return StudyFile(found[0]) if found else None


def own_study_file(url: str, name: str) -> StudyFile | None:
    """A study in a file that was made by innerloop.

    Args:
        url: that of a database.
        name: that of the study.

    Returns:
        The study; None if something else has made it, or if it takes Optuna to read it.
    """
    found = [each for each in _studies(url, name) or () if ATTRIBUTE in each.user_attrs]
    return StudyFile(found[0]) if found else None


def study_files(url: str) -> list[StudyFile] | None:
    """The studies in a file that have one objective, or names for several.

    Args:
        url: that of a database.

    Returns:
        The studies; None if they are not in a file that can be read without Optuna.
    """
    found = _studies(url)
    if found is None:
        return None
    return [StudyFile(s) for s in found if len(s.directions) == 1 or ATTRIBUTE in s.user_attrs]


def _remade(trial: TableTrial, state: str, fields: Mapping[str, Any]) -> TableTrial:
    return replace(trial, state=State[state], **fields)


def _studies(url: str, name: str | None = None) -> list[TableStudy] | None:
    plain = _PLAIN.fullmatch(url)
    return studies_of(Path(plain["path"]), name) if plain else None
