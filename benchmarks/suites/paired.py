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

import math
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
        """With two digits of the interval's length, and no fewer than two decimals."""
        length = self.high - self.low
        n = max(2, 1 - math.floor(math.log10(length))) if length > 1e-4 else 2
        return f"{self.value:.{n}f} ({self.low:.{n}f} to {self.high:.{n}f})"

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0


def ranks(scores: np.ndarray) -> np.ndarray:
    """Ranks (M, ...) of M methods' scores (M, ...), the least one's being 1; ties share theirs."""
    return rankdata(scores, axis=0)


def for_these_tasks(differences: list[np.ndarray]) -> Mean:
    """The mean of differences by task (seeds,), and its interval over seeds.

    Of a task with a single seed nothing is known of its variation.
    """
    generator = np.random.default_rng(0)
    drawn = sum(_deviations(each, generator) for each in differences) / len(differences)
    return _around(float(np.mean([each.mean() for each in differences])), drawn)


def for_tasks_like_these(differences: list[np.ndarray]) -> Mean:
    """The mean of differences by task (seeds,), and its interval over tasks."""
    means = np.array([each.mean() for each in differences])
    return _around(float(means.mean()), _deviations(means, np.random.default_rng(0)))


def _deviations(values: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """How far means of values (s,) drawn anew are from their mean (RESAMPLES,).

    Drawing s of s values understates the variance by a factor of (s - 1) / s, which is made up for.
    """
    s = len(values)
    drawn = values[generator.integers(s, size=(RESAMPLES, s))].mean(axis=1)
    return (drawn - values.mean()) * math.sqrt(s / max(s - 1, 1))


def _around(mean: float, deviations: np.ndarray) -> Mean:
    low, high = np.quantile(deviations, LEVELS)
    return Mean(mean, mean + float(low), mean + float(high))
