"""Importances as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from innerloop.plot.canvas import axes, ink, legend, text
from innerloop.plot.subject import Source, optimizer_in, outcome_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 20


def importances(source: Source, *, outcome: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how much of what an outcome varies by each parameter is responsible for.

    Bars are total Sobol indices, their darker part what a parameter does alone; see
    `Optimizer.importances`. Of more than 20 parameters those that matter most are shown.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        outcome: which outcome; by default the first objective.
        ax: the axes to draw on; by default those of a new figure.

    Returns:
        The axes; an `InputError` is raised as long as the model has learned too little.
    """
    optimizer = optimizer_in(source)
    name = outcome_in(optimizer, outcome)
    found = optimizer.importances(name)
    ax = axes(ax)
    names = list(found)[:_MOST]
    rows = np.arange(len(names))
    if found.total is not None:
        total = [found.total[each] for each in names]
        ax.barh(rows, total, height=0.7, color="C0", alpha=0.4, label="total")
    first = [found.first[each] for each in names]
    ax.barh(rows, first, height=0.7, color="C0", label="alone")
    ax.errorbar(
        [found[each] for each in names],
        rows,
        xerr=[2.0 * found.errors[each] for each in names],
        fmt="none",
        ecolor=ink(ax),
        elinewidth=1.0,
    )
    ax.set_yticks(rows, [text(each) for each in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel(f"share of the variance of {text(name)}")
    ax.set_title(f"results explained when left out: {found.explained:.0%}", fontsize="small")
    legend(ax, loc="lower right")
    return ax
