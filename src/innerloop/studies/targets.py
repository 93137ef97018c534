"""What a run evaluates: a Python function, or a command whose last line of output is the value.

Several outcomes are a mapping, or in that line a JSON object, from names to numbers; a number with
the standard deviation of its noise is a pair.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from innerloop.errors import InputError, StudyError
from innerloop.optimizer.trials import as_number
from innerloop.studies.command import Command

Returned = float | dict[str, float | tuple[float, float]]
Evaluate = Callable[[dict[str, Any]], Returned]

_FUNCTION = re.compile(r"(?P<where>.+):(?P<name>[^\W\d]\w*(\.[^\W\d]\w*)*)\Z")
_SHOWN = 120


class TargetError(Exception):
    """A target gave no number; the message says what it did instead."""


@dataclass(frozen=True)
class Function:
    """A function of params, as it is named on the command line.

    Args:
        spec: `file.py:function` or `package.module:function`; a StudyError if it is neither.
    """

    spec: str

    def __post_init__(self) -> None:
        if not _FUNCTION.match(self.spec):
            raise StudyError(
                "the target must be file.py:function or package.module:function, or a command "
                f"after --, got {self.spec!r}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"function": self.spec}

    def load(self, folder: Path = Path()) -> Evaluate:
        """Import the function.

        Args:
            folder: where files and modules are looked for first.

        Returns:
            The function, made to give numbers or to raise; a StudyError if it is not there.
        """
        parts = _FUNCTION.match(self.spec)
        assert parts is not None
        found: Any = _module(parts["where"], folder)
        for name in parts["name"].split("."):
            try:
                found = getattr(found, name)
            except AttributeError as error:
                raise StudyError(f"{parts['where']} has no {parts['name']!r}") from error
        if not callable(found):
            raise StudyError(f"{self.spec} is not a function: it is {_short(found)}")
        return lambda params: returned(found(params))


def target_of(table: Mapping[str, Any]) -> Function | Command:
    """The target that its `to_dict` wrote down.

    Args:
        table: plain data.

    Returns:
        The target.
    """
    if "function" in table:
        return Function(table["function"])
    return Command(tuple(table["command"]), tuple(table["names"]))


def load(target: Function | Command, folder: Path = Path()) -> Evaluate:
    """A target as a function.

    Args:
        target: what is evaluated.
        folder: where it is found, or run.

    Returns:
        A function of params that gives numbers or raises.
    """
    if isinstance(target, Function):
        return target.load(folder)
    return lambda params: reported(target.run(params, folder))


def returned(value: Any) -> Returned:
    """What a function returned, if it is one number, or several by name.

    Args:
        value: what it returned.

    Returns:
        The number or numbers; a TargetError if there is none.
    """
    try:
        return numbers(value)
    except InputError:
        what = "numbers by name" if isinstance(value, Mapping) else "a number"
        raise TargetError(f"the function must return {what}, got {_short(value)}") from None


def numbers(value: Any) -> Returned:
    """One number, or several by name.

    Args:
        value: a number; or a mapping from names to numbers, or to pairs of a number and its noise.

    Returns:
        Plain numbers; an InputError if one of them is none.
    """
    if not isinstance(value, Mapping):
        return as_number("what is returned", value)
    named = {str(name): each for name, each in value.items()}
    return {name: _number_or_pair(name, each) for name, each in named.items()}


def _number_or_pair(name: str, value: Any) -> float | tuple[float, float]:
    if isinstance(value, tuple | list) and len(value) == 2:
        return as_number(name, value[0]), as_number(f"noise_sd of {name}", value[1])
    return as_number(name, value)


def reported(output: Any) -> Returned:
    """What the last line of a command's output that is not empty says.

    Args:
        output: what the command left.

    Returns:
        The number, or the numbers by name of a JSON object; a TargetError if there is none, or if
        the command failed.
    """
    said = f": {output.complaint}" if output.complaint else ""
    if output.status < 0:
        raise TargetError(f"the command was ended by signal {-output.status}{said}")
    if output.status:
        raise TargetError(f"the command ended with status {output.status}{said}")
    if not output.last_line:
        raise TargetError(f"the command printed nothing{said}")
    is_object = output.last_line.startswith("{")
    try:
        return numbers(json.loads(output.last_line)) if is_object else float(output.last_line)
    except (ValueError, RecursionError):
        what = "JSON object of numbers by name" if is_object else "number"
        raise TargetError(
            f"the last line that the command printed is not a {what}: {_short(output.last_line)}"
        ) from None


def _module(where: str, folder: Path) -> Any:
    """The module of a file, or of a name."""
    _add_to_path(folder)
    try:
        if where.endswith(".py"):
            return _module_of_file(Path(where), folder)
        return importlib.import_module(where)
    except StudyError:
        raise
    except BaseException as error:  # also SystemExit, from a script without a guard
        raise StudyError(f"cannot import {where}: {type(error).__name__}: {error}") from error


def _module_of_file(path: Path, folder: Path) -> Any:
    file = (folder / path).resolve()
    if not file.is_file():
        raise StudyError(f"cannot import {path}: there is no such file")
    _add_to_path(file.parent)
    spec = importlib.util.spec_from_file_location(path.stem, file)
    if spec is None or spec.loader is None:
        raise StudyError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _add_to_path(folder: Path) -> None:
    name = str(folder.resolve())
    if name not in sys.path:
        sys.path.insert(0, name)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
