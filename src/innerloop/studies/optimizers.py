"""A study as an `Optimizer`, for whatever works on one, such as a report."""

from __future__ import annotations

import datetime
from typing import Any

from innerloop.errors import InputError, StudyError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.studies.records import Record
from innerloop.studies.study import Study

_STATES = {"complete": "complete", "running": "pending", "failed": "failed"}


def optimizer_of(study: Study) -> Optimizer:
    """An optimizer that knows the trials of a study.

    Trials that were pruned, are not in the space, or have no params yet are left out.

    Args:
        study: one that has a space; a StudyError if it has none.

    Returns:
        The optimizer; telling it anything does not change the study.
    """
    if study.space is None or study.seed is None:
        raise StudyError(f"study {study.name!r} has no space: it was not made by innerloop")
    optimizer = Optimizer(study.space, direction=study.direction, seed=study.seed)
    trials: list[Trial] = []
    for record in study.records():
        state = "cancelled" if record.lost else _STATES.get(record.state)
        try:
            params = study.space.check(record.params)
        except InputError:
            continue
        if state is not None:
            trials.append(_trial(record, params, state))
    return optimizer.with_trials(trials)


def _trial(record: Record, params: dict[str, Any], state: str) -> Trial:
    return Trial.from_dict(
        {
            "id": record.id,
            "params": params,
            "state": state,
            "value": record.value,
            "error": record.error,
            "asked": _seconds(record.started),
            "told": _seconds(record.finished),
            "prediction": record.prediction,
            "certificate": record.certificate,
        }
    )


def _seconds(moment: str | None) -> float | None:
    return None if moment is None else datetime.datetime.fromisoformat(moment).timestamp()
