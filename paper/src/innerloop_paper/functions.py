"""Well-known functions on the unit cube, turned over so that they are to be maximized.

Each takes points (..., d) and returns values (...). Branin-Hoo's own domain is [-5, 10] x [0, 15]
and Levy's is [-10, 10]^d; Hartmann's functions live on the unit cube.
"""

from __future__ import annotations

import numpy as np

from innerloop_paper.arrays import Array

_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_STEEPNESS = {
    3: np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]]),
    6: np.array(
        [
            [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
            [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
            [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
            [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
        ]
    ),
}
_CENTERS = {
    3: 1e-4
    * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
    6: 1e-4
    * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    ),
}

#: The largest value of each function.
MAXIMA = {
    "branin": -10.0 / (8.0 * np.pi),
    "hartmann-3": 3.862779787332663,
    "hartmann-6": 3.322368011415515,
    "levy": 0.0,
}


def branin(u: Array) -> Array:
    """Branin-Hoo: three maxima of the same height."""
    x, y = 15.0 * u[..., 0] - 5.0, 15.0 * u[..., 1]
    valley = y - 5.1 / (4.0 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0
    value: Array = -(valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0)
    return value


def hartmann(u: Array) -> Array:
    """Hartmann-3 or Hartmann-6, by the number of coordinates."""
    d = u.shape[-1]
    squares = (_STEEPNESS[d] * (u[..., None, :] - _CENTERS[d]) ** 2).sum(axis=-1)
    value: Array = np.exp(-squares) @ _HEIGHTS
    return value


def levy(u: Array) -> Array:
    """Levy's function: rough, with its maximum 0 at u = 0.55 in every coordinate."""
    w = 5.0 * u - 1.75
    first = np.sin(np.pi * w[..., 0]) ** 2
    inner = (w[..., :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[..., :-1] + 1.0) ** 2)
    last = (w[..., -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[..., -1]) ** 2)
    value: Array = -(first + inner.sum(axis=-1) + last)
    return value
