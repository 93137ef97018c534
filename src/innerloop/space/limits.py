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
        excess, size = self._at(X)
        slopes = np.zeros(X.shape)
        slopes[:, self._places] = excess.slope
        return self._with_distance(excess, size, _AIM), slopes

    def _with_distance(self, excess: Dual, size: Array, distance: float) -> Array:
        """The excess with a distance of the continuous coordinates: (R,)."""
        slope = np.abs(excess.slope[:, self._continuous]).sum(axis=1)
        room = distance * np.where(np.isfinite(slope), slope, 0.0)
        return np.asarray(excess.value[:, 0] + room - _ROUNDING * (slope == 0.0) * size[:, 0])

    @cached_property
    def _continuous(self) -> list[bool]:
        """Which of the parameters in it are continuous."""
        return [self.kinds[name].count is None for name in self._names]

    def _at(self, X: Array) -> tuple[Dual, Array]:
        """The excess at points (R, d) in terms of coordinates, and the size of the sides (R, 1)."""
        variables: dict[str, Dual] = {}
        p, eye = len(self._names), np.eye(len(self._names))
        for name in self.formula.names:
            kind = self.kinds[name]
            if kind.width == 0:
                variables[name] = Dual.constant(float(kind.decode(())), p)  # type: ignore[arg-type]
            else:
                value, slope = kind.numbers(X[:, self.places[name]])
                variables[name] = Dual(value, slope * eye[self._names.index(name)])
        excess, size = self.formula.excess(variables, p)
        shape = (len(X), 1)
        slope = np.broadcast_to(excess.slope, (len(X), p))
        value = np.broadcast_to(excess.value, shape)
        for condition in self.conditions:
            applies = condition.applies(X)[:, None]
            value, slope = np.where(applies, value, _MET), np.where(applies, slope, 0.0)
        return Dual(value, slope), np.broadcast_to(size, shape)

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
