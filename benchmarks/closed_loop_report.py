"""Markdown tables of the results of the closed loop."""

from __future__ import annotations

import numpy as np

from closed_loop_tasks import NAMES
from results_file import Cells, Key

FLOOR = 1e-10
OURS, TOLD = "innerloop", "botorch-told"
Table = dict[str, dict[str, list[dict]]]


def log_regret(cell: dict) -> float:
    return float(np.log10(max(cell["regret"], FLOOR)))


def report(cells: Cells, grid: list[Key]) -> None:
    """Tables of regret, wins and time over the cells of the grid, and what they come to."""
    chosen = {key: cells[key] for key in grid if key in cells}
    methods = list(dict.fromkeys(m for _, m, _ in grid if any(m == name for _, name, _ in chosen)))
    table = compared(chosen, methods)
    if not table:
        print("no seed has been run with all of these methods yet")
        return
    medians = {
        task: {m: float(np.median([log_regret(c) for c in runs[m]])) for m in methods}
        for task, runs in table.items()
    }
    print("\nMedian log10 regret\n")
    _heading("task", "seeds", *methods, "best")
    for task, median in medians.items():
        best = min(median, key=median.__getitem__)
        _row(task, len(table[task][best]), *(f"{median[m]:.2f}" for m in methods), best)
    rivals = [m for m in methods if m != OURS]
    if OURS in methods and rivals:
        _wins(table, rivals)
    times = {
        where: _seconds(table, methods, key, f"Optimizer seconds per run, {where}")
        for where, key in (("by the clock", "seconds"), ("on the processor", "cpu_seconds"))
    }
    print()
    if OURS in methods and rivals:
        _conclude(medians, times, rivals)
    _oddities(chosen)


def compared(cells: Cells, methods: list[str]) -> Table:
    """By task and method, the cells of those seeds that every method has been run with."""
    table: Table = {}
    for task in NAMES:
        seeds = [{s for t, n, s in cells if t == task and n == m} for m in methods]
        common = sorted(set.intersection(*seeds)) if seeds else []
        if common:
            table[task] = {m: [cells[task, m, s] for s in common] for m in methods}
    return table


def _wins(table: Table, rivals: list[str]) -> None:
    print("\nSeeds in which innerloop's regret is lower : equal : higher\n")
    _heading("task", *rivals)
    for task, runs in table.items():
        ours = np.array([log_regret(cell) for cell in runs[OURS]])
        counts = []
        for rival in rivals:
            theirs = np.array([log_regret(cell) for cell in runs[rival]])
            counts.append(f"{sum(ours < theirs)} : {sum(ours == theirs)} : {sum(ours > theirs)}")
        _row(task, *counts)


def _seconds(table: Table, methods: list[str], key: str, title: str) -> dict[str, np.ndarray]:
    """Mean time of a run, by method and task (tasks,), which is printed with the sum over tasks."""
    means = {
        m: np.array([np.mean([cell[key] for cell in runs[m]]) for runs in table.values()])
        for m in methods
    }
    print(f"\n{title}\n")
    _heading("task", *methods)
    for i, task in enumerate(table):
        _row(task, *(f"{means[m][i]:.2f}" for m in methods))
    _row("all", *(f"{means[m].sum():.2f}" for m in methods))
    if "botorch" in methods:
        total = means["botorch"].sum()
        _row("BoTorch's / its own", *(f"{total / means[m].sum():.1f}" for m in methods))
    return means


def _conclude(
    medians: dict[str, dict[str, float]],
    times: dict[str, dict[str, np.ndarray]],
    rivals: list[str],
) -> None:
    """The comparison in a line or two; processor time is the surer one on a busy machine."""

    def at_or_below(rivals: list[str]) -> str:
        count = sum(m[OURS] <= min(m[r] for r in rivals) + 1e-9 for m in medians.values())
        return f"{count} of {len(medians)} tasks"

    untold = [r for r in rivals if r != TOLD] or rivals
    line = f"at or below the best rival on {at_or_below(untold)}"
    if "botorch" in rivals:
        ratios = []
        for where, seconds in times.items():
            whole = seconds["botorch"].sum() / seconds[OURS].sum()
            each = seconds["botorch"] / seconds[OURS]
            spread = f"tasks {each.min():.1f} to {each.max():.1f}, median {np.median(each):.1f}"
            ratios.append(f"{whole:.1f} {where} ({spread})")
        line += f"; BoTorch's optimizer time / innerloop's: {', '.join(ratios)}"
    print(line)
    if TOLD in rivals:
        print(f"with BoTorch told of the noise among the rivals: on {at_or_below(rivals)}")


def _oddities(cells: Cells) -> None:
    """Runs that failed, which count with what they had found, and optima that were undercut."""
    for (task, method, seed), cell in cells.items():
        if cell["error"]:
            print(f"failed: {task} {method} seed {seed}: {cell['error']}")
        if cell["trace"][-1] < -FLOOR:
            print(f"below the optimum: {task} {method} seed {seed} by {-cell['trace'][-1]:.1e}")


def _row(*entries: object) -> None:
    print("| " + " | ".join(str(entry) for entry in entries) + " |")


def _heading(*entries: object) -> None:
    _row(*entries)
    print("|" + "---|" * len(entries))
