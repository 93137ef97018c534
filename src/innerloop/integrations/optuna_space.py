"""Optuna's distributions: as parameters of a space, and as something to draw from.

Categories are known by their index. Optuna's storage keeps, of choices that equal each other such
as 1, 1.0 and True, only the index of the first, so these are one choice here too: offering another
would put its result under the name of the first.
"""

from __future__ import annotations

import math
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from innerloop.errors import InputError
from innerloop.space.parameters import Choice, Integer, Parameter, Real


def parameter_of(distribution: BaseDistribution) -> Real | Integer | Choice:
    """The parameter of a space, or an InputError if the distribution is too large for one."""
    if isinstance(distribution, CategoricalDistribution):
        return Choice(_distinct(distribution))
    if isinstance(distribution, IntDistribution):
        step = distribution.step
        return Integer(distribution.low, distribution.high, log=distribution.log, step=step)
    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return Real(low, high, log=distribution.log, step=distribution.step)
    raise InputError(f"expected a distribution of Optuna's own, got {distribution!r}")


def distribution_of(parameter: Parameter) -> BaseDistribution:
    """The distribution of a parameter that has two values or more."""
    if isinstance(parameter, Choice):
        return CategoricalDistribution(parameter.values)
    if isinstance(parameter, Integer):
        step = parameter.step
        return IntDistribution(parameter.low, parameter.high, log=parameter.log, step=step)
    assert isinstance(parameter, Real)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)


def searchable(distribution: BaseDistribution) -> bool:
    """Whether it has two values or more, and a size that a space can hold."""
    try:
        return parameter_of(distribution).width > 0
    except InputError:
        return False


def internal(distribution: BaseDistribution, value: Any) -> Any:
    """A value as the space knows it: the index of a category, any number as it is."""
    if not isinstance(distribution, CategoricalDistribution):
        return value
    try:
        return int(distribution.to_internal_repr(value))
    except ValueError:
        raise InputError(f"expected one of {distribution.choices}, got {value!r}") from None


def external(distribution: BaseDistribution, value: Any) -> Any:
    """What the space chose, as a plain value that the distribution contains."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(value)]
    if isinstance(distribution, IntDistribution):
        return int(value)
    assert isinstance(distribution, FloatDistribution)
    return _contained(distribution, float(value))


def at_quantile(distribution: BaseDistribution, u: float) -> Any:
    """The value below which a share u in [0, 1) of the distribution lies."""
    if isinstance(distribution, CategoricalDistribution):
        indices = _distinct(distribution)
        return distribution.choices[indices[_level(u, len(indices))]]
    if isinstance(distribution, IntDistribution):
        return _integer(distribution, u)
    assert isinstance(distribution, FloatDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if step is not None:
        return _contained(distribution, low + step * _level(u, round((high - low) / step) + 1))
    if distribution.log:
        value = math.exp((1.0 - u) * math.log(low) + u * math.log(high))
    else:
        value = (1.0 - u) * low + u * high
    return _contained(distribution, value)


def _distinct(distribution: CategoricalDistribution) -> list[int]:
    """Indices of the choices that Optuna can tell from those before them."""
    choices = enumerate(distribution.choices)
    return [i for i, choice in choices if distribution.to_internal_repr(choice) == i]


def _integer(distribution: IntDistribution, u: float) -> int:
    low, high, step = distribution.low, distribution.high, distribution.step
    if not distribution.log:
        return low + step * _level(u, (high - low) // step + 1)
    # Every integer has the share of the logarithmic range that rounds to it.
    first, last = math.log(low - 0.5), math.log(high + 0.5)
    return min(max(round(math.exp(first + u * (last - first))), low), high)


def _level(u: float, count: int) -> int:
    return min(int(u * count), count - 1)


def _contained(distribution: FloatDistribution, value: float) -> float:
    """The value, or the nearest one that the distribution contains."""
    if not distribution._contains(value) and distribution.step is not None:
        steps = round((value - distribution.low) / distribution.step)
        value = distribution.low + steps * distribution.step
    return min(max(value, distribution.low), distribution.high)
