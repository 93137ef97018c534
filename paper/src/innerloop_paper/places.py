"""Where each panel of figures 3, 4, 6, 7 and 8 stands, and which methods it shows.

Rows are tasks and dimensions, columns are inner budgets, ascending; several q of one budget stand
side by side, or below each other where they are too many. Figure 8 sets the incremental form
against the joint one; with several numbers of states it has a column for each, and a row for every
d, q and budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from innerloop_paper.curves import TASKS, Entrant, Panel, Runs
from innerloop_paper.methods import PAPER, usual_form
from innerloop_paper.style import LABELS, power

_BLACK_BOX = tuple(task for task in TASKS if task != "synthetic")
#: Tasks and acquisition function of each figure.
FIGURES: dict[str, tuple[tuple[str, ...], str]] = {
    "3": (("synthetic",), "ei"),
    "4": (_BLACK_BOX, "ei"),
    "6": (("synthetic",), "ucb"),
    "7": (_BLACK_BOX, "ucb"),
    "8": (("synthetic",), "ei"),
}
# More would be too narrow to read on a page.
_COLUMNS = 4

Row = tuple[int | str, ...]


@dataclass(frozen=True, eq=False)
class Place:
    """A panel of a figure: where it is, what stands beside and above it, what is drawn in it."""

    row: Row
    column: tuple[int, int]
    name: str
    title: str
    runs: Runs
    entrants: Sequence[Entrant]


def arrange(runs: Sequence[Runs], figure: str) -> list[Place]:
    """The panels of a figure."""
    tasks, acquisition = FIGURES[figure]
    chosen = [
        one for one in runs if one.panel.task in tasks and one.panel.acquisition == acquisition
    ]
    return _forms(chosen) if figure == "8" else _maximizers(chosen)


def _maximizers(runs: Sequence[Runs]) -> list[Place]:
    """Panels with the paper's methods, in the joint form, and innerloop's own."""
    found = []
    for one in runs:
        kinds = [
            (maximizer, parallelism, usual_form(maximizer)) for maximizer, parallelism in LABELS
        ]
        entrants = [entrant for kind in kinds if (entrant := one.entrant(*kind)) is not None]
        if entrants:
            found.append((one, entrants))
    return _by_budget(found)


def _forms(runs: Sequence[Runs]) -> list[Place]:
    """Panels with maximizers that were run in both forms, greedily, by number of states."""
    found = []
    for one in runs:
        for states in sorted({entrant.draws for entrant in one.logs}):
            entrants: list[Entrant] = []
            for maximizer in PAPER:
                joint = one.entrant(maximizer, "greedy", "joint")
                incremental = one.entrant(maximizer, "greedy", "incremental", states)
                if joint is not None and incremental is not None:
                    entrants += [joint, incremental]
            if entrants:
                found.append((one, entrants, states))
    if len({states for _, _, states in found}) < 2:
        return _by_budget([(one, entrants) for one, entrants, _ in found])
    return [
        Place(
            (*_row(one.panel), *_batches(one.panel), one.panel.budget),
            (states, 0),
            f"$N = {power(one.panel.budget)}$",
            f"$m = {states}$",
            one,
            entrants,
        )
        for one, entrants, states in found
    ]


def _by_budget(found: Sequence[tuple[Runs, Sequence[Entrant]]]) -> list[Place]:
    """A column for every inner budget, and side by side for every q of it."""
    parallel: dict[Row, set[Row]] = {}
    for one, _ in found:
        parallel.setdefault(_row(one.panel), set()).add(_batches(one.panel))
    beside = {
        one.panel: (
            one.panel.budget,
            sorted(parallel[_row(one.panel)]).index(_batches(one.panel)),
        )
        for one, _ in found
    }
    below = len(set(beside.values())) > _COLUMNS
    clocks = {one.panel.clock for one, _ in found}
    return [
        Place(
            (*_row(one.panel), *(_batches(one.panel) if below else ())),
            (one.panel.budget, 0) if below else beside[one.panel],
            TASKS[one.panel.task] + (f"\n({one.panel.clock})" if len(clocks) > 1 else ""),
            f"$N = {power(one.panel.budget)}$",
            one,
            entrants,
        )
        for one, entrants in found
    ]


def _row(panel: Panel) -> Row:
    """Budgets by another clock are not comparable, and get rows of their own."""
    return list(TASKS).index(panel.task), panel.d, panel.clock


def _batches(panel: Panel) -> Row:
    """What sets panels of one row and budget apart: q, and how long the runs are."""
    return panel.q, panel.evaluations
