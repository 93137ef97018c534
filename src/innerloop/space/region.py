"""Where points of a space may lie: its constraints over the unit cube."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from innerloop.domain.conditions import Conditions
from innerloop.domain.curved import Limit
from innerloop.domain.discrete import Discrete
from innerloop.domain.domain import Domain, make_domain
from innerloop.domain.sparse import sparse
from innerloop.domain.supports import Present, Supports
from innerloop.errors import InputError
from innerloop.space.at_most import AtMost, supports_of
from innerloop.space.constraints import Constraint
from innerloop.space.half_spaces import Axis, Sum, axis_of, half_space, sum_of_levels
from innerloop.space.parameters import Parameter
from innerloop.types import Array


@dataclass(frozen=True, eq=False)
class Region:
    """The constraints of a space, over points.

    Args:
        parameters: of the space, by name.
        kinds: the same; a fixed value is a choice of one.
        columns: the coordinates of each.
        inequalities: linear constraints.
        counts: constraints on how many parameters are not at zero.
        limits: those that are not linear.
        conditions: of parameters that do not always apply, if there are any.
    """

    parameters: Mapping[str, Any]
    kinds: Mapping[str, Parameter]
    columns: Mapping[str, slice]
    inequalities: tuple[Constraint, ...]
    counts: tuple[AtMost, ...]
    limits: tuple[Limit, ...]
    conditions: Conditions | None

    def domain(self, held: Mapping[int, float]) -> Domain | None:
        """The domain of the points.

        Args:
            held: coordinates that do not move, by column.

        Returns:
            The domain; None, or an `InputError` with the reason, if there is none.
        """
        supports = supports_of(self.kinds, self.counts, self.columns, held)
        if supports is None:
            return self._part(held, {})
        # With all present or not, and without limits: all points are within.
        around = self._make(held, {}, tight=False, limits=())
        found = sparse(supports, partial(self._part_with, held, supports), around)
        if found is None and self.limits:
            self._make(held, {}, tight=False, limits=self.limits)  # may say why
        return found

    def sides(self, held: Mapping[int, float], *, tight: bool) -> tuple[Array, Array] | None:
        """The linear constraints as A x <= b.

        Args:
            held: coordinates that do not move, by column.
            tight: reals keep a margin, so that values meet the constraints after rounding.

        Returns:
            A (k, d) and b (k,), None without any; an `InputError` is raised if terms are too large.
        """
        if not self.inequalities:
            return None
        axes = self._axes_of(held)
        rows = [half_space(c, axes, self._d, tight=tight) for c in self.inequalities]
        return np.array([a for a, _ in rows]), np.array([b for _, b in rows])

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The axes of all parameters in linear constraints."""
        return self._axes_of({})

    @cached_property
    def sums(self) -> tuple[Sum | None, ...]:
        """The linear constraints over levels, where no real number takes part."""
        return tuple(sum_of_levels(constraint, self.axes) for constraint in self.inequalities)

    def _part_with(
        self, held: Mapping[int, float], supports: Supports, present: Present
    ) -> Domain | None:
        """Where points of a support (n,) may lie; None if there are none."""
        out, there = ~present, present
        zeros = dict(zip(supports.columns[out].tolist(), supports.zeros[out].tolist(), strict=True))
        lowest = zip(supports.columns[there].tolist(), supports.lowest[there].tolist(), strict=True)
        try:
            return self._part({**held, **zeros}, dict(lowest))
        except InputError:
            return None

    def _part(self, held: Mapping[int, float], lowest: Mapping[int, float]) -> Domain:
        """Where points may lie, with coordinates that are held or begin above 0, by column."""
        try:
            return self._make(held, lowest, tight=True, limits=self.limits)
        except InputError:
            # What is held or equal may leave the others a single value: a margin has no room there.
            if not (held or lowest or self._has_planes):
                raise
        return self._make(held, lowest, tight=False, limits=self.limits)

    def _make(
        self,
        held: Mapping[int, float],
        lowest: Mapping[int, float],
        *,
        tight: bool,
        limits: tuple[Limit, ...],
    ) -> Domain:
        """The domain with a margin or without."""
        return make_domain(
            self._d,
            inequalities=self.sides(held, tight=tight),
            fixed=held,
            discrete=self._discrete,
            limits=limits,
            lowest=lowest,
            conditions=self.conditions,
        )

    @cached_property
    def _has_planes(self) -> bool:
        """Whether an equation has a real number in it."""
        pairs = zip(self.inequalities, self.sums, strict=True)
        return any(each.equation and levels is None for each, levels in pairs)

    @cached_property
    def _d(self) -> int:
        """How many coordinates there are."""
        return sum(kind.width for kind in self.kinds.values())

    @cached_property
    def _discrete(self) -> tuple[Discrete, ...]:
        """What takes some values only."""
        blocks = (kind.discrete(self.columns[name].start) for name, kind in self.kinds.items())
        return tuple(block for block in blocks if block is not None)

    def _axes_of(self, held: Mapping[int, float]) -> dict[str, Axis]:
        """The axes of all parameters in constraints, some of them held at a coordinate."""
        return {
            name: axis_of(self.parameters[name], self.columns[name].start, held)
            for constraint in self.inequalities
            for name in constraint.coefficients
        }
