"""What trials have come to, as arrays to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.optimizer.trials import Trial
from innerloop.types import Array


class Results(NamedTuple):
    """What trials have come to.

    Args:
        X: (n, d), encoded points of complete trials.
        values: (n,), what they were told.
        noise_sd: (n,), standard deviations of the noise, NaN where not given.
        failed: (f, d), encoded points of trials that failed.
        groups: (d,), which parameter each column belongs to, if some have several.
        reach: (d,), how far apart values are along each column; None if all are continuous.
        ids: (n,), those of the trials, if they have any.
        outside: (n,), which of them are not in the space; None if all are.
    """

    X: Array
    values: Array
    noise_sd: Array
    failed: Array
    groups: NDArray[np.intp] | None = None
    reach: Array | None = None
    ids: NDArray[np.intp] | None = None
    outside: NDArray[np.bool_] | None = None

    def some(self, most: int) -> Results:
        """So many of them at most, always the same ones."""
        n = len(self.values)
        if n <= most:
            return self
        return self.rows(np.random.default_rng(0).choice(n, most, replace=False))

    def rows(self, rows: NDArray[Any]) -> Results:
        """Some of them, by number or by a mask."""
        return self._replace(
            X=self.X[rows],
            values=self.values[rows],
            noise_sd=self.noise_sd[rows],
            ids=None if self.ids is None else self.ids[rows],
            outside=None if self.outside is None else self.outside[rows],
        )


def outside(trials: Sequence[Trial]) -> NDArray[np.bool_] | None:
    """Which of n trials are not in the space.

    Args:
        trials: n of them.

    Returns:
        A mask (n,); None if all are.
    """
    mask = np.array([trial.outside is not None for trial in trials], dtype=bool)
    return mask if mask.any() else None
