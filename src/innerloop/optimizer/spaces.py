"""From one space to another: what earlier trials are in the new one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from innerloop import checks
from innerloop.errors import InputError
from innerloop.space.outside import admit
from innerloop.space.parameters import Choice, Integer, Parameter, Plain, Real
from innerloop.space.space import Space


def defaults_for(
    old: Space,
    new: Space,
    defaults: Mapping[str, Any],
    drop: Collection[str],
    earlier: Sequence[Mapping[str, Any]],
) -> dict[str, Plain]:
    """The values that new parameters had in earlier trials; or an error, if that is not clear.

    Args:
        old: the space as it was.
        new: the space as it is to be.
        defaults: values of new parameters in earlier trials.
        drop: parameters that the new space does not have, and that matter little enough.
        earlier: all values that each trial has or had, by name.

    Returns:
        Values by name; those of parameters that were fixed are what they were fixed at.
    """
    checks.instance("space", new, Space, "a Space")
    checks.instance("defaults", defaults, Mapping, "a mapping of names to values")
    for name in defaults:
        if name not in new.parameters or _is_known(old, name):
            raise InputError(f"defaults are for new parameters, and {name!r} is none")
    for name in drop:
        if name in new.parameters or name not in old.parameters:
            raise InputError(f"{name!r} is to be dropped, but is not among what is gone")
    for name in old.varying:
        if name not in new.parameters and name not in drop:
            raise InputError(
                f"{name!r} is missing: drop it, if results are alike whatever it was, or give the "
                "value that it is held at"
            )
    found: dict[str, Plain] = {}
    needs = new.branches.needs  # parents before their children
    for name in (*(name for name in new.names if name not in needs), *needs):
        if _is_known(old, name):
            if name not in old.varying:
                found[name] = held_at(old, name)
        elif name in defaults:
            found[name] = _default(new, name, defaults[name])
        elif name not in new.varying:
            found[name] = held_at(new, name)
        elif any(name in new.lacking({**found, **each}) for each in earlier):
            raise InputError(f"{name!r} is new: give a default, the value of it in earlier trials")
    return found


def _is_known(old: Space, name: str) -> bool:
    """Whether all trials of a space have a value of a parameter."""
    return name in old.parameters and name not in old.branches.needs


def held_at(space: Space, name: str) -> Plain:
    """The value of a parameter that has one alone.

    Args:
        space: which has the parameter.
        name: that of the parameter.

    Returns:
        The value.
    """
    kind = space.parameters[name]
    return kind.decode(()) if isinstance(kind, Parameter) else kind


def moved(space: Space, params: Mapping[str, Any]) -> tuple[dict[str, Plain], str | None]:
    """Params in a space, whether they have a place in it or beside it, or none.

    Args:
        space: any space.
        params: values by name, some of which the space may not know.

    Returns:
        Values of the parameters that the space has, in its order; and why they are not in it.
    """
    known = space.branches.present({n: params[n] for n in space.names if n in params})
    try:
        return admit(space, known)
    except InputError as error:
        return known, str(error)


def _default(space: Space, name: str, value: Any) -> Plain:
    """A value that a parameter had, which may be beyond its range."""
    kind = space.parameters[name]
    if not isinstance(kind, Real | Integer | Choice) or not kind.width:
        if value != held_at(space, name):
            raise InputError(f"{name!r} is held at {held_at(space, name)!r}, not at {value!r}")
        return held_at(space, name)
    return admit(Space({name: replace(kind, when=None)}), {name: value})[0][name]
