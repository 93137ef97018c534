"""Constraints that are not linear: formulas such as "T * a <= 60", and functions of params."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from innerloop.errors import InputError
from innerloop.space.constraints import (
    Constraint,
    NotLinearError,
    Restriction,
    comparisons,
    parse,
    refusal,
)
from innerloop.space.expressions import Dual, evaluate, is_deep, names_in, steps_of, subtract
from innerloop.space.parameters import Choice, Integer, Real
from innerloop.types import Array

# Formulas hold up to this part of the size of their two sides.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Formula(Restriction):
    """One formula is at most another one.

    Args:
        text: the constraint as it was written.
        left: what is at most the other.
        right: the other.
    """

    text: str
    left: ast.expr
    right: ast.expr

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters in it, each once."""
        sides = (names_in(side) or [] for side in (self.left, self.right))
        return tuple(dict.fromkeys(name for side in sides for name in side))

    def excess(self, variables: Mapping[str, Dual]) -> tuple[Dual, Array]:
        """By how much the left side is above the right one; infinite where one has no value.

        Args:
            variables: values and slopes of the parameters, by name.

        Returns:
            The difference, and the size of the sides (N, 1).
        """
        with np.errstate(all="ignore"):
            left, right = (evaluate(steps, variables) for steps in self._steps)
            value, slope = subtract(left, right)
            size = np.abs(left.value) + np.abs(right.value)
        return Dual(np.where(np.isnan(value), np.inf, value), slope), size

    @cached_property
    def _steps(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """How the two sides are computed."""
        return steps_of(self.left), steps_of(self.right)

    def violation(self, params: Mapping[str, Any]) -> float:
        """The excess in parts of the size of the sides, 0 if it is at most 1e-9 of that.

        Args:
            params: values by name.

        Returns:
            A number that is 0 or more.
        """
        found, sizes = self.excess({n: Dual.constant(params[n]) for n in self.names})
        excess, size = float(found.value[0, 0]), float(sizes[0, 0])
        if math.isinf(excess):
            return max(excess, 0.0)
        return 0.0 if excess <= _TOLERANCE * size else excess / size


@dataclass(frozen=True)
class Function(Restriction):
    """A function of params that may not be above 0.

    Args:
        call: takes params, values by name, and returns a number.
    """

    call: Callable[[Mapping[str, Any]], float]

    @property
    def text(self) -> str:
        """The name of the function."""
        return str(getattr(self.call, "__name__", None) or repr(self.call))

    def excess(self, params: Mapping[str, Any]) -> float:
        """What the function returns; infinite if that is NaN.

        Args:
            params: values by name.

        Returns:
            The number.
        """
        returned = self.call(dict(params))
        try:
            number = float(returned)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"constraint {self.text!r} must return a number, got {returned!r}"
            ) from error
        return np.inf if np.isnan(number) else number

    def violation(self, params: Mapping[str, Any]) -> float:
        """What the function returns, 0 if that is less.

        Args:
            params: values by name.

        Returns:
            A number that is 0 or more.
        """
        return max(self.excess(params), 0.0)


Curve = Formula | Function


def read(given: Any, parameters: Mapping[str, Any]) -> tuple[Constraint | Curve, ...]:
    """The constraints that a text or a function states, linear where that is possible.

    Args:
        given: such as "0 <= x - y <= 2" or "x * y <= 3", or a function of params.
        parameters: of the space, by name.

    Returns:
        One for each comparison.
    """
    if callable(given):
        return (Function(given),)
    try:
        found: tuple[Constraint | Formula, ...] = parse(given)
    except NotLinearError:
        found = _formulas(given)
    if any(_is_bent(parameters.get(name)) for each in found for name in each.names):
        found = _formulas(given)
    for each in found:
        _check_names(each.text, each.names, parameters)
    return found


def _check_names(text: str, names: tuple[str, ...], parameters: Mapping[str, Any]) -> None:
    """Refuse to constrain what is not a number."""
    for name in names:
        about = f"constraint {text!r} names {name!r}"
        if name not in parameters:
            raise InputError(f"{about}, but the names are {list(parameters)}")
        parameter = parameters[name]
        if isinstance(parameter, (bool, str, Choice, type(None))):
            raise InputError(f"{about}, which is not a number: it is {parameter!r}")
        if isinstance(parameter, (int, float)) and abs(parameter) > 1e300:
            raise InputError(f"{about}, which is too large to compute with: {parameter!r}")


def _is_bent(parameter: Any) -> bool:
    """Whether a parameter is searched in its logarithm, or does not always apply."""
    if not isinstance(parameter, (Real, Integer)):
        return False
    return (parameter.log and parameter.width > 0) or parameter.when is not None


def _formulas(text: str) -> tuple[Formula, ...]:
    """The comparisons of formulas in a text."""
    found = []
    for left, operator, right in comparisons(text):
        if is_deep(left) or is_deep(right):
            raise InputError(f"constraint {text!r} is too deep: it has more than 200 levels")
        if names_in(left) is None or names_in(right) is None:
            raise refusal(text)
        if isinstance(operator, (ast.Gt, ast.GtE)):
            left, right = right, left
        elif isinstance(operator, ast.Eq):
            raise InputError(
                f"constraint {text!r} is an equation that is not linear in what is searched, which "
                "is the logarithm where log=True, or that has a parameter with when: leave one of "
                "its parameters out of the space and compute it from the others"
            )
        formula = Formula(text, left, right)
        if not formula.names:
            raise InputError(f"constraint {text!r} compares no parameter with anything")
        found.append(formula)
    return tuple(found)
