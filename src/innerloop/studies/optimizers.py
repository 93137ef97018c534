"""A study as an `Optimizer`, for whatever works on one, such as a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from innerloop.errors import InputError, StudyError
from innerloop.optimizer.goals import VALUE
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.space.outside import admit
from innerloop.space.space import Space
from innerloop.studies.records import Record, moment
from innerloop.studies.view import StudyView

_STATES = {
    "complete": "complete",
    "running": "pending",
    "failed": "failed",
    "forgotten": "forgotten",
}


def optimizer_of(study: StudyView) -> Optimizer:
    """An optimizer that knows the trials of a study.

    Trials that were pruned, have no place in the space or beside it, or no params yet are left out.

    Args:
        study: one that has a space; a StudyError if it has none.

    Returns:
        The optimizer; telling it anything does not change the study.
    """
    if study.space is None or study.seed is None:
        raise StudyError(f"study {study.name!r} has no space: it was not made by innerloop")
    records = study.records()
    return _holding(study, study.space, records, _known(study, study.space, records))


def inside_of(
    study: StudyView, records: Sequence[Record], space: Space
) -> tuple[Optimizer, tuple[int, ...]]:
    """An optimizer that knows those trials of a study that are in a space.

    Args:
        study: any study.
        records: its trials.
        space: that of the study, or one of some of its parameters.

    Returns:
        The optimizer, and the ids that its trials have in the study.
    """
    known = [pair for pair in _known(study, space, records) if pair[1].outside is None]
    return _holding(study, space, records, known), tuple(record.id for record, _ in known)


def trial_from(record: Record, params: dict[str, Any], state: str, *, several: bool) -> Trial:
    """A record as optimizers know trials.

    Args:
        record: the trial.
        params: values by name.
        state: one that optimizers know.
        several: whether it has several outcomes.

    Returns:
        The trial.
    """
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


def state_of(record: Record) -> str | None:
    """The state that optimizers have for a record, if they have one.

    Args:
        record: the trial.

    Returns:
        The state; None for trials that were pruned or have not begun.
    """
    return "cancelled" if record.lost else _STATES.get(record.state)


def recommended(study: StudyView) -> Record:
    """The best trial: under noise, of one objective without limits, by its posterior mean.

    Args:
        study: any study; a StudyError if it has no best trial.

    Returns:
        The trial.
    """
    best = study.best()
    if study.space is None or not study.goals.is_plain:
        return best
    known = _known(study, study.space, study.records())
    return known[optimizer_of(study).best.id][0]


def _known(study: StudyView, space: Space, records: Sequence[Record]) -> list[tuple[Record, Trial]]:
    """Records with the trials that they are, without those that have no place or no params yet."""
    known, is_whole = [], space is study.space
    for record in records:
        state = state_of(record)
        if state == "complete" and not set(study.goals.names) <= record.outcomes.keys():
            state = "pending"  # something of it has never been told
        had = record.params
        given = had if is_whole else {name: had[name] for name in space.names if name in had}
        try:
            params, why = admit(space, given)
        except InputError:
            continue
        if state is not None and (why is None or record.outside is not None):
            made = trial_from(record, params, state, several=not study.goals.is_plain)
            known.append((record, replace(made, outside=why)))
    return known


def _holding(
    study: StudyView,
    space: Space,
    records: Sequence[Record],
    known: Sequence[tuple[Record, Trial]],
) -> Optimizer:
    """An optimizer of a space with some trials of a study."""
    optimizer = _without_trials(study, space).with_trials(trial for _, trial in known)
    if len(known) < len(records):  # numbers have changed, and limits may be relative to some
        optimizer.goals = study.goals.resolved(records)
    return optimizer


def _without_trials(study: StudyView, space: Space) -> Optimizer:
    if study.goals.names == (VALUE,):
        return Optimizer(space, direction=study.direction, seed=study.seed)
    return Optimizer(space, seed=study.seed, **study.goals.to_dict())


def _seconds(text: str | None) -> float | None:
    time = moment(text)
    return None if time is None else time.timestamp()
