"""Scrambled Sobol sequences, point for point those of `scipy.stats.qmc`, whose import is slow.

Points are vectors over GF(2): x_i is the exclusive or of the direction numbers at the bits of the
Gray code of i (Antonov and Saleev 1979). Scrambled is each coordinate by a random lower triangular
matrix and a random shift (Matousek 1998). Direction numbers are those of Joe and Kuo (2008), from
the file that SciPy keeps them in.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

_BITS = 30
_FILE = "_sobol_direction_numbers.npz"

Bits = NDArray[np.uint32]


def sobol(size: int, d: int, generator: np.random.Generator) -> Array:
    """The first points of a scrambled Sobol sequence in the unit cube.

    Args:
        size: how many.
        d: their dimension.
        generator: what to scramble with.

    Returns:
        Points, (size, d); a generator gives the same first points whatever the size.
    """
    if d == 0:
        return np.zeros((size, 0))
    directions = _directions(d)
    if directions is None:
        from scipy.stats import qmc  # slow to import

        points: Array = qmc.Sobol(d, rng=generator).random_base2((size - 1).bit_length())
        return points[:size]
    # SciPy draws with a child of the generator that it is given.
    generator = generator.spawn(1)[0]
    place = np.arange(_BITS, dtype=np.uint32)
    shift = generator.integers(2, size=(d, _BITS), dtype=np.uint32) @ (1 << place)
    matrices = np.tril(generator.integers(2, size=(d, _BITS, _BITS), dtype=np.uint32))
    numbers = _sequence(size, _scrambled(directions, matrices), shift.astype(np.uint32))
    points = numbers.astype(np.float64)
    points *= 2.0**-_BITS
    return points


def _sequence(size: int, directions: Bits, shift: Bits) -> Bits:
    """The first points, (size, d): each half repeats the one before backwards, turned over."""
    points = shift[None]
    bit = 0
    while len(points) < size:
        points = np.concatenate([points, points[::-1] ^ directions[:, bit]])
        bit += 1
    return points[:size]


def _scrambled(directions: Bits, matrices: Bits) -> Bits:
    """Directions (d, bits) multiplied by lower triangular matrices (d, bits, bits) over GF(2)."""
    descending = np.arange(_BITS - 1, -1, -1, dtype=np.uint32)
    digits = (directions[:, None, :] >> descending[:, None]) & 1  # (d, digit, direction)
    np.einsum("dii->di", matrices)[...] = 1
    # No sum has more than 30 terms: floats are exact, and have a fast product.
    products = matrices.astype(np.float32) @ digits.astype(np.float32)
    found = (products.astype(np.uint32) & 1) << descending[:, None]
    directions = found.sum(axis=1, dtype=np.uint32)
    return directions


@cache
def _directions(d: int) -> Bits | None:
    """Direction numbers of d coordinates, (d, bits), the highest bit first; None without them."""
    table = _table()
    if table is None or d > len(table[0]):
        return None
    numbers = np.ones((d, _BITS), dtype=np.uint32)
    for row, polynomial, first in zip(numbers[1:], table[0][1:], table[1][1:], strict=False):
        degree = int(polynomial).bit_length() - 1
        row[:degree] = first[:degree]
        for j in range(degree, _BITS):
            row[j] = row[j - degree]
            for k in range(1, degree + 1):
                if int(polynomial) >> (degree - k) & 1:
                    row[j] ^= row[j - k] << np.uint32(k)
    return numbers << np.arange(_BITS - 1, -1, -1, dtype=np.uint32)


@cache
def _table() -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
    """Primitive polynomials and the first direction numbers; None if SciPy keeps none there."""
    spec = find_spec("scipy")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / "stats" / _FILE
        if path.exists():
            with np.load(path) as file:
                if {"poly", "vinit"} <= set(file.files):
                    return file["poly"], file["vinit"]
    return None
