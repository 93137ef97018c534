"""Constraints that are not linear, over points of the unit cube."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.conditions import Condition
from innerloop.space.branches import Branches
from innerloop.space.curves import Formula, Function
from innerloop.space.expressions import Dual
from innerloop.space.parameters import Parameter
from innerloop.types import Array

# In the search, continuous coordinates keep this distance from a limit: decoding rounds them.
_MARGIN, _AIM = 0.5e-9, 1e-9
# What rounding makes of a limit between values that are not continuous, relative to its sides.
_ROUNDING = 1e-12
_DIFFERENCE = 1e-6
# The excess where a limit does not apply.
_MET = -1.0


@dataclass(frozen=True, eq=False)
class LimitOfFormula:
    """A formula as a function of points.

    Args:
        formula: of the values of parameters.
        kinds: all parameters of the space; a fixed value is a choice of one.
        places: where the coordinates of parameters are, by name.
        d: how many coordinates there are.
        conditions: of parameters in it that do not always apply; it is met where one does not.
    """

    formula: Formula
    kinds: Mapping[str, Parameter]
    places: Mapping[str, slice]
    d: int
    conditions: tuple[Condition, ...]

    is_costly = False

    @cached_property
    def columns(self) -> NDArray[np.bool_]:
        """The coordinates that it depends on: (d,)."""
        depends = np.zeros(self.d, dtype=bool)
        depends[self._places] = True
        return depends

    def excess(self, X: Array, slack: float) -> Array:
        """By how much points (R, d) are beyond the limit, less a slack of their coordinates: (R,).

        What rounding does to values that are not continuous counts as nothing.
        """
        return self._with_distance(*self._at(X), _MARGIN - slack)

    def linearized(self, X: Array) -> tuple[Array, Array]:
        """Values at points (R, d) with a hair of distance (R,), and slopes (R, d)."""
        excess, slope, size = self._at(X)
        slopes = np.zeros(X.shape)
        slopes[:, self._places] = slope
        return self._with_distance(excess, slope, size, _AIM), slopes

    def _with_distance(self, excess: Array, slope: Array, size: Array, distance: float) -> Array:
        """The excess (R,) with a distance of the continuous coordinates: (R,)."""
        steep = np.abs(slope) @ self._continuous
        room = distance * np.where(np.isfinite(steep), steep, 0.0)
        return np.asarray(excess + room - _ROUNDING * (steep == 0.0) * size)

    @cached_property
    def _continuous(self) -> Array:
        """1 for those of the parameters in it that are continuous: (p,)."""
        return np.array([self.kinds[n].count is None for n in self._names], dtype=np.float64)

    def _at(self, X: Array) -> tuple[Array, Array, Array]:
        """At points (R, d): the excess (R,), its slopes (R, p), and the size of the sides (R,)."""
        variables = {name: Dual.constant(number) for name, number in self._constants.items()}
        for k, name in enumerate(self._names):
            value, slope = self.kinds[name].numbers(X[:, self.places[name]])
            variables[name] = Dual(value, slope * self._units[k])
        excess, size = self.formula.excess(variables)
        slope = np.zeros((1, len(self._names))) if excess.slope is None else excess.slope
        value, slope, size = (
            each if len(each) == len(X) else np.repeat(each, len(X), axis=0)
            for each in (excess.value, slope, size)
        )
        value = value[:, 0]
        for condition in self.conditions:
            applies = condition.applies(X)
            value, slope = np.where(applies, value, _MET), np.where(applies[:, None], slope, 0.0)
        return value, slope, size[:, 0]

    @cached_property
    def _units(self) -> Array:
        """A row for each of the parameters in it that vary: (p, p)."""
        return np.eye(len(self._names))

    @cached_property
    def _constants(self) -> dict[str, float]:
        """The parameters in it that do not vary, with their values."""
        fixed = [name for name in self.formula.names if not self.kinds[name].width]
        return {name: float(self.kinds[name].decode(())) for name in fixed}  # type: ignore[arg-type]

    @cached_property
    def _names(self) -> list[str]:
        """The parameters in it that vary."""
        return [name for name in self.formula.names if self.kinds[name].width]

    @cached_property
    def _places(self) -> list[int]:
        """Their coordinates."""
        return [self.places[name].start for name in self._names]


@dataclass(frozen=True, eq=False)
class LimitOfFunction:
    """A function of params as a function of points, called for one after the other.

    Args:
        function: of values by name.
        kinds: all parameters of the space; a fixed value is a choice of one.
        places: where the coordinates of parameters are, by name.
        branches: which parameters apply.
    """

    function: Function
    kinds: Mapping[str, Parameter]
    places: Mapping[str, slice]
    branches: Branches

    is_costly = True

    @cached_property
    def columns(self) -> NDArray[np.bool_]:
        """The coordinates that it depends on, which may be all: (d,)."""
        return np.ones(sum(kind.width for kind in self.kinds.values()), dtype=bool)

    def excess(self, X: Array, slack: float) -> Array:
        """What the function returns at points (R, d), whatever the slack: (R,)."""
        return np.array([self._at(x) for x in X.tolist()], dtype=np.float64).reshape(len(X))

    def linearized(self, X: Array) -> tuple[Array, Array]:
        """Values at points (R, d) and slopes (R, d) by differences, inwards from the ends."""
        value, slopes = self.excess(X, 0.0), np.zeros(X.shape)
        for name, kind in self.kinds.items():
            if kind.count is None:
                column = self.places[name].start
                step = np.where(X[:, column] > 0.5, -_DIFFERENCE, _DIFFERENCE)
                moved = X.copy()
                moved[:, column] += step
                with np.errstate(invalid="ignore"):
                    slopes[:, column] = (self.excess(moved, 0.0) - value) / step
        return value + _AIM * np.abs(slopes).sum(axis=1), slopes

    def _at(self, x: list[float]) -> float:
        """What the function returns at a point (d,)."""
        params: dict[str, Any] = {n: p.decode(x[self.places[n]]) for n, p in self.kinds.items()}
        return self.function.excess(self.branches.present(params))
