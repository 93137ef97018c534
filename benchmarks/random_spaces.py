"""Random spaces with known limits, and whether values meet them, by code that shares none with ours.

A space is drawn part by part around a point that meets everything, but for limits that are set too
tight on purpose. `PARTS` is where another part would be added: a function that adds parameters, or
constraints over those that are there, to a draft.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

import innerloop as il

Params = dict[str, Any]
# Limits are met up to this share of the sizes of their terms.
TOLERANCE = 1e-9
_FUNCTIONS = {
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
        known = {"__builtins__": {}, **_FUNCTIONS, **params}
        try:
            left, right = (eval(side, known) for side in self.text.split(self.sign))  # noqa: S307
            size = sum(abs(eval(term, known)) for term in self.terms)  # noqa: S307
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


@dataclass
class Draft:
    """A space that is being drawn: parameters, limits, and a point that they are drawn around."""

    rng: np.random.Generator
    parameters: dict[str, Any] = field(default_factory=dict)
    point: Params = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)

    def add(self, name: str, kind: Any) -> None:
        self.parameters[name] = kind
        self.point[name] = value_of(kind, self.rng)

    def numbers(self, most: int, *, log: bool = True) -> list[str]:
        """The names of some numbers, at random."""
        names = [
            name
            for name, kind in self.parameters.items()
            if isinstance(kind, (il.Real, il.Integer)) and (log or not kind.log)
        ]
        count = min(len(names), int(self.rng.integers(2, most + 1)))
        return list(self.rng.choice(names, count, replace=False)) if names else []

    def span(self, name: str) -> float:
        return self.parameters[name].high - self.parameters[name].low

    def room(self, size: float) -> float:
        """How far from the point a limit is: sometimes not at all, sometimes too near."""
        return size * float(self.rng.choice([0.0, 0.02, 0.2, 0.5, 1.0, -0.3], p=_ROOMS))


_ROOMS = (0.06, 0.12, 0.3, 0.3, 0.16, 0.06)


def value_of(kind: Any, rng: np.random.Generator) -> Any:
    """A random value of a parameter, with few decimals where it is a real number."""
    if isinstance(kind, il.Choice):
        return kind.values[int(rng.integers(len(kind.values)))]
    if isinstance(kind, il.Integer):
        return kind.low + kind.step * int(rng.integers(kind.count))
    if not isinstance(kind, il.Real):
        return kind
    if kind.step is not None:
        return float(Decimal(str(kind.low)) + Decimal(str(kind.step)) * int(rng.integers(kind.count)))
    u = float(rng.choice([0.0, 1.0, rng.random()], p=[0.1, 0.1, 0.8]))
    if kind.log:
        return min(max(float(f"{kind.low * (kind.high / kind.low) ** u:.3g}"), kind.low), kind.high)
    value = round(kind.low + u * (kind.high - kind.low), 2)
    return 0.0 if kind.at_least is not None and value < kind.at_least else value


def parameter(rng: np.random.Generator) -> Any:
    """A parameter of some kind."""
    low, high = [(0.0, 1.0), (-1.0, 2.0), (0.0, 100.0), (20.0, 120.0), (0.1, 0.5)][rng.integers(5)]
    kind = int(rng.choice(9, p=[0.36, 0.1, 0.1, 0.1, 0.12, 0.04, 0.04, 0.1, 0.04]))
    return [
        lambda: il.Real(low, high),
        lambda: il.Real(0.001, 10.0, log=True),
        lambda: il.Real(low, high, step=float(rng.choice([0.05, 0.25, 0.1]))),
        lambda: il.Real(low, high, digits=int(rng.integers(1, 5))),
        lambda: il.Integer(int(rng.integers(-3, 3)), int(rng.integers(4, 30))),
        lambda: il.Integer(1, 64, log=True),
        lambda: il.Integer(0, 40, step=5),
        lambda: il.Choice(["u", "v", "w"][: int(rng.integers(2, 4))]),
        lambda: float(rng.choice([0.5, 2.0])),
    ][kind]()


def components(draft: Draft) -> None:
    """Parts of a mixture of which some may be left out, often with a sum."""
    rng, n = draft.rng, int(draft.rng.integers(3, 8))
    names = [f"c{k}" for k in range(n)]
    low = 0.0 if rng.random() < 0.85 else -0.5
    gap = 0.05 if low == 0.0 and rng.random() < 0.35 else None
    digits = 3 if rng.random() < 0.2 else None
    for name in names:
        draft.add(name, il.Real(low, 1.0, at_least=gap, digits=digits))
    most = int(rng.integers(1, n))
    present = rng.choice(names, most, replace=False)
    for name in names:
        share = round(1.0 / most, 2) if rng.random() < 0.7 else 0.6
        draft.point[name] = share if name in present else 0.0
    draft.limits.append(Few(most, tuple(names)))
    if rng.random() < 0.7:
        total = sum(Decimal(str(draft.point[name])) for name in names)
        draft.limits.append(linear_of(dict.fromkeys(names, 1.0), "==", total))
    if n > 4 and rng.random() < 0.3:
        draft.limits.append(Few(max(1, sum(draft.point[x] != 0.0 for x in names[:3])), tuple(names[:3])))


def linear_of(coefficients: Mapping[str, float], sign: str, value: Decimal | float) -> Stated:
    """A linear comparison as it is written."""
    terms = tuple(f"{c!r}*{name}" for name, c in coefficients.items())
    text = f"{' + '.join(terms)} {sign} {value}"
    return Stated(text, (*terms, str(value)), dict(coefficients), float(value))


def equation(draft: Draft) -> None:
    """An equation that the point meets, or misses on purpose."""
    coefficients, total = _weighed(draft, most=5)
    if len(coefficients) > 1:
        off = Decimal(str(draft.rng.choice([0.0, 0.25, 7.0], p=[0.92, 0.04, 0.04])))
        draft.limits.append(linear_of(coefficients, "==", total + off))


def inequality(draft: Draft) -> None:
    """A linear inequality near the point."""
    coefficients, total = _weighed(draft, most=4)
    if coefficients:
        size = sum(abs(c) * draft.span(name) for name, c in coefficients.items())
        room = round(draft.room(size / 2.0), 4)
        sign, way = ("<=", 1) if draft.rng.random() < 0.5 else (">=", -1)
        draft.limits.append(linear_of(coefficients, sign, float(total) + way * room))


def _weighed(draft: Draft, most: int) -> tuple[dict[str, float], Decimal]:
    """Coefficients of some numbers, and what they come to at the point."""
    names = draft.numbers(most, log=False)
    weights = [1.0, 1.0, 1.0, -1.0, 0.5, -2.0, 0.3, 3.0]
    coefficients = {str(name): float(draft.rng.choice(weights)) for name in names}
    parts = [Decimal(str(c)) * Decimal(str(draft.point[n])) for n, c in coefficients.items()]
    return coefficients, sum(parts, Decimal(0))


_FORMULAS = (
    ("{x} * {y}",),
    ("{x} ** 2", "{y} ** 2"),
    ("exp(-{u})", "{v}"),
    ("sqrt(abs({x}))", "sin(3 * {v})"),
    ("{x} / (1 + {v} ** 2)",),
    ("min({u}, {v})",),
    ("max({u}, {v})", "{u} * {v}"),
    ("log(1.5 + {u})", "{v} ** 3"),
    ("tanh({u} - {v})",),
    ("abs({u} - {v})",),
)


def curve(draft: Draft) -> None:
    """A limit that is not linear, near the point: a formula, or now and then a function."""
    names, rng = [str(name) for name in draft.numbers(2)], draft.rng
    if len(names) < 2:
        return
    if rng.random() < 0.1:
        spans = {name: draft.span(name) for name in names}
        centre = {name: draft.point[name] + 0.2 * spans[name] for name in names}
        near = Ball(centre, spans, 0.0).distance(draft.point)
        draft.limits.append(Ball(centre, spans, near + abs(draft.room(0.3))))
        return
    x, y = names
    # Shares of the ranges, for functions of numbers of size 1.
    lows = [draft.parameters[name].low for name in names]
    u, v = (f"(({n} - {low!r}) / {draft.span(n)!r})" for n, low in zip(names, lows, strict=True))
    formula = _FORMULAS[int(rng.integers(len(_FORMULAS)))]
    terms = tuple(term.format(x=x, y=y, u=u, v=v) for term in formula)
    left = " + ".join(terms)
    known = {"__builtins__": {}, **_FUNCTIONS}
    corners = [dict(zip(names, c, strict=True)) for c in itertools.product(*map(_ends(draft), names))]
    sizes = [eval(left, known, corner) for corner in corners]  # noqa: S307
    room = draft.room(0.5 * (max(sizes) - min(sizes)))
    value = eval(left, known, draft.point)  # noqa: S307
    sign, way = ("<=", 1) if rng.random() < 0.5 else (">=", -1)
    limit = float(f"{value + way * room:.6g}") if room else value
    draft.limits.append(Stated(f"{left} {sign} {limit!r}", (*terms, repr(limit))))


def _ends(draft: Draft) -> Callable[[str], tuple[float, float]]:
    return lambda name: (draft.parameters[name].low, draft.parameters[name].high)


PARTS: dict[str, Callable[[Draft], None]] = {
    "components": components,
    "equation": equation,
    "inequality": inequality,
    "curve": curve,
}
KINDS: dict[str, Callable[[np.random.Generator], list[str]]] = {
    "equations": lambda rng: ["equation"] * int(rng.integers(1, 4)),
    "at most": lambda rng: ["components"],
    "nonlinear": lambda rng: ["curve"] * int(rng.integers(1, 4)),
    "mixed": lambda rng: sorted(
        rng.choice(list(PARTS), int(rng.integers(2, 6))).tolist(), key=list(PARTS).index
    ),
}


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
        for limit in self.limits:
            if limit.excess(params) > TOLERANCE:
                found.append(f"{limit} is off by {limit.excess(params):.2g}")
        return found

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


def case(number: int) -> Case:
    """The random space of a number."""
    rng = np.random.default_rng([11, number])
    kind = list(KINDS)[number % len(KINDS)]
    draft = Draft(rng)
    for k in range(int(rng.integers(1 if kind == "at most" else 2, 6))):
        draft.add(f"p{k}", parameter(rng))
    for part in KINDS[kind](rng):
        PARTS[part](draft)
    return Case(kind, draft.parameters, tuple(draft.limits), draft.point)
