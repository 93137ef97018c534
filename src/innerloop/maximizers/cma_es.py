"""Covariance matrix adaptation: an evolution strategy, on the `cmaes` package (section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cmaes import CMA  # type: ignore[import-untyped]

from innerloop.domain.domain import Domain
from innerloop.errors import InputError
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.maximizer import Maximizer
from innerloop.maximizers.objective import Solution, best_first
from innerloop.maximizers.query_sets import FreeCoordinates, best_of, fill_up
from innerloop.types import Array

# With fewer there is nothing to adapt a covariance to.
_SMALLEST_POPULATION = 4
_KEPT = 8


@dataclass(frozen=True)
class CMAES(Maximizer):
    """Covariance matrix adaptation evolution strategy over flattened query sets (Hansen 2016).

    Needs values only. The first population are the starts. The best sets seen and the centre of the
    search are valued together in one last call, so that with fresh draws at every evaluation a
    lucky one wins nothing.

    Args:
        population: query sets valued at once.
        sigma: initial spread of the search in the unit cube.
        steps: populations at most.
    """

    population: int = 64
    sigma: float = 0.5
    steps: int = 200

    starts = (64, 64)  # as in the paper's own runs
    draws, fresh_draws = 128, True

    def __post_init__(self) -> None:
        if self.population < _SMALLEST_POPULATION:
            raise InputError(
                f"population must be {_SMALLEST_POPULATION} or more, got {self.population}"
            )

    def __call__(
        self,
        allowance: Allowance,
        starts: Array,
        domain: Domain,
        generator: np.random.Generator,
    ) -> Solution:
        """Maximize from `starts` until the search has settled or the allowance is spent."""
        space = FreeCoordinates(domain, starts.shape[1])
        X = fill_up(starts, self.population, domain, generator)
        if space.size == 0:
            with allowance.spending(1) as objective:
                return Solution(X[:1], objective.value(X[:1]))
        flat = space.flatten(X)
        seed = int(generator.integers(2**32))
        search = CMA(flat.mean(axis=0), self.sigma, seed=seed, population_size=self.population)
        best = Solution(X[:0], np.zeros(0))
        for _ in range(self.steps):
            room = _room(allowance, self.population, is_first=best.value.size == 0)
            if room == 0:
                break
            with allowance.spending(room) as objective:
                value = objective.value(X[:room])
            best = best_of(_KEPT, best, (X[:room], value))
            if room < self.population:
                break
            # A search that has collapsed divides by next to nothing; it is told to stop then.
            with np.errstate(all="ignore"):
                search.tell(list(zip(flat, _losses(value), strict=True)))
                if search.should_stop() or not np.isfinite(search.mean).all():
                    break
                members = np.array([search.ask() for _ in range(self.population)])
            # Bounds and inequalities by projection; the search learns where its members ended up.
            X = space.query_sets(members)
            flat = space.flatten(X)
        if not np.isfinite(search.mean).all():
            return best
        finalists = np.concatenate([best.X, space.query_sets(search.mean[None])])
        if allowance.affordable(len(finalists)) < len(finalists):
            return best
        with allowance.spending(len(finalists)) as objective:
            return best_first(finalists, objective.value(finalists))


def _room(allowance: Allowance, population: int, is_first: bool) -> int:
    """How much of a population may be valued, with the last call held back if that can be."""
    last_call = _KEPT + 1
    room = max(0, allowance.affordable(population + last_call) - last_call)
    return max(1, allowance.affordable(population)) if is_first and room == 0 else room


def _losses(value: Array) -> Array:
    """What CMA-ES minimizes. It only compares, so sets without a finite value just come last."""
    finite = np.isfinite(value)
    worst = value[finite].min() if finite.any() else 0.0
    return -np.where(finite, value, worst - 1.0 - abs(worst))
