"""Hartmann's function of six parameters in [0, 1], a common test of optimizers."""

from __future__ import annotations

import math
from collections.abc import Mapping

MINIMUM = -3.322368011415515

_ALPHA = (1.0, 1.2, 3.0, 3.2)
_A = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
_P = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)


def hartmann6(params: Mapping[str, float]) -> float:
    """The value at params x1 to x6."""
    x = [params[f"x{k}"] for k in range(1, 7)]
    value = 0.0
    for alpha, a, p in zip(_ALPHA, _A, _P, strict=True):
        value -= alpha * math.exp(-sum(b * (u - v) ** 2 for b, u, v in zip(a, x, p, strict=True)))
    return value
