"""Parameters: what may vary, and where its values lie in the unit cube.

A parameter has `width` coordinates in [0, 1]: none if it has a single value, one if its values are
in order or only two, else one for each value (one-hot). Decoding takes the nearest valid value, and
`decode(encode(value)) == value` holds exactly for every value that `decode` can give.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from innerloop import checks
from innerloop.domain.discrete import Discrete, OneHot, Ordinal
from innerloop.errors import InputError
from innerloop.space.scales import Linear, Logarithmic, Stepped
from innerloop.space.when import When
from innerloop.types import Array

Plain = str | int | float | bool | None

# Every integer up to this size has a coordinate of its own, even on a logarithmic scale.
_LARGEST_INTEGER = 10**13
_LARGEST_REAL = 1e300
_MOST_DIGITS = 12


def plain(name: str, value: Any) -> Plain:
    """A value as a plain Python string, number, bool or None.

    Args:
        name: what it is called in errors.
        value: anything.

    Returns:
        The plain value; an `InputError` is raised if there is none.
    """
    item = value.item() if isinstance(value, np.generic) else value
    if type(item) not in (str, int, float, bool, type(None)):
        raise InputError(f"{name} must be a string, a number, a bool or None, got {value!r}")
    if isinstance(item, float) and not math.isfinite(item):
        raise InputError(f"{name} must be finite, got {value!r}")
    return item  # type: ignore[no-any-return]


def _number(value: Any) -> float:
    """`value` as a finite float, or NaN if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return math.nan
    try:
        number = float(value) + 0.0  # turns -0.0 into 0.0
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _finite(name: str, value: Any) -> float:
    """A value as a finite float, called `name` in errors."""
    number = _number(value)
    if math.isnan(number):
        raise InputError(f"{name} must be a finite number, got {value!r}")
    return number


def _whole(name: str, value: Any) -> int:
    """A value as an integer, called `name` in errors."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name} must be an integer, got {value!r}")
    return int(value)


def _set(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def _check_bounds(low: float, high: float, log: Any) -> None:
    """Refuse bounds that are too large, in the wrong order, or not fit for a logarithm."""
    checks.instance("log", log, bool, "True or False")
    largest = _LARGEST_INTEGER if isinstance(low, int) else _LARGEST_REAL
    if max(-low, high) > largest:
        raise InputError(f"low and high must be within {largest} of 0, got {low} and {high}")
    if low > high:
        raise InputError(f"low must not be above high, got low {low} and high {high}")
    if log and low <= 0:
        raise InputError(f"log=True needs low above 0, got {low}")


def _check_step(step: float | None, low: float, high: float) -> None:
    """Refuse a step that leads from low to nothing, unless there is nothing but low."""
    if step is not None and 0.0 < high - low < step and Stepped(low, high, step).count == 1:
        raise InputError(
            f"step must not be larger than the range from {low} to {high}, got {step}: "
            "a plain value in place of the parameter is fixed"
        )


def _along(u: Array, low: float, high: float, log: bool) -> tuple[Array, Array]:
    """Values at coordinates from low at 0 to high at 1, and their derivatives: (n, 1) each."""
    if not log:
        return low + u * (high - low), np.full(u.shape, float(high - low))
    rate = np.log(high) - np.log(low)
    value = low * np.exp(u * rate)
    return value, rate * value


def _when(given: Any) -> When | None:
    """Where a parameter applies, as it is kept; None for everywhere."""
    if given is None or isinstance(given, When):
        return given
    checks.instance("when", given, Mapping, "a mapping of names to values")
    needs = {}
    for name, values in given.items():
        if not isinstance(name, str):
            raise InputError(f"when takes names of parameters, got {name!r}")
        several = values if isinstance(values, (list, tuple)) else [values]
        if not several:
            raise InputError(f"when takes a value of {name!r} or several, got {values!r}")
        needs[name] = tuple(dict.fromkeys(plain(f"a value in when of {name}", v) for v in several))
    return When(needs) if needs else None


class Parameter(ABC):
    """A set of values and their places in the unit cube."""

    when: Mapping[str, Any] | None

    @property
    @abstractmethod
    def count(self) -> int | None:
        """How many values there are; None if they are continuous."""

    @property
    def width(self) -> int:
        """How many coordinates a value takes."""
        return 0 if self.count == 1 else 1

    @property
    def rest(self) -> tuple[float, ...]:
        """The coordinates where it does not apply: as far from one end, or value, as another."""
        return (0.5,) if self.width == 1 else (1.0 / max(self.width, 1),) * self.width

    @abstractmethod
    def encode(self, value: Any) -> tuple[float, ...]:
        """The coordinates of a value that was checked.

        Args:
            value: one of the parameter's values.

        Returns:
            As many coordinates in [0, 1] as the parameter is wide.
        """

    @abstractmethod
    def decode(self, coordinates: Sequence[float]) -> Plain:
        """The value nearest to any coordinates.

        Args:
            coordinates: as many numbers as the parameter is wide.

        Returns:
            One of the parameter's values.
        """

    @abstractmethod
    def check(self, name: str, value: Any) -> Plain:
        """A value as one of the plain Python values of this parameter.

        Args:
            name: what it is called in errors.
            value: anything.

        Returns:
            The value; an `InputError` is raised if it is none of the parameter's.
        """

    def to_dict(self) -> dict[str, Any]:
        """Type and arguments, ready for JSON."""
        arguments = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        del arguments["when"]
        # Files without it can be read by versions that know nothing of it.
        when = {"when": self.when.to_dict()} if isinstance(self.when, When) else {}
        return {"type": type(self).__name__.lower(), **arguments} | when

    def discrete(self, column: int) -> Discrete | None:
        """What a maximizer has to know of the parameter's coordinates.

        Args:
            column: the place of the first of them.

        Returns:
            Which values they take; None if they are continuous.
        """
        return None if self.count is None or self.count == 1 else Ordinal(column, self.count)

    def quantile(self, u: Array) -> Array:
        """The points to which uniform numbers lead, uniform along the scale.

        Args:
            u: (n,), numbers in [0, 1).

        Returns:
            Coordinates, (n, width).
        """
        if self.count is None:
            return u[:, None]
        block = self.discrete(0)
        if isinstance(block, Ordinal):
            return block.quantile(u[:, None])
        return self.points(np.minimum((u * self.count).astype(np.int64), self.count - 1))

    def numbers(self, coordinates: Array) -> tuple[Array, Array]:
        """Numbers that lie at coordinates, and how they change with these.

        Args:
            coordinates: (n, 1), of a parameter that is a number with two values or more.

        Returns:
            Values and derivatives, (n, 1) each.
        """
        raise InputError(f"{self!r} is not a number")

    @property
    def reach(self) -> float:
        """How far apart two random values are, in units of what it is for a continuous parameter.

        sqrt(6 E |x - x'|^2), as E |x - x'|^2 = 1/6 for a coordinate that is uniform in [0, 1]. For
        one coordinate with levels it is taken to be 1 too: with more, switches were searched worse.
        """
        return float(np.sqrt(12.0 * (1.0 - 1.0 / self.width))) if self.width > 1 else 1.0

    def points(self, levels: NDArray[np.int64]) -> Array:
        """The coordinates of values by their number.

        Args:
            levels: (n,), from 0 to count - 1.

        Returns:
            Coordinates, (n, width).
        """
        block = self.discrete(0)
        if block is None:
            return np.zeros((len(levels), 0))
        if isinstance(block, OneHot):
            return np.asarray(np.eye(block.count)[levels])
        return block.position(levels)[:, None]

    def _point(self, level: int) -> tuple[float, ...]:
        """The coordinates of one value by its number."""
        return tuple(self.points(np.array([level]))[0].tolist())

    def _level(self, coordinates: Sequence[float]) -> int:
        """The number of the value nearest to any coordinates."""
        block = self.discrete(0)
        if block is None:
            return 0
        if isinstance(block, OneHot):
            return int(np.argmax(coordinates))
        return int(block.level(np.array(coordinates[0])))


@dataclass(frozen=True)
class Real(Parameter):
    """A real number within bounds, both included.

    Values are rounded to about 12 digits: 0.3, not 0.30000000000000004.

    Args:
        low: the lowest value.
        high: the highest value.
        log: search in the logarithm.
        step: the values are low + k * step only, and `high` is lowered to the last of them.
        digits: suggestions are rounded to so many digits: of the range, so that 3 of 20 to 120 are
            steps of 0.1, or of values with `log`. Where constraints leave no such value near by,
            and where a value takes what others leave of an equation, there may be more. Values that
            are told need not be rounded.
        at_least: the values are 0, and those from here to `high`: something is left out, or there
            is enough of it. `low` is 0 then.
        when: values of other parameters, each a `Choice` or an `Integer`, that it applies with;
            elsewhere it is not in the params. By name, one value or a list of them.
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    digits: int | None = field(default=None, kw_only=True)
    at_least: float | None = field(default=None, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _set(self, when=_when(self.when))
        _set(self, low=_finite("low", self.low), high=_finite("high", self.high))
        _check_bounds(self.low, self.high, self.log)
        if self.step is not None:
            if self.log:
                raise InputError("log and step do not go together: leave out one of them")
            _set(self, step=_finite("step", self.step))
            _check_step(self.step, self.low, self.high)
            _set(self, high=Stepped(self.low, self.high, self.step).last)
        if self.digits is not None:
            if self.step is not None:
                raise InputError("step and digits do not go together: leave out one of them")
            _set(self, digits=_whole("digits", self.digits))
            if not 1 <= self.digits <= _MOST_DIGITS:
                raise InputError(f"digits must be from 1 to {_MOST_DIGITS}, got {self.digits}")
        if self.at_least is not None:
            self._check_at_least()

    def _check_at_least(self) -> None:
        """Refuse a gap that is not one between 0 and other values."""
        _set(self, at_least=_finite("at_least", self.at_least))
        assert self.at_least is not None
        if self.low != 0.0 or not 0.0 < self.at_least <= self.high:
            raise InputError(
                "at_least must be above 0 and not above high, and low must be 0, "
                f"got at_least {self.at_least}, low {self.low} and high {self.high}"
            )
        if self.step is not None:
            raise InputError("step and at_least do not go together: leave out one of them")
        kept = self._scale.clean(self.at_least)
        if kept <= 0.0 or (self.digits is not None and kept != self.at_least):
            raise InputError(
                f"at_least {self.at_least} has more digits than are kept of 0 to {self.high}"
            )

    @property
    def has_zero(self) -> bool:
        """Whether 0 is one of the values."""
        return self._scale.member(0.0) == 0.0

    @property
    def rest(self) -> tuple[float, ...]:
        return super().rest if self.at_least is None else self.encode(0.0)

    @property
    def lowest(self) -> float:
        """The lowest value of a parameter that is not left out."""
        return self.low if self.at_least is None else self.at_least

    @cached_property
    def _scale(self) -> Linear:
        """Where values lie in [0, 1]."""
        if self.step is not None:
            return Stepped(self.low, self.high, self.step)
        digits = _MOST_DIGITS if self.digits is None else self.digits
        return (Logarithmic if self.log else Linear)(self.low, self.high, digits=digits)

    @cached_property
    def precise(self) -> Real:
        """The same with all digits; itself if it has them."""
        return self if self.digits is None or self.width == 0 else replace(self, digits=None)

    def step_at(self, u: float) -> float:
        """How far apart rounded values are at most, near a coordinate.

        Args:
            u: the coordinate, in [0, 1].

        Returns:
            The distance of their coordinates.
        """
        return self._scale.step_at(u)

    @property
    def count(self) -> int | None:
        return 1 if self.low == self.high else self._scale.count

    def numbers(self, coordinates: Array) -> tuple[Array, Array]:
        return _along(coordinates, self.low, self.high, self.log)

    def encode(self, value: float) -> tuple[float, ...]:
        return (min(max(self._scale.position(value), 0.0), 1.0),) if self.width else ()

    def decode(self, coordinates: Sequence[float]) -> float:
        if self.width == 0:
            return self.low
        u = min(max(float(coordinates[0]), 0.0), 1.0)
        value = self._scale.rounded(u)
        if self.at_least is None or value > self._scale.clean(self.at_least):
            return value
        return 0.0 if self._scale.at(u) < 0.5 * self.at_least else self.at_least

    def to_dict(self) -> dict[str, Any]:
        table = super().to_dict()
        # Files without them can be read by versions that know nothing of them.
        newer = ("digits", "at_least")
        return {k: v for k, v in table.items() if k not in newer or v is not None}

    def check(self, name: str, value: Any) -> float:
        number = self._scale.member(_number(value))
        if math.isnan(number) or 0.0 < number < self.lowest:
            steps = "" if self.step is None else f" in steps of {self.step}"
            zero = "" if self.at_least is None else "0 or "
            raise InputError(
                f"{name} must be {zero}a number from {self.lowest} to {self.high}{steps}, "
                f"got {value!r}"
            )
        return number


@dataclass(frozen=True)
class Integer(Parameter):
    """An integer within bounds, both included.

    Args:
        low: the lowest value.
        high: the highest value.
        log: search in the logarithm.
        step: the values are low + k * step only, and `high` is lowered to the last of them.
        when: as of a `Real`.
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int = field(default=1, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _set(self, when=_when(self.when))
        low, high, step = (_whole(n, getattr(self, n)) for n in ("low", "high", "step"))
        _check_bounds(low, high, self.log)
        if step < 1:
            raise InputError(f"step must be 1 or more, got {step}")
        if self.log and step > 1:
            raise InputError("log and step do not go together: leave out one of them")
        if step > 1:
            _check_step(step, low, high)
        _set(self, low=low, high=high - (high - low) % step, step=step)

    @property
    def count(self) -> int:
        return (self.high - self.low) // self.step + 1

    def discrete(self, column: int) -> Discrete | None:
        if self.width == 0 or not self.log:
            return super().discrete(column)
        return Ordinal(column, self.count, self.high / self.low)

    def numbers(self, coordinates: Array) -> tuple[Array, Array]:
        value, slope = _along(coordinates, self.low, self.high, self.log)
        return np.rint(value), slope

    def encode(self, value: int) -> tuple[float, ...]:
        return self._point((value - self.low) // self.step)

    def decode(self, coordinates: Sequence[float]) -> int:
        return self.low + self.step * self._level(coordinates)

    def check(self, name: str, value: Any) -> int:
        number = int(value) if isinstance(value, np.integer) else value
        if isinstance(number, (float, np.floating)) and number.is_integer():
            number = int(number)
        inside = type(number) is int and self.low <= number <= self.high
        if not inside or (number - self.low) % self.step:
            steps = "" if self.step == 1 else f" in steps of {self.step}"
            raise InputError(
                f"{name} must be an integer from {self.low} to {self.high}{steps}, got {value!r}"
            )
        return int(number)


@dataclass(frozen=True)
class Choice(Parameter):
    """One of several values without an order.

    Args:
        values: strings, numbers, bools or None, all different.
        when: as of a `Real`.
    """

    values: Sequence[Plain]
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _set(self, when=_when(self.when))
        given = self.values.tolist() if isinstance(self.values, np.ndarray) else self.values
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence) or not given:
            raise InputError(f"values must be a list of one value or more, got {self.values!r}")
        values = tuple(plain("a value of a Choice", value) for value in given)
        if len(set(values)) < len(values):
            raise InputError(f"values must differ from each other, got {list(values)}")
        _set(self, values=values)

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return self.count if self.count > 2 else self.count - 1

    def discrete(self, column: int) -> Discrete | None:
        return OneHot(column, self.count) if self.count > 2 else super().discrete(column)

    def encode(self, value: Plain) -> tuple[float, ...]:
        return self._point(self.values.index(value))

    def decode(self, coordinates: Sequence[float]) -> Plain:
        return self.values[self._level(coordinates)]

    def check(self, name: str, value: Any) -> Plain:
        item = value.item() if isinstance(value, np.generic) else value
        if isinstance(item, (str, int, float, type(None))):
            for own in self.values:
                # True is not 1 to somebody who has written down one of the two.
                if own == item and isinstance(own, bool) == isinstance(item, bool):
                    return own
        allowed = ", ".join(repr(own) for own in self.values)
        raise InputError(f"{name} must be one of {allowed}, got {value!r}")

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"values": list(self.values)}


def kinds_of(parameters: Mapping[str, Any]) -> dict[str, Parameter]:
    """Parameters of a space, with a choice of one in place of a fixed value.

    Args:
        parameters: by name, parameters or plain values.

    Returns:
        Parameters by name.
    """
    items = parameters.items()
    return {n: p if isinstance(p, Parameter) else Choice((p,)) for n, p in items}


TYPES: dict[str, type[Real | Integer | Choice]] = {
    "real": Real,
    "integer": Integer,
    "choice": Choice,
}


def parameter_from(name: str, table: Mapping[str, Any]) -> Real | Integer | Choice:
    """The parameter that a table such as {"type": "real", "low": 0, "high": 1} describes.

    Args:
        name: what it is called in errors.
        table: type and arguments.

    Returns:
        The parameter.
    """
    options = dict(table)
    kind = options.pop("type", None)
    if not isinstance(kind, str) or kind not in TYPES:
        raise InputError(f"parameter {name!r}: type must be one of {list(TYPES)}, got {kind!r}")
    made = TYPES[kind]
    keys = {f.name: f.default is MISSING for f in fields(made)}
    unknown = [key for key in options if key not in keys]
    missing = [key for key, needed in keys.items() if needed and key not in options]
    if unknown or missing:
        raise InputError(
            f"parameter {name!r}: a table of type {kind!r} takes the keys {list(keys)}, "
            f"got {list(options)}"
        )
    try:
        return made(**options)
    except InputError as error:
        raise InputError(f"parameter {name!r}: {error}") from error
