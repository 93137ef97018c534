"""Values that meet equations exactly: where others were rounded, some take what these leave.

Numbers are fractions, so that values with few decimals add up in decimals too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from innerloop.space.constraints import Constraint, exact
from innerloop.space.parameters import Real

# How far a point may be off the plane for its values to be moved onto it, in parts of the range.
_NEAR = Fraction(1, 10**8)


@dataclass(frozen=True)
class Remainders:
    """Equations among parameters, some of them real numbers that can take a remainder.

    Args:
        equations: each once, as the half that is an upper limit.
        reals: continuous parameters in them, by name.
    """

    equations: tuple[Constraint, ...]
    reals: Mapping[str, Real]

    @classmethod
    def of(cls, inequalities: Sequence[Constraint], parameters: Mapping[str, Any]) -> Remainders:
        """The equations among constraints that have a real number in them.

        Args:
            inequalities: constraints, of which equations are pairs, one after the other.
            parameters: of the space, by name.

        Returns:
            What fills these equations up.
        """
        halves = [constraint for constraint in inequalities if constraint.equation][::2]
        reals = {
            name: parameter
            for constraint in halves
            for name in constraint.coefficients
            if isinstance(parameter := parameters[name], Real) and parameter.count is None
        }
        concerned = tuple(c for c in halves if reals.keys() & c.coefficients.keys())
        return cls(concerned, reals)

    def filled(self, values: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
        """Values near those given that meet the equations; as they are if they are far off.

        For each equation a number gives way, those with most room first. One that would leave its
        range stays at its end, and another gives way.

        Args:
            values: by name, rounded one by one.
            held: names that keep their values.

        Returns:
            Values by name.
        """
        filled, free = dict(values), {n: p for n, p in self.reals.items() if n not in held}
        if not self._is_off(filled) or not self._is_near(filled):
            return filled
        while free:
            solved = self._solved(filled, free)
            beyond = [n for n, v in solved.items() if not free[n].lowest <= v <= free[n].high]
            if not beyond:
                return filled | solved
            for name in beyond:
                kind = free.pop(name)
                filled[name] = min(max(solved[name], kind.lowest), kind.high)
        return filled

    def _is_off(self, values: Mapping[str, Any]) -> bool:
        """Whether some equation is not met exactly."""
        return any(_missing(equation, values) for equation in self.equations)

    def _is_near(self, values: Mapping[str, Any]) -> bool:
        """Whether rounding may have taken values off the equations."""
        return all(
            abs(_missing(equation, values))
            <= sum(abs(c) * self._blur(name) for name, c in equation.coefficients.items())
            for equation in self.equations
        )

    def _blur(self, name: str) -> Fraction:
        """By how much a value may be off."""
        kind = self.reals.get(name)
        if kind is None:
            return Fraction(0)
        rounded = Fraction(0) if kind.digits is None else Fraction(kind.step_at(0.0))
        return (_NEAR + rounded / 2) * (exact(kind.high) - exact(kind.low))

    def _solved(self, values: Mapping[str, Any], free: Mapping[str, Real]) -> dict[str, float]:
        """The values of as many numbers as there are equations, given all others.

        By elimination, in the order of the room that numbers have.
        """
        order = sorted(free, key=lambda name: -self._room(name, values[name]))
        rows = [
            ({n: c for n, c in e.coefficients.items() if n in free}, _missing(e, values))
            for e in self.equations
        ]
        moves: dict[str, int] = {}
        for name in order:
            left = (k for k in range(len(rows)) if k not in moves.values())
            k = next((k for k in left if rows[k][0].get(name)), None)
            if k is not None:
                moves[name], pivot = k, rows[k]
                rows = [row if row is pivot else _without(name, row, pivot) for row in rows]
        return {
            name: float(exact(values[name]) + rows[k][1] / rows[k][0][name])
            for name, k in moves.items()
        }

    def _room(self, name: str, value: float) -> float:
        """How far a number can go, in terms of the equation that it matters most to."""
        kind, share = self.reals[name], Fraction(0)
        for coefficients in (equation.coefficients for equation in self.equations):
            largest = max(abs(c) for n, c in coefficients.items() if n in self.reals)
            share = max(share, abs(coefficients.get(name, Fraction(0))) / largest)
        return float(share) * min(value - kind.lowest, kind.high - value)


def _missing(equation: Constraint, values: Mapping[str, Any]) -> Fraction:
    """What is missing from an equation."""
    return equation.limit - sum(
        (c * exact(values[name]) for name, c in equation.coefficients.items()), Fraction(0)
    )


_Row = tuple[dict[str, Fraction], Fraction]


def _without(name: str, row: _Row, pivot: _Row) -> _Row:
    """A row less as much of another one as takes a name out of it."""
    zero = Fraction(0)
    share = row[0].get(name, zero) / pivot[0][name]
    names = dict.fromkeys([*row[0], *pivot[0]])
    left = {n: row[0].get(n, zero) - share * pivot[0].get(n, zero) for n in names}
    return {n: c for n, c in left.items() if c}, row[1] - share * pivot[1]
