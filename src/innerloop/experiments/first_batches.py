"""What the first batches are worth: all methods of a trial choose them from the same data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from innerloop.experiments.cells import Cell
from innerloop.experiments.markdown import power, table
from innerloop.experiments.store import Result
from innerloop.experiments.style import LABELS

Method = tuple[str, str]


def first_batches(results: Iterable[Result]) -> str:
    """A table of the share of the best first batch that each method reaches, by inner budget.

    Of q-EI only, whose values are above 0 so that shares make sense, and of the methods of figures
    3 and 4. The best is the one that any of them found on the same trial of the same panel.
    """
    values: dict[tuple[object, ...], dict[Method, float]] = {}
    for result in results:
        cell = result.job
        if isinstance(cell, Cell) and _is_compared(cell) and len(result.table["acquisition"]) > 1:
            where = (cell.budget, cell.clock, cell.task, cell.d, cell.q, cell.trial)
            method = (cell.maximizer, cell.parallelism)
            values.setdefault(where, {})[method] = float(result.table["acquisition"][1])
    complete = {where: found for where, found in values.items() if len(found) == len(_METHODS)}
    budgets = sorted({where[0] for where in complete if isinstance(where[0], int)})
    if not budgets:
        return ""
    chosen = {n: [found for where, found in complete.items() if where[0] == n] for n in budgets}
    head = ["method", *(f"{power(n)}, {len(chosen[n])} batches" for n in budgets)]
    rows = [[LABELS[method], *(_share(chosen[n], method) for n in budgets)] for method in _METHODS]
    return table(head, rows)


_METHODS: tuple[Method, ...] = (
    ("innerloop", "greedy"),
    ("adam", "greedy"),
    ("adam", "joint"),
    ("cmaes", "greedy"),
    ("cmaes", "joint"),
    ("random_search", "greedy"),
    ("random_search", "joint"),
)


def _is_compared(cell: Cell) -> bool:
    form = "incremental" if cell.maximizer == "innerloop" else "joint"
    return cell.acquisition == "ei" and cell.form == form


def _share(found: list[dict[Method, float]], method: Method) -> str:
    """The mean share of the best value, and in how many cases it was the method's own."""
    best = np.array([max(each.values()) for each in found])
    own = np.array([each[method] for each in found])
    share = float(np.mean(own / np.maximum(best, 1e-300)))
    return f"{100.0 * share:.1f} %, best in {int((own == best).sum())}"
