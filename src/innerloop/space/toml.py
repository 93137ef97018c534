"""Spaces as TOML: one table per parameter, plain values that are fixed, a list of constraints.

    epochs = 10                                   # fixed
    outcome_constraints = ["impurity <= 2"]       # these and the objectives are goals, not space

    [lr]
    type = "real"
    low = 1e-5
    high = 1e-1
    log = true
    when = { optimizer = "sgd" }                  # one value, or a list of them

    [[constraint]]
    expression = "x + y <= 1"

    [[constraint]]
    at_most = 2                                   # so many of these are not 0
    of = ["a", "b", "c"]

    [objectives]
    yield = "maximize"

Errors name the file and the line.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from innerloop.errors import InputError
from innerloop.space.at_most import AtMost
from innerloop.space.branches import Branches, needs_of
from innerloop.space.curves import read as read_constraint
from innerloop.space.parameters import (
    TYPES,
    Choice,
    Integer,
    Parameter,
    Plain,
    Real,
    kinds_of,
    parameter_from,
    plain,
)

Parameters = Mapping[str, Real | Integer | Choice | Plain]
Constraints = Sequence[str | AtMost]
Made = TypeVar("Made")

_CONSTRAINT, _EXPRESSION = "constraint", "expression"
_WHEN = "when"
_OBJECTIVES, _LIMITS, _REFERENCE = "objectives", "outcome_constraints", "reference"
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_WHERE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)\Z")
_MOST_BYTES = 10_000_000


def read(path: str | os.PathLike[str], make: Callable[[Parameters, Constraints], Made]) -> Made:
    """What is made of the parameters and the constraints in a file.

    Args:
        path: of the file.
        make: takes parameters by name, and constraints.

    Returns:
        What `make` returns.
    """
    return loads(_text(path), make, str(path))


def read_goals(path: str | os.PathLike[str], make: Callable[..., Made]) -> Made | None:
    """What is made of the objectives and the limits of outcomes in a file.

    Args:
        path: of the file.
        make: takes `objectives`, `outcome_constraints` and `reference`, those of them that the
            file has, by name.

    Returns:
        What `make` returns; None if the file has none of them.
    """
    text = _text(path)
    lines, goals = _Lines(text, str(path)), _split(_tables(text, str(path)))[1]
    made, given = None, dict[str, Any]()
    for name, value in goals.items():  # one by one, so that errors are about the last of them
        given[name] = value
        made = _at(lines, (name,), make, **given)
    return made


def _text(path: str | os.PathLike[str]) -> str:
    """The text of a file, if it may be a space."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if len(raw) > _MOST_BYTES:
        raise InputError(f"{path} has more than {_MOST_BYTES} bytes: that is no space")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8 text") from error


def loads(
    text: str, make: Callable[[Parameters, Constraints], Made], source: str = "space.toml"
) -> Made:
    """What is made of the parameters and the constraints in a text; goals in it are left out.

    Args:
        text: of a TOML file.
        make: takes parameters by name, and constraints.
        source: what the text is called in errors.

    Returns:
        What `make` returns.
    """
    lines, tables = _Lines(text, source), _split(_tables(text, source))[0]
    listed = tables.get(_CONSTRAINT)
    constraints: list[str | AtMost] = []
    if isinstance(listed, list):
        del tables[_CONSTRAINT]
        constraints = [_constraint(each, k, lines) for k, each in enumerate(listed)]
    parameters = {name: _parameter(name, value, lines) for name, value in tables.items()}
    kinds = kinds_of(parameters)
    for name in parameters:
        _at(lines, (name, _WHEN), needs_of, name, kinds)
    _at(lines, (), Branches.of, kinds)
    for k, each in enumerate(constraints):
        check = each.check if isinstance(each, AtMost) else partial(read_constraint, each)
        _at(lines, (_CONSTRAINT, k), check, parameters)
    whole = (_CONSTRAINT, 0) if constraints else ()
    return _at(lines, whole, make, parameters, constraints)


def dumps(parameters: Parameters, constraints: Sequence[str | Mapping[str, Any]] = ()) -> str:
    """The text of which `loads` makes the same parameters, in the same order.

    Args:
        parameters: by name.
        constraints: texts, and tables of `AtMost.to_dict`.

    Returns:
        The text of a TOML file.
    """
    if constraints and _CONSTRAINT in parameters:
        raise InputError(
            f"a parameter called {_CONSTRAINT!r} cannot be written to TOML together with "
            "constraints: give it another name"
        )
    fixed = [k for k, p in enumerate(parameters.values()) if not isinstance(p, Parameter)]
    # What follows the head of a table belongs to it, so heads come after the last fixed value.
    heads = fixed[-1] + 1 if fixed else 0
    blocks = []
    for k, (name, parameter) in enumerate(parameters.items()):
        if not isinstance(parameter, Parameter):
            blocks.append(f"{_key(name)} = {_value(name, parameter)}\n")
            continue
        entries = [f"{key} = {_value(name, each)}" for key, each in _entries(parameter)]
        if k < heads:
            blocks.append(f"{_key(name)} = {{ {', '.join(entries)} }}\n")
        else:
            blocks.append("\n".join([f"\n[{_key(name)}]", *entries, ""]))
    for each in constraints:
        table = each if isinstance(each, Mapping) else {_EXPRESSION: each}
        entries = [f"{key} = {_value('', value)}" for key, value in table.items()]
        blocks.append("\n".join([f"\n[[{_CONSTRAINT}]]", *entries, ""]))
    return "".join(blocks).lstrip("\n")


def _tables(text: str, source: str) -> dict[str, Any]:
    """What is in a text, by name."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, source, error) from error


def _split(tables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is of the space, and what is of its goals.

    Parameters may have the same names: a table of objectives has no type of a parameter, and only
    beside it is there a reference.
    """
    names: list[str] = []
    if isinstance(tables.get(_LIMITS), list):
        names = [_LIMITS]
    table = tables.get(_OBJECTIVES)
    if isinstance(table, dict) and table.get("type") not in tuple(TYPES):
        names = [_OBJECTIVES, _LIMITS, _REFERENCE]
    goals = {name: tables[name] for name in names if name in tables}
    return {name: each for name, each in tables.items() if name not in goals}, goals


def _syntax_error(text: str, source: str, error: Exception) -> InputError:
    """The error of a text that is not TOML, with its line."""
    message = str(error)
    found = _WHERE.search(message)
    line = int(found[1]) if found and found[1] else text.count("\n") + 1
    reason = message[: found.start()] if found else message
    return InputError(f"{source}, line {line}: not TOML: {reason}")


def _constraint(table: Any, k: int, lines: _Lines) -> str | AtMost:
    """The k-th constraint: its text, or how many of which parameters."""
    place = (_CONSTRAINT, k)
    if isinstance(table, dict) and set(table) == {"at_most", "of"}:
        return _at(lines, place, AtMost.from_dict, table)
    if not isinstance(table, dict) or set(table) != {_EXPRESSION}:
        raise lines.error(
            place,
            f'a constraint takes one key, {_EXPRESSION} = "x + y <= 1", or two, at_most = 2 and '
            'of = ["a", "b", "c"]',
        )
    if not isinstance(table[_EXPRESSION], str):
        raise lines.error(place, f"{_EXPRESSION} must be text in quotes")
    return str(table[_EXPRESSION])


def _parameter(name: str, value: Any, lines: _Lines) -> Real | Integer | Choice | Plain:
    """A parameter from its table, or a fixed value."""
    if not isinstance(value, dict):
        return _at(lines, (name,), plain, f"the fixed value of {name!r}", value)
    if "type" not in value and any(isinstance(each, dict) for each in value.values()):
        inner = next(key for key, each in value.items() if isinstance(each, dict))
        hint = f'a name with a dot is written in quotes: ["{name}.{inner}"]'
        raise lines.error((name, inner), f"tables have no tables in them; {hint}")
    try:
        return parameter_from(name, value)
    except InputError as error:
        reason = str(error).removeprefix(f"parameter {name!r}: ")
        raise lines.error((name, _key_at_fault(reason, value)), str(error)) from error


def _key_at_fault(reason: str, table: Mapping[str, Any]) -> str:
    """The key of a table that an error is about; none of them if that is not plain."""
    known = ("type", "low", "high", "log", "step", "digits", "at_least", "values", _WHEN)
    unknown = [key for key in table if key not in known]
    first = re.split(r"\W", reason, maxsplit=1)[0]
    return unknown[0] if unknown else first if first in table else ""


def _at(
    lines: _Lines, place: tuple[Any, ...], call: Callable[..., Made], *arguments: Any, **named: Any
) -> Made:
    """call(*arguments, **named), whose errors are about a place in the file."""
    try:
        return call(*arguments, **named)
    except InputError as error:
        raise lines.error(place, str(error)) from error


class _Lines:
    """On which line of a text the tables and keys are."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._found: dict[tuple[Any, ...], int] = {}
        head: tuple[Any, ...] = ()
        constraints = 0
        for number, line in enumerate(text.splitlines(), start=1):
            stripped = line.strip()
            if stripped.startswith("[["):
                head, constraints = (_CONSTRAINT, constraints), constraints + 1
                self._found.setdefault(head, number)
            elif stripped.startswith("[") and (names := _names(stripped)):
                head = names
                self._remember(head, number)
            elif "=" in stripped and (names := _names(f"{stripped.split('=')[0]}= 0")):
                self._remember((*head, *names), number)

    def error(self, place: tuple[Any, ...], message: str) -> InputError:
        """The error with the line of a place, or of what is around it."""
        while place and place not in self._found:
            place = place[:-1]
        line = f", line {self._found[place]}" if place else ""
        return InputError(f"{self._source}{line}: {message}")

    def _remember(self, place: tuple[Any, ...], number: int) -> None:
        """The line of a place, and of what is around it if that is new."""
        for length in range(1, len(place) + 1):
            self._found.setdefault(place[:length], number)


def _names(line: str) -> tuple[str, ...]:
    """The names in a line of TOML, outermost first; none if it cannot be read by itself."""
    names = []
    try:
        table: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    while isinstance(table, dict) and table:
        name, table = next(iter(table.items()))
        names.append(name)
    return tuple(names)


def _entries(parameter: Parameter) -> list[tuple[str, Any]]:
    """Keys and values of a table, without those that say nothing."""
    silent = {"log": False, "digits": None, "step": 1 if isinstance(parameter, Integer) else None}
    items = parameter.to_dict().items()
    return [(key, value) for key, value in items if key not in silent or value != silent[key]]


def _key(name: str) -> str:
    """A name as TOML writes it before an equals sign."""
    return name if _BARE.match(name) else _quoted(name)


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL and for characters beyond 16 bits.
    """A text in quotes, as TOML writes it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{text!r} cannot be written to TOML: it is not Unicode text") from error
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(name: str, value: Any) -> str:
    """A value as TOML writes it, of the parameter called `name` in errors."""
    if value is None:
        raise InputError(f"parameter {name!r}: TOML has no way to write None")
    if isinstance(value, list):
        return f"[{', '.join(_value(name, each) for each in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(k)} = {_value(name, v)}' for k, v in value.items())} }}"
    if isinstance(value, str):
        return _quoted(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)
