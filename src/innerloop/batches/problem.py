"""What filling a batch needs to know, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.draws import reflected_sobol_normal
from innerloop.acquisition.joint import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.checks import Array, count
from innerloop.errors import InputError
from innerloop.maximizers.budget import Meter
from innerloop.maximizers.domain import Domain
from innerloop.maximizers.objective import Maximizer
from innerloop.surrogate.gaussian_process import Posterior

# Starts per greedy round and for a whole batch, and the pools they are drawn from; those of
# Adam and CMA-ES are the paper's.
_STARTS = {"LBFGS": (8, 16), "Adam": (32, 64), "CMAES": (64, 64)}
_OTHER_STARTS = (16, 64)
_CENTERS = 8
# Maximizers that see new draws at every evaluation (section 4), and their number.
_STOCHASTIC = {"Adam": 128, "CMAES": 128}
_DETERMINISTIC = {"RandomSearch": 1024, "SuccessiveHalving": 1024}
_STATES = 64
_DRAWS = 256
# Queries closer than this to one another, in every coordinate, are the same query.
NEAR = 1e-6
_MANY_COMPARISONS = 10**7


@dataclass(frozen=True)
class Settings:
    """What `suggest` has settled on: form, number of draws, and whether they change."""

    form: str
    draws: int
    fresh: bool
    refine: bool

    @staticmethod
    def resolve(
        utility: Utility | Lookahead,
        form: str | None,
        parallelism: str,
        maximizer: Maximizer,
        draws: int | None,
        refine: bool | None,
    ) -> Settings:
        """Settings for a combination, or an error that says why it makes no sense."""
        if parallelism not in ("greedy", "joint"):
            raise InputError(f"parallelism must be 'greedy' or 'joint', got {parallelism!r}")
        if form not in (None, "incremental", "joint"):
            raise InputError(f"form must be 'incremental' or 'joint', got {form!r}")
        closed = isinstance(utility, Utility) and parallelism == "greedy"
        if form == "incremental" and not closed:
            raise InputError(
                "the incremental form needs parallelism='greedy' and a myopic maximal utility"
            )
        name = type(maximizer).__name__
        if form == "incremental" or (form is None and closed):
            states = _STATES if draws is None else count("draws", draws)
            by_default = name == "LBFGS"
            return Settings("incremental", states, False, by_default if refine is None else refine)
        default = {**_STOCHASTIC, **_DETERMINISTIC}.get(name, _DRAWS)
        number = default if draws is None else count("draws", draws)
        can_refine = isinstance(utility, Utility) and parallelism == "greedy"
        return Settings("joint", number, name in _STOCHASTIC, bool(refine) and can_refine)


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that filling a batch needs to know."""

    posterior: Posterior
    utility: Utility | Lookahead
    q: int
    pending: Array
    settings: Settings
    maximizer: Maximizer
    domain: Domain
    meter: Meter
    generator: np.random.Generator
    certify: bool

    @property
    def taken(self) -> Array:
        """Queries that need not be made again: the observed and the pending ones, (t, d)."""
        return np.concatenate([self.posterior.X, self.pending])

    def centers(self) -> Array:
        """The best observations by posterior mean: (c, d)."""
        return self.posterior.X[np.argsort(-self.posterior.fitted)[:_CENTERS]]

    def starts(self) -> tuple[int, int]:
        """Numbers of starts per greedy round, and for a whole batch."""
        return _STARTS.get(type(self.maximizer).__name__, _OTHER_STARTS)

    def draw(self, columns: int) -> Array:
        """Base draws (m, columns)."""
        return reflected_sobol_normal(self.settings.draws, columns, self.generator)


@dataclass(frozen=True, eq=False)
class Filled:
    """A batch with its gains and, where there is one, an upper bound on the best batch."""

    X: Array
    value: float
    gains: Array
    upper_bound: float | None


def near(points: Array, taken: Array) -> NDArray[np.bool_]:
    """Which of the points (N, d) coincide with one of `taken` (t, d): (N,)."""
    if points.size * len(taken) < _MANY_COMPARISONS:
        return np.asarray((np.abs(points[:, None] - taken) < NEAR).all(axis=-1).any(axis=-1))
    from scipy.spatial import cKDTree  # slow to import

    distance, _ = cKDTree(taken).query(points, p=np.inf, distance_upper_bound=NEAR)
    return np.isfinite(distance)
