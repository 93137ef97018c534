"""What the model expects along lines and over planes through the best point."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.insight.model import Expected, FittedModel
from innerloop.space.parameters import Choice, Parameter, Real
from innerloop.types import Array

_ALONG_A_LINE, _ALONG_THE_ONLY_LINE, _ACROSS_A_MAP = 61, 241, 40
_STEPS = 201
# The viewer of maps chooses two of so many parameters.
_ON_MAPS = 4


class Line(NamedTuple):
    """Along one parameter: its values, and the points that have them (n, d)."""

    name: str
    values: list[Any]
    X: Array


class Plane(NamedTuple):
    """Over two parameters: points (n, d), of which a map has (rows of y, columns of x).

    sides: (k, 3), half-planes a x + b y <= c of the unit square outside of which nothing may lie;
    without them, `outside` says which of the points do not: (n,).
    """

    x: str
    y: str
    X: Array
    shape: tuple[int, int]
    sides: Array
    outside: NDArray[np.bool_]

    def grid(self, values: Array) -> Array:
        """Values (n,) as a map, NaN outside."""
        return np.where(self.outside, np.nan, values).reshape(self.shape)


class Slice(NamedTuple):
    """Along one parameter: its values, what is expected there, expected improvement (n,)."""

    name: str
    values: list[Any]
    expected: Expected
    improvement: Array


class Map(NamedTuple):
    """Over two parameters: expected mean and improvement (rows of y, columns of x).

    sides: (k, 3), half-planes a x + b y <= c of the unit square outside of which nothing may lie;
    without them, NaN says that.
    """

    x: str
    y: str
    mean: Array
    improvement: Array
    sides: Array


def slices(model: FittedModel) -> list[Slice]:
    """One for each parameter that varies and applies at the best, the most important first."""
    lines = [line_along(model, name) for name in model.applying(model.ordered)]
    return [
        Slice(each.name, each.values, model.expected(each.X), model.improvement(each.X))
        for each in lines
    ]


def maps(model: FittedModel) -> list[Map]:
    """All pairs of the most important parameters; numbers come before categories."""
    return [_map(model, plane) for plane in planes(model, model.applying(model.ordered))]


def planes(model: FittedModel, names: Sequence[str]) -> list[Plane]:
    """All pairs of the first of some parameters; numbers come before categories."""
    fitting = [
        n
        for n in names
        if (model.parameters[n].count or 0) <= _ALONG_A_LINE
        or not isinstance(model.parameters[n], Choice)
    ]
    fitting.sort(key=lambda name: isinstance(model.parameters[name], Choice))
    return [plane_over(model, x, y) for x, y in combinations(fitting[:_ON_MAPS], 2)]


def line_along(model: FittedModel, name: str) -> Line:
    """Values of a parameter while the others stay at the best; of many categories, the best."""
    values = _values_along(model, name)
    X = model.moved({name: values})
    if isinstance(model.parameters[name], Choice) and len(values) > _ALONG_A_LINE:
        order = np.argsort(model.outputs.sign * -model.expected(X).mean)[:_ALONG_A_LINE]
        values, X = [values[k] for k in order], X[order]
    return Line(name, values, X)


def _values_along(model: FittedModel, name: str) -> list[Any]:
    """Values of a parameter which the constraints allow while the others stay at the best."""
    parameter = model.parameters[name]
    if parameter.count is None:
        low, high = _reach(model, name) if model.domain.ends_at_sides else _ends(model, name)
        here = model.center[model.space.columns[name]]
        count = _ALONG_A_LINE if len(model.parameters) > 1 else _ALONG_THE_ONLY_LINE
        steps = np.unique(np.concatenate([np.linspace(low, high, count), here]))
        return list(dict.fromkeys(parameter.decode([u]) for u in steps))
    values = _levels(parameter)
    allowed = model.feasible(model.moved({name: values}))
    own = model.best.params[name]
    return [v for v, ok in zip(values, allowed, strict=True) if ok or v == own]


def _levels(parameter: Parameter) -> list[Any]:
    """All values of a parameter that is not continuous, or an even choice of them."""
    count = parameter.count or 0
    if isinstance(parameter, Choice):
        return list(parameter.values)
    some = np.unique(np.linspace(0, count - 1, min(count, _ALONG_A_LINE)).round())
    points = parameter.quantile((some + 0.5) / count)
    return list(dict.fromkeys(parameter.decode(x) for x in points.tolist()))


def _reach(model: FittedModel, name: str) -> tuple[float, float]:
    """How far a continuous coordinate may go, by the constraints, while the others stay."""
    column = model.space.columns[name].start
    here, slope = float(model.center[column]), model.domain.A[:, column]
    room = model.domain.b - model.domain.A @ model.center
    up, down = slope > 0.0, slope < 0.0
    high = here + float(np.min(room[up] / slope[up], initial=1.0))
    low = here + float(np.max(room[down] / slope[down], initial=-1.0))
    return min(max(low, 0.0), here), max(min(high, 1.0), here)


def _ends(model: FittedModel, name: str) -> tuple[float, float]:
    """How far a continuous coordinate may go, to half a percent, with others that follow or stay.

    Beyond the first place that a limit forbids it does not go on.
    """
    parameter, here = model.parameters[name], float(model.center[model.space.columns[name].start])
    steps = np.unique(np.append(np.linspace(0.0, 1.0, _STEPS), here))
    allowed = model.feasible(model.moved({name: [parameter.decode([u]) for u in steps]}))
    below, above = steps[~allowed & (steps < here)], steps[~allowed & (steps > here)]
    low, high = below.max(initial=-1.0), above.min(initial=2.0)
    inside = steps[(steps > low) & (steps < high)]
    return float(inside.min(initial=here)), float(inside.max(initial=here))


def _map(model: FittedModel, plane: Plane) -> Map:
    mean, improvement = model.expected(plane.X).mean, model.improvement(plane.X)
    return Map(plane.x, plane.y, plane.grid(mean), plane.grid(improvement), plane.sides)


def plane_over(model: FittedModel, x: str, y: str) -> Plane:
    """Cells over two parameters while the others stay at the best."""
    across, up = cells_of(model.parameters[x]), cells_of(model.parameters[y])
    X = model.moved({x: across * len(up), y: [v for v in up for _ in across]})
    sides, outside = np.zeros((0, 3)), np.zeros(len(X), dtype=np.bool_)
    reals = all(isinstance(p := model.parameters[n], Real) and p.count is None for n in (x, y))
    if reals and model.domain.ends_at_sides:
        sides = _sides(model, x, y)
    else:
        outside = ~(model.feasible(X) & model.applies((x, y), X))
    return Plane(x, y, X, (len(up), len(across)), sides, outside)


def cells_of(parameter: Parameter) -> list[Any]:
    """The values in the middle of the cells of a map, evenly over the unit interval."""
    if isinstance(parameter, Choice):
        return list(parameter.values)
    return [parameter.decode([(k + 0.5) / _ACROSS_A_MAP]) for k in range(_ACROSS_A_MAP)]


def _sides(model: FittedModel, x: str, y: str) -> Array:
    """The constraints on two coordinates while the others stay at the best point."""
    columns = [model.space.columns[name].start for name in (x, y)]
    A, b = model.domain.A, model.domain.b
    own = A[:, columns]
    limit = b - A @ model.center + own @ model.center[columns]
    sides = np.column_stack([own, limit])
    concerned: Array = sides[(own != 0.0).any(axis=1)]
    return concerned
