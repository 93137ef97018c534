"""From points of the unit cube to values that have been rounded and still meet the constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from innerloop.domain.domain import Domain
from innerloop.space.branches import Branches, place
from innerloop.space.parameters import Parameter, Plain, Real
from innerloop.space.remainders import Remainders
from innerloop.types import Array

Values = dict[str, Plain]

# Which number gives way may change with a rounding; after a few round trips it does not.
_ROUND_TRIPS = 8
# Shares of the way to the middle of the domain, where nothing else helps.
_SHARES = np.geomspace(1e-9, 1.0, 31)


@dataclass(frozen=True, eq=False)
class Decoder:
    """Decodes points of a space.

    Args:
        kinds: all parameters; a fixed value is a choice of one.
        columns: the coordinates of each.
        branches: which of them apply.
        remainders: what fills up equations.
        violation: how far values are from meeting all constraints, 0 if they do; None if rounding
            cannot do any harm.
        whole: the domain of the space.
    """

    kinds: Mapping[str, Parameter]
    columns: Mapping[str, slice]
    branches: Branches
    remainders: Remainders
    violation: Callable[[Mapping[str, Any]], float] | None
    whole: Callable[[], Domain]

    def decode(self, x: Array, held: Mapping[str, Any]) -> Values:
        """The values nearest to a point, which meet the constraints if the point does.

        Args:
            x: (d,), a point.
            held: values that some parameters have, whatever the point is.

        Returns:
            Values by name: where rounding breaks a constraint, those of a neighbour on the grid of
            the digits that are wanted; else with all digits.
        """
        values = self._filled(self.kinds, x, held)
        if self.violation is None or not self.violation(values) or not self.whole().contains(x):
            return values
        for found in (self._moved(x, held), self._filled(self.precise, x, held)):
            if not self.violation(found):
                return found
        part = self.whole().part_of(x)
        for share in _SHARES:
            moved = x + share * (part.interior - x)
            found = self._filled(self.precise, part.project(moved[None])[0], held)
            if not self.violation(found):
                break
        return found

    @cached_property
    def precise(self) -> dict[str, Parameter]:
        """All parameters, with as many digits as they have."""
        return {
            name: kind.precise if isinstance(kind, Real) else kind
            for name, kind in self.kinds.items()
        }

    def _moved(self, x: Array, held: Mapping[str, Any]) -> Values:
        """Values on the grid near a point (d,), with one after the other moved to its other side.

        Each time the move that helps most is made, until all constraints are met or none helps.
        """
        assert self.violation is not None
        coarse = [n for n in self.kinds if n not in held and self.precise[n] is not self.kinds[n]]
        best = self._filled(self.kinds, x, held)
        lowest = self.violation(best)
        while coarse and lowest > 0.0:
            tried = []
            for name in coarse:
                there = x.copy()
                there[self.columns[name]] = self._other_side(name, float(x[self.columns[name]][0]))
                tried.append((there, self._filled(self.kinds, there, held)))
            violations = [self.violation(values) for _, values in tried]
            k = int(np.argmin(violations))
            if not violations[k] < lowest:
                break
            lowest, (x, best) = violations[k], tried[k]
            del coarse[k]
        return best

    def _other_side(self, name: str, u: float) -> float:
        """The coordinate of the value on the grid that is nearest to u on its other side."""
        kind = self.kinds[name]
        assert isinstance(kind, Real)
        (nearest,) = kind.encode(kind.decode([u]))
        # A grid that is even in values is not even in a logarithm, where steps are up to ten times
        # as long below a power of ten as above it.
        step, sign = kind.step_at(u), -1.0 if nearest > u else 1.0
        return min(max(nearest + sign * step, 0.0), 1.0)

    def _filled(self, kinds: Mapping[str, Parameter], x: Array, held: Mapping[str, Any]) -> Values:
        """The values nearest to a point (d,), with equations filled up for good."""
        values = self._rounded(kinds, x, held)
        for _ in range(_ROUND_TRIPS if self.remainders.equations else 0):
            u = np.array(place(kinds, values))
            again = self._rounded(kinds, u, held)
            if again == values:
                break
            values = again
        return values

    def _rounded(self, kinds: Mapping[str, Parameter], x: Array, held: Mapping[str, Any]) -> Values:
        """The values nearest to each coordinate of a point (d,), with equations filled up."""
        u = x.tolist()
        values = {name: kind.decode(u[self.columns[name]]) for name, kind in kinds.items()}
        values.update(held)
        if self.branches.needs:
            values = self.branches.present(values)
        return self.remainders.filled(values, held) if self.remainders.equations else values
