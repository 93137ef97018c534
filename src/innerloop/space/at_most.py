"""At most some of several real parameters are not at zero: mixtures of few of many components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from innerloop import checks
from innerloop.domain.supports import Supports
from innerloop.errors import InputError
from innerloop.space.parameters import Parameter, Plain, Real


@dataclass(frozen=True)
class AtMost:
    """At most so many of some real parameters are not at zero, as a constraint of a `Space`.

    Args:
        number: how many, 1 or more.
        names: of real parameters whose range has 0 in it, or of fixed numbers.
    """

    number: int
    names: Sequence[str]

    def __post_init__(self) -> None:
        number = checks.count("number in AtMost", self.number)
        if isinstance(self.names, str) or not isinstance(self.names, Sequence) or not self.names:
            raise InputError(f"names in AtMost must be a list of names, got {self.names!r}")
        if not all(isinstance(name, str) for name in self.names):
            raise InputError(f"names in AtMost must be strings, got {list(self.names)!r}")
        if len(set(self.names)) < len(self.names):
            raise InputError(f"names in AtMost must differ, got {list(self.names)!r}")
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "names", tuple(self.names))

    @property
    def text(self) -> str:
        """The constraint in words."""
        return f"at most {self.number} of {', '.join(self.names)}"

    def to_dict(self) -> dict[str, Any]:
        """The number and the names, ready for JSON."""
        return {"at_most": self.number, "of": list(self.names)}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> AtMost:
        """The constraint that `to_dict`, or a file written by hand, describes.

        Args:
            table: with the keys "at_most" and "of".

        Returns:
            The constraint.
        """
        if set(table) != {"at_most", "of"}:
            raise InputError(
                f"a table of a constraint takes the keys 'at_most' and 'of', got {dict(table)!r}"
            )
        return cls(table["at_most"], table["of"])

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse names of what cannot be left out.

        Args:
            parameters: of the space, by name.
        """
        for name in self.names:
            about = f"constraint {self.text!r} names {name!r}"
            if name not in parameters:
                raise InputError(f"{about}, but the names are {list(parameters)}")
            parameter = parameters[name]
            if isinstance(parameter, Real):
                if parameter.when is not None:
                    raise InputError(f"{about}, which does not always apply: it is {parameter!r}")
                if parameter.width and not parameter.has_zero:
                    raise InputError(f"{about}, which is never 0: it is {parameter!r}")
            elif isinstance(parameter, (bool, Parameter)) or not isinstance(
                parameter, (int, float)
            ):
                raise InputError(f"{about}, which is not a real number: it is {parameter!r}")

    def violation(self, params: Mapping[str, Any]) -> float:
        """How many too many are not at zero.

        Args:
            params: values by name.

        Returns:
            The number, 0 if there are none.
        """
        return float(max(sum(params[name] != 0.0 for name in self.names) - self.number, 0))


def absent(
    kinds: Mapping[str, Parameter], limits: Sequence[AtMost], values: Mapping[str, Plain]
) -> dict[str, Plain]:
    """The parameters that may be absent and are.

    Args:
        kinds: all parameters, by name.
        limits: on how many are present.
        values: by name.

    Returns:
        Zeros by name.
    """
    return {name: 0.0 for name in _optional(kinds, limits) if values[name] == 0.0}


def supports_of(
    kinds: Mapping[str, Parameter],
    limits: Sequence[AtMost],
    columns: Mapping[str, slice],
    held: Mapping[int, float],
) -> Supports | None:
    """Which coordinates may be away from zero together.

    Args:
        kinds: all parameters, by name; a fixed value is a choice of one.
        limits: on how many are present.
        columns: the coordinates of each.
        held: coordinates that do not move, by column.

    Returns:
        The supports; None if there is no choice. An `InputError` is raised if too many are held.
    """
    counts: list[tuple[list[str], int]] = []
    for limit in limits:
        moving = [name for name in limit.names if _moves(kinds[name], columns[name], held)]
        rest = [_at(kinds[name], columns[name], held) for name in limit.names if name not in moving]
        room = limit.number - sum(value != 0.0 for value in rest)
        if room < 0:
            raise InputError(
                f"constraint {limit.text!r} is not met: {-room} too many are not at zero"
            )
        if room < len(moving):
            counts.append((moving, room))
    limited = {name for moving, _ in counts for name in moving}
    names = [
        name
        for name in _optional(kinds, limits)
        if _moves(kinds[name], columns[name], held)
        and (name in limited or _is_switched(kinds[name]))
    ]
    if not names:
        return None
    reals = [kinds[name] for name in names]
    return Supports(
        np.array([columns[name].start for name in names]),
        np.array([kind.encode(0.0)[0] for kind in reals]),
        np.array([_lowest(kind) for kind in reals]),
        np.array([_is_switched(kind) for kind in reals]),
        np.array([[n in group for n in names] for group, _ in counts], dtype=bool).reshape(
            len(counts), len(names)
        ),
        np.array([room for _, room in counts], dtype=np.intp),
    )


def _optional(kinds: Mapping[str, Parameter], limits: Iterable[AtMost]) -> list[str]:
    """Real parameters that are limited or have a gap above zero, in order."""
    named = {name for limit in limits for name in limit.names}
    return [
        name
        for name, kind in kinds.items()
        if isinstance(kind, Real) and kind.width and (name in named or _is_switched(kind))
    ]


def _is_switched(kind: Parameter) -> bool:
    """Whether a parameter has a gap above zero."""
    return isinstance(kind, Real) and kind.at_least is not None


def _lowest(kind: Parameter) -> float:
    """The coordinate at which a parameter that is present begins."""
    assert isinstance(kind, Real)
    return 0.0 if kind.at_least is None else kind.encode(kind.at_least)[0]


def _moves(kind: Parameter, columns: slice, held: Mapping[int, float]) -> bool:
    """Whether a parameter has more than one value left."""
    return kind.width > 0 and columns.start not in held


def _at(kind: Parameter, columns: slice, held: Mapping[int, float]) -> Plain:
    """The only value that is left of a parameter."""
    return kind.decode([held[columns.start]] if kind.width else ())
