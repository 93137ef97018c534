"""Public names say in their docstrings what they take and what they give, as tools can read it."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import griffe
import pytest

import innerloop as il
from innerloop import maximizers

REFERENCE = Path(__file__).parents[1] / "docs" / "reference.md"
PUBLIC = {name: getattr(il, name) for name in il.__all__}
PUBLIC |= {name: getattr(maximizers, name) for name in maximizers.__all__}
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
# A full stop within a line, but for those of "eq. 3" and the like.
SECOND_SENTENCE = re.compile(r"\.\s+[A-Z]")


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class that are written in this package."""
    for name in dir(cls):
        if name.startswith("_") and name != "__call__":
            continue
        owner = next(base for base in cls.__mro__ if name in vars(base))
        member = vars(owner)[name]
        is_property = isinstance(member, property | functools.cached_property)
        if owner.__module__.startswith("innerloop") and (is_property or callable_of(member)):
            yield name, member


def callable_of(member: Any) -> Callable[..., Any] | None:
    """The function behind a method of any kind; None for what is no method."""
    function = getattr(member, "__func__", member)
    return function if inspect.isfunction(function) else None


METHODS = [
    pytest.param(cls, name, member, id=f"{cls.__name__}.{name}")
    for cls in CLASSES.values()
    for name, member in members(cls)
    if callable_of(member)
]
EVERYTHING = {
    **PUBLIC,
    **{
        f"{cls.__name__}.{name}": member
        for cls in CLASSES.values()
        for name, member in members(cls)
    },
}
CALLED = [
    pytest.param(thing, id=name)
    for name, thing in PUBLIC.items()
    if not (inspect.isclass(thing) and (issubclass(thing, Exception) or thing.__base__ is Protocol))
]


def sections(text: str | None) -> dict[griffe.DocstringSectionKind, Any]:
    parsed = griffe.parse_google(griffe.Docstring(text or ""), warnings=False)
    return {section.kind: section.value for section in parsed}


def described(text: str | None) -> list[str]:
    """Names under `Args:`."""
    found = sections(text).get(griffe.DocstringSectionKind.parameters, [])
    return [parameter.name for parameter in found]


def parameters(thing: Any) -> list[str]:
    """What a caller may give, by name: fields in the case of a dataclass."""
    given = inspect.signature(thing).parameters.values()
    names = [each.name for each in given if each.kind != each.VAR_POSITIONAL]
    return [name for name in names if not name.startswith("_") and name not in ("self", "cls")]


def docstrings(cls: type, name: str) -> list[str]:
    """Those of a method and of what it overrides, from the class upwards."""
    own = (callable_of(vars(base)[name]) for base in cls.__mro__ if name in vars(base))
    return [function.__doc__ for function in own if function and function.__doc__]


@pytest.mark.parametrize("name", EVERYTHING)
def test_first_line_is_a_sentence(name: str) -> None:
    text = inspect.getdoc(EVERYTHING[name])
    if text is None:  # an override of what is described where it is declared
        cls, method = name.split(".")
        text = inspect.getdoc(getattr(CLASSES[cls], method))
    assert text, "there is no docstring"
    first = text.splitlines()[0]
    assert first.endswith(".")
    assert not SECOND_SENTENCE.search(first)


@pytest.mark.parametrize("thing", CALLED)
def test_parameters_of_functions_and_classes_are_described(thing: Any) -> None:
    assert described(thing.__doc__) == parameters(thing)


@pytest.mark.parametrize(("cls", "name", "member"), METHODS)
def test_parameters_of_methods_are_described(cls: type, name: str, member: Any) -> None:
    # What an override takes and gives may be described where it is declared.
    texts = docstrings(cls, name)
    full = next((text for text in texts if described(text)), "")
    assert described(full) == parameters(callable_of(member))
    if parameters(callable_of(member)):
        assert_returns_are_described(callable_of(member), full)


@pytest.mark.parametrize("name", [n for n, thing in PUBLIC.items() if inspect.isfunction(thing)])
def test_what_functions_return_is_described(name: str) -> None:
    assert_returns_are_described(PUBLIC[name], PUBLIC[name].__doc__)


def assert_returns_are_described(function: Any, text: str | None) -> None:
    gives = inspect.signature(function).return_annotation not in (None, "None")
    assert (griffe.DocstringSectionKind.returns in sections(text)) == gives


def test_reference_lists_all_public_names() -> None:
    things = [getattr(il, name) for name in il.__all__]
    things += [getattr(maximizers, name) for name in maximizers.__all__]
    listed = re.findall(r"^::: (\S+)$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"{thing.__module__}.{thing.__name__}" for thing in things} <= set(listed)
    assert len(set(listed)) == len(listed)
