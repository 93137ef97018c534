"""Linear constraints written as text, such as "2*x + 3*y <= 10" or "a + b + c == 1"."""

from __future__ import annotations

import ast
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from innerloop.errors import InputError
from innerloop.space.expressions import FUNCTIONS, names_in
from innerloop.space.quotes import named, with_identifiers

# Constraints over reals hold up to this part of the size of their terms.
_TOLERANCE = 1e-9
_GRAMMAR = (
    "a constraint compares formulas with <=, >= or ==, and formulas hold only names, numbers, "
    f"+ - * / ** ^, parentheses and the functions {', '.join(FUNCTIONS)}; names with blanks and "
    "the like are put in backticks, as `feed rate`"
)
_ZERO = Fraction(0)
_SINGLE = re.compile(r"(?<![<>=!:])=(?!=)")


class Restriction(ABC):
    """What params have to meet."""

    @abstractmethod
    def violation(self, params: Mapping[str, Any]) -> float:
        """By how much params go beyond, 0 if by no more than rounding.

        Args:
            params: values by name.

        Returns:
            A number that is 0 or more.
        """

    def is_met(self, params: Mapping[str, Any]) -> bool:
        """Whether there is no violation.

        Args:
            params: values by name.

        Returns:
            Whether there is none.
        """
        return self.violation(params) == 0.0


@dataclass(frozen=True)
class Constraint(Restriction):
    """The sum of coefficients[name] * value over all names is at most a limit.

    Args:
        text: the constraint as it was written.
        coefficients: by name.
        limit: of the sum.
        equation: whether it is one half of an equation; the other half stands beside it.
    """

    text: str
    coefficients: Mapping[str, Fraction]
    limit: Fraction
    equation: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters in it."""
        return tuple(self.coefficients)

    def excess(self, params: Mapping[str, Any]) -> float:
        """By how much params go beyond the limit; negative if they do not.

        Args:
            params: values by name.

        Returns:
            The sum less the limit.
        """
        return float(sum(c * params[name] for name, c in self.coefficients.items()) - self.limit)

    def violation(self, params: Mapping[str, Any]) -> float:
        """The excess in parts of the size of the terms, 0 if it is at most 1e-9 of that.

        Args:
            params: values by name.

        Returns:
            A number that is 0 or more.
        """
        size = sum(abs(c * params[name]) for name, c in self.coefficients.items())
        size = float(size + abs(self.limit))
        excess = self.excess(params)
        return 0.0 if excess <= _TOLERANCE * size else excess / size


class NotLinearError(InputError):
    """A constraint compares formulas that are no sums of parameters times numbers."""


def parse(text: str) -> tuple[Constraint, ...]:
    """The constraints that a text states: one for each comparison in it.

    Args:
        text: such as "0 <= x - y <= 2"; a single = means ==.

    Returns:
        The constraints.
    """
    try:
        return tuple(
            constraint
            for left, operator, right in comparisons(text)
            for constraint in _constraints(
                text, _linear(left, text), operator, _linear(right, text)
            )
        )
    except (RecursionError, MemoryError) as error:
        raise refusal(text) from error


def comparisons(text: str) -> list[tuple[ast.expr, ast.cmpop, ast.expr]]:
    """The comparisons in a text, each with its two sides.

    Args:
        text: such as "0 <= x - y <= 2"; a single = means ==, ^ means **, and `feed rate` is a name.

    Returns:
        Left side, operator and right side of each.
    """
    if not isinstance(text, str):
        raise InputError(f"a constraint must be a string such as 'x + y <= 1', got {text!r}")
    readable, names = with_identifiers(text)
    try:
        plain = _SINGLE.sub("==", readable.strip().replace("^", "**"))
        tree = named(ast.parse(plain, mode="eval").body, names)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise refusal(text) from error
    if not isinstance(tree, ast.Compare):
        raise refusal(text)
    if not all(isinstance(each, (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)) for each in tree.ops):
        raise refusal(text)
    return list(zip([tree.left, *tree.comparators[:-1]], tree.ops, tree.comparators, strict=True))


def exact(number: float) -> Fraction:
    """The number that was written: 1/10 for 0.1.

    Args:
        number: an integer or a float.

    Returns:
        It as a fraction.
    """
    return Fraction(number if isinstance(number, int) else repr(number))


def refusal(text: object) -> InputError:
    """The error that says what a constraint may look like.

    Args:
        text: the constraint as it was written.

    Returns:
        The error.
    """
    return InputError(f"constraint {text!r} cannot be read: {_GRAMMAR}")


class _Sum(NamedTuple):
    """coefficients . parameters + constant."""

    coefficients: dict[str, Fraction]
    constant: Fraction

    def plus(self, other: _Sum, factor: int) -> _Sum:
        """This sum and `factor` times the other one."""
        names = dict.fromkeys([*self.coefficients, *other.coefficients])
        ours, theirs = self.coefficients, other.coefficients
        sums = {name: ours.get(name, _ZERO) + factor * theirs.get(name, _ZERO) for name in names}
        return _Sum(sums, self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> _Sum:
        """This sum times a factor."""
        return _Sum({n: factor * c for n, c in self.coefficients.items()}, factor * self.constant)


def _constraints(text: str, left: _Sum, operator: ast.cmpop, right: _Sum) -> list[Constraint]:
    """left <= right, left >= right or both as sums with a limit."""
    if isinstance(operator, (ast.Gt, ast.GtE)):
        left, right = right, left
    difference = left.plus(right, -1)
    coefficients = {name: c for name, c in difference.coefficients.items() if c}
    limit = -difference.constant
    if not coefficients:
        raise InputError(f"constraint {text!r} compares no parameter with anything")
    if not all(map(_is_moderate, (*coefficients.values(), limit))):
        raise InputError(f"constraint {text!r} must have finite coefficients")
    if not isinstance(operator, ast.Eq):
        return [Constraint(text, coefficients, limit)]
    negative = {name: -c for name, c in coefficients.items()}
    return [
        Constraint(text, coefficients, limit, equation=True),
        Constraint(text, negative, -limit, equation=True),
    ]


def _is_moderate(number: Fraction) -> bool:
    """Whether a number is zero, or a float could be it."""
    try:
        return (float(number) == 0.0) == (number == 0)
    except OverflowError:
        return False


def _linear(node: ast.expr, text: str) -> _Sum:
    """The sum that an expression stands for."""
    match node:
        case ast.Name(id=name):
            return _Sum({name: Fraction(1)}, _ZERO)
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if isinstance(number, float) and not math.isfinite(number):
                raise InputError(f"constraint {text!r} must have finite coefficients")
            return _Sum({}, exact(number))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            return _linear(operand, text).times(Fraction(-1 if isinstance(sign, ast.USub) else 1))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATIONS:
            return _OPERATIONS[type(operator)](_linear(left, text), _linear(right, text), text)
    if names_in(node) is None:
        raise refusal(text)
    raise NotLinearError(f"constraint {text!r} is not linear: it has a power or a function")


def _add(left: _Sum, right: _Sum, text: str) -> _Sum:
    """The sum of two expressions."""
    return left.plus(right, 1)


def _subtract(left: _Sum, right: _Sum, text: str) -> _Sum:
    """The difference of two expressions."""
    return left.plus(right, -1)


def _multiply(left: _Sum, right: _Sum, text: str) -> _Sum:
    """The product of two expressions, of which one has to be a number."""
    if left.coefficients and right.coefficients:
        raise NotLinearError(f"constraint {text!r} is not linear: it multiplies parameters")
    return right.times(left.constant) if right.coefficients else left.times(right.constant)


def _divide(left: _Sum, right: _Sum, text: str) -> _Sum:
    """The quotient of two expressions, of which the second has to be a number."""
    if right.coefficients:
        raise NotLinearError(f"constraint {text!r} is not linear: it divides by a parameter")
    if right.constant == 0:
        raise InputError(f"constraint {text!r} divides by 0")
    return _Sum(
        {name: c / right.constant for name, c in left.coefficients.items()},
        left.constant / right.constant,
    )


_OPERATIONS: dict[type[ast.operator], Callable[[_Sum, _Sum, str], _Sum]] = {
    ast.Add: _add,
    ast.Sub: _subtract,
    ast.Mult: _multiply,
    ast.Div: _divide,
}
