"""Several named series in one long table: lines (x, y) and surfaces (x, y, z)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from innerloop_paper.arrays import Array
from innerloop_paper.table import Table

# More than can be seen, and less than what rounding errors of another machine change.
_DIGITS = 7


class Points(NamedTuple):
    """The points of one series, each (N,); z is NaN for a line."""

    x: Array
    y: Array
    z: Array


class Series:
    """A long table in the making: columns series, x, y, z."""

    def __init__(self) -> None:
        self.table: Table = {"series": [], "x": [], "y": [], "z": []}

    def add(self, name: str, x: ArrayLike, y: ArrayLike, z: ArrayLike = np.nan) -> None:
        """Append a series; x, y and z are flattened, single numbers repeated."""
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, float)) for v in (x, y, z)))
        self.table["series"] += [name] * columns[0].size
        for key, column in zip("xyz", columns, strict=True):
            self.table[key] += [float(f"{value:.{_DIGITS}g}") for value in column.ravel()]


def pick(table: Table, name: str) -> Points:
    """The points of the series of that name, in their order."""
    rows = [i for i, series in enumerate(table["series"]) if series == name]
    return Points(*(np.array([table[key][i] for i in rows], dtype=float) for key in "xyz"))


def names(table: Table, prefix: str) -> list[str]:
    """The names of the series that begin with a prefix, in order of appearance."""
    return [name for name in dict.fromkeys(table["series"]) if name.startswith(prefix)]


def grid(surface: Points) -> tuple[Array, Array, Array]:
    """A surface on all pairs of its coordinates as arrays: x (N,), y (M,), z (M, N)."""
    x, y = np.unique(surface.x), np.unique(surface.y)
    z = np.full((y.size, x.size), np.nan)
    z[np.searchsorted(y, surface.y), np.searchsorted(x, surface.x)] = surface.z
    return x, y, z
