"""The search space: from named parameters to points of the unit cube and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from innerloop import checks
from innerloop.domain.conditions import Condition, Conditions
from innerloop.domain.domain import Domain
from innerloop.domain.enumeration import everything
from innerloop.errors import InputError
from innerloop.html_table import table
from innerloop.sobol import sobol
from innerloop.space import toml
from innerloop.space.at_most import AtMost, absent, supports_of
from innerloop.space.branches import Branches, place
from innerloop.space.constraints import Constraint
from innerloop.space.curves import Curve, Formula, Function, read
from innerloop.space.decoding import Decoder
from innerloop.space.even import evenly
from innerloop.space.limits import LimitOfFormula, LimitOfFunction
from innerloop.space.parameters import (
    Choice,
    Integer,
    Parameter,
    Plain,
    Real,
    kinds_of,
    parameter_from,
    plain,
)
from innerloop.space.region import Region
from innerloop.space.remainders import Remainders
from innerloop.types import Array, Seed

_SOBOL_POINTS = 2**12
_FILLING = 16
# Points by which the largest branch is found.
_BRANCHES = 256
# A finite space with no more points than this is searched point by point.
_FEW_POINTS = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """Named parameters, and the points of the unit cube [0, 1]^d that stand for their values.

    Args:
        parameters: by name, a `Real`, `Integer` or `Choice`; a plain value is fixed, takes no
            coordinate, and is in all params. One with `when` is in those only with which it
            applies.
        constraints: linear ones over numeric parameters, such as `"2*x + 3*y <= 10"` or
            `"0 <= x - y <= 2"`, and equations such as `"a + b + c == 1"`; < and > mean the same as
            <= and >=, and = the same as ==. Others, such as `"T * a <= 60"`, with ** or ^, `sqrt`,
            `exp`, `log`, `log10`, `sin`, `cos`, `tan`, `tanh`, `abs`, `min` and `max`. Names that
            are no identifiers are between backticks: "`feed rate` + x <= 3". And
            functions of params, which are met where they return 0 or less; a space with one can be
            pickled if the function can, but not be saved to files: there is no text to write.
            `AtMost(2, ["a", "b", "c"])`: two of these real parameters, or fewer, are not at zero.
            One that names parameters with `when` has to be met where all of them apply.
    """

    parameters: Mapping[str, Real | Integer | Choice | Plain]
    constraints: Sequence[str | AtMost | Callable[[Mapping[str, Any]], float]] = field(
        default=(), kw_only=True
    )

    def __post_init__(self) -> None:
        checks.instance("parameters", self.parameters, Mapping, "a mapping of names to parameters")
        given = {name: _given(name, value) for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", MappingProxyType(given))
        if self.d == 0:
            raise InputError("a space needs a parameter with two values or more, got none")
        if isinstance(self.constraints, str) or not isinstance(self.constraints, Sequence):
            raise InputError(f"constraints must be a list of strings, got {self.constraints!r}")
        object.__setattr__(self, "constraints", tuple(self.constraints))
        _ = self.branches, self._read, self._whole  # refuses constraints that leave nothing

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters, in order."""
        return tuple(self.parameters)

    @cached_property
    def d(self) -> int:
        """How many coordinates there are."""
        return sum(kind.width for kind in self._kinds.values())

    @property
    def varying(self) -> dict[str, Parameter]:
        """Parameters with two values or more, by name."""
        return {name: kind for name, kind in self._kinds.items() if kind.width}

    @property
    def count(self) -> int | None:
        """How many points there are, whether they meet the constraints or not; None if no end."""
        return self.branches.count()

    @cached_property
    def together(self) -> int:
        """How many of the parameters that vary apply together, in the largest branch that is met.

        Of so many points at random that a rare branch may not be among them.
        """
        number = len(self.varying)
        if self._conditions is None:
            return number
        X = self.sample(_BRANCHES, np.random.default_rng(0))
        idle = np.sum([~each.applies(X) for each in self._conditions.each], axis=0)
        return number - int(idle.min())

    @cached_property
    def columns(self) -> Mapping[str, slice]:
        """The coordinates of each parameter."""
        ends = np.cumsum([0, *(kind.width for kind in self._kinds.values())]).tolist()
        return dict(zip(self.names, map(slice, ends[:-1], ends[1:]), strict=True))

    @cached_property
    def groups(self) -> NDArray[np.intp] | None:
        """Which parameter each coordinate belongs to (d,); None if none has several."""
        widths = [kind.width for kind in self.varying.values()]
        return np.repeat(np.arange(len(widths)), widths) if max(widths, default=1) > 1 else None

    @cached_property
    def reach(self) -> Array | None:
        """How far apart random values are along each coordinate's parameter (d,).

        In units of what it is for a continuous one; None if it is the same for all.
        """
        reaches = np.array([kind.reach for kind in self.varying.values()])
        return None if self.groups is None else reaches[self.groups]

    @cached_property
    def inequalities(self) -> tuple[Constraint, ...]:
        """The linear constraints, one for each comparison in them."""
        return tuple(each for each in self._read if isinstance(each, Constraint))

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """The other constraints, one for each comparison in them."""
        return tuple(each for each in self._read if not isinstance(each, Constraint))

    @property
    def texts(self) -> tuple[str, ...]:
        """The constraints as they were written; of functions, their names."""
        return tuple(_text(each) for each in self.constraints)

    @cached_property
    def counts(self) -> tuple[AtMost, ...]:
        """The constraints on how many parameters are not at zero."""
        return tuple(each for each in self.constraints if isinstance(each, AtMost))

    def check(self, params: Mapping[str, Any]) -> dict[str, Plain]:
        """Params as plain values in the order of the space, if that is where they are.

        Args:
            params: values by name; fixed parameters may be left out. Constraints have to be met:
                exactly between integers and stepped numbers, else up to 1e-9 of their terms.

        Returns:
            Values by name; an `InputError` is raised if they are not in the space.
        """
        values = self._values(params)
        for text, violation in self._violations(values):
            if violation:
                raise InputError(f"constraint {text!r} is not met by {values}")
        return values

    def lacking(self, params: Mapping[str, Any]) -> list[str]:
        """Parameters that vary and apply, but have no value.

        Args:
            params: values by name, some of which may be of other spaces.

        Returns:
            Their names.
        """
        absent = self.branches.absent(params)
        return [name for name in self.varying if name not in params and name not in absent]

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The point that stands for params.

        Args:
            params: values by name, which need not meet the constraints.

        Returns:
            A point of the unit cube, (d,).
        """
        return np.array(place(self._kinds, self._values(params)))

    def encode_all(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """The points that stand for several params.

        Args:
            params: several times values by name.

        Returns:
            Points of the unit cube, (n, d).
        """
        return np.array([self.encode(each) for each in params]).reshape(len(params), self.d)

    def decode(self, x: ArrayLike, *, fixed: Mapping[str, Any] | None = None) -> dict[str, Plain]:
        """The params nearest to a point.

        Near the plane of an equation, they meet it: where the others were rounded, the real number
        with most room takes what is left. At points that meet the constraints, so do they.

        Args:
            x: (d,), a point of the unit cube.
            fixed: values that some parameters have, whatever the point is.

        Returns:
            Values by name.
        """
        point, given = checks.vector("x", x, self.d), fixed or {}
        held = {name: self._kinds[name].check(name, given[name]) for name in given}
        if self._is_sparse:
            held = self._absent(point) | held
        return self._decoder.decode(point, held)

    def domain(self, fixed: Mapping[str, Any] | None = None) -> Domain:
        """Where the points lie that meet the constraints.

        Args:
            fixed: values at which some parameters are held, by name.

        Returns:
            A domain of the unit cube.
        """
        return self._whole if fixed is None else self._domain(fixed)

    def sample(self, size: int, generator: np.random.Generator) -> Array:
        """Random points that meet the constraints.

        Args:
            size: how many.
            generator: what to draw with.

        Returns:
            Points of the unit cube, (size, d).
        """
        return self._whole.sample(size, generator)

    def spread(self, size: int, seed: Seed) -> Array:
        """Points that fill the space evenly, values of a parameter in equal numbers.

        The first points of a scrambled Sobol sequence that meet the constraints; if these are too
        few, random points follow. Where there are none, as in the plane of an equation, or where
        parameters may be left out, an even choice of random points comes first. A seed gives the
        same first points whatever the size.

        Args:
            size: how many.
            seed: an integer, a generator, or None for a random one.

        Returns:
            Points of the unit cube, (size, d).
        """
        size, generator = checks.count("size", size), checks.generator(seed)
        kinds = [kind for kind in self._kinds.values() if kind.width]
        drawn = _SOBOL_POINTS if self.constraints or self._is_sparse else size
        U = sobol(2 ** (drawn - 1).bit_length(), len(kinds), generator)
        X = np.hstack([kind.quantile(u) for kind, u in zip(kinds, U.T, strict=True)])
        inside = self._whole.contains(self._whole.held(X), 0.0)
        by_chance = inside.any() and not self._is_sparse
        X = X[inside] if by_chance else evenly(self._whole, X, size, generator)
        X = self._whole.held(X)
        while len(X) < size:
            X = np.concatenate([X, self.sample(_FILLING, generator)])
        return X[:size]

    def everything(
        self, limit: int = _FEW_POINTS, *, fixed: Mapping[str, Any] | None = None
    ) -> Array | None:
        """All points that meet the constraints, if they are few.

        Args:
            limit: how many there may be.
            fixed: values at which some parameters are held, by name.

        Returns:
            Points (N, d); None if there are more than the limit, or if a search of some length does
            not find out how many there are.
        """
        return everything(self.domain(fixed), limit)

    def to_dict(self) -> dict[str, Any]:
        """Parameters and constraints, ready for JSON.

        Returns:
            A table; an `InputError` is raised if there are functions among the constraints.
        """
        for each in self.curves:
            if isinstance(each, Function):
                raise InputError(
                    f"constraint {each.text!r} is a function, which cannot be saved: write it as "
                    "text, or keep the space in the program"
                )
        return self.outline()

    def outline(self) -> dict[str, Any]:
        """Parameters and constraints, functions by their names."""
        items = self.parameters.items()
        tables = {n: p.to_dict() if isinstance(p, Parameter) else p for n, p in items}
        constraints = [c.to_dict() if isinstance(c, AtMost) else _text(c) for c in self.constraints]
        return {"parameters": tables, "constraints": constraints}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Space:
        """The space that `to_dict`, or a file written by hand, describes.

        Args:
            table: with the keys "parameters" and "constraints".

        Returns:
            The space.
        """
        checks.instance("space", table, Mapping, "a table with the key 'parameters'")
        parameters = table.get("parameters")
        if not isinstance(parameters, Mapping) or not set(table) <= {"parameters", "constraints"}:
            raise InputError(
                "a space takes the table 'parameters' and the list 'constraints', "
                f"got {dict(table)!r}"
            )
        made = {
            name: parameter_from(name, value) if isinstance(value, Mapping) else value
            for name, value in parameters.items()
        }
        constraints = table.get("constraints", ())
        if isinstance(constraints, Sequence) and not isinstance(constraints, str):
            constraints = [
                AtMost.from_dict(c) if isinstance(c, Mapping) else c for c in constraints
            ]
        return cls(made, constraints=constraints)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Space:
        """The space that a file describes: a table for each parameter, and constraints.

        Args:
            path: of the file.

        Returns:
            The space.
        """
        return toml.read(path, lambda parameters, stated: cls(parameters, constraints=stated))

    def to_toml(self) -> str:
        """The text of a file that `from_toml` reads."""
        return toml.dumps(self.parameters, self.to_dict()["constraints"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def _repr_html_(self) -> str:
        rows = [
            [name, type(each).__name__, _words(each)]
            if isinstance(each, Parameter)
            else [name, "fixed", repr(each)]
            for name, each in self.parameters.items()
        ]
        header = ["parameter", "kind", "values"]
        return table(f"Space of {len(rows)} parameters", rows, header=header, notes=self.texts)

    def __repr__(self) -> str:
        end = f", constraints={list(self.constraints)}" if self.constraints else ""
        return f"Space({dict(self.parameters)}{end})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _space, (dict(self.parameters), self.constraints)

    @property
    def _identity(self) -> tuple[Any, ...]:
        """What makes two spaces equal."""
        return tuple(self.parameters.items()), self.constraints

    @cached_property
    def _kinds(self) -> dict[str, Parameter]:
        """All parameters; a fixed value is a choice of one."""
        return kinds_of(self.parameters)

    @cached_property
    def branches(self) -> Branches:
        """Which parameters apply where."""
        return Branches.of(self._kinds)

    @cached_property
    def _conditions(self) -> Conditions | None:
        """The same over points."""
        return self.branches.conditions(self.columns)

    @cached_property
    def _read(self) -> tuple[Constraint | Curve, ...]:
        """All constraints, one for each comparison in them."""
        for count in self.counts:
            count.check(self.parameters)
        stated = [each for each in self.constraints if not isinstance(each, AtMost)]
        return tuple(c for each in stated for c in read(each, self.parameters))

    @cached_property
    def _limits(self) -> tuple[LimitOfFormula | LimitOfFunction, ...]:
        """Those that are not linear, over points."""
        return tuple(
            LimitOfFormula(each, self._kinds, self.columns, self.d, self._where(each.names))
            if isinstance(each, Formula)
            else LimitOfFunction(each, self._decoder.precise, self.columns, self.branches)
            for each in self.curves
        )

    def _where(self, names: Iterable[str]) -> tuple[Condition, ...]:
        """Where all of some parameters apply."""
        branches = self.branches
        return tuple(branches.condition(n, self.columns) for n in names if n in branches.needs)

    @cached_property
    def _remainders(self) -> Remainders:
        """What fills up equations over reals."""
        return Remainders.of(self.inequalities, self.parameters)

    @cached_property
    def _whole(self) -> Domain:
        """Where all points lie that meet the constraints."""
        return self._domain({})

    @cached_property
    def _is_sparse(self) -> bool:
        """Whether parameters may be left out."""
        return supports_of(self._kinds, self.counts, self.columns, {}) is not None

    def _absent(self, x: Array) -> dict[str, Plain]:
        """Zeros of the parameters that are left out at a point (d,)."""
        u = x.tolist()
        values = {name: kind.decode(u[self.columns[name]]) for name, kind in self._kinds.items()}
        return absent(self._kinds, self.counts, values)

    def _domain(self, fixed: Mapping[str, Any]) -> Domain:
        """Where the points lie that meet the constraints, with some values held."""
        held, reason = self._held(fixed), ""
        _ = self._region.sides(held, tight=True)  # refuses what cannot be computed with
        try:
            found = self._region.domain(held)
            if found is not None:
                return found
        except InputError as error:
            reason = f": {error}" if self.curves or self.counts else ""
        where = f" with {dict(fixed)}" if fixed else ""
        raise InputError(f"constraints {list(self.texts)} leave nothing to search{where}{reason}")

    @cached_property
    def _region(self) -> Region:
        """Where points may lie."""
        kinds, columns = self._kinds, self.columns
        limits, counts = self._limits, self.counts
        parameters = dict(self.parameters)  # which can be pickled
        inequalities, conditions = self.inequalities, self._conditions
        return Region(parameters, kinds, columns, inequalities, counts, limits, conditions)

    @cached_property
    def _decoder(self) -> Decoder:
        """What decodes points."""
        coarse = any(isinstance(p, Real) and p.digits is not None for p in self._kinds.values())
        # Elsewhere the margins of the domain are wider than what rounding does.
        harms = bool(self.curves) or (coarse and bool(self.inequalities))
        violation = self._violation if harms else None
        return Decoder(
            self._kinds,
            self.columns,
            self.branches,
            self._remainders,
            violation,
            lambda: self._whole,
        )

    def _violations(self, values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
        """The text of each constraint, with a number above 0 if values do not meet it."""
        for constraint, levels in zip(self.inequalities, self._region.sums, strict=True):
            if levels is None:
                yield constraint.text, constraint.violation(values)
            else:
                numbers = {
                    name: self._region.axes[name].level(values[name]) for name in levels.steps
                }
                yield constraint.text, 0.0 if levels.is_met(numbers) else 1.0
        for each in (*self.curves, *self.counts):
            names = each.names if isinstance(each, Formula) else ()
            if all(name in values for name in names):
                yield each.text, each.violation(values)

    def _violation(self, values: Mapping[str, Any]) -> float:
        """How far values are from meeting all constraints."""
        return sum(violation for _, violation in self._violations(values))

    def _values(self, params: Mapping[str, Any]) -> dict[str, Plain]:
        """`params` as plain values, whether they meet the constraints or not."""
        checks.instance("params", params, Mapping, "a mapping of names to values")
        fixed = {n: p for n, p in self.parameters.items() if not isinstance(p, Parameter)}
        given = {**fixed, **params}
        unknown = [name for name in params if name not in self.parameters]
        values = {n: p.check(n, given[n]) for n, p in self._kinds.items() if n in given}
        absent = self.branches.absent(values)
        missing = [name for name in self.names if name not in given and name not in absent]
        if missing or unknown:
            raise InputError(
                f"params must have the names {list(self.names)}: "
                f"missing {missing}, unknown {unknown}"
            )
        for name in absent:
            if name in values:
                raise InputError(f"{self.branches.why(name)}, got {values}")
        return values

    def _held(self, fixed: Mapping[str, Any]) -> dict[int, float]:
        """Coordinates of parameters that are held at a value, by column."""
        checks.instance("fixed", fixed, Mapping, "a mapping of names to values")
        held: dict[int, float] = {}
        for name, value in fixed.items():
            if name not in self._kinds:
                raise InputError(f"fixed names {name!r}, but the names are {list(self.names)}")
            kind = self._kinds[name]
            coordinates = kind.encode(kind.check(name, value))
            held.update(enumerate(coordinates, start=self.columns[name].start))
        for name in self.branches.never(fixed):
            held.update(enumerate(self._kinds[name].rest, start=self.columns[name].start))
        return held


def _space(parameters: Mapping[str, Any], constraints: Sequence[Any]) -> Space:
    """A space as it was before pickling."""
    return Space(parameters, constraints=constraints)


def _words(parameter: Parameter) -> str:
    """The values of a parameter in a few words."""
    said = parameter.to_dict()
    if "values" in said:
        return ", ".join(map(str, said["values"]))
    words = [f"{said['low']} to {said['high']}", *(["log"] if said["log"] else [])]
    rest = {k: v for k, v in said.items() if k not in ("type", "low", "high", "log")}
    if rest.get("step") == 1 and said["type"] == "integer":
        rest.pop("step")
    return ", ".join([*words, *(f"{k} {v}" for k, v in rest.items() if v is not None)])


def _text(constraint: str | AtMost | Callable[[Mapping[str, Any]], float]) -> str:
    """A constraint as it was written; of a function, its name."""
    if isinstance(constraint, str):
        return constraint
    return constraint.text if isinstance(constraint, AtMost) else Function(constraint).text


def _given(name: Any, value: Any) -> Real | Integer | Choice | Plain:
    """A parameter or a plain value, with a name that can be used."""
    if not isinstance(name, str) or not name:
        raise InputError(f"names of parameters must be non-empty strings, got {name!r}")
    if isinstance(value, (Real, Integer, Choice)):
        return value
    try:
        return plain(name, value)
    except InputError as error:
        raise InputError(
            f"parameter {name!r} must be a Real, Integer or Choice, or a plain value, got {value!r}"
        ) from error
