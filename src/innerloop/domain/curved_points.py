"""Points that meet limits which are not linear: to begin with, and at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from innerloop.domain import polytope
from innerloop.domain.curved import Curved, Limit, meets
from innerloop.domain.newton import newton
from innerloop.domain.sampler import KNOWN, Sampler
from innerloop.errors import InputError
from innerloop.types import Array

if TYPE_CHECKING:
    from innerloop.domain.domain import Domain

# Points are searched among so many random ones, one time after the other; and by Newton's method
# from the best of them, which are fewer by this factor. Of those that are found, or are reached
# from these, so many are known.
_DRAWN, _DRAWN_IF_COSTLY = (1024, 1024, 1024, 1024), (128, 256, 512, 1024)
_TRIED_OF, _TRIED_OF_IF_COSTLY = 4, 8
_KNOWN, _KNOWN_IF_COSTLY = 1024, 128
# If fewer than one of so many are inside, others are reached from them, by so many steps.
_ENOUGH_OF, _STEPS = 4, 3
# Random points of the linear part are drawn until enough are inside, if so many of them are.
_SHARE_INSIDE = 1 / 8
_SHORTENED = 12


def curved(linear: Domain, limits: tuple[Limit, ...]) -> Curved:
    """What limits leave of a domain; an `InputError` is raised if no point is found there.

    Args:
        linear: the domain without them.
        limits: some.

    Returns:
        The limits, with points that meet them.
    """
    generator = np.random.default_rng(0)
    found = np.zeros((0, linear.d))
    costly = any(limit.is_costly for limit in limits)
    draws = _DRAWN_IF_COSTLY if costly else _DRAWN
    tried_of = _TRIED_OF_IF_COSTLY if costly else _TRIED_OF
    for drawn in draws:
        X = np.concatenate([linear.interior[None], linear.sample(drawn, generator)])
        inside = meets(limits, X, 0.0)
        found = np.concatenate([found, X[inside]])
        are_enough = bool(inside.sum() >= drawn // _ENOUGH_OF)
        if not are_enough:
            excess = np.sum([np.maximum(limit.excess(X, 0.0), 0.0) for limit in limits], axis=0)
            order = np.argsort(np.where(inside, np.inf, excess), kind="stable")
            nearest = order[: drawn // tried_of]
            moved = newton(linear, limits, X[nearest])
            found = np.concatenate([found, moved[meets(limits, moved, 0.0)]])
        if len(found):
            break
    else:
        raise InputError(
            f"no point was found among {sum(draws)} random ones, nor by Newton's method from "
            f"{sum(draws) // tried_of} of them"
        )
    if are_enough:
        return Curved(linear, limits, found)
    # They may be few, and those that Newton's method found lie on the edge.
    known = Curved(linear, limits, found)
    number = _KNOWN_IF_COSTLY if costly else _KNOWN
    start = found[generator.integers(len(found), size=number)]
    walked = _walked(known, start, 10 + 2 * int(known.linked.sum()), generator)
    return Curved(linear, limits, walked)


@dataclass(frozen=True, eq=False)
class CurvedSampler:
    """Draws points that meet limits; what can be found out once is kept.

    Args:
        curved: where points lie.
    """

    curved: Curved

    def draw(self, size: int, generator: np.random.Generator) -> Array:
        """Points spread over the domain.

        Args:
            size: how many.
            generator: what to draw with.

        Returns:
            Points, (size, d).
        """
        if self._share_inside >= _SHARE_INSIDE:
            return self._from_inside(size, generator)
        X, points = self.curved.linear.sample(size, generator), self.curved.points
        start = points[np.resize(generator.permutation(len(points)), size)]
        linked = self.curved.linked
        X[:, linked] = _walked(self.curved, start, _STEPS, generator)[:, linked]
        return X

    @cached_property
    def _share_inside(self) -> float:
        """About how much of the linear part is inside."""
        costly = any(limit.is_costly for limit in self.curved.limits)
        number = _KNOWN_IF_COSTLY if costly else _KNOWN
        X = self.curved.linear.sample(number, np.random.default_rng(0))
        return float(self.curved.contains(X, 0.0).mean())

    def _from_inside(self, size: int, generator: np.random.Generator) -> Array:
        """Points of the linear part that meet the limits."""
        inside = np.zeros((0, self.curved.linear.d))
        while len(inside) < size:
            number = int(1.1 * (size - len(inside)) / self._share_inside) + 8
            X = self.curved.linear.sample(number, generator)
            inside = np.concatenate([inside, X[self.curved.contains(X, 0.0)]])
        return inside[:size]


def sampler_of(domain: Domain, number: int = KNOWN) -> Sampler | CurvedSampler:
    """What draws points of a domain that is no union, as if all coordinates applied everywhere.

    Args:
        domain: where points lie.
        number: how many points of it are known, where all limits are linear.

    Returns:
        The sampler.
    """
    if domain.curved is not None:
        return CurvedSampler(domain.curved)
    return Sampler(domain.unconditional, number)


def _walked(curved: Curved, X: Array, steps: int, generator: np.random.Generator) -> Array:
    """Where random steps lead from points X (R, d) inside, one value after the other."""
    linear = curved.linear
    free = linear.continuous & (linear.high > linear.low) & curved.linked
    blocks = [block for block in linear.discrete if curved.linked[block.columns].any()]
    # Known points say how far it goes, but they may be few.
    ways = np.concatenate([polytope.spanning(curved.points * free), 0.05 * np.eye(linear.d)[free]])
    ways = linear.in_plane(ways)
    for _ in range(steps):
        if free.any():
            X = _along_lines(curved, X, ways, generator)
        for block in blocks:
            moved = X.copy()
            moved[:, block.columns] = block.draw(len(X), generator)
            if linear.conditions is not None:
                begun = linear.conditions.begun(X, moved, generator)
                moved = linear.conditions.held(begun)
            X = np.where(_inside(curved, moved)[:, None], moved, X)
    return X


def _along_lines(curved: Curved, X: Array, ways: Array, generator: np.random.Generator) -> Array:
    """From points X (R, d) to random places on lines through them.

    A step of hit-and-run, with lines cut shorter where a limit is not met, as in slice sampling
    (Neal 2003, section 4.1).
    """
    linear = curved.linear
    direction = linear.moving(generator.standard_normal((len(X), len(ways))) @ ways, X)
    behind, ahead = polytope.reach(X, direction, linear.low, linear.high, linear.A, linear.b)
    Y, rows = X.copy(), np.arange(len(X))
    for _ in range(_SHORTENED):
        step = behind[rows] + (ahead - behind)[rows] * generator.random(len(rows))
        moved = X[rows] + step[:, None] * direction[rows]
        moved = np.minimum(np.maximum(moved, linear.low), linear.high)
        inside = curved.contains(moved, 0.0)
        Y[rows[inside]] = moved[inside]
        rows, step = rows[~inside], step[~inside]
        ahead[rows] = np.where(step > 0.0, step, ahead[rows])
        behind[rows] = np.where(step > 0.0, behind[rows], step)
    return Y


def _inside(curved: Curved, X: Array) -> NDArray[np.bool_]:
    """Which of some points (R, d) are in the linear part and meet the limits: (R,)."""
    inside = curved.linear.contains(X, polytope.SLACK)
    rows = np.flatnonzero(inside)
    inside[rows] = curved.contains(X[rows], 0.0)
    return inside
