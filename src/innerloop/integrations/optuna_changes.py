"""Trials of Optuna's as they are after the changes that their study has."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from innerloop.integrations.optuna_private import (
    latest_trials,
    listed_trials,
    storage_of,
    study_id_of,
)
from innerloop.integrations.trial_changes import as_changed, changes_of
from innerloop.optimizer.changes import Change


def latest_as_changed(study: Study) -> list[FrozenTrial]:
    """All trials of a study as they are now.

    Args:
        study: a study, or the view of one that a sampler is given.

    Returns:
        The trials by number, not to be changed.
    """
    return _now(study, latest_trials(study))


def listed_as_changed(study: Study) -> list[FrozenTrial]:
    """All trials of a study as this thread listed them first for its trial.

    Args:
        study: a study, or the view of one that a sampler is given.

    Returns:
        The trials by number, not to be changed.
    """
    return _now(study, listed_trials(study))


def frozen_as_changed(
    trials: Sequence[FrozenTrial], changes: Sequence[Change], objectives: int
) -> list[FrozenTrial]:
    """Trials after changes; see `as_changed`.

    Args:
        trials: as they are stored.
        changes: those of their study.
        objectives: how many it has.

    Returns:
        The trials in the same order, not to be changed.
    """
    return as_changed(trials, changes, objectives, _remade) if changes else list(trials)


def _now(study: Study, trials: list[FrozenTrial]) -> list[FrozenTrial]:
    attributes = storage_of(study).get_study_user_attrs(study_id_of(study))
    return frozen_as_changed(trials, changes_of(attributes), len(study.directions))


def _remade(trial: FrozenTrial, state: str, fields: Mapping[str, Any]) -> FrozenTrial:
    made = copy.copy(trial)  # storages keep the other one
    made.state = TrialState[state]
    for name, value in fields.items():
        setattr(made, name, value)
    return made
