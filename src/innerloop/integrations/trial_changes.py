"""Changes of the trials of a study, kept beside them: what Optuna has of a finished trial stays.

Each change is an attribute of its study, numbered, and set once; what reads trials reads them
through `as_changed`. Needs nothing of Optuna, which takes long to import.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from innerloop.integrations.space_changes import in_present_space, spaces_in
from innerloop.integrations.trial_marks import (
    ERROR,
    FORGOTTEN,
    LOST,
    NOISE_SD,
    OUTCOME,
    OUTSIDE,
    StoredTrial,
)
from innerloop.optimizer.changes import Change

#: Attributes of a study that are changes, before their numbers.
CHANGE = "innerloop:change:"
#: Tells a trial that was changed from what it was before, and from other changes of it.
CHANGED = "innerloop:changed"

_STATES = {"complete": "COMPLETE", "failed": "FAIL"}
_Trial = TypeVar("_Trial", bound=StoredTrial)


def changes_of(attributes: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes that a study has.

    Args:
        attributes: those of the study that users see.

    Returns:
        The changes, the first one first.
    """
    names = sorted(name for name in attributes if name.startswith(CHANGE))
    return tuple(Change.from_dict(attributes[name]) for name in names)


def name_of(number: int) -> str:
    """The attribute that a change is.

    Args:
        number: how many changes there were before it.

    Returns:
        Its name: names are in the order of the numbers.
    """
    return f"{CHANGE}{number:09d}"


def mark_of(trial: StoredTrial) -> int:
    """What tells a trial from the same one before it was changed.

    Args:
        trial: one that `as_changed` gave.

    Returns:
        A number that depends on what the trial is now, 0 if that is what Optuna has.
    """
    return int(trial.system_attrs.get(CHANGED, 0))


def marks_of(trials: Iterable[StoredTrial]) -> tuple[tuple[int, int], ...]:
    """The trials that are not as Optuna has them.

    Args:
        trials: as `as_changed` gave them.

    Returns:
        The numbers of those that were changed, with their marks.
    """
    return tuple((trial.number, mark) for trial in trials if (mark := mark_of(trial)))


def as_changed(
    trials: Sequence[_Trial],
    changes: Sequence[Change],
    objectives: int,
    remade: Callable[[_Trial, str, Mapping[str, Any]], _Trial],
) -> list[_Trial]:
    """Trials as they are after all changes; the others are the same objects.

    Args:
        trials: as they are stored.
        changes: those of their study.
        objectives: how many it has.
        remade: gives a trial another state, by Optuna's name, and other fields.

    Returns:
        The trials in the same order.
    """
    last: dict[int, list[Change]] = {}
    for change in changes:
        if change.trial is not None:
            last.setdefault(change.trial, []).append(change)
    spaces = spaces_in(changes)
    changed = [
        _changed(trial, last[trial.number], objectives, remade) if trial.number in last else trial
        for trial in trials
    ]
    return [_moved(trial, spaces, remade) for trial in changed] if spaces else changed


def _moved(
    trial: _Trial,
    spaces: Sequence[Change],
    remade: Callable[[_Trial, str, Mapping[str, Any]], _Trial],
) -> _Trial:
    """A trial in the present space; itself, if it is as it was in that in which it was asked."""
    params, why = in_present_space(trial, spaces)
    if params == trial.params and why == trial.system_attrs.get(OUTSIDE):
        return trial
    others = {name: each for name, each in trial.system_attrs.items() if name != OUTSIDE}
    if trial.state.name not in ("RUNNING", "WAITING"):
        now = json.dumps([mark_of(trial), dict(params), why], sort_keys=True)
        others[CHANGED] = zlib.crc32(now.encode()) or 1
    others |= {} if why is None else {OUTSIDE: why}
    return remade(trial, trial.state.name, {"params": dict(params), "system_attrs": others})


def _changed(
    trial: _Trial,
    changes: Sequence[Change],
    objectives: int,
    remade: Callable[[_Trial, str, Mapping[str, Any]], _Trial],
) -> _Trial:
    """A trial after its changes; itself, if these have left nothing different."""
    state, values, attributes = trial.state.name, trial.values, dict(trial.user_attrs)
    is_forgotten = False
    for change in changes:
        told, is_forgotten = change.after, change.kind == "forget"
        if change.kind in ("forget", "undo"):
            continue
        if told["state"] in _STATES:
            state = _STATES[told["state"]]
            kept = (name for name in attributes if not name.startswith((OUTCOME, NOISE_SD)))
            attributes = {name: attributes[name] for name in kept if name != ERROR}
            numbers = (
                [told["value"]] if "value" in told else list(told.get("outcomes", {}).values())
            )
            values = numbers[:objectives] if state == "COMPLETE" else None
        attributes |= {f"{OUTCOME}{name}": each for name, each in told.get("outcomes", {}).items()}
        attributes |= {
            f"{NOISE_SD}{name}": each for name, each in told.get("noise_sds", {}).items()
        }
        attributes |= {ERROR: told["error"]} if "error" in told else {}
    fields = {"values": values, "user_attrs": attributes}
    is_same = values == trial.values and attributes == trial.user_attrs
    is_same = is_same and state == trial.state.name
    if is_same and not is_forgotten:
        return trial
    others = {n: each for n, each in trial.system_attrs.items() if n != LOST or is_same}
    now = json.dumps([state, values, attributes, is_forgotten], sort_keys=True)
    others[CHANGED] = zlib.crc32(now.encode()) or 1
    if is_forgotten:
        # Nothing is learned from trials that are lost, and their points are as good as new.
        state, others = "FAIL", {**others, LOST: True, FORGOTTEN: state}
    return remade(trial, state, {**fields, "system_attrs": others})
