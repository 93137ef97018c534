"""Which points to try next, given the results and the trials that are still running.

First points of a Sobol sequence; once there are results, batches that maximize the acquisition
function over the space as it is, with its integers, categories and constraints.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from innerloop.acquisition.utility import Utility
from innerloop.batches.chance import Chance
from innerloop.batches.problem import near
from innerloop.batches.suggest import Batch, suggest
from innerloop.domain.domain import Domain
from innerloop.maximizers.budget import Budget
from innerloop.optimizer.models import Model
from innerloop.optimizer.settings import Settings
from innerloop.optimizer.trials import (
    Certificate,
    Prediction,
    Trial,
    failed_for_a_while,
    point_of,
)
from innerloop.optimizer.trials import tried as tried_points
from innerloop.space.space import Space
from innerloop.types import Array

# Where trials may fail, gains count as often as so many trials would succeed: one of five fails
# that look for the edge of what works.
CAUTION = 4.0
_SHORTEST_SEARCH = 1e-3
# How many points are drawn to find a new one in place of one that was tried before.
_DRAWN_AT_ONCE, _DRAWS = 64, 16
# Of many results the belief is given a part. So often at most, what it lacks near the points found
# is added, and they are searched for anew.
_SHARPENED = 4


@dataclass(frozen=True, eq=False)
class Proposal:
    """Points to try, with predictions where there are any.

    Args:
        params: q times values by name.
        X: (q, d), their encoding.
        predictions: one for each; None for points of the initial design.
        certificate: of those that maximize the acquisition function.
        drawn: how far the Sobol sequence has been used.
    """

    params: list[dict[str, Any]]
    X: Array
    predictions: list[Prediction | dict[str, Prediction] | None]
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
                    prediction=None if isinstance(prediction, dict) else prediction,
                    predictions=prediction if isinstance(prediction, dict) else None,
                    certificate=None if prediction is None else self.certificate,
                    asked=now,
                ),
                x,
            )
            for i, (params, x, prediction) in enumerate(
                zip(self.params, self.X, self.predictions, strict=True)
            )
        ]


def designed(number: int, settings: Settings, drawn: int, told: int) -> int:
    """How many of the next points are of the initial design: all, while nothing was told.

    Args:
        number: how many points are asked for.
        settings: which say how many the initial design has.
        drawn: how far the Sobol sequence has been used.
        told: how many trials were told a value.

    Returns:
        How many.
    """
    if told == 0:
        return number
    return min(number, max(settings.initial - max(drawn, told), 0))


def propose(
    number: int,
    *,
    space: Space,
    settings: Settings,
    domain: Domain,
    fixed: Mapping[str, Any] | None = None,
    everything: Array | None,
    drawn: int,
    told: int,
    model: Model | None,
    tried: Sequence[Trial],
    pending: Array,
    started: float,
) -> Proposal:
    """The next points of the domain.

    Args:
        number: how many.
        space: where params are encoded.
        settings: how points are chosen.
        domain: where they may lie.
        fixed: values of parameters that are held there, by name.
        everything: all points of the space (N, d), if they are few.
        drawn: how far the Sobol sequence has been used.
        told: how many results there are.
        model: what they teach; not needed while all points are of the initial design.
        tried: trials whose points are not new.
        pending: (p, d), points that are being evaluated.
        started: when the ask began, by time.perf_counter.

    Returns:
        Points, with what is expected of them.
    """
    generator = np.random.default_rng([settings.seed, len(tried)])
    candidates = None if everything is None else everything[domain.contains(everything)]
    decode = partial(space.decode, fixed=fixed)
    points = _NewPoints(space, decode, domain, candidates, generator, tried_points(tried))
    X, first = np.zeros((0, space.d)), number
    if model is not None:
        first = designed(number, settings, drawn, told)
    if first:
        X = points.of(domain.project(space.spread(drawn + first, settings.seed)[drawn:]))
    predictions: list[Prediction | dict[str, Prediction] | None] = [None] * first
    certificate = None
    if model is not None and first < number:
        choice = None if candidates is None else _without(candidates, model.failed)
        waiting = np.concatenate([pending, X])
        search = _Search(
            number - first if choice is None else min(number - first, len(choice)),
            settings,
            domain,
            choice,
            waiting if len(waiting) else None,
            tried,
            generator,
            started,
        )
        batch, better = search.by(model)(), model
        for _ in range(_SHARPENED):
            sharper = better.sharper(batch.X)
            if sharper is None:
                break
            batch, better = search.by(sharper)(), sharper
        # A space with fewer points than were asked for repeats itself.
        chosen = points.of(np.resize(batch.X, (number - first, space.d)))
        predictions += better.predictions(chosen, is_sharp=True)
        X = np.concatenate([X, chosen])
        seconds = time.perf_counter() - started
        certificate = Certificate(batch.value, batch.upper_bound, batch.fraction, seconds)
    params = [decode(x) for x in X]
    return Proposal(params, X, predictions, certificate, drawn + first)


class _Search(NamedTuple):
    """A search for the next points, whatever model is asked.

    number: how many points. domain, choice: where they may lie, or what they are chosen from.
    waiting: (p, d), points that are pending, if there are any. tried: trials. started: when the
    ask began.
    """

    number: int
    settings: Settings
    domain: Domain
    choice: Array | None
    waiting: Array | None
    tried: Sequence[Trial]
    generator: np.random.Generator
    started: float

    def by(self, model: Model) -> Callable[[], Batch]:
        """The search by a model."""
        settings, choice = self.settings, self.choice
        posterior, utility = model.question(settings, self.domain, self.generator)
        # Only gains of single queries, known in log space, can be weighed.
        can_weigh = isinstance(utility, Utility) and utility.has_log_gain
        weighed = can_weigh and len(model.failed) > 0
        return partial(
            suggest,
            posterior,
            self.number,
            utility,
            way=_way(settings, weighed or choice is not None),
            form=None if weighed else settings.form,
            maximizer=settings.maximizer,
            pending=self.waiting,
            candidates=choice,
            domain=self.domain if choice is None else None,
            budget=_budget(settings, self.started),
            chance=_chance(model, self.tried) if weighed else None,
            seed=self.generator,
        )


def _chance(model: Model, trials: Sequence[Trial]) -> Chance:
    """The chance of success that gains are weighed by."""
    over = failed_for_a_while(trials)
    return Chance.of(model.succeeded, model.failed, for_a_while=over).in_a_row(CAUTION)


def _way(settings: Settings, one_by_one: bool) -> str | None:
    """How batches are filled; one query after the other, where all at once will not do."""
    return "greedy" if one_by_one and settings.way == "joint" else settings.way


def _budget(settings: Settings, started: float) -> Budget | None:
    """What is left of the time for an ask."""
    if settings.seconds is None:
        return None
    spent = time.perf_counter() - started
    return Budget(seconds=max(settings.seconds - spent, _SHORTEST_SEARCH))


class _NewPoints:
    """Points as they will be evaluated, all different; remembers which are no longer new."""

    def __init__(
        self,
        space: Space,
        decode: Callable[[Array], dict[str, Any]],
        domain: Domain,
        candidates: Array | None,
        generator: np.random.Generator,
        tried: set[tuple[Any, ...]],
    ) -> None:
        self._space, self._decode = space, decode
        self._domain, self._candidates = domain, candidates
        self._generator, self._tried = generator, tried

    def of(self, X: Array) -> Array:
        """Points (q, d) with new ones for those tried before."""
        chosen = []
        for x in X:
            params = self._decode(x)
            if point_of(params) in self._tried:
                params = self._untried() or params
            self._tried.add(point_of(params))
            chosen.append(self._space.encode(params))
        return np.array(chosen)

    def _untried(self) -> dict[str, Any] | None:
        """Some point that was not tried; None if there seems to be none left."""
        if self._candidates is not None:
            return self._first_untried(self._generator.permutation(self._candidates))
        for _ in range(_DRAWS):
            found = self._first_untried(self._domain.sample(_DRAWN_AT_ONCE, self._generator))
            if found is not None:
                return found
        return None

    def _first_untried(self, pool: Array) -> dict[str, Any] | None:
        """The first of some points (N, d) that was not tried, as params; None if all were."""
        decoded = (self._decode(x) for x in pool)
        return next((params for params in decoded if point_of(params) not in self._tried), None)


def _without(candidates: Array, failed: Array) -> Array:
    """Candidates (N, d) that have not failed; all of them, if all have."""
    new = ~near(candidates, failed)
    return candidates[new] if new.any() else candidates
