"""Hartmann's function of six parameters in [0, 1], a common test of optimizers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

#: The smallest value that it takes.
MINIMUM = -3.322368011415515

_DEPTHS = np.array([1.0, 1.2, 3.0, 3.2])
_STEEPNESS = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_CENTERS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(params: Mapping[str, float]) -> float:
    """The value at params x1 to x6."""
    x = np.array([params[f"x{k}"] for k in range(1, 7)])
    squares = (_STEEPNESS * (x - _CENTERS) ** 2).sum(axis=1)
    return -float(np.exp(-squares) @ _DEPTHS)
