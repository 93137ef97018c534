"""What results have taught, as the choice of points asks for it: of one outcome, or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from innerloop.acquisition.boxes import non_dominated
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.outcomes import FeasibleImprovement, HypervolumeImprovement
from innerloop.acquisition.utilities import ExpectedImprovement
from innerloop.acquisition.utility import Utility
from innerloop.domain.domain import Domain
from innerloop.optimizer.acquisitions import WORTHWHILE, acquisition
from innerloop.optimizer.goals import Goals, OutcomeConstraint
from innerloop.optimizer.learned import Learned
from innerloop.optimizer.results import Results
from innerloop.optimizer.settings import Settings
from innerloop.optimizer.trials import Prediction, Trial
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.types import Array

# Without a reference, so many of the asks look at all outcomes, the others at the known front; and
# how far below these something is still of interest, as a share of their range.
_LOOK_AT_ALL, _MARGIN = 0.5, 0.1


class Model(Protocol):
    """What is known, and what would be gained."""

    @property
    def failed(self) -> Array:
        """Encoded points of trials that failed: (f, d)."""

    @property
    def succeeded(self) -> Array:
        """Encoded points of trials that have values: (n, d)."""

    def question(
        self, settings: Settings, domain: Domain, generator: np.random.Generator
    ) -> tuple[Posterior | Sequence[Posterior], Utility | Lookahead]:
        """The beliefs and the utility that the next points are to maximize."""

    def predictions(
        self, X: Array, *, is_sharp: bool = False
    ) -> list[Prediction | dict[str, Prediction]]:
        """What is expected at points (N, d); is_sharp: where its beliefs lack nothing."""

    def sharper(self, X: Array) -> Model | None:
        """The same, with what its beliefs lack near points (q, d); None if they lack nothing."""


@dataclass(frozen=True, eq=False)
class OneOutcome:
    """The results of one objective, and what they teach."""

    results: Results
    learned: Learned

    @property
    def failed(self) -> Array:
        """Encoded points of trials that failed: (f, d)."""
        return self.results.failed

    @property
    def succeeded(self) -> Array:
        """Encoded points of trials that have values: (n, d)."""
        return self.results.X

    def question(
        self, settings: Settings, domain: Domain, generator: np.random.Generator
    ) -> tuple[Posterior, Utility | Lookahead]:
        """The belief and the acquisition function of the settings."""
        posterior = self.learned.posterior(self.results)
        noisy = self.learned.is_noisy(self.results)
        utility = acquisition(
            settings.acquisition,
            posterior,
            noisy=noisy,
            domain=domain,
            generator=generator,
            inside=self.learned.inside(self.results),
        )
        return posterior, utility

    def predictions(
        self, X: Array, *, is_sharp: bool = False
    ) -> list[Prediction | dict[str, Prediction]]:
        """What is expected at points (N, d); see `Model`."""
        return list(self.learned.predictions(self.results, X, is_sharp=is_sharp))

    def sharper(self, X: Array) -> OneOutcome | None:
        """The same, with what its belief lacks near points (q, d); None if it lacks nothing."""
        learned = self.learned.sharper(self.results, X)
        return None if learned is None else replace(self, learned=learned)


@dataclass(frozen=True, eq=False)
class SeveralOutcomes:
    """Results of all outcomes, each with what it teaches.

    Args:
        goals: what is wanted of them.
        trials: all trials.
        rows: of each outcome, the ids of the trials that have it.
        results: of each outcome, those trials.
        learned: of each outcome, what they teach.
    """

    goals: Goals
    trials: tuple[Trial, ...]
    rows: Mapping[str, tuple[int, ...]]
    results: Mapping[str, Results]
    learned: Mapping[str, Learned]

    @property
    def failed(self) -> Array:
        """Encoded points of trials that failed: (f, d)."""
        return self.results[self.goals.names[0]].failed

    @property
    def succeeded(self) -> Array:
        """Encoded points of trials that have the first outcome and have not failed: (n, d)."""
        name = self.goals.names[0]
        failed = {trial.id for trial in self.trials if trial.state == "failed"}
        kept = [i for i, id in enumerate(self.rows[name]) if id not in failed]
        return self.results[name].X[kept]

    def question(
        self, settings: Settings, domain: Domain, generator: np.random.Generator
    ) -> tuple[Sequence[Posterior], Utility]:
        """Beliefs over all outcomes, and what is gained by them.

        The chance that something is feasible, as long as nothing is; then improvement of the one
        objective, or of the hypervolume of several.
        """
        limits = [(each, each.limit(self.trials)) for each in self.goals.constraints]
        within = [self._slack(each, limit) for each, limit in limits if limit is not None]
        wanted = [self._posterior(name) for name in self.goals.objectives]
        complete = [t for t in self.trials if t.state == "complete" and t.outside is None]
        feasible = [t.id for t in complete if self.goals.feasible(t, self.trials)]
        if within and not feasible:
            return [wanted[0], *within], FeasibleImprovement(None, len(within))
        values, noisy = self._fitted(feasible), self._is_noisy
        if len(wanted) == 1 and within:
            best = float(wanted[0].fitted.min() if noisy else values.max()) + WORTHWHILE
            return [*wanted, *within], FeasibleImprovement(best, len(within), noisy=noisy)
        if len(wanted) == 1:  # limits are relative to a trial that has no value yet
            return wanted, ExpectedImprovement(float(wanted[0].fitted.max()) + WORTHWHILE)
        reference = self._reference(values, generator)
        known = values[:0] if noisy else values
        return [*wanted, *within], HypervolumeImprovement(
            known, reference, len(within), noisy=noisy
        )

    def predictions(
        self, X: Array, *, is_sharp: bool = False
    ) -> list[Prediction | dict[str, Prediction]]:
        """What is expected of every outcome at points (N, d); see `Model`."""
        by_name = {
            name: self.learned[name].predictions(self.results[name], X) for name in self.goals.names
        }
        return [{name: each[i] for name, each in by_name.items()} for i in range(len(X))]

    def sharper(self, X: Array) -> SeveralOutcomes | None:
        """The same, with what its beliefs lack near points (q, d); None if they lack nothing."""
        found = {name: each.sharper(self.results[name], X) for name, each in self.learned.items()}
        better = {name: each for name, each in found.items() if each is not None}
        return replace(self, learned={**self.learned, **better}) if better else None

    def chance_of_feasibility(self, X: Array) -> Array:
        """The chance that outcomes at points (N, d) are within all limits: (N,)."""
        chance = np.ones(len(X))
        for each in self.goals.constraints:
            limit = each.limit(self.trials)
            if limit is not None:
                mean, variance = self._posterior(each.name).marginals(X)
                within = (mean - self._seen(each.name, limit)) / np.sqrt(
                    np.maximum(variance, 1e-300)
                )
                chance *= ndtr(within)
        return chance

    @property
    def _is_noisy(self) -> bool:
        """Whether noise in some outcome keeps the best so far from being known."""
        return any(each.is_noisy(self.results[name]) for name, each in self.learned.items())

    def _posterior(self, name: str) -> Posterior:
        return self.learned[name].posterior(self.results[name])

    def _seen(self, name: str, value: float) -> float:
        """A value of an outcome as the model sees it: larger is better, limits are met above."""
        return float(self.learned[name].outputs.forward(np.array([value]))[0])

    def _slack(self, constraint: OutcomeConstraint, limit: float) -> Posterior:
        """The belief over an outcome beyond its limit, as the model scales it: met up to 0."""
        return self._posterior(constraint.name).subtracted_from(self._seen(constraint.name, limit))

    def _fitted(self, ids: Sequence[int]) -> Array:
        """Objectives of trials as the model sees them, without noise: (n, M)."""
        columns = []
        for name in self.goals.objectives:
            means = self.learned[name].fitted(self.results[name])
            fitted = dict(zip(self.rows[name], means, strict=True))
            columns.append([fitted[id] for id in ids])
        return np.array(columns).T.reshape(-1, len(self.goals.objectives))

    def _reference(self, known: Array, generator: np.random.Generator) -> Array:
        """The worst outcome of interest, as the model sees it: (M,).

        As it was given. Else by chance below all outcomes, or below the front of the feasible ones
        (n, M): with the former alone, most trials go to the ends of a front that is far from where
        it could be; with the latter alone, it never grows wider.
        """
        if self.goals.reference is not None:
            given = self.goals.reference
            return np.array([self._seen(name, given[name]) for name in self.goals.objectives])
        columns = [self._posterior(name).fitted for name in self.goals.objectives]
        if generator.random() > _LOOK_AT_ALL:
            columns = list(known[non_dominated(known)].T)
        # Where there is one value, a standard deviation of the outcome is its range.
        return np.array([each.min() - _MARGIN * (np.ptp(each) or 1.0) for each in columns])
