"""Changes of what was on record: what it was before, what it is now, and when that was changed."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.trials import STATES, Trial, outcome, refuse_forgotten, with_outcomes

#: What a trial was told, by the names that it has there.
TOLD = ("state", "value", "noise_sd", "error", "told", "outcomes", "noise_sds")
#: What of it says nothing of the function.
_INCIDENTAL = ("error", "told")


@dataclass(frozen=True)
class Change:
    """A change of something that was on record.

    Args:
        kind: "correct": what came of a trial was replaced; "forget": it was marked as forgotten;
            "undo": that was undone; "space": the space was replaced.
        trial: the id of the trial; None if all are concerned.
        before: what it was, by name, without what there was none of.
        after: what it is from then on.
        at: when it was changed, in seconds since the epoch.
    """

    kind: str
    trial: int | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    at: float = field(default_factory=time.time)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**plain, "before": dict(self.before), "after": dict(self.after)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Change:
        """The change that `to_dict` wrote down.

        Args:
            data: plain data.

        Returns:
            The change.
        """
        if set(data) != {each.name for each in fields(Change)}:
            raise InputError(f"not a change: {dict(data)!r}")
        return Change(**data)


def told_of(trial: Trial) -> dict[str, Any]:
    """What a trial was told.

    Args:
        trial: one of any state.

    Returns:
        Its state and the rest by name, without what there is none of.
    """
    told = {name: getattr(trial, name) for name in TOLD}
    return {name: each for name, each in told.items() if each is not None}


def as_told(trial: Trial, told: Mapping[str, Any]) -> Trial:
    """A trial that was told something else.

    Args:
        trial: the trial.
        told: what `told_of` gives.

    Returns:
        The trial with all of that, and with nothing else that was told.
    """
    if told.get("state") not in STATES:
        raise InputError(f"not what a trial was told: {dict(told)!r}")
    what: dict[str, Any] = {name: told.get(name) for name in TOLD}
    return replace(trial, **what)


def teaches_the_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two things that a trial may have been told say the same of the function.

    Args:
        one: what `told_of` gives.
        other: the same.

    Returns:
        Whether they differ at most in why there is no value, and in when they were told.
    """
    first, second = (
        {name: each for name, each in told.items() if name not in _INCIDENTAL}
        for told in (one, other)
    )
    return first == second


def with_outcome(
    trial: Trial, goals: Goals, value: Any, state: str, noise_sd: Any, error: str | None
) -> Trial:
    """The trial with its outcome, or with some of several; or an error that leaves it as it was.

    Args:
        trial: as it is on record.
        goals: what is told of it.
        value: what came out.
        state: "complete", "failed" or "cancelled".
        noise_sd: standard deviation of the noise in the value, where it is known.
        error: why there is no value.

    Returns:
        The trial as it is now.
    """
    if not goals.is_plain and state == "complete":
        if noise_sd is not None:
            raise InputError(
                "of several outcomes, noise is told with each: {name: (value, noise_sd)}"
            )
        return with_outcomes(trial, value, goals.names, len(goals.objectives))
    return outcome(trial, goals.unnamed(value), state, noise_sd, error)


def corrected(
    trial: Trial, goals: Goals, value: Any, state: str, noise_sd: Any, error: str | None
) -> Trial:
    """The trial as if it had been told something else; or an error that leaves it as it was.

    Args:
        trial: one that was told something.
        goals: what is told of it.
        value: what came out; of several outcomes those that were wrong will do.
        state: "complete" or "failed".
        noise_sd: standard deviation of the noise in the value, where it is known.
        error: why there is no value.

    Returns:
        The trial as it is now; as it was, if it was told just that.
    """
    checks.one_of("state", state, ("complete", "failed"))
    refuse_forgotten(trial)
    if trial.state not in ("complete", "failed") and not trial.outcomes:
        raise InputError(f"trial {trial.id} is {trial.state}: tell what came of it")
    some = isinstance(value, Mapping) and state == "complete" and not goals.is_plain
    now = with_outcome(
        _untold(trial, value if some else None), goals, value, state, noise_sd, error
    )
    if now.state == "pending" and trial.state != "pending":
        missing = [name for name in goals.names if name not in (now.outcomes or {})]
        raise InputError(f"trial {trial.id} was told no {' and no '.join(missing)}: give all")
    if teaches_the_same(told_of(now), told_of(trial)) and now.error == trial.error:
        return trial
    return now


def forgotten(trial: Trial, goals: Goals) -> Trial:
    """The trial marked as forgotten, with all that it was told.

    Args:
        trial: one that is not pending.
        goals: what is told of it.

    Returns:
        The trial, forgotten; as it was, if it was forgotten before.
    """
    if trial.state == "pending":
        raise InputError(f"trial {trial.id} is pending: only what is finished can be forgotten")
    for limit in goals.constraints:
        if limit.trial == trial.id:
            raise InputError(
                f"trial {trial.id} is what {limit.text!r} is relative to: it can be corrected"
            )
    return trial if trial.state == "forgotten" else replace(trial, state="forgotten")


def remembered(trial: Trial, changes: Sequence[Change]) -> Trial:
    """The trial as it was before it was forgotten.

    Args:
        trial: one that is forgotten.
        changes: all that there were.

    Returns:
        The trial; as it is, if it is not forgotten.
    """
    if trial.state != "forgotten":
        return trial
    changed = [each for each in changes if each.trial == trial.id and each.kind == "forget"]
    return replace(trial, state=changed[-1].before["state"])


def _untold(trial: Trial, names: Collection[str] | None) -> Trial:
    """A pending trial with the outcomes that are not among some names; with none if None."""

    def rest(told: dict[str, float] | None) -> dict[str, float] | None:
        kept = {} if names is None else {n: v for n, v in (told or {}).items() if n not in names}
        return kept or None

    return replace(
        trial,
        state="pending",
        value=None,
        noise_sd=None,
        error=None,
        outcomes=rest(trial.outcomes),
        noise_sds=rest(trial.noise_sds),
    )
