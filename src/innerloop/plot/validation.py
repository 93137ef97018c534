"""Whether the model is to be trusted: its predictions of results that it was not given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr

from innerloop.insight.validation import coverage, leave_one_out
from innerloop.plot.canvas import axes, ink, legend, text
from innerloop.plot.subject import Source, model_of, optimizer_in, outcome_in
from innerloop.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NOMINAL = np.linspace(0.02, 0.98, 49)


def predicted_against_observed(
    source: Source, *, outcome: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what the model expects of each result when it is left out, against what it was.

    Bars are intervals that should hold 95 % of the results; those that do not are in another
    colour. Hyperparameters are those learned from all results.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        outcome: which outcome; by default the first objective.
        ax: the axes to draw on; by default those of a new figure.

    Returns:
        The axes.
    """
    optimizer = optimizer_in(source)
    name = outcome_in(optimizer, outcome)
    found = leave_one_out(model_of(optimizer, name))
    ax = axes(ax)
    held = (found.low <= found.observed) & (found.observed <= found.high)
    low, high = np.minimum(found.low, found.mean), np.maximum(found.high, found.mean)
    for chosen, colour, label in ((held, "C0", "within 95 %"), (~held, "C3", "not")):
        if chosen.any():
            ax.errorbar(
                found.observed[chosen],
                found.mean[chosen],
                yerr=[(found.mean - low)[chosen], (high - found.mean)[chosen]],
                fmt="o",
                markersize=4,
                elinewidth=0.8,
                color=colour,
                ecolor=_faint(colour),
                label=label,
            )
    span = _limits(np.concatenate([found.observed, found.mean]))
    ax.plot(span, span, color=ink(ax), linestyle="--", linewidth=1.0, zorder=0)
    ax.set_xlim(span)
    ax.set_ylim(span)
    ax.set_xlabel(f"observed {text(name)}")
    ax.set_ylabel(f"predicted {text(name)}")
    ax.set_title(f"explained when left out: {max(found.explained, 0.0):.0%}", fontsize="small")
    legend(ax)
    return ax


def calibration(source: Source, *, outcome: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how often intervals hold results that were left out, against how often they should.

    Below the diagonal the model is too sure, above it too unsure. Within the band it may be chance,
    for as many results as there are, with a probability of 95 % at each point.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        outcome: which outcome; by default the first objective.
        ax: the axes to draw on; by default those of a new figure.

    Returns:
        The axes.
    """
    optimizer = optimizer_in(source)
    name = outcome_in(optimizer, outcome)
    scores = leave_one_out(model_of(optimizer, name)).scores
    ax = axes(ax)
    low, high = _by_chance(len(scores), _NOMINAL)
    ax.fill_between(_NOMINAL, low, high, color=ink(ax), alpha=0.12, lw=0, label="chance")
    ax.plot([0.0, 1.0], [0.0, 1.0], color=ink(ax), linestyle="--", linewidth=1.0)
    label = f"{len(scores)} results"
    ax.step(_NOMINAL, coverage(scores, _NOMINAL), where="mid", color="C0", label=label)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.0)
    ax.set_aspect("equal")
    ax.set_xlabel("probability of the interval")
    ax.set_ylabel(f"share of {text(name)} within")
    legend(ax, loc="upper left")
    return ax


def _by_chance(n: int, nominal: Array) -> tuple[Array, Array]:
    """Shares of n results within intervals of given probabilities, 95 % of the time: (k,) each."""
    hits = np.arange(n + 1)
    below = bdtr(hits[:, None], n, nominal)  # the chance of so many or fewer: (n + 1, k)
    low, high = (hits[np.argmax(below >= level, axis=0)] / n for level in (0.025, 0.975))
    return low, high


def _limits(values: Array) -> tuple[float, float]:
    """From a little below the smallest of values (n,) to a little above the largest."""
    low, high = float(values.min()), float(values.max())
    room = 0.05 * (0.5 * high - 0.5 * low) * 2.0 or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _faint(colour: str) -> tuple[str, float]:
    """A colour that lets much through."""
    return colour, 0.4
