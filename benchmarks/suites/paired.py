"""Comparisons of paired scores: ranks, mean differences, and how sure they are.

Differences are arrays by task, one number for each seed. Two kinds of interval are made, both of
the mean over tasks of the mean over seeds, with 95%:

- for these tasks: seeds are drawn anew within each task. It says whether there is a difference on
  the tasks at hand, had they been run with other seeds;
- for tasks like these: tasks are drawn anew, each with all its seeds, which bring their own
  variation with them. It is the wider one, and says whether a difference is to be expected on
  functions that are not among those at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

RESAMPLES = 10_000
LEVELS = (0.025, 0.975)


@dataclass(frozen=True)
class Mean:
    """A mean, with the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0


def ranks(scores: np.ndarray) -> np.ndarray:
    """Ranks (M, ...) of M methods' scores (M, ...), the least one's being 1; ties share theirs."""
    return rankdata(scores, axis=0)


def for_these_tasks(differences: list[np.ndarray]) -> Mean:
    """The mean of differences by task (seeds,), and its interval over seeds.

    Drawing s seeds of s anew understates the variance by a factor of (s - 1) / s, which is made
    up for; of a task with a single seed nothing is known of its variation.
    """
    generator = np.random.default_rng(0)
    total = np.zeros(RESAMPLES)
    for each in differences:
        s = len(each)
        drawn = each[generator.integers(s, size=(RESAMPLES, s))].mean(axis=1) - each.mean()
        total += drawn * np.sqrt(s / max(s - 1, 1))
    mean = float(np.mean([each.mean() for each in differences]))
    low, high = np.quantile(total / len(differences), LEVELS)
    return Mean(mean, mean + float(low), mean + float(high))


def for_tasks_like_these(differences: list[np.ndarray]) -> Mean:
    """The mean of differences by task (seeds,), and its interval over tasks."""
    means = np.array([each.mean() for each in differences])
    picked = np.random.default_rng(0).integers(len(means), size=(RESAMPLES, len(means)))
    low, high = np.quantile(means[picked].mean(axis=1), LEVELS)
    return Mean(float(means.mean()), float(low), float(high))
