"""Query sets whose beliefs are at hand, so that more draws cost no more of them (appendix B.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.shards import in_shards
from innerloop.checks import Array


@dataclass(frozen=True, eq=False)
class PreparedSets:
    """R query sets and how to sum their utility over a range of draws.

    beliefs: (R, ...), what the draws act on; sum_over: (beliefs, first, last) -> (R,), the sum over
    draws first to last - 1; floats_per_set: of a number of draws, the size of the arrays that one
    set then needs; log_unit: totals are in units of exp(log_unit), for sums that would underflow.
    """

    beliefs: Array
    sum_over: Callable[[Array, int, int], Array]
    floats_per_set: Callable[[int], int]
    log_unit: float = 0.0

    def total(self, first: int, last: int) -> Array:
        """Sum of the utility over draws first to last - 1: (R,)."""
        return in_shards(
            lambda beliefs: (self.sum_over(beliefs, first, last), None),
            self.beliefs,
            self.floats_per_set(last - first),
        )[0]

    def keep(self, rows: NDArray[np.intp]) -> PreparedSets:
        """The same for some of the sets, by index."""
        return replace(self, beliefs=self.beliefs[rows])
