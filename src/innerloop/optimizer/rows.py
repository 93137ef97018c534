"""Trials as rows: the same columns for tables, CSV and data frames, wherever trials are kept."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from innerloop.columns import Name, flat, titles
from innerloop.frames import frame
from innerloop.optimizer.changes import Change
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.trials import Trial
from innerloop.space.parameters import Choice, Integer, Parameter
from innerloop.space.space import Space

_MOMENT = datetime.datetime.fromtimestamp(0, datetime.UTC)
#: Keys of the last columns.
LAST = ("started", "finished", "error", "outside", "changed")
#: Values such as there may be in columns, whatever there is.
_KINDS: dict[str, Sequence[Any]] = {
    "id": (0,),
    "state": ("",),
    "feasible": (True,),
    "started": (_MOMENT,),
    "finished": (_MOMENT,),
    "error": ("",),
    "lost": (True,),
    "outside": ("",),
    "changed": (True,),
}


def row_of(
    id: int,
    state: str,
    outcomes: Mapping[str, float],
    *,
    goals: Goals,
    noise_sds: Mapping[str, float],
    feasible: bool | None,
    params: Mapping[str, Any],
    space: Space | None,
    **rest: Any,
) -> dict[str, Any]:
    """A trial as a row, in which noise and params are mappings, with places for all parameters.

    Args:
        id: its number.
        state: its state.
        outcomes: what was told of it, by name.
        goals: what is wanted of them.
        noise_sds: standard deviations of the noise in them; those of none leave no column.
        feasible: whether all limits are met, if there are any.
        params: values by name.
        space: that of the params, if it is known.
        rest: what follows them.

    Returns:
        Values by key.
    """
    row: dict[str, Any] = {"id": id, "state": state}
    row |= {name: outcomes.get(name) for name in goals.names}
    if goals.constraints:
        row["feasible"] = feasible
    if len(goals.names) > 1:
        row["noise_sd"] = {n: noise_sds[n] for n in goals.names if n in noise_sds}
    elif noise_sds:
        row["noise_sd"] = noise_sds.get(goals.names[0])
    return {**row, "params": with_places(params, space), **rest}


def with_places(params: Mapping[str, Any], space: Space | None) -> dict[str, Any]:
    """Params with a place for those that do not apply, in the order of their space.

    Args:
        params: values by name.
        space: theirs, if it is known.

    Returns:
        Values by name, None of what does not apply.
    """
    names = () if space is None else space.names
    return {name: params.get(name) for name in (*names, *params)}


def rows_of(
    trials: Sequence[Trial], goals: Goals, changes: Sequence[Change], space: Space
) -> list[dict[str, Any]]:
    """Trials of an optimizer as rows.

    Args:
        trials: all of them.
        goals: what is wanted of their outcomes.
        changes: of what was on record.
        space: that of their params.

    Returns:
        A row for each.
    """
    changed = {change.trial for change in changes}
    (name, *_) = goals.names
    rows = []
    for trial in trials:
        told, noise = trial.outcomes or {}, trial.noise_sds or {}
        if goals.is_plain and trial.value is not None:
            told = {name: trial.value}
            noise = {} if trial.noise_sd is None else {name: trial.noise_sd}
        is_told = goals.constraints and trial.state == "complete"
        rows.append(
            row_of(
                trial.id,
                trial.state,
                told,
                goals=goals,
                noise_sds=noise,
                feasible=goals.feasible(trial, trials) if is_told else None,
                params=trial.params,
                space=space,
                started=_moment(trial.asked),
                finished=_moment(trial.told),
                error=trial.error,
                outside=trial.outside,
                changed=trial.id in changed,
            )
        )
    return rows


def frame_of(
    rows: Sequence[Mapping[str, Any]],
    goals: Goals,
    space: Space | None,
    library: str | None,
    last: Sequence[str] = LAST,
) -> Any:
    """Rows as a data frame, with a column for each parameter of the space and of other trials.

    Args:
        rows: one for each trial.
        goals: what is wanted of their outcomes.
        space: that of the params, if it is known.
        library: "pandas" or "polars"; by default what is installed.
        last: keys of the last columns.

    Returns:
        The data frame.
    """
    parameters = {} if space is None else space.parameters
    flats = [flat(row) for row in rows]
    found = dict.fromkeys(name for row in flats for name in row)
    first = ["id", "state", *goals.names, *(["feasible"] if goals.constraints else [])]
    names: list[Name] = [
        *((key,) for key in first),
        *(name for name in found if name[0] == "noise_sd"),
        *dict.fromkeys(("params", name) for name in parameters),
        *(name for name in found if name[0] == "params" and name[1] not in parameters),
        *((key,) for key in last),
    ]
    kinds: dict[Name, Sequence[Any]] = {(key,): kind for key, kind in _KINDS.items()}
    kinds |= {(name,): (0.0,) for name in goals.names}
    kinds |= {("params", name): _values_of(kind) for name, kind in parameters.items()}
    by_title = dict(zip(titles(names), names, strict=True))
    return frame(
        {title: [each.get(name) for each in flats] for title, name in by_title.items()},
        {title: kinds.get(name, ()) for title, name in by_title.items()},
        library,
    )


def _values_of(parameter: Any) -> Sequence[Any]:
    """Values such as a parameter has."""
    if isinstance(parameter, Choice):
        return parameter.values
    if isinstance(parameter, Integer):
        return (0,)
    return (0.0,) if isinstance(parameter, Parameter) else (parameter,)


def _moment(seconds: float | None) -> datetime.datetime | None:
    """A time since the epoch as a date; None where no calendar has it."""
    if seconds is None:
        return None
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return None
