"""Formulas of parameters, read from text and never run as code, with their slopes.

Slopes are carried along with values (forward mode): of a product (u v)' = u' v + u v', and so on.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from innerloop.types import Array

# No number that is written is larger, and no formula is deeper.
_LARGEST, _DEEPEST = 1e300, 200


class Dual(NamedTuple):
    """Values (N, 1) at N points with their slopes in p variables (N, p); N may be 1.

    What depends on nothing has no slope.
    """

    value: Array
    slope: Array | None

    @classmethod
    def constant(cls, number: float) -> Dual:
        """A number that depends on nothing."""
        return cls(np.full((1, 1), float(number)), None)


def names_in(node: ast.expr) -> list[str] | None:
    """The parameters in a formula, in order; None if it is no formula.

    Args:
        node: an expression of Python's grammar.

    Returns:
        Their names.
    """
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Constant(value=int() | float() as number) if abs(number) <= _LARGEST:
            return None if isinstance(number, bool) else []
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return names_in(operand)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATIONS:
            return _all_names([left, right])
        case ast.Call(func=ast.Name(id=function), args=[argument], keywords=[]) if (
            function in _FUNCTIONS
        ):
            return names_in(argument)
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_] as arguments, keywords=[]):
            return _all_names(arguments)
    return None


def is_deep(node: ast.expr) -> bool:
    """Whether a formula is nested too deeply, or is a sum of too many terms.

    Args:
        node: an expression of Python's grammar.

    Returns:
        Whether it has more than 200 levels.
    """
    level: list[ast.AST] = [node]
    for _ in range(_DEEPEST):
        level = [child for each in level for child in ast.iter_child_nodes(each)]
        if not level:
            return False
    return True


# A name, a number, or a function of the results of earlier steps, by their numbers.
_Step = str | Dual | tuple[Callable[..., Dual], tuple[int, ...]]


def steps_of(node: ast.expr) -> tuple[_Step, ...]:
    """How a formula is computed: what occurs several times is computed once, numbers at once.

    Args:
        node: a formula, of which `names_in` knows the names.

    Returns:
        Steps, of which the last has the result.
    """
    steps: list[_Step] = []
    known: dict[str, int] = {}

    def number_of(part: ast.expr) -> int:
        """The step that computes a part of the formula."""
        key = ast.dump(part)
        if key not in known:
            step = _step(part, number_of)
            if isinstance(step, tuple) and not isinstance(step, Dual):
                function, operands = step
                given = [steps[i] for i in operands]
                if all(isinstance(each, Dual) for each in given):
                    with np.errstate(all="ignore"):
                        step = function(*given)
            known[key] = len(steps)
            steps.append(step)
        return known[key]

    number_of(node)
    return tuple(steps)


def _step(node: ast.expr, number_of: Callable[[ast.expr], int]) -> _Step:
    """The last step of a formula, after those of its parts."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | float() as number):
            return Dual.constant(number)
        case ast.UnaryOp(op=operator, operand=operand):
            sign = -1.0 if isinstance(operator, ast.USub) else 1.0
            return partial(_scaled, factor=sign), (number_of(operand),)
        case ast.BinOp(left=left, op=operator, right=right):
            return _OPERATIONS[type(operator)], (number_of(left), number_of(right))
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=arguments):
            return partial(_extreme, name), tuple(map(number_of, arguments))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return partial(_applied, name), (number_of(argument),)
    raise ValueError(f"no formula: {ast.dump(node)}")


def evaluate(steps: Sequence[_Step], variables: Mapping[str, Dual]) -> Dual:
    """A formula at some points; NaN or infinite where it has no value.

    Args:
        steps: of the formula.
        variables: values and slopes by name.

    Returns:
        Values and slopes.
    """
    results: list[Dual] = []
    for step in steps:
        if isinstance(step, str):
            results.append(variables[step])
        elif isinstance(step, Dual):
            results.append(step)
        else:
            function, operands = step
            results.append(function(*[results[i] for i in operands]))
    return results[-1]


def _all_names(nodes: list[ast.expr]) -> list[str] | None:
    """The parameters in several formulas."""
    found: list[str] = []
    for node in nodes:
        names = names_in(node)
        if names is None:
            return None
        found += names
    return found


def _times(factor: Array, slope: Array | None) -> Array | None:
    """A factor times a slope; nothing moves what does not move, however steep it is."""
    if slope is None:
        return None
    product: Array = factor * slope
    return product if math.isfinite(product.sum()) else np.where(slope == 0.0, 0.0, product)


def _sum(s: Array | None, t: Array | None) -> Array | None:
    """The sum of two slopes."""
    if s is None or t is None:
        return t if s is None else s
    return s + t


def _scaled(u: Dual, factor: float) -> Dual:
    return Dual(factor * u.value, None if u.slope is None else factor * u.slope)


def _add(u: Dual, v: Dual) -> Dual:
    return Dual(u.value + v.value, _sum(u.slope, v.slope))


def subtract(u: Dual, v: Dual) -> Dual:
    """The difference of two formulas.

    Args:
        u: values and slopes.
        v: what is taken away.

    Returns:
        Values and slopes.
    """
    return _add(u, _scaled(v, -1.0))


def _multiply(u: Dual, v: Dual) -> Dual:
    return Dual(u.value * v.value, _sum(_times(v.value, u.slope), _times(u.value, v.slope)))


def _divide(u: Dual, v: Dual) -> Dual:
    value = u.value / v.value
    return Dual(value, _sum(_times(1.0 / v.value, u.slope), _times(-value / v.value, v.slope)))


def _power(u: Dual, v: Dual) -> Dual:
    if v.slope is None and v.value == 2.0:
        return _multiply(u, u)
    value = u.value**v.value
    slope = None
    if u.slope is not None:
        base = np.where(v.value == 0.0, 0.0, v.value * u.value ** (v.value - 1.0))
        slope = _times(base, u.slope)
    if v.slope is not None:
        # Where the exponent moves, the base has to be above 0.
        exponent = np.where(value == 0.0, 0.0, value * np.log(u.value))
        slope = _sum(slope, _times(exponent, v.slope))
    return Dual(value, slope)


def _applied(name: str, u: Dual) -> Dual:
    """A function of one variable."""
    function, derivative = _FUNCTIONS[name]
    slope = None if u.slope is None else _times(derivative(u.value), u.slope)
    return Dual(function(u.value), slope)


def _extreme(name: str, *several: Dual) -> Dual:
    """The least or the largest of several."""
    best = several[0]
    for each in several[1:]:
        better = each.value < best.value if name == "min" else each.value > best.value
        # What has no value has no extreme either.
        better |= np.isnan(each.value)
        value = np.where(better, each.value, best.value)
        # Whichever depends on nothing has slopes that are 0.
        slopes = [np.zeros(1) if u.slope is None else u.slope for u in (each, best)]
        is_constant = each.slope is None and best.slope is None
        best = Dual(value, None if is_constant else np.where(better, *slopes))
    return best


_OPERATIONS: dict[type[ast.operator], Callable[[Dual, Dual], Dual]] = {
    ast.Add: _add,
    ast.Sub: subtract,
    ast.Mult: _multiply,
    ast.Div: _divide,
    ast.Pow: _power,
}
_Function = Callable[[Array], Array]
# Functions of one variable with their derivatives.
_FUNCTIONS: dict[str, tuple[_Function, _Function]] = {
    "sqrt": (np.sqrt, lambda u: 0.5 / np.sqrt(u)),
    "exp": (np.exp, np.exp),
    "log": (np.log, lambda u: 1.0 / u),
    "log10": (np.log10, lambda u: 1.0 / (u * np.log(10.0))),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda u: -np.sin(u)),
    "tan": (np.tan, lambda u: 1.0 + np.tan(u) ** 2),
    "tanh": (np.tanh, lambda u: 1.0 - np.tanh(u) ** 2),
    "abs": (np.abs, np.sign),
}
FUNCTIONS = (*_FUNCTIONS, "min", "max")
