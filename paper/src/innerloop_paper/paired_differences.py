"""Paired differences: an estimate from those of several panels, with its confidence interval.

Whatever is measured is a weighted sum of panel means: one panel, the mean of panels, or the slope
of a line through them. Trials of the same number share functions and starting points across
panels, so panels are not independent of each other, but trials of different numbers are. The
interval therefore takes the trial as the unit: what a trial adds to the estimate is summed over
panels first, and only then squared. With the same trials in every panel this is the t interval
over the weighted sums of trials, and in one panel that of a paired t test. Panels are taken as
given: the interval says what other trials of the same panels would show, not other tasks.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from innerloop_paper.arrays import Array

REPRODUCED, NOT_REPRODUCED, UNDECIDED, NOT_RUN = (
    "reproduced",
    "not reproduced",
    "undecided",
    "not run",
)
LEVEL = 0.95

#: By trial, how much better the favoured method was.
Differences = Mapping[int, float]


@dataclass(frozen=True)
class Estimate:
    """A difference and its confidence interval, None if there are no two trials of any panel.

    trials: how many there are with another number; pairs: how many differences over all panels.
    """

    value: float
    interval: tuple[float, float] | None
    trials: int
    pairs: int

    @property
    def verdict(self) -> str:
        """Which side of 0 the interval lies on."""
        if self.interval is None:
            return UNDECIDED
        low, high = self.interval
        return REPRODUCED if low > 0.0 else NOT_REPRODUCED if high < 0.0 else UNDECIDED


def repeated(panels: Sequence[Differences]) -> list[bool]:
    """Which panels to use: those of two trials or more, as one trial says nothing of its error.

    If no panel has two, all that have one: there will be an estimate, but no interval.
    """
    least = 2 if any(len(differences) >= 2 for differences in panels) else 1
    return [len(differences) >= least for differences in panels]


def mean_weights(n: int) -> Array:
    """Weights of the mean of n panels, each counting the same however many trials it has."""
    return np.full(n, 1.0 / n)


def slope_weights(x: Sequence[float], groups: Sequence[Hashable]) -> Array | None:
    """Weights of the least-squares slope along x within groups; None if x is constant in each.

    Every group has an intercept of its own, so that panels missing from some groups do not turn
    a difference between groups into a slope.
    """
    centered = np.array(x, dtype=np.float64)
    for group in set(groups):
        members = [k for k, other in enumerate(groups) if other == group]
        centered[members] -= centered[members].mean()
    square = float(centered @ centered)
    return centered / square if square > 1e-12 else None


def estimate(panels: Sequence[Differences], weights: Array) -> Estimate:
    """The weighted sum of panel means, sum_k w_k mean_k, with an interval that clusters by trial.

    Trial t moves it by psi_t = sum_k w_k (D_kt - mean_k) / sqrt(n_k (n_k - 1)), and its variance
    is sum_t psi_t^2. Degrees of freedom are the harmonic mean of n_k - 1, each panel weighed by
    its share in the variance: n - 1 if all have n trials, and close to that of the panels that
    matter otherwise.
    """
    means = np.array([np.mean(list(differences.values())) for differences in panels])
    value = float(weights @ means)
    numbers = {trial for differences in panels for trial in differences}
    pairs = sum(len(differences) for differences in panels)
    if any(len(differences) < 2 for differences in panels):
        return Estimate(value, None, len(numbers), pairs)
    moved = dict.fromkeys(sorted(numbers), 0.0)
    shares, freedom = np.zeros(len(panels)), np.zeros(len(panels))
    for k, differences in enumerate(panels):
        n = len(differences)
        freedom[k] = n - 1
        for trial, difference in differences.items():
            step = float(weights[k] * (difference - means[k])) / np.sqrt(n * (n - 1))
            moved[trial] += step
            shares[k] += step**2
    half = _quantile(shares, freedom) * float(np.sqrt(sum(step**2 for step in moved.values())))
    return Estimate(value, (value - half, value + half), len(numbers), pairs)


def _quantile(shares: Array, freedom: Array) -> float:
    """The half width of the interval in standard errors."""
    from scipy.stats import t  # slow to import

    total = shares.sum()
    effective = total / (shares / freedom).sum() if total > 0.0 else freedom.min()
    return float(t.ppf(0.5 + LEVEL / 2.0, effective))
