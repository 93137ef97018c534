"""All points of a domain that has no continuous coordinates, if they are few."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from innerloop.domain.conditions import Conditions
from innerloop.domain.discrete import Discrete, Ordinal
from innerloop.domain.domain import Domain
from innerloop.types import Array


def everything(domain: Domain, limit: int) -> Array | None:
    """All points of a domain, in order.

    Args:
        domain: whose points.
        limit: how many there may be, before limits that are not linear.

    Returns:
        Points (N, d); None if they are, or might be, more than the limit.
    """
    if (domain.continuous & (domain.high > domain.low)).any():
        return None
    levels = None if domain.combinations is None else domain.combinations.levels
    columns = [] if levels is None else levels.columns.tolist()
    later = () if domain.conditions is None else domain.conditions.blocks
    first = [block for block in domain.discrete if block not in later]
    free = [block for block in first if block.columns.start not in columns]
    number = math.prod(block.count for block in free)
    linked = np.zeros((1, 0)) if levels is None else levels.everything(limit // number)
    if linked is None or number * len(linked) > limit:
        return None
    grid = np.indices([block.count for block in free]).reshape(len(free), number)
    chosen = dict(zip(columns, np.repeat(linked.T, number, axis=1), strict=True))
    for block, value in zip(free, grid, strict=True):
        chosen[block.columns.start] = np.tile(value, len(linked))
    values = [chosen[block.columns.start].astype(np.int64) for block in first]
    X = np.tile(domain.low, (number * len(linked), 1))
    for block, value in zip(first, values, strict=True):
        X[:, block.columns] = _places(block, value)
    X = X[np.lexsort(values[::-1])] if values else X
    if domain.conditions is not None:
        branched = _branched(X, domain, domain.conditions, limit)
        if branched is None:
            return None
        X = branched
    is_whole = domain.curved is None and domain.sparse is None
    return X if is_whole else X[domain.contains(X, 0.0)]


def _branched(X: Array, domain: Domain, conditions: Conditions, limit: int) -> Array | None:
    """Points X (N, d) with every value of what applies there; None if they are too many."""
    for each in conditions.each:
        if each.block is None or each.block not in domain.discrete:
            continue  # it is held at a value
        applies = each.applies(X)
        number = np.where(applies, each.block.count, 1)
        if number.sum() > limit:
            return None
        value = np.concatenate([np.arange(n) for n in number])
        X, applies = np.repeat(X, number, axis=0), np.repeat(applies, number)
        X[:, each.columns] = np.where(applies[:, None], _places(each.block, value), each.rest)
    return X


def _places(block: Discrete, value: NDArray[np.int64]) -> Array:
    """The coordinates of values by their number: (N,) -> (N, width)."""
    if isinstance(block, Ordinal):
        return block.position(value)[:, None]
    return np.asarray(np.eye(block.count)[value])
