"""Equations with whole coefficients among inequalities over levels, and what they ask of a level.

If 3 x + 6 y + 9 z = 12, then x has to be in steps of 3 / gcd, whatever the others are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

_LARGEST_RATIO = 10**6
_LARGEST_COEFFICIENT = 10**9


class Equation(NamedTuple):
    """The sum of whole coefficients times levels is a whole value.

    Args:
        coefficients: (n,).
        value: of the sum.
    """

    coefficients: NDArray[np.int64]
    value: int

    @property
    def is_open(self) -> bool:
        """Whether the coefficients have no divisor that the value has not."""
        return self.value % int(np.gcd.reduce(self.coefficients)) == 0

    def steps(self, levels: Array, j: int, later: Sequence[int]) -> tuple[int, NDArray[np.int64]]:
        """The step of a coordinate and where its levels start, given others.

        Args:
            levels: (F, n), of which those still open are 0.
            j: the coordinate.
            later: the coordinates that are still open after it.

        Returns:
            The step, and the start for each combination, (F,).
        """
        others = math.gcd(*self.coefficients[list(later)].tolist())
        own = int(self.coefficients[j])
        common = math.gcd(own, others)
        step = others // common if others else 1
        if step == 1:
            return 1, np.zeros(len(levels), dtype=np.int64)
        missing = self.value - levels.astype(np.int64) @ self.coefficients
        return step, missing // common % step * pow(own // common, -1, step) % step


def equations(costs: Array, limits: Array) -> tuple[Equation, ...]:
    """The equations that pairs of inequalities costs . levels <= limits make up.

    Args:
        costs: (k, n).
        limits: (k,).

    Returns:
        One for each such pair with whole coefficients.
    """
    found = []
    for i in range(len(limits)):
        for k in range(i + 1, len(limits)):
            if (costs[k] == -costs[i]).all():
                whole = _whole(costs[i])
                if whole is not None:
                    unit = np.abs(costs[i]).max() / np.abs(whole).max()
                    highest = math.floor(limits[i] / unit + 1e-6)
                    lowest = math.ceil(-limits[k] / unit - 1e-6)
                    found += [Equation(whole, highest)] if lowest == highest else []
    return tuple(found)


def _whole(costs: Array) -> NDArray[np.int64] | None:
    """The smallest whole numbers that are in the ratios of costs (n,); None if large or all 0."""
    if not costs.any():
        return None
    smallest = np.abs(costs[costs != 0.0]).min()
    ratios = [Fraction(float(c / smallest)).limit_denominator(_LARGEST_RATIO) for c in costs]
    factor = math.lcm(*(ratio.denominator for ratio in ratios))
    if factor * max(map(abs, ratios)) > _LARGEST_COEFFICIENT:
        return None
    whole = np.array([int(ratio * factor) for ratio in ratios], dtype=np.int64)
    exact = whole * (smallest / factor)
    return whole if np.allclose(exact, costs, rtol=1e-12, atol=0.0) else None
