"""Scales of real numbers: where each value lies in [0, 1], and what lies there, rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from innerloop.errors import InputError

_MOST_STEPS = 10**9


@dataclass(frozen=True)
class Linear:
    """Reals from low to high, with a place for each in [0, 1].

    Args:
        low: the value at 0.
        high: the value at 1.
        digits: how many digits of the range, or of values on a logarithmic scale, are kept.
    """

    low: float
    high: float
    digits: int = field(default=12, kw_only=True)

    @property
    def count(self) -> int | None:
        """How many values there are; None if they are continuous."""
        return None

    def position(self, value: float) -> float:
        """Where the value lies: 0 at low, 1 at high."""
        return (value - self.low) / (self.high - self.low)

    def at(self, u: float) -> float:
        """What lies there."""
        return self.low + u * (self.high - self.low)

    def clean(self, value: float) -> float:
        """The value to decimals of about 1e-12 of the range, or what other digits say."""
        # The zero turns -0.0 into 0.0.
        return round(value, self.decimals) + 0.0

    @property
    def decimals(self) -> int:
        """How many decimals are kept: of a range of 1 to 10, as many as digits."""
        return self.digits - math.floor(math.log10(self.high - self.low))

    def step_at(self, u: float) -> float:
        """How far apart values that are kept are at most, near a place in [0, 1], in [0, 1]."""
        return 10.0**-self.decimals / (self.high - self.low)

    def member(self, value: float) -> float:
        """The value as it is called here, or NaN if it has no place."""
        return value if self.low <= value <= self.high else math.nan

    def rounded(self, u: float) -> float:
        """What lies there, cleaned, so that its own position leads back to it."""
        value = self.clean(self.at(u))
        position = self.position(value)
        # A value too near an end to have a position of its own becomes the end.
        if u <= 0.0 or position <= 0.0:
            return self.low
        return self.high if u >= 1.0 or position >= 1.0 else value


class Logarithmic(Linear):
    """The same, seen through the logarithm."""

    def logarithm(self, value: float) -> float:
        """log(value / low)."""
        excess = (value - self.low) / self.low
        if math.isinf(excess):
            return math.log(value) - math.log(self.low)
        return math.log1p(excess)  # precise where the range is narrow

    def position(self, value: float) -> float:
        """Where the value lies, by its logarithm: 0 at low, 1 at high."""
        return self.logarithm(value) / self.logarithm(self.high)

    def at(self, u: float) -> float:
        exponent = u * self.logarithm(self.high)
        if exponent < 700.0:
            return self.low + self.low * math.expm1(exponent)
        return math.exp(min(math.log(self.low) + exponent, math.log(self.high)))

    def clean(self, value: float) -> float:
        """The value to so many significant digits; in a narrow range these would be too few."""
        return super().clean(value) if self._is_narrow else float(f"{value:.{self.digits}g}")

    def step_at(self, u: float) -> float:
        value = self.at(u)
        exponent = math.floor(math.log10(value)) - self.digits + 1
        step = 10.0 ** (-self.decimals if self._is_narrow else exponent)
        return step / value / self.logarithm(self.high)

    @property
    def _is_narrow(self) -> bool:
        """Whether the ends are within a factor of two."""
        return self.high / 2.0 < self.low


@dataclass(frozen=True)
class Stepped(Linear):
    """Values low + k * step up to high.

    Args:
        low: the lowest value.
        high: the highest value, but for a rest that is no step.
        step: from value to value.
    """

    step: float

    def __post_init__(self) -> None:
        if not self.step > 0.0:
            raise InputError(f"step must be above 0, got {self.step}")
        coarsest = math.ulp(max(-self.low, self.high))
        if self.steps > _MOST_STEPS or self.step < 8.0 * coarsest:
            raise InputError(
                f"step {self.step} is too small for {self.low} to {self.high}: leave it out"
            )

    @property
    def steps(self) -> float:
        """How many steps fit, with a fraction."""
        return (self.high - self.low) / self.step

    @property
    def slack(self) -> float:
        """By what part of a step a value may be off for reasons of rounding."""
        return max(1e-9, 1e-12 * self.steps, math.ulp(max(-self.low, self.high)) / self.step)

    @property
    def count(self) -> int:
        return math.floor(self.steps + self.slack) + 1

    @property
    def last(self) -> float:
        """The largest value; `high` if that is off by rounding only."""
        k = self.count - 1
        if k == 0 or self.steps - k <= self.slack:
            return self.low if k == 0 else self.high
        top = self.low + k * self.step
        return Linear(self.low, top).clean(top)

    def position(self, value: float) -> float:
        return self._level(value) / (self.count - 1)

    def rounded(self, u: float) -> float:
        return self._value(round(u * (self.count - 1)))

    def member(self, value: float) -> float:
        if not self.low - self.step <= value <= self.high + self.step:
            return math.nan
        nearest = self._value(self._level(value))
        return nearest if abs(value - nearest) <= self.slack * self.step else math.nan

    def _level(self, value: float) -> int:
        """The number of the step nearest to a value."""
        inside = min(max(value, self.low), self.high)
        return round((inside - self.low) / self.step)

    def _value(self, level: int) -> float:
        """The value after so many steps, cleaned."""
        if level in (0, self.count - 1):
            return self.low if level == 0 else self.high
        return self.clean(self.low + level * self.step)
