"""Validation at the public boundary: one way to turn arguments into float64 arrays.

Every function names the argument, says what was got and what was expected, and returns
the checked value, so that the code behind the boundary never checks again.
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from innerloop.errors import InputError
from innerloop.types import Array, Seed

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120
_SHORT.maxlevel, _SHORT.maxlist = 2, 4


def shown(value: Any) -> str:
    """What a `value` is, on one short line: of an array its shape."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return " ".join(_SHORT.repr(value).split())


def floats(name: str, value: ArrayLike) -> Array:
    """`value` as a float64 array with every entry finite."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numeric, got {value!r}") from error
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        place = f" at index {tuple(int(i) for i in bad)}" if array.ndim else ""
        raise InputError(f"{name} must be finite, got {array[tuple(bad)]}{place}")
    return array


def numbers(utility: object, value: Array) -> Array:
    """Values (R,) by a utility, infinite ones included; an error if some are no numbers."""
    if np.isnan(value).any():
        row = int(np.flatnonzero(np.isnan(value))[0])
        raise InputError(
            f"{type(utility).__name__} must have values that are numbers, got nan for "
            f"query set {row} of {len(value)}"
        )
    return value


def points(name: str, value: ArrayLike, d: int | None = None) -> Array:
    """`value` as a non-empty (n, d) array of finite points."""
    X = floats(name, value)
    if X.ndim != 2 or 0 in X.shape or d not in (None, X.shape[1]):
        expected = f"(n, {'d' if d is None else d})"
        raise InputError(f"{name} must have shape {expected} with n >= 1, got shape {X.shape}")
    return X


def point_array(name: str, value: ArrayLike, d: int) -> Array:
    """`value` as an (..., d) array of finite points."""
    X = floats(name, value)
    if X.ndim == 0 or X.shape[-1] != d:
        raise InputError(f"{name} must have shape (..., {d}), got shape {X.shape}")
    return X


def point_sets(name: str, value: ArrayLike, d: int) -> Array:
    """`value` as an (..., q, d) array of finite points with q >= 1."""
    X = floats(name, value)
    if X.ndim < 2 or X.shape[-1] != d or X.shape[-2] == 0:
        raise InputError(f"{name} must have shape (..., q, {d}) with q >= 1, got shape {X.shape}")
    return X


def query_sets(name: str, value: ArrayLike, d: int, q: int | None = None) -> Array:
    """`value` as an (R, q, d) array of finite query sets."""
    X = floats(name, value)
    if X.ndim != 3 or X.shape[2] != d or 0 in X.shape or q not in (None, X.shape[1]):
        expected = f"(R, {'q' if q is None else q}, {d})"
        raise InputError(f"{name} must have shape {expected} with R >= 1, got shape {X.shape}")
    return X


def vector(name: str, value: ArrayLike, n: int) -> Array:
    """`value` as an (n,) array of finite numbers."""
    y = floats(name, value)
    if y.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), got shape {y.shape}")
    return y


def scalar(name: str, value: ArrayLike) -> float:
    """`value` as one finite number."""
    number = floats(name, value)
    if number.ndim != 0:
        raise InputError(f"{name} must be a single number, got shape {number.shape}")
    return float(number)


def positive(name: str, value: ArrayLike) -> Array:
    """`value` as a float64 array whose entries are all above zero."""
    array = floats(name, value)
    if not (array > 0).all():
        raise InputError(f"{name} must be above 0, got {array.min() if array.size else array}")
    return array


def positive_scalar(name: str, value: ArrayLike) -> float:
    """`value` as one number above zero."""
    return float(positive(name, scalar(name, value)))


def non_negative(name: str, value: ArrayLike) -> Array:
    """`value` as a float64 array whose entries are all zero or above."""
    array = floats(name, value)
    if not (array >= 0).all():
        raise InputError(f"{name} must be 0 or above, got {array.min()}")
    return array


def instance(name: str, value: Any, kind: Any, expected: str) -> None:
    """Refuse a `value` that is not an instance of `kind`."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {expected}, got {shown(value)}")


def count(name: str, value: Any, least: int = 1) -> int:
    """`value` as an integer of 1 or more, or of another `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be an integer of {least} or more, got {value!r}")
    return int(value)


def generator(seed: Seed) -> np.random.Generator:
    """What draws at random from a `seed`: an integer, a generator, or None for a random one."""
    known = seed is None or isinstance(seed, np.random.Generator)
    return np.random.default_rng(seed if known else count("seed", seed, 0))


def base_draws(name: str, value: ArrayLike, outcomes: int = 1) -> Array:
    """`value` as base draws (m, q) with m, q >= 1; of several outcomes K, (m, q, K)."""
    z = floats(name, value)
    shape = "(m, q)" if outcomes == 1 else f"(m, q, {outcomes})"
    if z.ndim < 2 or z.shape[2:] != (outcomes,) * (outcomes > 1) or 0 in z.shape:
        raise InputError(f"{name} must have shape {shape} with m, q >= 1, got shape {z.shape}")
    return z


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raise unless `value` is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {list(allowed)}, got {value!r}")
