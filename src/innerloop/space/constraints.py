"""Linear constraints written as text, such as "2*x + 3*y <= 10" or "0 <= x - y <= 2"."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.space.parameters import Choice, Integer, Plain, Real

# Constraints hold up to this part of the size of their terms.
_TOLERANCE = 1e-9
# In the search, reals keep this part of the range away from a limit: decoding rounds them.
_MARGIN = 1e-9
_GRAMMAR = (
    "a constraint compares sums of parameters times numbers with <= or >=, and holds only names, "
    "numbers, + - * / and parentheses"
)


@dataclass(frozen=True)
class Constraint:
    """The sum of coefficients[name] * value over all names is at most `limit`."""

    text: str
    coefficients: Mapping[str, float]
    limit: float

    def excess(self, params: Mapping[str, Any]) -> float:
        """By how much the values of params go beyond the limit; negative if they do not."""
        return float(sum(c * params[name] for name, c in self.coefficients.items()) - self.limit)

    def is_met(self, params: Mapping[str, Any]) -> bool:
        """Whether the excess is at most 1e-9 of the size of the terms."""
        size = sum(abs(c * params[name]) for name, c in self.coefficients.items())
        return bool(self.excess(params) <= _TOLERANCE * (size + abs(self.limit)))

    def check_names(self, parameters: Mapping[str, Real | Integer | Choice | Plain]) -> None:
        """Refuse to constrain what is not a number, or not searched as it is."""
        for name in self.coefficients:
            about = f"constraint {self.text!r} names {name!r}"
            if name not in parameters:
                raise InputError(f"{about}, but the names are {list(parameters)}")
            parameter = parameters[name]
            if isinstance(parameter, (bool, str, Choice, type(None))):
                raise InputError(f"{about}, which is not a number: it is {parameter!r}")
            if isinstance(parameter, (int, float)) and abs(parameter) > 1e300:
                raise InputError(f"{about}, which is too large to compute with: {parameter!r}")
            if isinstance(parameter, (Real, Integer)) and parameter.log:
                raise InputError(
                    f"{about}, which is searched in its logarithm, where the constraint is not "
                    "linear: use log=False"
                )


class Axis(NamedTuple):
    """How a numeric parameter moves along its coordinate, from low at 0 to high at 1.

    column: None if it has a single value. gap: between one value and the next; 0 for reals, and
    infinite where nothing moves.
    """

    column: int | None
    low: float
    high: float
    gap: float


def axis_of(parameter: Any, column: int, held: Mapping[int, float]) -> Axis:
    """The axis of a numeric parameter or of a fixed number; held: columns that do not move."""
    if not isinstance(parameter, (Real, Integer)):
        return Axis(None, float(parameter), float(parameter), math.inf)
    low, high, count = float(parameter.low), float(parameter.high), parameter.count
    if count == 1:
        return Axis(None, low, high, math.inf)
    gap = 0.0 if count is None else (high - low) / (count - 1)
    return Axis(column, low, high, math.inf if column in held else gap)


def half_space(
    constraint: Constraint, axes: Mapping[str, Axis], d: int, *, tight: bool
) -> tuple[Array, float]:
    """The constraint as a . x <= b over the unit cube: a (d,), b.

    tight: reals keep a margin, so that values meet the constraint exactly after rounding. Levels
    get some slack instead, far less than the next one needs.
    """
    a, b, size, finest = np.zeros(d), constraint.limit, abs(constraint.limit), math.inf
    for name, coefficient in constraint.coefficients.items():
        axis = axes[name]
        b -= coefficient * axis.low
        size += abs(coefficient) * max(-axis.low, axis.high)
        finest = min(finest, abs(coefficient) * axis.gap)
        if axis.column is not None:
            a[axis.column] = coefficient * (axis.high - axis.low)
    total = float(np.abs(a).sum())
    if not math.isfinite(size + total):
        raise InputError(f"constraint {constraint.text!r} has terms too large to compute with")
    rounding = float(np.finfo(np.float64).eps) * size
    if finest == 0.0:
        b += -(_MARGIN * total + rounding) if tight else 1e-13 * total
    else:
        b += min(max(0.01 * finest, 1e-14 * total), 1e-9 * total) + rounding
    if total == 0.0:  # true everywhere or nowhere
        return a, 1.0 if b >= -_TOLERANCE * size else -1.0
    scale = float(np.abs(a).max())
    # No point of the cube is beyond d once the largest coefficient is 1.
    return a / scale, min(max(b / scale, -2.0 * d), 2.0 * d)


def parse(text: str) -> tuple[Constraint, ...]:
    """The constraints that a text states: one for each comparison in it."""
    if not isinstance(text, str):
        raise InputError(f"a constraint must be a string such as 'x + y <= 1', got {text!r}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if not isinstance(tree, ast.Compare):
            raise _refusal(text)
        sides = [_linear(node, text) for node in (tree.left, *tree.comparators)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise _refusal(text) from error
    return tuple(
        _constraint(text, left, operator, right)
        for left, operator, right in zip(sides[:-1], tree.ops, sides[1:], strict=True)
    )


def _refusal(text: str) -> InputError:
    return InputError(f"constraint {text!r} cannot be read: {_GRAMMAR}")


class _Sum(NamedTuple):
    """coefficients . parameters + constant."""

    coefficients: dict[str, float]
    constant: float

    def plus(self, other: _Sum, factor: float) -> _Sum:
        """This sum and `factor` times the other one."""
        names = dict.fromkeys([*self.coefficients, *other.coefficients])
        ours, theirs = self.coefficients, other.coefficients
        sums = {name: ours.get(name, 0.0) + factor * theirs.get(name, 0.0) for name in names}
        return _Sum(sums, self.constant + factor * other.constant)

    def times(self, factor: float) -> _Sum:
        return _Sum({n: factor * c for n, c in self.coefficients.items()}, factor * self.constant)


def _constraint(text: str, left: _Sum, operator: ast.cmpop, right: _Sum) -> Constraint:
    """left <= right or left >= right as one sum with a limit."""
    if isinstance(operator, ast.Eq):
        raise InputError(
            f"constraint {text!r} is an equation: leave one of its parameters out of the space "
            "and compute it from the others"
        )
    if isinstance(operator, (ast.Gt, ast.GtE)):
        left, right = right, left
    elif not isinstance(operator, (ast.Lt, ast.LtE)):
        raise _refusal(text)
    difference = left.plus(right, -1.0)
    coefficients = {name: c for name, c in difference.coefficients.items() if c != 0.0}
    if not coefficients:
        raise InputError(f"constraint {text!r} compares no parameter with anything")
    if not all(map(math.isfinite, (*coefficients.values(), difference.constant))):
        raise InputError(f"constraint {text!r} must have finite coefficients")
    return Constraint(text, coefficients, -difference.constant + 0.0)


def _linear(node: ast.expr, text: str) -> _Sum:
    """The sum that an expression stands for."""
    match node:
        case ast.Name(id=name):
            return _Sum({name: 1.0}, 0.0)
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _Sum({}, _float(number))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            return _linear(operand, text).times(-1.0 if isinstance(sign, ast.USub) else 1.0)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATIONS:
            return _OPERATIONS[type(operator)](_linear(left, text), _linear(right, text), text)
    raise _refusal(text)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _add(left: _Sum, right: _Sum, text: str) -> _Sum:
    return left.plus(right, 1.0)


def _subtract(left: _Sum, right: _Sum, text: str) -> _Sum:
    return left.plus(right, -1.0)


def _multiply(left: _Sum, right: _Sum, text: str) -> _Sum:
    if left.coefficients and right.coefficients:
        raise InputError(f"constraint {text!r} is not linear: it multiplies parameters")
    return right.times(left.constant) if right.coefficients else left.times(right.constant)


def _divide(left: _Sum, right: _Sum, text: str) -> _Sum:
    if right.coefficients:
        raise InputError(f"constraint {text!r} is not linear: it divides by a parameter")
    if right.constant == 0.0:
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
