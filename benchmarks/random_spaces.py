"""Random spaces with known limits.

A space is drawn part by part around a point that meets everything, but for limits that are set too
tight on purpose. `PARTS` is where another part would be added: a function that adds parameters, or
constraints over those that are there, to a draft.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

import innerloop as il
from checked_spaces import FUNCTIONS, Ball, Case, Few, Limit, Params, Stated


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
        level = int(rng.integers(kind.count))
        return float(Decimal(str(kind.low)) + Decimal(str(kind.step)) * level)
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
        some = tuple(names[:3])
        draft.limits.append(Few(max(1, sum(draft.point[name] != 0.0 for name in some)), some))


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
    known = {"__builtins__": {}, **FUNCTIONS}
    ends = ((draft.parameters[name].low, draft.parameters[name].high) for name in names)
    corners = (dict(zip(names, corner, strict=True)) for corner in itertools.product(*ends))
    sizes = [eval(left, known, corner) for corner in corners]
    room = draft.room(0.5 * (max(sizes) - min(sizes)))
    value = eval(left, known, draft.point)
    sign, way = ("<=", 1) if rng.random() < 0.5 else (">=", -1)
    limit = float(f"{value + way * room:.6g}") if room else value
    draft.limits.append(Stated(f"{left} {sign} {limit!r}", (*terms, repr(limit))))


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
