"""Some supports of many that have a point, by integer programming."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from innerloop.domain.supports import Present, Supports

if TYPE_CHECKING:
    from innerloop.domain.domain import Domain

# So many draws for each support that is wanted: the same may be drawn again.
_DRAWS = 2


def some_supports(supports: Supports, around: Domain, number: int) -> Iterator[Present]:
    """Different supports that have a point, but for levels and limits that are not linear.

    Args:
        supports: which coordinates may be away from zero together.
        around: a domain that has all of their points.
        number: how many there are at most.

    Returns:
        Supports (n,), one after the other, the same ones at every call.
    """
    generator, seen = np.random.default_rng(0), set[bytes]()
    for _ in range(_DRAWS * number):
        found = _heaviest(supports, around, generator)
        if found is None or len(seen) == number:
            return
        if found.tobytes() not in seen:
            seen.add(found.tobytes())
            yield found


def _heaviest(supports: Supports, around: Domain, generator: np.random.Generator) -> Present | None:
    """The support (n,) of largest random weight that has a point of a domain; None without any.

    With z in {0, 1} for each coordinate, x - zero <= z (1 - zero), zero - x <= z zero, and
    z lowest <= x for those that are switched. Weights below 0 leave out some of these.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    d, n = around.d, len(supports.columns)
    pick, eye = np.eye(d)[supports.columns], np.eye(n)
    zeros, lowest = supports.zeros, np.where(supports.switched, supports.lowest, 0.0)
    rows = [
        np.hstack([around.A, np.zeros((len(around.A), n))]),
        np.hstack([np.zeros((len(supports.groups), d)), supports.groups]),
        np.hstack([pick, -(1.0 - zeros)[:, None] * eye]),
        np.hstack([-pick, (lowest - zeros)[:, None] * eye]),
    ]
    limits = np.concatenate([around.b, supports.most, zeros, -zeros])
    weights = generator.random(n) - np.where(supports.switched, generator.random(), 0.0)
    result = milp(
        np.concatenate([np.zeros(d), -weights]),
        constraints=LinearConstraint(np.vstack(rows), ub=limits),
        bounds=Bounds(np.append(around.low, np.zeros(n)), np.append(around.high, np.ones(n))),
        integrality=np.append(np.zeros(d), np.ones(n)),
    )
    return None if result.x is None else np.asarray(result.x[d:] > 0.5)
