"""Several outcomes: a model of each around the same trial, and how the front has grown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from innerloop.acquisition.boxes import above, cut
from innerloop.insight.model import FittedModel
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.models import SeveralOutcomes
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.types import Array


@dataclass(frozen=True, eq=False)
class OutcomesModel:
    """What is known of several outcomes.

    models: by name, each with the same trial as the one through which slices and maps go.
    """

    learned: SeveralOutcomes
    models: dict[str, FittedModel]

    @staticmethod
    def of(optimizer: Optimizer) -> OutcomesModel | None:
        """What has been learned, once there is a complete trial."""
        trials = optimizer.trials
        complete = [t for t in trials if t.state == "complete" and t.outside is None]
        learned = optimizer.several_outcomes if complete else None
        if learned is None:
            return None
        space = optimizer.space
        if optimizer.front:
            center = _balanced(optimizer.goals, optimizer.front)
        else:
            points = space.encode_all([trial.params for trial in complete])
            center = complete[int(np.argmax(learned.chance_of_feasibility(points)))]
        models = {
            name: FittedModel(
                space=space,
                domain=space.domain(),
                outputs=learned.learned[name].outputs,
                posterior=learned.learned[name].posterior(learned.results[name]),
                best=center,
                pending=np.zeros((0, space.d)),
                success=None,
            )
            for name in optimizer.goals.names
        }
        return OutcomesModel(learned, models)

    @property
    def first(self) -> FittedModel:
        """The model of the first objective; points are the same for all."""
        return next(iter(self.models.values()))

    def feasible(self, X: Array) -> Array:
        """The chance that outcomes at points (n, d) are within all limits: (n,)."""
        return self.learned.chance_of_feasibility(X)

    @property
    def ordered(self) -> list[str]:
        """Names of parameters that vary, the first that matters most on average over outcomes."""
        known = [each.importance for each in self.models.values() if each.importance]
        names = list(self.first.parameters)
        return sorted(names, key=lambda name: -sum(shares[name] for shares in known))


class Growth(NamedTuple):
    """The hypervolume after each complete trial (n,), above one reference (M,) in its units."""

    ids: tuple[int, ...]
    volumes: Array
    reference: Array


def growth(goals: Goals, trials: Sequence[Trial]) -> Growth:
    """How the front of several objectives has grown, trial by trial.

    The reference is the one of `Optimizer.hypervolume` now, so that volumes can be compared.
    """
    complete = [trial for trial in trials if trial.state == "complete"]
    with np.errstate(over="ignore", invalid="ignore"):
        reference = goals.reference_of(goals.wanted(goals.front(trials)), goals.wanted(complete))
        boxes, total, volumes = above(reference)[None], 0.0, []
        for trial, point in zip(complete, goals.wanted(complete), strict=True):
            if trial.outside is None and goals.feasible(trial, trials):
                inside = np.minimum(point, boxes[0, :, 1]) - boxes[0, :, 0]
                total += float(np.maximum(inside, 0.0).prod(axis=1).sum())
                boxes = cut(boxes, point[None])
            volumes.append(total)
    ids = tuple(trial.id for trial in complete)
    return Growth(ids, np.array(volumes), reference * goals.signs)


def _balanced(goals: Goals, front: Sequence[Trial]) -> Trial:
    """The trial of a front nearest to the best of all objectives, each as a share of its range."""
    wanted = goals.wanted(front)
    largest = np.abs(wanted).max(axis=0)
    shares = wanted / np.where(largest > 0.0, largest, 1.0)
    spread = np.ptp(shares, axis=0)
    missing = (shares.max(axis=0) - shares) / np.where(spread > 0.0, spread, 1.0)
    return front[int(np.argmin((missing**2).sum(axis=1)))]
