"""What filling a batch needs to know, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from innerloop.acquisition.draws import reflected_sobol_normal
from innerloop.acquisition.joint import Lookahead
from innerloop.acquisition.utilities import ProbabilityOfImprovement
from innerloop.acquisition.utility import Utility
from innerloop.batches.chance import Chance
from innerloop.checks import Array, count
from innerloop.errors import InputError
from innerloop.maximizers.adam import Adam
from innerloop.maximizers.budget import Allowance, Meter
from innerloop.maximizers.domain import Domain
from innerloop.maximizers.exchange import Exchange
from innerloop.maximizers.lbfgs import LBFGS
from innerloop.maximizers.objective import Maximizer, Solution
from innerloop.surrogate.gaussian_process import Posterior

# Starts per greedy round and for a whole batch, and the pools they are drawn from; those of
# Adam and CMA-ES are the paper's.
_STARTS = {"LBFGS": (8, 16), "Adam": (32, 64), "CMAES": (64, 64)}
_OTHER_STARTS = (16, 64)
_CENTERS = 8
# Numbers of draws. Some maximizers see new ones at every evaluation (section 4).
_FRESH_DRAWS = {"Adam": 128, "CMAES": 128}
_FIXED_DRAWS = {"RandomSearch": 1024, "SuccessiveHalving": 1024}
_STATES = 64
_DRAWS = 256
_LOOKAHEAD_DRAWS = 32
# Queries closer than this to one another, in every coordinate, are the same query.
NEAR = 1e-6
_MANY_COMPARISONS = 10**7


@dataclass(frozen=True)
class Settings:
    """What `suggest` has settled on: form, number of draws, and whether they change.

    refine: by joint ascent. ascends: with the incremental form and quasi-Newton ascent as it is.
    """

    form: str
    draws: int
    fresh: bool
    refine: bool
    ascends: bool

    def thorough(self, q: int) -> bool:
        """Whether to look for local maxima first, which is the best way to a single query too."""
        return self.refine or (q == 1 and self.ascends)

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
        if draws is not None:
            count("draws", draws)
        if form not in (None, "incremental", "joint"):
            raise InputError(f"form must be 'incremental' or 'joint', got {form!r}")
        closed = isinstance(utility, Utility) and parallelism == "greedy"
        if form == "incremental" and not closed:
            raise InputError(
                "the incremental form needs parallelism='greedy' and a myopic maximal utility"
            )
        incremental = form == "incremental" or (form is None and closed)
        ascends = incremental and maximizer == LBFGS()
        # Joint ascent climbs the joint form, which relaxes the probability of improvement.
        can_refine = ascends and not isinstance(utility, ProbabilityOfImprovement)
        if refine and not can_refine:
            raise InputError(
                "refine=True goes with the incremental form, the maximizer 'lbfgs' as it is, and "
                "any myopic maximal utility but the probability of improvement"
            )
        refined = can_refine if refine is None else refine
        if incremental:
            return Settings("incremental", draws or _STATES, False, refined, ascends)
        table = {**_FRESH_DRAWS, **_FIXED_DRAWS} if isinstance(utility, Utility) else {}
        default = _DRAWS if isinstance(utility, Utility) else _LOOKAHEAD_DRAWS
        return Settings(
            "joint",
            draws or of_kind(table, maximizer, default),
            of_kind(_FRESH_DRAWS, maximizer, 0) > 0,
            False,
            False,
        )


T = TypeVar("T")


def of_kind(table: dict[str, T], maximizer: Maximizer, default: T) -> T:
    """The entry of a table for the class of a maximizer, or for one that it is derived from."""
    names = [kind.__name__ for kind in type(maximizer).__mro__]
    return next((table[name] for name in names if name in table), default)


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
    chance: Chance | None = None

    @property
    def starts_from_a_value(self) -> bool:
        """Whether the first query's gain is a difference, not the whole utility of a batch."""
        if not isinstance(self.utility, Utility):
            return False
        return bool(np.isfinite(self.utility.empty)) or len(self.pending) > 0

    @property
    def taken(self) -> Array:
        """Queries that need not be made again: observed, pending or failed ones, (t, d)."""
        failed = self.pending[:0] if self.chance is None else self.chance.failed
        return np.concatenate([self.posterior.X, self.pending, failed])

    def centers(self) -> Array:
        """The best observations by posterior mean: (c, d)."""
        return self.posterior.X[np.argsort(-self.posterior.fitted)[:_CENTERS]]

    def starts(self) -> tuple[int, int]:
        """Numbers of starts per greedy round, and for a whole batch."""
        return of_kind(_STARTS, self.maximizer, _OTHER_STARTS)

    def maximize(self, maximizer: Maximizer, allowance: Allowance, starts: Array) -> Solution:
        """Run a maximizer over the domain; gradients alone do not move discrete coordinates."""
        if self.domain.discrete and isinstance(maximizer, LBFGS | Adam):
            maximizer = Exchange(maximizer)
        return maximizer(allowance, starts, self.domain, self.generator)

    def successes(self, points: Array, states: int) -> NDArray[np.bool_] | None:
        """In which of the states evaluations at points (p, d) succeed, by their chance: (m, p)."""
        if self.chance is None:
            return None
        return self.generator.random((states, len(points))) < np.exp(self.chance.log(points)[0])

    def draw(self, columns: int) -> Array:
        """Base draws (m, columns)."""
        return reflected_sobol_normal(self.settings.draws, columns, self.generator)


def myopic(problem: Problem) -> Utility:
    """The utility of a problem that is known to have a myopic maximal one."""
    if not isinstance(problem.utility, Utility):
        raise InputError(f"{type(problem.utility).__name__} is no myopic maximal utility")
    return problem.utility


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
