"""Where maximizers start: in proportion to the marginal acquisition, and around good observations.

The marginal value of a point bounds what it can add to any batch (appendix B.2), and costs little.
So a pool of single points is valued first, for up to a tenth of the budget, and starts are drawn
from it without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Allowance
from innerloop.types import Array

_SHARE_OF_BUDGET = 0.1
_NEIGHBOURHOOD = 0.1
_LARGEST_POOL = 2**14


@dataclass(frozen=True, eq=False)
class PointPool:
    """Single points with their marginal values, best first.

    Args:
        points: (N, d).
        value: (N,), marginal values.
        log: whether these are logarithms.
    """

    points: Array
    value: Array
    log: bool

    def best(self, size: int, generator: np.random.Generator) -> Array:
        """The best points, and as many drawn from the others.

        Args:
            size: how many.
            generator: what to draw with.

        Returns:
            Query sets of one point each, (size, 1, d).
        """
        top = (size + 1) // 2
        rest = top + self._draw(len(self.points) - top, size - top, generator, skip=top)
        rows = np.concatenate([np.arange(min(top, len(self.points))), rest])
        starts: Array = self.points[rows][:, None]
        return starts

    def sets(self, size: int, q: int, generator: np.random.Generator) -> Array:
        """Query sets drawn point by point.

        Args:
            size: how many.
            q: queries in each.
            generator: what to draw with.

        Returns:
            Query sets, (size, q, d).
        """
        rows = [self._draw(len(self.points), q, generator) for _ in range(size)]
        short = [np.resize(row, q) for row in rows]  # a pool smaller than q repeats itself
        return self.points[np.array(short)]

    def _draw(
        self, available: int, size: int, generator: np.random.Generator, skip: int = 0
    ) -> NDArray[np.intp]:
        """Indices after `skip`, without replacement, by the value above its minimum: (size,).

        By the Gumbel-top-k trick (Kool et al. 2019).
        """
        if available <= 0 or size <= 0:
            return np.zeros(0, dtype=np.intp)
        value = self.value[skip:]
        if self.log:
            weights = (
                np.exp(value - self.value[0])
                if np.isfinite(self.value[0])
                else np.zeros_like(value)
            )
        else:
            weights = value - value[-1]
        # The largest of log-weights with Gumbel noise are a draw without replacement.
        with np.errstate(divide="ignore", invalid="ignore"):
            keys = np.log(np.nan_to_num(weights) + 1e-300) + generator.gumbel(size=available)
        return np.argsort(-keys)[:size]


def make_pool(
    marginal: Allowance,
    domain: Domain,
    centers: Array,
    extra: Array,
    generator: np.random.Generator,
    *,
    size: int,
    log: bool,
) -> PointPool:
    """Value points spread over the domain, around some centers, and some more.

    Without a budget one shard of `size` points; with one, shard after shard for a tenth of it. If
    nothing is left, they are as they come.

    Args:
        marginal: the objective of single points, and what may be spent on it.
        domain: where points may lie.
        centers: (c, d), around which there are more points.
        extra: (e, d), points that are valued too.
        generator: what to draw with.
        size: points in a shard.
        log: whether the marginal values are logarithms.

    Returns:
        The points with their values.
    """
    allowance = marginal.part(_SHARE_OF_BUDGET) if marginal.is_limited else marginal
    points, values = [], []
    candidates = np.concatenate([extra, scatter(domain, centers, size, generator)])
    if allowance.is_spent:
        return PointPool(candidates, np.zeros(len(candidates)), log)
    while True:
        count = allowance.affordable(len(candidates))
        if count == 0:
            break
        points.append(candidates[:count])
        with allowance.spending(count) as objective:
            values.append(objective.value(candidates[:count, None]))
        if not marginal.is_limited or sum(map(len, points)) >= _LARGEST_POOL:
            break
        candidates = scatter(domain, centers, size, generator)
    pool, value = np.concatenate(points), np.concatenate(values)
    order = np.argsort(-value, kind="stable")
    return PointPool(pool[order], value[order], log)


def scatter(domain: Domain, centers: Array, size: int, generator: np.random.Generator) -> Array:
    """Points spread over the domain, and a quarter as many around some centers.

    A quarter of those that are spread lie on its sides, edges and corners, where maxima often are.

    Args:
        domain: where points may lie.
        centers: (c, d).
        size: how many are spread.
        generator: what to draw with.

    Returns:
        Points, (N, d).
    """
    spread = domain.sample(size, generator)
    outer = spread[: size // 4]
    ends = np.where(generator.random(outer.shape) < 0.5, domain.low, domain.high)
    spread[: len(outer)] = domain.project(
        np.where(generator.random(outer.shape) < 0.5, ends, outer)
    )
    if not len(centers):
        return spread
    chosen = centers[generator.integers(len(centers), size=size // 4)]
    # From very near to far: each neighbour has a reach of its own.
    reach = _NEIGHBOURHOOD * generator.random((len(chosen), 1)) ** 2
    near = chosen + reach * generator.standard_normal(chosen.shape)
    return np.concatenate([spread, domain.project(near)])
