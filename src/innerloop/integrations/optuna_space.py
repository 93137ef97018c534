"""Optuna's distributions: as parameters of a space, and as something to draw from.

Categories are known by their index. Optuna's storage keeps, of choices that equal each other such
as 1, 1.0 and True, only the index of the first, so these are one choice here too: offering another
would put its result under the name of the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    check_distribution_compatibility,
)
from optuna.trial import Trial

from innerloop.errors import InputError
from innerloop.integrations.space_changes import space_before
from innerloop.optimizer.changes import Change
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.space.space import Space

# A value that is off by less of a step is one of those of the distribution, for Optuna as well.
_OFF = 1e-9


def parameter_of(distribution: BaseDistribution) -> Real | Integer | Choice:
    """A distribution as a parameter of a space.

    Args:
        distribution: one of Optuna's own; an InputError if it is too large for a space.

    Returns:
        The parameter; its values are indices if the distribution is one of categories.
    """
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
    """A parameter of a space as a distribution.

    Args:
        parameter: one that has two values or more.

    Returns:
        The distribution of its values as they are.
    """
    if isinstance(parameter, Choice):
        return CategoricalDistribution(parameter.values)
    if isinstance(parameter, Integer):
        step = parameter.step
        return IntDistribution(parameter.low, parameter.high, log=parameter.log, step=step)
    assert isinstance(parameter, Real)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)


def widened(distribution: BaseDistribution, value: Any) -> BaseDistribution:
    """A distribution that has a value besides its own.

    Args:
        distribution: one of Optuna's own.
        value: a number, if it is one of numbers.

    Returns:
        The distribution, as it is if it has the value.
    """
    if isinstance(distribution, CategoricalDistribution) or contains(distribution, value):
        return distribution
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high = min(distribution.low, value), max(distribution.high, value)
    if isinstance(distribution, IntDistribution):
        return IntDistribution(int(low), int(high), log=distribution.log)
    return FloatDistribution(low, high, log=distribution.log)


def fitting_names(space: Space, spaces: Sequence[Change]) -> list[str]:
    """Parameters whose values Optuna can hold next to earlier ones of the same names.

    Args:
        space: the present space.
        spaces: the changes of it.

    Returns:
        Names of those that vary: not those that have other choices or another scale now.
    """
    first: dict[str, BaseDistribution] = {}
    for each in (*map(space_before, spaces), space):
        for name, parameter in each.varying.items():
            first.setdefault(name, distribution_of(parameter))
    return [name for name in space.varying if _fits(first[name], space.varying[name])]


def _fits(first: BaseDistribution, parameter: Parameter) -> bool:
    try:
        check_distribution_compatibility(first, distribution_of(parameter))
    except ValueError:
        return False
    return True


def take(trial: Trial, name: str, parameter: Parameter) -> None:
    """Have a trial take a value from the sampler, of `distribution_of` a parameter.

    Args:
        trial: a trial that is running.
        name: the parameter's.
        parameter: one that has two values or more.
    """
    if isinstance(parameter, Choice):
        trial.suggest_categorical(name, parameter.values)
    elif isinstance(parameter, Integer):
        log, step = parameter.log, parameter.step
        trial.suggest_int(name, parameter.low, parameter.high, log=log, step=step)
    else:
        assert isinstance(parameter, Real)
        log, width = parameter.log, parameter.step
        trial.suggest_float(name, parameter.low, parameter.high, log=log, step=width)


def searchable(distribution: BaseDistribution) -> bool:
    """Whether a distribution has two values or more, and a size that a space can hold.

    Args:
        distribution: any one.

    Returns:
        Whether a model can choose its values.
    """
    try:
        return parameter_of(distribution).width > 0
    except InputError:
        return False


def contains(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a value is one of a distribution.

    Args:
        distribution: one that is searchable.
        value: as the space knows it.

    Returns:
        Whether `external` gives that value, and not another one that is near.
    """
    try:
        parameter_of(distribution).check("value", value)
    except InputError:
        return False
    return True


def internal(distribution: BaseDistribution, value: Any) -> Any:
    """A value as the space knows it: the index of a category, any number as it is.

    Args:
        distribution: that of the value; an InputError if it has categories without this one.
        value: as Optuna's users know it.

    Returns:
        The index or number.
    """
    if not isinstance(distribution, CategoricalDistribution):
        return value
    try:
        return int(distribution.to_internal_repr(value))
    except ValueError:
        raise InputError(f"expected one of {distribution.choices}, got {value!r}") from None


def external(distribution: BaseDistribution, value: Any) -> Any:
    """What the space chose, as a plain value that the distribution contains.

    Args:
        distribution: one that is searchable.
        value: as the space knows it.

    Returns:
        The value as Optuna's users know it.
    """
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(value)]
    if isinstance(distribution, IntDistribution):
        return int(value)
    assert isinstance(distribution, FloatDistribution)
    return _contained(distribution, float(value))


def at_quantile(distribution: BaseDistribution, u: float) -> Any:
    """The value below which a share of the distribution lies.

    Args:
        distribution: one of Optuna's own, of any size.
        u: the share, in [0, 1).

    Returns:
        The value as Optuna's users know it.
    """
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
    if distribution.step is not None:
        steps = (value - distribution.low) / distribution.step
        if abs(steps - round(steps)) > _OFF:
            value = distribution.low + round(steps) * distribution.step
    return min(max(value, distribution.low), distribution.high)
