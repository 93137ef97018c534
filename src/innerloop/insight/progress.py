"""How trials went, one after the other: values, the best so far, batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from innerloop.optimizer.goals import Goals
from innerloop.optimizer.trials import Certificate, Trial
from innerloop.types import Array


class AskedBatch(NamedTuple):
    """Trials that were asked together: the id of the first, how many, and their certificate."""

    first: int
    size: int
    certificate: Certificate


def batches_of(trials: Iterable[Trial]) -> list[AskedBatch]:
    """Trials that were asked together, where there is a certificate."""
    groups: dict[Certificate, list[int]] = {}
    for trial in trials:
        if trial.certificate is not None:
            # With the seconds that the ask took it is one of a kind; trials that are taken up
            # again keep it.
            groups.setdefault(trial.certificate, []).append(trial.id)
    return [AskedBatch(ids[0], len(ids), key) for key, ids in groups.items()]


def told_of(trial: Trial, name: str) -> float | None:
    """What a trial was told of an outcome by name; nothing if it was forgotten."""
    if trial.state == "forgotten":
        return None
    return trial.value if trial.outcomes is None else trial.outcomes.get(name)


def best_so_far(trials: Sequence[Trial], goals: Goals, name: str) -> Array:
    """The best value of an objective after each trial, NaN before there is any: (n,).

    Trials count that are complete, in the space and within all limits.
    """
    sign = goals.sign_of(name)
    graded = np.full(len(trials), -np.inf)
    for k, trial in enumerate(trials):
        value = told_of(trial, name)
        counts = trial.state == "complete" and trial.outside is None
        if counts and value is not None and (goals.is_plain or goals.feasible(trial, trials)):
            graded[k] = sign * value
    best = np.maximum.accumulate(graded)
    return np.where(np.isfinite(best), sign * best, np.nan)
