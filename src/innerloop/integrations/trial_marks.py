"""What innerloop keeps with a trial of Optuna's, beside its parameters: names and how to read them.

Needs nothing of Optuna, which takes long to import.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from innerloop.optimizer.goals import Goals

#: Attributes of a trial that was told several outcomes, before their names: numbers, and standard
#: deviations of the noise in them.
OUTCOME, NOISE_SD = "outcome:", "noise_sd:"
#: Why a trial has no value.
ERROR = "error"
#: What was chosen for a trial, by name as the space knows it, before it asks for its parameters.
PLAN = "innerloop:plan"
#: What was expected of it, and how good the batch is that it belongs to.
EXPECTED = "innerloop:expected"
#: Which row of a file a trial was added from, and why its params are not in the space.
ADDED, OUTSIDE = "innerloop:added", "innerloop:outside"
#: Values that Optuna cannot hold next to earlier ones of the same names, as those of other choices.
PARAMS = "innerloop:params"
#: Marks a trial that is to be forgotten, with the name of the state that Optuna has for it.
FORGOTTEN = "innerloop:forgotten"
#: Marks a trial that was given up before there was an answer: it says nothing of its parameters.
LOST = "innerloop:lost"


class Named(Protocol):
    """A state, which has the name that Optuna gives it."""

    @property
    def name(self) -> str:
        """RUNNING, WAITING, COMPLETE, PRUNED or FAIL."""


class StoredTrial(Protocol):
    """A trial as it is stored, read with Optuna or without it."""

    @property
    def number(self) -> int:
        """Its id in the study."""

    @property
    def state(self) -> Named:
        """What has become of it."""

    @property
    def values(self) -> Sequence[float] | None:
        """Those of the objectives, if it has some."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Values by name."""

    @property
    def user_attrs(self) -> Mapping[str, Any]:
        """What users see."""

    @property
    def system_attrs(self) -> Mapping[str, Any]:
        """What programs keep."""

    @property
    def datetime_start(self) -> datetime.datetime | None:
        """When it was asked for."""

    @property
    def datetime_complete(self) -> datetime.datetime | None:
        """When it was finished."""


def told_of(trial: StoredTrial, goals: Goals, prefix: str = OUTCOME) -> dict[str, float]:
    """What a trial of a study with goals was told so far.

    Args:
        trial: one of any state.
        goals: those of its study.
        prefix: `NOISE_SD` for the noise in it.

    Returns:
        Numbers by name; objectives also if something else than innerloop has told them.
    """
    has_values = trial.state.name != "FAIL" or is_forgotten(trial)
    values = trial.values if prefix == OUTCOME and has_values else None
    told = dict(zip(goals.objectives, values or (), strict=False))
    kept = {name: trial.user_attrs.get(f"{prefix}{name}") for name in goals.names}
    return {**told, **{name: float(each) for name, each in kept.items() if each is not None}}


def is_forgotten(trial: StoredTrial) -> bool:
    """Whether a trial is to be forgotten, whatever it was told.

    Args:
        trial: one of any state.

    Returns:
        Whether it says nothing of its parameters, and is on record only.
    """
    return FORGOTTEN in trial.system_attrs


def is_lost(trial: StoredTrial) -> bool:
    """Whether a trial was given up before its target had an answer.

    Args:
        trial: one of any state.

    Returns:
        Whether it says nothing of its parameters.
    """
    return trial.state.name == "FAIL" and bool(trial.system_attrs.get(LOST))
