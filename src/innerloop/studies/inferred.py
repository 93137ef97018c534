"""The space of a study that has none: all that its trials chose from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from innerloop.errors import InputError
from innerloop.space.parameters import Choice, Integer, Plain, Real, plain
from innerloop.space.space import Space
from innerloop.studies.branches import space_of

_Parameter = Real | Integer | Choice
_Numeric = FloatDistribution | IntDistribution


def inferred_space(trials: Sequence[FrozenTrial]) -> Space | None:
    """The space of trials: distributions together, of ranges that have changed the widest.

    Args:
        trials: of any sampler, with any distributions.

    Returns:
        The space, with all parameters that any trial has; None if nothing varies.
    """
    chosen: dict[str, list[tuple[BaseDistribution, Any]]] = {}
    for trial in trials:
        for name, value in trial.params.items():
            chosen.setdefault(name, []).append((trial.distributions[name], value))
    found = {name: _parameter(each) for name, each in chosen.items()}
    return space_of({name: each for name, each in found.items() if each is not None})


def values_in(space: Space | None, params: Mapping[str, Any]) -> dict[str, Plain]:
    """The params of a trial as plain values of the space that was inferred.

    Args:
        space: that space.
        params: as Optuna has them.

    Returns:
        Values by name.
    """
    known = {} if space is None else space.parameters
    values = {name: _label(value) for name, value in params.items()}
    for name, value in values.items():
        parameter = known.get(name)
        if isinstance(parameter, Choice):  # True and 1 are one choice, as they are for Optuna
            values[name] = next(each for each in parameter.values if each == value)
    return values


def _parameter(chosen: Sequence[tuple[BaseDistribution, Any]]) -> _Parameter | None:
    """The parameter of which values were chosen from distributions; None if there is none."""
    distributions = list(dict.fromkeys(each for each, _ in chosen))
    values = [value for _, value in chosen]
    numeric = [each for each in distributions if isinstance(each, _Numeric)]
    try:
        if len(numeric) == len(distributions) or _are_numbers(values):
            return _number(numeric, values)
    except InputError:  # too large for a space
        return None
    categorical = [each for each in distributions if isinstance(each, CategoricalDistribution)]
    options = [option for each in categorical for option in each.choices]
    return Choice(tuple(dict.fromkeys(map(_label, [*options, *values]))))


def _number(distributions: Sequence[_Numeric], values: Sequence[Any]) -> Real | Integer:
    """Numbers from the lowest to the highest, with a step if it is one for all of them."""
    low = min([*(each.low for each in distributions), *values])
    high = max([*(each.high for each in distributions), *values])
    log = bool(distributions) and low > 0 and all(each.log for each in distributions)
    steps = {each.step for each in distributions}
    step = steps.pop() if len(steps) == 1 and not log else None
    is_whole = all(isinstance(each, IntDistribution) for each in distributions)
    if is_whole and all(isinstance(each, int) for each in (low, high, *values)):
        whole = int(step or 1)
        starts = {each.low % whole for each in distributions} | {value % whole for value in values}
        return Integer(low, high, log=log, step=whole if len(starts) == 1 else 1)
    if step is None or not low < high:
        return Real(low, high, log=log)
    stepped = Real(low, high, step=step)
    try:
        for value in (*(each.low for each in distributions), *values):
            stepped.check("value", value)
    except InputError:
        return Real(low, high)
    return stepped


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether values of distributions that are not known are finite numbers."""
    return all(type(value) in (int, float) and math.isfinite(value) for value in values)


def _label(value: Any) -> Plain:
    """A value as a plain one: what is none is known by its text."""
    try:
        return plain("value", value)
    except InputError:
        return str(value)
