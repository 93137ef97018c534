"""Spaces with known limits, and whether values meet them, by Python's own arithmetic."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import innerloop as il

Params = dict[str, Any]
# Limits are met up to this share of the sizes of their terms.
TOLERANCE = 1e-9
FUNCTIONS = {
    "abs": abs,
    "min": min,
    "max": max,
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "log10", "sin", "cos", "tanh")},
}
_MOST_LISTED = 50_000


@dataclass(frozen=True)
class Stated:
    """A comparison as it is written, with the terms whose sizes say what is next to nothing.

    coefficients: by name, of what is linear; with the value that is on the right.
    """

    text: str
    terms: tuple[str, ...]
    coefficients: Mapping[str, float] | None = None
    value: float = 0.0

    @property
    def sign(self) -> str:
        return re.search(r"<=|>=|==", self.text)[0]

    def excess(self, params: Params) -> float:
        """By how much it is broken, in parts of the sizes of its terms; infinite without value."""
        known = {"__builtins__": {}, **FUNCTIONS, **params}
        try:
            left, right = (eval(side, known) for side in self.text.split(self.sign))
            size = sum(abs(eval(term, known)) for term in self.terms)
        except (ValueError, ZeroDivisionError, OverflowError):
            return math.inf
        over = {"<=": left - right, ">=": right - left, "==": abs(left - right)}[self.sign]
        return over / size if over > 0.0 and size > 0.0 else max(over, 0.0)


@dataclass(frozen=True)
class Few:
    """At most so many of some parameters are not at zero."""

    number: int
    names: tuple[str, ...]

    def excess(self, params: Params) -> float:
        return float(max(sum(params[name] != 0.0 for name in self.names) - self.number, 0))


@dataclass(frozen=True)
class Ball:
    """A function of params: points no farther than a radius from a centre, in units of ranges."""

    centre: Mapping[str, float]
    spans: Mapping[str, float]
    radius: float

    def __call__(self, params: Mapping[str, Any]) -> float:
        return self.distance(params) - self.radius

    def distance(self, params: Mapping[str, Any]) -> float:
        return math.hypot(*((params[n] - c) / self.spans[n] for n, c in self.centre.items()))

    def excess(self, params: Params) -> float:
        return max(self(params), 0.0)


Limit = Stated | Few | Ball


@dataclass(frozen=True)
class Case:
    """A random space."""

    kind: str
    parameters: Mapping[str, Any]
    limits: tuple[Limit, ...]
    point: Params

    def space(self) -> il.Space:
        def plain(limit: Limit) -> Any:
            if isinstance(limit, Few):
                return il.AtMost(limit.number, limit.names)
            return limit.text if isinstance(limit, Stated) else limit

        return il.Space(self.parameters, constraints=[plain(each) for each in self.limits])

    @property
    def can_be_saved(self) -> bool:
        return not any(isinstance(each, Ball) for each in self.limits)

    def faults(self, params: Params) -> list[str]:
        """What is wrong with values, if anything."""
        found = [f"{n} is {params[n]!r}" for n in self.parameters if not self._holds(n, params[n])]
        over = [(limit, limit.excess(params)) for limit in self.limits]
        return found + [f"{limit} is off by {gap:.2g}" for limit, gap in over if gap > TOLERANCE]

    def _holds(self, name: str, value: Any) -> bool:
        kind = self.parameters[name]
        if isinstance(kind, il.Choice):
            return value in kind.values
        if isinstance(kind, il.Integer):
            inside = type(value) is int and kind.low <= value <= kind.high
            return inside and (value - kind.low) % kind.step == 0
        if not isinstance(kind, il.Real):
            return value == kind
        if kind.at_least is not None and 0.0 < value < kind.at_least:
            return False
        inside = type(value) is float and kind.low <= value <= kind.high
        if kind.step is None:
            return inside and (name in self._limited or _has_digits(kind, value))
        steps = (Decimal(repr(value)) - Decimal(repr(kind.low))) / Decimal(repr(kind.step))
        return inside and steps == int(steps)

    @property
    def _limited(self) -> set[str]:
        """Names in limits, which may take more digits than are wanted."""
        texts = " ".join(map(str, self.limits))
        return {name for name in self.parameters if re.search(rf"\b{name}\b", texts)}

    def everything(self) -> list[Params] | None:
        """All params that meet all limits, if values can be listed."""
        lists = [values_of(kind) for kind in self.parameters.values()]
        if any(each is None for each in lists) or math.prod(map(len, lists)) > _MOST_LISTED:
            return None
        rows: Iterator[Params] = (
            dict(zip(self.parameters, row, strict=True)) for row in itertools.product(*lists)
        )
        return [row for row in rows if all(limit.excess(row) <= TOLERANCE for limit in self.limits)]


def _has_digits(kind: il.Real, value: float) -> bool:
    """Whether a value has no more digits of its range than are wanted."""
    if kind.digits is None or value in (kind.low, kind.high):
        return True
    decimals = kind.digits - math.floor(math.log10(kind.high - kind.low))
    return round(Decimal(repr(value)), decimals) == Decimal(repr(value))


def values_of(kind: Any) -> list[Any] | None:
    """All values of a parameter; None if it is continuous."""
    if isinstance(kind, il.Choice):
        return list(kind.values)
    if isinstance(kind, il.Integer):
        return list(range(kind.low, kind.high + 1, kind.step))
    if not isinstance(kind, il.Real):
        return [kind]
    if kind.step is None:
        return None
    first, step = Decimal(str(kind.low)), Decimal(str(kind.step))
    return [float(first + k * step) for k in range(kind.count)]
