"""Changes of the space of a study: its trials as they are in the present one.

Trials keep what Optuna has of them, also values of parameters that are gone. Needs nothing of
Optuna, which takes long to import.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from innerloop.integrations.trial_marks import PARAMS, StoredTrial
from innerloop.optimizer.changes import Change
from innerloop.optimizer.spaces import moved
from innerloop.space.space import Space

_UNDER_WAY = ("RUNNING", "WAITING")


def spaces_in(changes: Sequence[Change]) -> list[Change]:
    """The changes of the space.

    Args:
        changes: all that a study has.

    Returns:
        Those of the space, the first one first.
    """
    return [change for change in changes if change.kind == "space"]


def space_after(changes: Sequence[Change]) -> Space | None:
    """The space that changes have led to.

    Args:
        changes: all that a study has.

    Returns:
        The space, the same object for the same one; None if it was never changed.
    """
    found = spaces_in(changes)
    return _space(json.dumps(found[-1].after["space"])) if found else None


def space_before(change: Change) -> Space:
    """The space that was there before a change of it.

    Args:
        change: one of the space.

    Returns:
        The space.
    """
    return _space(json.dumps(change.before["space"]))


def values_of(trial: StoredTrial, spaces: Sequence[Change]) -> dict[str, Any]:
    """All values that a trial has or had, with defaults of parameters that came later.

    Args:
        trial: one of any state.
        spaces: the changes of the space.

    Returns:
        Values by name.
    """
    values = {**trial.params, **trial.system_attrs.get(PARAMS, {})}
    for change in spaces:
        # A trial that began later and is under way is about to get a value of its own.
        if trial.state.name not in _UNDER_WAY or trial.number < change.after["trials"]:
            values = {**change.after.get("defaults", {}), **values}
    return values


def in_present_space(
    trial: StoredTrial, spaces: Sequence[Change]
) -> tuple[Mapping[str, Any], str | None]:
    """The params of a trial in the present space.

    Args:
        trial: one of any state.
        spaces: the changes of the space, one at least.

    Returns:
        Values by name, and why they are not in the space, if they are not.
    """
    space, values = space_after(spaces), values_of(trial, spaces)
    assert space is not None
    if space.lacking(values):  # a trial that has not chosen yet, or never did
        return {name: values[name] for name in space.names if name in values}, None
    params, why = moved(space, values)
    # What is fixed is not with trials, unless they had something else.
    fixed = {n for n in params if n not in space.varying and n not in trial.params}
    return {name: each for name, each in params.items() if name not in fixed}, why


@lru_cache(maxsize=16)
def _space(text: str) -> Space:
    return Space.from_dict(json.loads(text))
