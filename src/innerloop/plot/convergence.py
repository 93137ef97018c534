"""The best so far, trial by trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from innerloop.insight.outcomes import growth
from innerloop.insight.progress import batches_of, best_so_far, told_of
from innerloop.optimizer.optimizer import Optimizer
from innerloop.plot.canvas import axes, ink, legend, mark_failed, matplotlib, text
from innerloop.plot.subject import Source, optimizer_in, outcome_in
from innerloop.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Positive values that differ by more than this factor are drawn on a logarithmic scale.
_FACTOR = 1e3
# More batches than this are not told apart.
_MOST_BATCHES = 60


def convergence(source: Source, *, outcome: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the value of each trial and the best so far; of several objectives, the hypervolume.

    Shaded bands are batches, crosses at the lower end failed trials. The scale is logarithmic where
    positive values differ by more than a factor of 1,000.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        outcome: which outcome; by default the objective, or of several their hypervolume.
        ax: the axes to draw on; by default those of a new figure.

    Returns:
        The axes.
    """
    optimizer = optimizer_in(source)
    if outcome is None and len(optimizer.goals.objectives) > 1:
        ax = axes(ax)
        _grown(ax, optimizer)
    else:
        name = outcome_in(optimizer, outcome)
        ax = axes(ax)
        _values(ax, optimizer, name)
    _batches(ax, optimizer)
    trials = optimizer.trials
    mark_failed(ax, np.array([t.id for t in trials if t.state in ("failed", "expired")], float))
    ax.set_xlabel("trial")
    ax.set_xlim(-0.5 - 0.02 * len(trials), len(trials) - 0.5 + 0.02 * len(trials))
    ax.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True, min_n_ticks=1))
    legend(ax)
    return ax


def _values(ax: Axes, optimizer: Optimizer, name: str) -> None:
    """Values of one outcome, and the best of them if it is an objective; else its limit."""
    trials, goals = optimizer.trials, optimizer.goals
    told = [told_of(trial, name) for trial in trials]
    values = np.array([np.nan if each is None else each for each in told])
    counts = np.array(
        [
            t.outside is None
            and (goals.is_plain or t.state != "complete" or goals.feasible(t, trials))
            for t in trials
        ]
    )
    ids = np.arange(len(trials))
    for chosen, alpha, label in (
        (counts, 0.75, "trials"),
        (~counts, 0.3, "not within all limits"),
    ):
        if np.isfinite(values[chosen]).any():
            ax.plot(
                ids[chosen], values[chosen], "o", ms=4, mew=0, color="C0", alpha=alpha, label=label
            )
    if name in goals.objectives:
        best = best_so_far(trials, goals, name)
        if np.isfinite(best).any():
            ax.step(ids, best, where="post", color="C1", label="best so far")
    for limit in (each.limit(trials) for each in goals.constraints if each.name == name):
        if limit is not None:
            ax.axhline(limit, color=ink(ax), linestyle="--", linewidth=1.0, label="limit")
    ax.set_ylabel(text(name))
    if not np.isfinite(values).any():
        ax.set_yticks([])
    _scale(ax, values[np.isfinite(values)])


def _grown(ax: Axes, optimizer: Optimizer) -> None:
    """The hypervolume after each complete trial."""
    grown = growth(optimizer.goals, optimizer.trials)
    ax.step(grown.ids, grown.volumes, where="post", color="C1", label="hypervolume")
    ax.set_ylabel("hypervolume")


def _scale(ax: Axes, values: Array) -> None:
    """A logarithmic scale where values (n,) need one."""
    if values.size and values.min() > 0.0 and values.max() / values.min() > _FACTOR:
        ax.set_yscale("log")


def _batches(ax: Axes, optimizer: Optimizer) -> None:
    """Every second batch of trials as a shaded band."""
    found = [each for each in batches_of(optimizer.trials) if each.size > 1]
    if len(found) <= _MOST_BATCHES:
        for each in found[::2]:
            ax.axvspan(
                each.first - 0.5, each.first + each.size - 0.5, color=ink(ax), alpha=0.06, lw=0
            )
