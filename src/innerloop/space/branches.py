"""Which parameters apply, by the values of others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from innerloop.domain.conditions import Condition, Conditions, Need
from innerloop.errors import InputError
from innerloop.space.parameters import Choice, Integer, Parameter, Plain
from innerloop.space.when import When

# Equal to no value.
_NONE: Any = object()


@dataclass(frozen=True, eq=False)
class Branches:
    """The conditions of parameters.

    Args:
        kinds: all parameters, by name; a fixed value is a choice of one.
        needs: of those that do not always apply, values of others; parents before their children.
    """

    kinds: Mapping[str, Parameter]
    needs: Mapping[str, Mapping[str, tuple[Plain, ...]]]

    @classmethod
    def of(cls, kinds: Mapping[str, Parameter]) -> Branches:
        """The conditions that parameters have; an `InputError` if they cannot be.

        Args:
            kinds: all parameters, by name; a fixed value is a choice of one.

        Returns:
            The conditions.
        """
        found = {name: needs_of(name, kinds) for name, p in kinds.items() if p.when is not None}
        order: list[str] = []
        while len(order) < len(found):
            waiting = [name for name in found if name not in order]
            ready = [n for n in waiting if not any(parent in waiting for parent in found[n])]
            if not ready:
                raise InputError(f"when goes in a circle: {' needs '.join(_circle(found, order))}")
            order += ready
        return cls(kinds, {name: found[name] for name in order})

    def absent(self, values: Mapping[str, Plain]) -> list[str]:
        """The parameters that do not apply.

        Args:
            values: by name; of those that do not apply there may be any.

        Returns:
            Their names, parents before their children.
        """
        absent: list[str] = []
        for name, needs in self.needs.items():
            for parent, allowed in needs.items():
                # What has a single value need not be told.
                other = self.kinds[parent].width and values.get(parent, _NONE) not in allowed
                if parent in absent or other:
                    absent.append(name)
                    break
        return absent

    def present(self, values: Mapping[str, Plain]) -> dict[str, Plain]:
        """Values without those of parameters that do not apply.

        Args:
            values: by name.

        Returns:
            Values by name.
        """
        absent = self.absent(values)
        return {n: v for n, v in values.items() if n not in absent} if absent else dict(values)

    def never(self, fixed: Mapping[str, Plain]) -> list[str]:
        """The parameters that do not apply anywhere with some values held.

        Args:
            fixed: values by name; an `InputError` is raised if some of these may not apply.

        Returns:
            Their names.
        """
        never: list[str] = []
        for name, needs in self.needs.items():
            single = {n: self.kinds[n].decode(()) for n in needs if not self.kinds[n].width}
            known = {**single, **fixed}
            if any(n in never or (n in known and known[n] not in v) for n, v in needs.items()):
                never.append(name)
            open_ = name in never or not needs.keys() <= known.keys()
            if name in fixed and open_:
                raise InputError(f"fixed names {name!r}, so it has to fix more: {self.why(name)}")
        return never

    def count(self) -> int | None:
        """How many different values all parameters can have together; None if no end."""
        counts = {name: kind.count or 0 for name, kind in self.kinds.items()}
        if 0 in counts.values():
            return None
        named: dict[str, dict[Any, int]] = {}
        for needs in self.needs.values():
            for parent, allowed in needs.items():
                named.setdefault(parent, {}).update(dict.fromkeys(allowed, 1))
        for parent, values in named.items():
            if counts[parent] > len(values):  # values that nothing applies with, as one
                values[_NONE] = counts[parent] - len(values)
        total = 0
        for combination in itertools.product(*named.values()):
            chosen = dict(zip(named, combination, strict=True))
            absent = self.absent(chosen)
            if all(chosen[n] == next(iter(named[n])) for n in absent if n in named):  # once
                many = counts | {n: named[n][value] for n, value in chosen.items()}
                total += math.prod(many[name] for name in many if name not in absent)
        return total

    def why(self, name: str) -> str:
        """Where a parameter applies, in words.

        Args:
            name: one that does not always apply.

        Returns:
            A sentence without its end.
        """
        return f"{name} applies only where {When(self.needs[name]).text}"

    def condition(self, name: str, columns: Mapping[str, slice]) -> Condition:
        """Where the coordinates of a parameter apply.

        Args:
            name: one that does not always apply.
            columns: the coordinates of each.

        Returns:
            The condition.
        """
        kind, own = self.kinds[name], columns[name]
        pairs = dict.fromkeys(self._all_needs[name])
        needs = []
        for parent, allowed in pairs:
            block = self.kinds[parent].discrete(columns[parent].start)
            if block is not None:
                numbers = block.number(np.array([self.kinds[parent].encode(v) for v in allowed]))
                needs.append(Need(block, np.isin(np.arange(block.count), numbers)))
        return Condition(own, kind.rest, kind.discrete(own.start), tuple(needs))

    def conditions(self, columns: Mapping[str, slice]) -> Conditions | None:
        """The conditions of all coordinates.

        Args:
            columns: the coordinates of each.

        Returns:
            The conditions; None if all coordinates apply everywhere.
        """
        wide = [name for name in self.needs if self.kinds[name].width]
        each = tuple(self.condition(name, columns) for name in wide)
        return Conditions(each) if each else None

    @cached_property
    def _all_needs(self) -> dict[str, list[tuple[str, tuple[Plain, ...]]]]:
        """Of each parameter its needs and those of its parents."""
        found: dict[str, list[tuple[str, tuple[Plain, ...]]]] = {}
        for name, needs in self.needs.items():
            own = list(needs.items())
            found[name] = own + [pair for parent in needs for pair in found.get(parent, [])]
        return found


def place(kinds: Mapping[str, Parameter], values: Mapping[str, Any]) -> list[float]:
    """The coordinates of values; of parameters that have none, where these are at rest.

    Args:
        kinds: all parameters, by name.
        values: by name.

    Returns:
        So many numbers as there are coordinates.
    """
    coordinates: list[float] = []
    for name, kind in kinds.items():
        coordinates += kind.encode(values[name]) if name in values else kind.rest
    return coordinates


def needs_of(name: str, kinds: Mapping[str, Parameter]) -> dict[str, tuple[Plain, ...]]:
    """The needs of a parameter, with values as their own parameters have them.

    Args:
        name: that of the parameter.
        kinds: all parameters, by name; a fixed value is a choice of one.

    Returns:
        Values by name; an `InputError` is raised if there are none such.
    """
    found: dict[str, tuple[Plain, ...]] = {}
    for parent, values in (kinds[name].when or {}).items():
        about = f"parameter {name!r} applies only with values of {parent!r}"
        if parent not in kinds:
            raise InputError(f"{about}, but the names are {list(kinds)}")
        kind = kinds[parent]
        if not isinstance(kind, (Choice, Integer)):
            raise InputError(f"{about}, which must be a Choice or an Integer: it is {kind!r}")
        try:
            found[parent] = tuple(kind.check(parent, value) for value in values)
        except InputError as error:
            raise InputError(f"{about}, which has no such value: {error}") from error
    return found


def _circle(needs: Mapping[str, Mapping[str, Any]], placed: list[str]) -> list[str]:
    """Names each of which needs the next one, the first one again at the end."""
    way = [next(name for name in needs if name not in placed)]
    while way[-1] not in way[:-1]:
        way.append(next(n for n in needs[way[-1]] if n in needs and n not in placed))
    return way[way.index(way[-1]) :]
