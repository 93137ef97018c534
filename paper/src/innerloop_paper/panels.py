"""Figures 3, 4, 6, 7 and 8: mean and standard error of log10 regret, panel by panel.

A panel uses the trials that all of its methods have, and says how many these are. Greedy methods
are darker; joint ones are dashed. In figure 8 all are greedy, and the incremental form is dashed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from innerloop import InputError
from innerloop_paper.curves import Entrant, collect, curves
from innerloop_paper.errors import NothingToDrawError
from innerloop_paper.places import FIGURES, Place, arrange
from innerloop_paper.store import Result
from innerloop_paper.style import (
    COLORS,
    DASHES,
    LABELS,
    MUTED,
    WIDTH,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_WIDTH, _PANEL_HEIGHT = 2.7, 1.5
# Below this width a legend has two columns, and takes so much more height.
_NARROW, _LONG_LEGEND = 5.0, 0.3


@styled
def draw(results: Iterable[Result], figure: str) -> Figure:
    """One of these figures, from all results that belong to it."""
    if figure not in FIGURES:
        raise InputError(f"figure must be one of {', '.join(FIGURES)}, got {figure!r}")
    places = arrange(collect(results), figure)
    if not places:
        raise NothingToDrawError(f"there are no results for figure {figure}")
    return _drawn(places, forms=figure == "8")


def _drawn(places: Sequence[Place], *, forms: bool) -> Figure:
    """The figure with all places, and one legend above them."""
    rows = sorted({place.row for place in places})
    columns = sorted({place.column for place in places})
    width = min(WIDTH, 0.7 + _PANEL_WIDTH * len(columns))
    legend = 0.95 + (_LONG_LEGEND if width < _NARROW else 0.0)
    figure = new_figure(width, legend + _PANEL_HEIGHT * len(rows))
    same = len({place.runs.panel.evaluations for place in places}) == 1
    grid = figure.subplots(
        *(len(rows), len(columns)), sharey="row", sharex="all" if same else "none", squeeze=False
    )
    for axes in grid.flat:
        axes.set_visible(False)
    for place in places:
        axes = grid[rows.index(place.row), columns.index(place.column)]
        axes.set_visible(True)
        _fill(axes, place, forms=forms)
        beside = [other.column for other in places if other.row == place.row]
        around = [other.row for other in places if other.column == place.column]
        axes.tick_params(
            labelleft=place.column == min(beside),
            labelbottom=not same or place.row == max(around),
        )
        if place.row == min(around):
            axes.set_title(place.title, loc="center")
        if place.column == min(beside):
            axes.set_ylabel(place.name)
    figure.supxlabel("evaluations of the task", fontsize=8.0)
    figure.supylabel(r"$\log_{10}$ regret", fontsize=8.0)
    _legend(figure, places, forms=forms)
    return figure


def _fill(axes: Axes, place: Place, *, forms: bool) -> None:
    """Mean and standard error of every entrant, and what the panel is about in its corners."""
    panel, steps = place.runs.panel, place.runs.evaluations
    found, trials = curves(place.runs, place.entrants)
    for curve in sorted(found, key=lambda curve: _depth(curve.entrant)):
        color = COLORS[curve.entrant.maximizer, curve.entrant.parallelism]
        dashes = _dashes(curve.entrant, forms=forms)
        low, high = curve.mean - curve.error, curve.mean + curve.error
        axes.fill_between(steps, low, high, color=color, alpha=0.16, linewidth=0.0)
        axes.plot(steps, curve.mean, color=color, linestyle=dashes, linewidth=1.2)
    axes.set_xlim(0.0, panel.evaluations)
    axes.grid(axis="y")
    axes.locator_params(axis="x", nbins=5, integer=True)
    axes.locator_params(axis="y", nbins=5)
    clear = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    corner: Any = {"transform": axes.transAxes, "fontsize": 7.0, "bbox": clear}
    axes.text(0.03, 0.04, f"$d = {panel.d},\\ q = {panel.q}$", va="bottom", **corner)
    amount = f"{trials} trial{'' if trials == 1 else 's'}" if trials else "no trial of all methods"
    axes.text(0.98, 0.97, amount, va="top", ha="right", color=MUTED, **corner)


def _depth(entrant: Entrant) -> tuple[bool, bool, int]:
    """What is drawn later lies above: greedy over joint, gradients over the rest, ours last."""
    order = ("random_search", "cmaes", "adam", "innerloop")
    return (
        entrant.maximizer == "innerloop",
        entrant.parallelism == "greedy",
        order.index(entrant.maximizer),
    )


def _dashes(entrant: Entrant, *, forms: bool) -> Any:
    if forms:
        return DASHES["joint" if entrant.form == "incremental" else "greedy"]
    return DASHES[entrant.parallelism]


def _legend(figure: Figure, places: Sequence[Place], *, forms: bool) -> None:
    """Every method once, pairs of greedy and joint above each other; in figure 8 every form."""
    from matplotlib.lines import Line2D

    shown = {(one.maximizer, one.parallelism) for place in places for one in place.entrants}
    handles = [
        Line2D([], [], color=COLORS[key], label=label, linestyle=DASHES[key[1]])
        for key, label in LABELS.items()
        if key in shown
    ]
    if forms:
        for label, like in (("joint form", "greedy"), ("incremental form", "joint")):
            handles.append(Line2D([], [], color=MUTED, label=label, linestyle=DASHES[like]))
    columns = len(handles) if forms else len({maximizer for maximizer, _ in shown})
    if figure.get_figwidth() < _NARROW:
        columns = 2
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, columnspacing=1.6)
