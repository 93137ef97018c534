"""What the model expects along lines and over planes through the best point."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from innerloop.report.model import Expected, FittedModel
from innerloop.space.parameters import Choice, Parameter, Real
from innerloop.types import Array

_ALONG_A_LINE, _ALONG_THE_ONLY_LINE, _ACROSS_A_MAP = 61, 241, 40
# The viewer of maps chooses two of so many parameters.
_ON_MAPS = 4


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
    """One for each parameter that varies, the most important first."""
    return [_slice(model, name) for name in model.importance()]


def maps(model: FittedModel) -> list[Map]:
    """All pairs of the most important parameters; numbers come before categories."""
    names = list(model.importance())
    fitting = [
        n
        for n in names
        if (model.parameters[n].count or 0) <= _ALONG_A_LINE
        or not isinstance(model.parameters[n], Choice)
    ]
    fitting.sort(key=lambda name: isinstance(model.parameters[name], Choice))
    return [_map(model, x, y) for x, y in combinations(fitting[:_ON_MAPS], 2)]


def _slice(model: FittedModel, name: str) -> Slice:
    values = _values_along(model, name)
    X = model.moved({name: values})
    if isinstance(model.parameters[name], Choice) and len(values) > _ALONG_A_LINE:
        order = np.argsort(model.outputs.sign * -model.expected(X).mean)[:_ALONG_A_LINE]
        values, X = [values[k] for k in order], X[order]
    return Slice(name, values, model.expected(X), model.improvement(X))


def _values_along(model: FittedModel, name: str) -> list[Any]:
    """Values of a parameter which the constraints allow while the others stay at the best."""
    parameter = model.parameters[name]
    if parameter.count is None:
        low, high = _reach(model, name)
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


def _map(model: FittedModel, x: str, y: str) -> Map:
    across, up = _cells(model.parameters[x]), _cells(model.parameters[y])
    X = model.moved({x: across * len(up), y: [v for v in up for _ in across]})
    shape = len(up), len(across)
    mean, improvement = model.expected(X).mean, model.improvement(X)
    sides = np.zeros((0, 3))
    if all(type(model.parameters[n]) is Real and model.parameters[n].count is None for n in (x, y)):
        sides = _sides(model, x, y)
    else:
        outside = ~model.feasible(X)
        mean, improvement = (np.where(outside, np.nan, v) for v in (mean, improvement))
    return Map(x, y, mean.reshape(shape), improvement.reshape(shape), sides)


def _cells(parameter: Parameter) -> list[Any]:
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
