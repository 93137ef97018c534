"""The functions of tasks with known limits, over values (..., d) by column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mixture_3(x: Array) -> Array:
    """A special cubic blend of three components with a ripple."""
    a, b, c = np.moveaxis(x, -1, 0)
    blend = 3.2 * a + 2.1 * b + 2.6 * c - 6.5 * a * b + 3.0 * a * c - 4.2 * b * c - 18.0 * a * b * c
    return blend + 0.4 * np.sin(9.0 * a) * np.cos(7.0 * b)


_DRAWN = np.random.default_rng(7)
_SINGLE, _PAIRS = _DRAWN.uniform(1.0, 3.0, 7), np.triu(_DRAWN.normal(0.0, 4.0, (7, 7)), 1)
_PROPERTIES, _COSTS = _DRAWN.uniform(0.0, 1.0, (4, 20)), _DRAWN.uniform(0.0, 1.0, 20)
_TARGETS, _WEIGHTS = np.array([0.65, 0.35, 0.7, 0.4]), np.array([8.0, 5.0, 3.0, 2.0])


def mixture_7(x: Array) -> Array:
    """A quadratic blend of seven components, some of which help each other."""
    return x @ _SINGLE + np.sum((x @ _PAIRS) * x, axis=-1)


def mixture_20(x: Array) -> Array:
    """Four properties of a blend of twenty components should meet targets, at little cost."""
    return ((x @ _PROPERTIES.T - _TARGETS) ** 2) @ _WEIGHTS + 0.5 * (x @ _COSTS)


def process(x: Array) -> Array:
    """A blend of four components that is heated."""
    a, b, c, d, heat = np.moveaxis(x, -1, 0)
    t = heat / 100.0
    blend = 2.0 * a + 1.2 * b + 2.4 * c + 1.8 * d - 5.0 * a * c - 3.0 * b * d
    return blend + (t - 0.3 - 0.8 * a) ** 2 + 0.5 * np.cos(5.0 * t) * b


def vessel(x: Array) -> Array:
    s, h, r, length = np.moveaxis(x, -1, 0)
    return 0.6224 * s * r * length + 1.7781 * h * r**2 + 3.1661 * s**2 * length + 19.84 * s**2 * r


def spring(x: Array) -> Array:
    d, D, n = np.moveaxis(x, -1, 0)
    return (n + 2.0) * D * d**2


def beam(x: Array) -> Array:
    h, length, t, b = np.moveaxis(x, -1, 0)
    return 1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length)


def g04(x: Array) -> Array:
    a, _, c, _, e = np.moveaxis(x, -1, 0)
    return 5.3578547 * c**2 + 0.8356891 * a * e + 37.293239 * a - 40792.141


def g06(x: Array) -> Array:
    a, b = np.moveaxis(x, -1, 0)
    return (a - 10.0) ** 3 + (b - 20.0) ** 3


def g07(x: Array) -> Array:
    a, b, c, d, e, f, g, h, i, j = np.moveaxis(x, -1, 0)
    return (
        a**2 + b**2 + a * b - 14 * a - 16 * b + (c - 10) ** 2 + 4 * (d - 5) ** 2 + (e - 3) ** 2
        + 2 * (f - 1) ** 2 + 5 * g**2 + 7 * (h - 11) ** 2 + 2 * (i - 10) ** 2 + (j - 7) ** 2 + 45
    )  # fmt: skip


def g09(x: Array) -> Array:
    a, b, c, d, e, f, g = np.moveaxis(x, -1, 0)
    return (
        (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2 + 10 * e**6 + 7 * f**2 + g**4
        - 4 * f * g - 10 * f - 8 * g
    )  # fmt: skip


_HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(x: Array) -> Array:
    inner = (_HARTMANN_A * (x[..., None, :] - _HARTMANN_P) ** 2).sum(axis=-1)
    return -np.exp(-inner) @ np.array([1.0, 1.2, 3.0, 3.2])
