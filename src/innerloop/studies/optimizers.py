"""A study as an `Optimizer`, for whatever works on one, such as a report."""

from __future__ import annotations

import datetime
from typing import Any

from innerloop.errors import InputError, StudyError
from innerloop.optimizer.goals import VALUE
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.studies.records import Record
from innerloop.studies.view import StudyView

_STATES = {
    "complete": "complete",
    "running": "pending",
    "failed": "failed",
    "forgotten": "forgotten",
}


def optimizer_of(study: StudyView) -> Optimizer:
    """An optimizer that knows the trials of a study.

    Trials that were pruned, are not in the space, or have no params yet are left out.

    Args:
        study: one that has a space; a StudyError if it has none.

    Returns:
        The optimizer; telling it anything does not change the study.
    """
    if study.space is None or study.seed is None:
        raise StudyError(f"study {study.name!r} has no space: it was not made by innerloop")
    trials, records = list[Trial](), study.records()
    for record in records:
        state = "cancelled" if record.lost else _STATES.get(record.state)
        try:
            params = study.space.check(record.params)
        except InputError:
            continue
        if state is not None:
            trials.append(_trial(record, params, state, several=not study.goals.is_plain))
    optimizer = _without_trials(study).with_trials(trials)
    if len(trials) < len(records):  # numbers have changed, and limits may be relative to some
        optimizer.goals = study.goals.resolved(records)
    return optimizer


def _without_trials(study: StudyView) -> Optimizer:
    assert study.space is not None
    if study.goals.names == (VALUE,):
        return Optimizer(study.space, direction=study.direction, seed=study.seed)
    return Optimizer(study.space, seed=study.seed, **study.goals.to_dict())


def _trial(record: Record, params: dict[str, Any], state: str, *, several: bool) -> Trial:
    plain = {
        "id": record.id,
        "params": params,
        "state": state,
        "value": record.value,
        "error": record.error,
        "asked": _seconds(record.started),
        "told": _seconds(record.finished),
        "prediction": record.prediction,
        "certificate": record.certificate,
        "noise_sd": None if several else next(iter(record.noise_sds.values()), None),
    }
    if several:
        names = ("outcomes", "noise_sds", "predictions")
        plain |= {name: getattr(record, name) for name in names}
    return Trial.from_dict(plain)


def _seconds(moment: str | None) -> float | None:
    return None if moment is None else datetime.datetime.fromisoformat(moment).timestamp()
