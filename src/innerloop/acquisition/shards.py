"""Many query sets with bounded memory: what is computed for one, and how many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from innerloop.types import Array

# Floats that one shard of query sets may keep in flight.
_WORKSPACE = 2**21


def shards(sets: int, floats_per_set: int) -> Iterator[slice]:
    """As many of so many query sets at a time as memory should hold, in order.

    Args:
        sets: how many query sets there are.
        floats_per_set: the size of the arrays that one of them needs.

    Returns:
        Their places, a shard at a time.
    """
    size = max(1, _WORKSPACE // floats_per_set)
    return (slice(first, first + size) for first in range(0, sets, size))


class Rows(Protocol):
    """Arrays and the like, of which some rows can be taken."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice | NDArray[np.intp], /) -> Self: ...


R = TypeVar("R", bound=Rows)


@dataclass(frozen=True, eq=False)
class PreparedSets(Generic[R]):
    """R query sets whose beliefs are at hand: more draws cost no more of them (appendix B.1).

    Args:
        beliefs: R rows, what the draws act on.
        sum_over: (beliefs, first, last) -> (R,), the sum of the utility over draws first to last -
            1.
        floats_per_set: of a number of draws, the size of the arrays that one set then needs.
        log_unit: totals are in units of exp(log_unit), for sums that would underflow.
    """

    beliefs: R
    sum_over: Callable[[R, int, int], Array]
    floats_per_set: Callable[[int], int]
    log_unit: float = 0.0

    def total(self, first: int, last: int) -> Array:
        """Sum of the utility over draws first to last - 1: (R,)."""
        some = shards(len(self.beliefs), self.floats_per_set(last - first))
        return np.concatenate([self.sum_over(self.beliefs[rows], first, last) for rows in some])

    def keep(self, rows: NDArray[np.intp]) -> PreparedSets[R]:
        """The same for some of the sets, by index."""
        return PreparedSets(self.beliefs[rows], self.sum_over, self.floats_per_set, self.log_unit)
