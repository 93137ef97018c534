"""Parameters of benchmark tasks: what may vary, and its numbers for optimizers that want vectors.

Nothing here needs more than Python, so that it loads in every rival's environment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Point = dict[str, float | int | str]


@dataclass(frozen=True)
class Range:
    """Real numbers from low to high, evenly or on a logarithmic scale."""

    low: float
    high: float
    log: bool = False

    def decode(self, u: float) -> float:
        """The value at a fraction u in [0, 1] of the range."""
        if self.log:
            value = self.low * (self.high / self.low) ** u
        else:
            value = self.low + u * (self.high - self.low)
        return min(max(float(value), self.low), self.high)

    def encode(self, value: float) -> float:
        """The fraction of the range at which a value lies."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def contains(self, value: object) -> bool:
        return isinstance(value, (int, float)) and self.low <= value <= self.high


@dataclass(frozen=True)
class Whole:
    """Integers from low to high, both included."""

    low: int
    high: int

    def decode(self, u: float) -> int:
        """Every integer has an equal share of [0, 1]."""
        return min(self.low + int(u * (self.high - self.low + 1)), self.high)

    def contains(self, value: object) -> bool:
        return isinstance(value, int) and self.low <= value <= self.high


@dataclass(frozen=True)
class Options:
    """Values without an order."""

    values: tuple[str, ...]

    def decode(self, u: float) -> str:
        """Every value has an equal share of [0, 1]."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]

    def contains(self, value: object) -> bool:
        return value in self.values


Parameters = Mapping[str, Range | Whole | Options]


def at_fractions(fractions: Sequence[float], parameters: Parameters) -> Point:
    """The point at fractions of the parameters' ranges, each value having an equal share."""
    named = zip(parameters.items(), fractions, strict=True)
    return {name: kind.decode(float(share)) for (name, kind), share in named}


def encoded(point: Point, parameters: Parameters) -> list[float]:
    """A point as numbers: fractions of ranges, and indices of options."""
    numbers = []
    for value, kind in zip(point.values(), parameters.values(), strict=True):
        if isinstance(kind, Range):
            numbers.append(kind.encode(value))
        elif isinstance(kind, Whole):
            numbers.append((value - kind.low) / (kind.high - kind.low))
        else:
            numbers.append(float(kind.values.index(value)))
    return numbers


def decoded(numbers: Sequence[float], parameters: Parameters) -> Point:
    """The point that has such numbers."""
    point: Point = {}
    for (name, kind), u in zip(parameters.items(), numbers, strict=True):
        if isinstance(kind, Range):
            point[name] = kind.decode(u)
        elif isinstance(kind, Whole):
            point[name] = kind.low + round(u * (kind.high - kind.low))
        else:
            point[name] = kind.values[round(u)]
    return point


def options_among(parameters: Parameters) -> dict[int, list[int]]:
    """Indices that options may have, by their coordinate."""
    kinds = enumerate(parameters.values())
    return {i: list(range(len(k.values))) for i, k in kinds if isinstance(k, Options)}


def levels_among(parameters: Parameters) -> dict[int, list[float]]:
    """Fractions that integers may have, by their coordinate."""
    return {
        i: [level / (kind.high - kind.low) for level in range(kind.high - kind.low + 1)]
        for i, kind in enumerate(parameters.values())
        if isinstance(kind, Whole)
    }
