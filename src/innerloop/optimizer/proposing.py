"""Which points to try next, given the results and the trials that are still running.

First points of a Sobol sequence; once there are results, batches that maximize the acquisition
function over the space as it is, with its integers, categories and constraints.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from innerloop.batches.chance import Chance
from innerloop.batches.problem import near
from innerloop.checks import Array
from innerloop.maximizers.domain import Domain
from innerloop.optimizer.acquisitions import acquisition
from innerloop.optimizer.learning import Learned, Results
from innerloop.optimizer.settings import Settings
from innerloop.optimizer.trials import Certificate, Prediction, Trial, point_of
from innerloop.optimizer.trials import tried as tried_points
from innerloop.space.space import Space
from innerloop.suggesting import Batch, suggest
from innerloop.surrogate.gaussian_process import Posterior

_SHORTEST_SEARCH = 1e-3
# How many points are drawn to find a new one in place of one that was tried before.
_DRAWN_AT_ONCE, _DRAWS = 64, 16


@dataclass(frozen=True, eq=False)
class Proposal:
    """Points to try: params and their encoding X (q, d), with predictions where there are any.

    certificate: of those that maximize the acquisition function. drawn: how far the Sobol
    sequence has been used.
    """

    params: list[dict[str, Any]]
    X: Array
    predictions: list[Prediction | None]
    certificate: Certificate | None
    drawn: int

    def trials(self, first: int) -> list[tuple[Trial, Array]]:
        """New pending trials, numbered from `first`, with their encoded points."""
        now = time.time()
        return [
            (
                Trial(
                    first + i,
                    params,
                    prediction=prediction,
                    certificate=None if prediction is None else self.certificate,
                    asked=now,
                ),
                x,
            )
            for i, (params, x, prediction) in enumerate(
                zip(self.params, self.X, self.predictions, strict=True)
            )
        ]


def propose(
    number: int,
    *,
    space: Space,
    settings: Settings,
    domain: Domain,
    everything: Array | None,
    drawn: int,
    results: Results,
    learned: Learned | None,
    tried: Sequence[Trial],
    pending: Array,
    started: float,
) -> Proposal:
    """The next points of the domain; `learned` is None as long as there are no results.

    everything: all points of the space (N, d), if they are few. drawn: how far the Sobol sequence
    has been used. started: when the ask began, by time.perf_counter.
    """
    generator = np.random.default_rng([settings.seed, len(tried)])
    request = _Request(space, domain, everything, generator, tried_points(tried))
    left = settings.initial - max(drawn, len(results.values))
    designed = number if learned is None else min(number, max(left, 0))
    X, drawn = request.designed(designed, drawn, settings.seed)
    predictions: list[Prediction | None] = [None] * designed
    certificate = None
    if learned is not None and designed < number:
        posterior = learned.posterior(results)
        batch = request.maximizing(
            number - designed,
            posterior,
            settings,
            noisy=learned.is_noisy(results),
            failed=results.failed,
            pending=np.concatenate([pending, X]),
            started=started,
        )
        # A space with fewer points than were asked for repeats itself.
        chosen = request.new_points(np.resize(batch.X, (number - designed, space.d)))
        predictions += learned.outputs.predictions(*posterior.marginals(chosen))
        X = np.concatenate([X, chosen])
        seconds = time.perf_counter() - started
        certificate = Certificate(batch.value, batch.upper_bound, batch.fraction, seconds)
    return Proposal([space.decode(x) for x in X], X, predictions, certificate, drawn)


class _Request:
    """What one ask is about; remembers which points are no longer new."""

    def __init__(
        self,
        space: Space,
        domain: Domain,
        everything: Array | None,
        generator: np.random.Generator,
        tried: set[tuple[Any, ...]],
    ) -> None:
        self.space, self.domain, self.generator, self.tried = space, domain, generator, tried
        self.candidates = None if everything is None else everything[domain.contains(everything)]

    def designed(self, number: int, drawn: int, seed: int) -> tuple[Array, int]:
        """The next points (number, d) of the Sobol sequence, and how far it has been used."""
        if not number:
            return np.zeros((0, self.space.d)), drawn
        last = drawn + number
        spread = self.domain.project(self.space.spread(last, seed)[drawn:])
        return self.new_points(spread), last

    def maximizing(
        self,
        number: int,
        posterior: Posterior,
        settings: Settings,
        *,
        noisy: bool,
        failed: Array,
        pending: Array,
        started: float,
    ) -> Batch:
        """The batch that maximizes the acquisition function."""
        utility = acquisition(
            settings.acquisition,
            posterior,
            noisy=noisy,
            domain=self.domain,
            generator=self.generator,
        )
        seconds = None
        if settings.seconds is not None:
            spent = time.perf_counter() - started
            seconds = max(settings.seconds - spent, _SHORTEST_SEARCH)
        candidates = None if self.candidates is None else _without(self.candidates, failed)
        few = candidates is not None
        weighed = settings.weighs_gains and len(failed) > 0
        return suggest(
            posterior,
            number if candidates is None else min(number, len(candidates)),
            utility,
            # Only gains of single queries can be weighed.
            form=None if weighed else settings.form,
            parallelism="greedy" if few or weighed else settings.parallelism,
            maximizer=settings.maximizer,
            pending=pending if len(pending) else None,
            candidates=candidates,
            domain=None if few else self.domain,
            seconds=seconds,
            chance=Chance.of(posterior.X, failed) if weighed else None,
            seed=self.generator,
        )

    def new_points(self, X: Array) -> Array:
        """Points (q, d) as they will be evaluated, with new ones for those tried before."""
        chosen = []
        for x in X:
            params = self.space.decode(x)
            if point_of(params) in self.tried:
                params = self._untried() or params
            self.tried.add(point_of(params))
            chosen.append(self.space.encode(params))
        return np.array(chosen)

    def _untried(self) -> dict[str, Any] | None:
        """Some point that was not tried; None if there seems to be none left."""
        if self.candidates is not None:
            pool = self.generator.permutation(self.candidates)
            return self._first_untried(pool)
        for _ in range(_DRAWS):
            found = self._first_untried(self.domain.sample(_DRAWN_AT_ONCE, self.generator))
            if found is not None:
                return found
        return None

    def _first_untried(self, pool: Array) -> dict[str, Any] | None:
        decoded = (self.space.decode(x) for x in pool)
        return next((params for params in decoded if point_of(params) not in self.tried), None)


def _without(candidates: Array, failed: Array) -> Array:
    """Candidates (N, d) that have not failed; all of them, if all have."""
    new = ~near(candidates, failed)
    return candidates[new] if new.any() else candidates
