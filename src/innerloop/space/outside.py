"""Values beyond the space: what they are, and where they would lie beside the unit cube.

Results from elsewhere, or from before a range was changed, say something of the function all the
same. What can be chosen stays within the space.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from innerloop.errors import InputError
from innerloop.space.parameters import Choice, Integer, Parameter, Plain, Real
from innerloop.space.space import Space
from innerloop.types import Array


def admit(space: Space, params: Mapping[str, Any]) -> tuple[dict[str, Plain], str | None]:
    """Params as plain values, whether they are in the space or beyond its ranges and constraints.

    Args:
        space: which says what parameters there are.
        params: values by name; fixed parameters may be left out.

    Returns:
        Values by name in the order of the space, and why they are not in it, if they are not; an
        `InputError` is raised if they have no place beside it, either.
    """
    try:
        return space.check(params), None
    except InputError as error:
        reason = str(error)
    if not set(params) <= set(space.names):
        raise InputError(reason)
    values: dict[str, Plain] = {}
    for name, kind in space.parameters.items():
        if not isinstance(kind, Parameter):
            values[name] = Choice((kind,)).check(name, params.get(name, kind))
        elif name in params:
            values[name] = _beyond(name, kind, params[name])
    if values.keys() != set(space.names).difference(space.branches.absent(values)):
        raise InputError(reason)
    return values, reason


def locate(space: Space, values: Mapping[str, Plain]) -> Array:
    """The point that stands for values that `admit` gives.

    Args:
        space: which says what parameters there are.
        values: by name.

    Returns:
        Coordinates (d,), below 0 or above 1 for values beyond a range.
    """
    x = np.empty(space.d)
    for name, kind in space.varying.items():
        there = name in values
        x[space.columns[name]] = _coordinates(kind, values[name]) if there else kind.rest
    return x


def _beyond(name: str, kind: Parameter, value: Any) -> Plain:
    """A value of a parameter or one beyond its range; an `InputError` if it is neither."""
    try:
        return kind.check(name, value)
    except InputError:
        if not isinstance(kind, Real | Integer) or not kind.width:
            raise
        item = value.item() if isinstance(value, np.generic) else value
        is_number = isinstance(item, int | float) and not isinstance(item, bool)
        if not is_number or not math.isfinite(item) or (kind.log and item <= 0):
            raise
        if isinstance(kind, Real):
            return float(item)
        if item != int(item):
            raise
        return int(item)


def _coordinates(kind: Parameter, value: Any) -> tuple[float, ...]:
    """Where a value lies along the scale of its parameter, beyond its ends too."""
    try:
        return kind.encode(kind.check("value", value))
    except InputError:
        assert isinstance(kind, Real | Integer)
        if kind.log:
            return (math.log(value / kind.low) / math.log(kind.high / kind.low),)
        return ((value - kind.low) / (kind.high - kind.low),)
