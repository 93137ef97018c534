"""Trials of a study as plain data."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from innerloop.columns import utc
from innerloop.errors import InputError
from innerloop.integrations.trial_marks import (
    ERROR,
    EXPECTED,
    NOISE_SD,
    OUTSIDE,
    StoredTrial,
    is_forgotten,
    is_lost,
    told_of,
)
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.rows import row_of
from innerloop.optimizer.trials import Trial
from innerloop.space.parameters import Parameter
from innerloop.space.space import Space

#: The attribute of a trial that says who runs it.
OWNER = "innerloop:owner"
_STATES = {
    "RUNNING": "running",
    "WAITING": "waiting",
    "COMPLETE": "complete",
    "PRUNED": "pruned",
    "FAIL": "failed",
}


@dataclass(frozen=True)
class Record:
    """One trial.

    Args:
        id: its number in the study.
        state: "running", "waiting", "complete", "pruned", "failed" or "forgotten".
        value: what came of it, if anything did; None where there are several objectives.
        params: values by name.
        started: when it was asked for, ISO 8601 in UTC.
        finished: when it was told, ISO 8601 in UTC.
        error: why it failed.
        lost: whether it was given up before its target had an answer, so that it does not count.
        prediction: what was expected when the model chose it, as in `innerloop.optimizer.trials`.
        certificate: how good its batch is, as in `innerloop.optimizer.trials`.
        outcomes: what was told of it so far, by name.
        noise_sds: standard deviations of the noise in them, where they were given.
        feasible: of a complete trial, whether all limits are met; None if there are none.
        predictions: what was expected of several outcomes, by name.
        outside: why its params are not in the space, if they are not.
    """

    id: int
    state: str
    value: float | None
    params: dict[str, Any]
    started: str | None
    finished: str | None
    error: str | None
    lost: bool
    prediction: dict[str, float] | None
    certificate: dict[str, float | None] | None
    outcomes: dict[str, float]
    noise_sds: dict[str, float]
    feasible: bool | None
    predictions: dict[str, dict[str, float]] | None
    outside: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON; what most trials do not have only where it is."""
        plain = asdict(self)
        return {k: each for k, each in plain.items() if each is not None or k != "outside"}

    @property
    def counts(self) -> bool:
        """Whether there is an answer: a value, or a failure of the target's own."""
        return self.state in ("complete", "pruned", "failed") and not self.lost


def record_of(trial: StoredTrial, space: Space | None, goals: Goals) -> Record:
    """A trial of Optuna's as plain data.

    Args:
        trial: one of any state.
        space: that of its study, if it is known.
        goals: those of its study.

    Returns:
        The trial, with the values that the space fixes; whether it is feasible is left open.
    """
    state = "forgotten" if is_forgotten(trial) else _STATES[trial.state.name]
    failed = state == "failed"
    expected = trial.system_attrs.get(EXPECTED) or {}
    error = trial.user_attrs.get(ERROR)
    return Record(
        id=trial.number,
        state=state,
        value=trial.values[0]
        if trial.values and not failed and len(goals.objectives) == 1
        else None,
        params=params_of(trial.params, space),
        started=_utc(trial.datetime_start),
        finished=_utc(trial.datetime_complete),
        error=str(error) if state in ("failed", "forgotten") and error else None,
        lost=is_lost(trial) and failed,
        prediction=expected.get("prediction"),
        certificate=expected.get("certificate"),
        outcomes=told_of(trial, goals),
        noise_sds=told_of(trial, goals, NOISE_SD),
        feasible=None,
        predictions=expected.get("predictions"),
        outside=trial.system_attrs.get(OUTSIDE),
    )


def row_of_record(record: Record, goals: Goals, space: Space | None) -> dict[str, Any]:
    """A record as a row, as tables and data frames have it: without what was expected.

    Args:
        record: one of any state.
        goals: those of its study.
        space: that of its study, if it is known.

    Returns:
        Values by key.
    """
    left_out = ("value", "prediction", "certificate", "predictions")
    plain = {key: each for key, each in record.to_dict().items() if key not in left_out}
    plain |= {key: moment(plain[key]) for key in ("started", "finished")}
    return row_of(goals=goals, space=space, **plain)


def moment(text: str | None) -> datetime.datetime | None:
    """A time of a record.

    Args:
        text: ISO 8601, if it is known.

    Returns:
        The time.
    """
    return None if text is None else datetime.datetime.fromisoformat(text)


def trial_of(record: Record) -> Trial:
    """A record as runs and progress bars know trials.

    Args:
        record: one of any state.

    Returns:
        The trial, as if it was asked now.
    """
    without = "cancelled" if record.lost else "failed"
    known = {"complete": "complete", "running": "pending", "forgotten": "forgotten"}
    state = known.get(record.state, without)
    return Trial(
        record.id,
        record.params,
        state=state,
        value=record.value,
        error=record.error,
        asked=time.time(),
        outcomes=record.outcomes,
        noise_sds=record.noise_sds,
        outside=record.outside,
    )


def params_of(chosen: Mapping[str, Any], space: Space | None) -> dict[str, Any]:
    """Values of all parameters in the order of the space, if all that vary are there.

    Args:
        chosen: values by name.
        space: that of the study, if it is known.

    Returns:
        The values, with those that the space fixes; else what was chosen, as it is.
    """
    if space is None or space.lacking(chosen):
        return dict(chosen)
    params: dict[str, Any] = {}
    absent = space.branches.absent(chosen)
    for name, parameter in space.parameters.items():
        if name in absent:
            continue
        if not isinstance(parameter, Parameter):
            params[name] = chosen.get(name, parameter)  # it may have been something else once
        elif parameter.width:
            try:
                params[name] = parameter.check(name, chosen[name])
            except InputError:  # beyond its range
                params[name] = chosen[name]
        else:
            params[name] = parameter.decode(())
    return params


def _utc(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else utc(moment)
