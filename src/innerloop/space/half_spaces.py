"""Linear constraints over the unit cube: exact where only integers and steps take part.

Numbers are fractions until the end, so that what is written as 0.1 is a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from innerloop.errors import InputError
from innerloop.space.constraints import Constraint, exact
from innerloop.space.parameters import Integer, Real
from innerloop.types import Array

# Constraints hold up to this part of the size of their terms, or of the step of a sum of levels.
_TOLERANCE = Fraction(1, 10**9)
_SMALL_STEP = Fraction(1, 10**6)
# In the search, reals keep this part of the range away from a limit: decoding rounds them.
_MARGIN = Fraction(1, 10**9)
_EPSILON = Fraction(2) ** -52


@dataclass(frozen=True)
class Axis:
    """How a numeric parameter moves along its coordinate, from low at 0 to high at 1.

    Args:
        column: of its coordinate; None if it has a single value.
        low: its lowest value.
        high: its highest value.
        count: how many values it has; None for reals.
        at: where its coordinate is held, if it is.
    """

    column: int | None
    low: Fraction
    high: Fraction
    count: int | None
    at: Fraction | None = None

    @property
    def moves(self) -> bool:
        """Whether it has more than one value."""
        return self.column is not None and self.at is None

    @property
    def span(self) -> Fraction:
        """From the lowest value to the highest."""
        return self.high - self.low

    @property
    def size(self) -> Fraction:
        """The largest absolute value."""
        return max(-self.low, self.high)

    def level(self, value: Any) -> int:
        """The number of a value among all of a parameter that is not continuous."""
        steps = (self.count or 1) - 1
        return round((exact(value) - self.low) / self.span * steps) if self.span else 0


def axis_of(parameter: Any, column: int, held: Mapping[int, float]) -> Axis:
    """The axis of a numeric parameter or of a fixed number.

    Args:
        parameter: a `Real`, an `Integer` or a number.
        column: its place among the coordinates.
        held: coordinates that do not move, by column.

    Returns:
        The axis.
    """
    if not isinstance(parameter, (Real, Integer)):
        return Axis(None, exact(parameter), exact(parameter), 1)
    low, high, count = exact(parameter.low), exact(parameter.high), parameter.count
    if count == 1:
        return Axis(None, low, high, 1)
    at = held.get(column)
    if at is None:
        return Axis(column, low, high, count)
    if count is None:
        return Axis(column, low, high, None, exact(at))
    return Axis(column, low, high, count, Fraction(round(at * (count - 1)), count - 1))


@dataclass(frozen=True)
class Sum:
    """A constraint as a sum of steps * level that is at most a limit, over levels only.

    Args:
        steps: by name.
        limit: of the sum.
    """

    steps: Mapping[str, Fraction]
    limit: Fraction

    def is_met(self, levels: Mapping[str, int]) -> bool:
        """Whether levels by name meet the constraint."""
        return sum(step * levels[name] for name, step in self.steps.items()) <= self.limit


def sum_of_levels(constraint: Constraint, axes: Mapping[str, Axis]) -> Sum | None:
    """The constraint over the levels of what moves; None if a real number does.

    If the sums of levels are multiples of some unit, the limit is half a unit above the largest
    of them that meets the constraint: then no rounding of less than that can change a thing.

    Args:
        constraint: over values.
        axes: of the parameters in it, by name.

    Returns:
        The constraint over levels.
    """
    moving = {name: axes[name] for name in constraint.coefficients if axes[name].moves}
    if any(axis.count is None for axis in moving.values()):
        return None
    steps = {
        name: constraint.coefficients[name] * axis.span / ((axis.count or 0) - 1)
        for name, axis in moving.items()
    }
    room, size = constraint.limit, abs(constraint.limit)
    for name, c in constraint.coefficients.items():
        room -= c * (axes[name].low + axes[name].span * (axes[name].at or 0))
        size += abs(c) * axes[name].size
    if not steps:
        return Sum(steps, room + _TOLERANCE * size)
    unit, finest = reduce(_divisor, steps.values(), Fraction(0)), min(map(abs, steps.values()))
    if unit < _SMALL_STEP * finest:  # coefficients that have been rounded
        return Sum(steps, room + min(_TOLERANCE * size, _SMALL_STEP * finest))
    room += min(_TOLERANCE * size, _SMALL_STEP * unit)
    return Sum(steps, (math.floor(room / unit) + Fraction(1, 2)) * unit)


def _divisor(x: Fraction, y: Fraction) -> Fraction:
    """The largest fraction of which both are multiples."""
    denominator = math.lcm(x.denominator, y.denominator)
    return Fraction(math.gcd(int(x * denominator), int(y * denominator)), denominator)


def half_space(
    constraint: Constraint, axes: Mapping[str, Axis], d: int, *, tight: bool
) -> tuple[Array, float]:
    """The constraint as a . x <= b over the unit cube.

    Args:
        constraint: over values.
        axes: of the parameters in it, by name.
        d: how many coordinates there are.
        tight: reals keep a margin, so that values meet the constraint exactly after rounding.

    Returns:
        a (d,) and b.
    """
    a = {axes[n].column: c * axes[n].span for n, c in constraint.coefficients.items()}
    a.pop(None, None)
    total = sum((abs(c) for c in a.values()), Fraction(0))
    size = sum((abs(c) * axes[n].size for n, c in constraint.coefficients.items()), Fraction(0))
    size += abs(constraint.limit)
    try:
        _ = float(size + total)
    except OverflowError:
        raise InputError(
            f"constraint {constraint.text!r} has terms too large to compute with"
        ) from None
    levels = sum_of_levels(constraint, axes)
    if levels is None:
        b = constraint.limit - sum(c * axes[n].low for n, c in constraint.coefficients.items())
        if not constraint.equation:  # whose two halves leave no room for a margin
            b -= (_MARGIN * total + _EPSILON * size) if tight else -total / 10**13
    else:
        held = [n for n in constraint.coefficients if axes[n].at is not None]
        b = levels.limit + sum(
            constraint.coefficients[n] * axes[n].span * (axes[n].at or 0) for n in held
        )
    row = np.zeros(d)
    scale = max(map(abs, a.values()), default=Fraction(0))
    if scale == 0:  # true everywhere or nowhere
        return row, 1.0 if b >= 0 else -1.0
    for column, c in a.items():
        row[column] = float(c / scale)
    # No point of the cube is beyond d once the largest coefficient is 1.
    farthest = Fraction(2 * d)
    return row, float(min(max(b / scale, -farthest), farthest))
