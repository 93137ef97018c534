"""What a maximizer is: a search, and what it wants to be given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.objective import Solution
from innerloop.types import Array


class Maximizer(ABC):
    """A search for query sets of large value; all are called alike, and hold settings only.

    What a maximizer wants of whoever calls it is said by these class attributes. Those that are
    frozen dataclasses can be saved with an `Optimizer`.
    """

    starts: ClassVar[tuple[int, int]] = (16, 64)
    """Starts that it wants: for one query of a greedy batch, and for all queries at once."""
    draws: ClassVar[int] = 256
    """Draws that a Monte Carlo estimate should have."""
    fresh_draws: ClassVar[bool] = False
    """Whether it wants new draws at every evaluation, rather than fixed ones."""
    moves_discrete: ClassVar[bool] = True
    """Whether it moves discrete coordinates; if not, moves of these alternate with its searches."""

    @abstractmethod
    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Maximize from `starts` until converged or the allowance is spent.

        Args:
            allowance: the objective, and what may be spent on it.
            starts: (R, q, d), query sets within the domain, best first.
            domain: where queries may lie.
            generator: for whatever is drawn at random.

        Returns:
            At least one query set, best first, and never one that was not evaluated.
        """
