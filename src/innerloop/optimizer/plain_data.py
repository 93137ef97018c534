"""Objects and classes as plain data, ready for JSON: by the name of their class and its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from innerloop.errors import InputError

T = TypeVar("T")


def class_name(kind: type) -> str:
    """A class as "module:name", for those that other processes can import.

    Args:
        kind: the class.

    Returns:
        Its name.
    """
    if kind.__module__ == "__main__" or "<" in kind.__qualname__:
        raise InputError(
            f"{kind.__qualname__} cannot be saved: define it at the top level of a module, which "
            "is there to be imported when it is loaded"
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def class_of(name: str, base: type[T]) -> type[T]:
    """The class that `class_name` named.

    Args:
        name: "module:name".
        base: what it has to be a subclass of.

    Returns:
        The class.
    """
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{name} cannot be found: {error}") from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise InputError(f"{name} is no {base.__name__}")
    return found


def to_plain(thing: object) -> dict[str, Any]:
    """An object by its class and fields.

    Args:
        thing: a dataclass, or something that has no state.

    Returns:
        Plain data, ready for JSON.
    """
    if is_dataclass(thing):
        settings = {each.name: getattr(thing, each.name) for each in fields(thing)}
    elif getattr(thing, "__dict__", None):
        raise InputError(f"{type(thing).__name__} cannot be saved: make it a dataclass")
    else:
        settings = {}
    plain = {
        name: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for name, value in settings.items()
    }
    for name, value in plain.items():
        if not isinstance(value, int | float | str | list | None):
            raise InputError(
                f"{type(thing).__name__} cannot be saved: {name} must be a number, a text or an "
                f"array, got {value!r}"
            )
    return {"class": class_name(type(thing)), "settings": plain}


def from_plain(data: Mapping[str, Any], base: type[T]) -> T:
    """The object that `to_plain` wrote down.

    Args:
        data: plain data.
        base: what it has to be an instance of.

    Returns:
        The object.
    """
    return class_of(data["class"], base)(**data["settings"])
