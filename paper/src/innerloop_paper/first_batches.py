"""What the first batches are worth: all methods of a trial choose them from the same data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from innerloop_paper.cells import Cell
from innerloop_paper.curves import Panel, place
from innerloop_paper.grid import METHODS
from innerloop_paper.markdown import power, table
from innerloop_paper.methods import usual_form
from innerloop_paper.store import Result
from innerloop_paper.style import LABELS

Method = tuple[str, str]


def first_batches(results: Iterable[Result]) -> str:
    """A table of the share of the best first batch that each method reaches, by inner budget.

    Of q-EI only, whose values are above 0 so that shares make sense, and of the methods of figures
    3 and 4. The best is the one that any of them found on the same trial of the same panel.
    """
    values: dict[tuple[Panel, int], dict[Method, float]] = {}
    for result in results:
        cell = result.job
        if isinstance(cell, Cell) and _is_compared(cell) and len(result.table["acquisition"]) > 1:
            panel, entrant, trial = place(cell)
            method = (entrant.maximizer, entrant.parallelism)
            worth = float(result.table["acquisition"][1])
            values.setdefault((panel, trial), {})[method] = worth
    chosen: dict[int, list[dict[Method, float]]] = {}
    for (panel, _), found in values.items():
        if len(found) == len(METHODS):
            chosen.setdefault(panel.budget, []).append(found)
    budgets = sorted(chosen)
    if not budgets:
        return ""
    head = ["method", *(f"{power(n)}, {len(chosen[n])} batches" for n in budgets)]
    rows = [[LABELS[method], *(_share(chosen[n], method) for n in budgets)] for method in METHODS]
    return table(head, rows)


def _is_compared(cell: Cell) -> bool:
    return cell.acquisition == "ei" and cell.form == usual_form(cell.maximizer)


def _share(found: list[dict[Method, float]], method: Method) -> str:
    """The mean share of the best value, and in how many cases it was the method's own."""
    best = np.array([max(each.values()) for each in found])
    own = np.array([each[method] for each in found])
    share = float(np.mean(own / np.maximum(best, 1e-300)))
    return f"{100.0 * share:.1f} %, best in {int((own == best).sum())}"
