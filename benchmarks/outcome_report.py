"""Markdown tables of optimizations with several outcomes."""

from __future__ import annotations

import numpy as np

from outcome_tasks import TASKS
from results_file import Cells, Key

OURS, ALONE = "innerloop", "innerloop-alone"
RESAMPLES = 10_000


def report(cells: Cells, grid: list[Key]) -> None:
    """Tables of scores, differences and times over the cells of the grid, and what they come to.

    Seeds of a task are those that every method with any result for that task has been run with.
    """
    chosen = {key: cells[key] for key in grid if key in cells}
    methods = list(dict.fromkeys(m for _, m, _ in grid if any(m == name for _, name, _ in chosen)))
    table = {
        task: runs
        for task in dict.fromkeys(task for task, _, _ in grid)
        if (runs := _compared(chosen, task, methods))
    }
    print("\nMedian hypervolume (or best feasible value, where less is better)\n")
    _heading("task", "seeds", *methods, "best known", "best")
    for task, runs in table.items():
        medians = {m: float(np.median(_gains(task, runs[m]))) for m in runs}
        shown = [f"{_sign(task) * medians[m]:.5g}" if m in runs else "" for m in methods]
        seeds = len(next(iter(runs.values())))
        known = TASKS[task].best
        best = max(medians, key=medians.__getitem__)
        _row(task, seeds, *shown, "" if known is None else f"{known:.5g}", best)
    rivals = list(dict.fromkeys(m for _, m, _ in grid if m not in (OURS, ALONE)))
    if OURS in methods and rivals:
        _differences(table, rivals)
    _seconds(table, methods)
    _oddities(chosen)


def _compared(cells: Cells, task: str, methods: list[str]) -> dict[str, list[dict]]:
    """By method, the runs of those seeds that all methods seen on the task have in common."""
    seeds = {m: {s for t, n, s in cells if t == task and n == m} for m in methods}
    seeds = {m: those for m, those in seeds.items() if those}
    common = sorted(set.intersection(*seeds.values())) if seeds else []
    return {m: [cells[task, m, s] for s in common] for m in seeds} if common else {}


def _sign(task: str) -> float:
    """1 where scores are to be large: hypervolumes, and a single objective to maximize."""
    ways = list(TASKS[task].objectives.values())
    return -1.0 if ways == ["minimize"] else 1.0


def _gains(task: str, runs: list[dict]) -> np.ndarray:
    """Final scores (seeds,), larger being better."""
    return _sign(task) * np.array([run["scores"][-1] for run in runs])


def _interval(differences: np.ndarray) -> tuple[float, float]:
    """A 95% interval of the mean of differences (seeds,), by resampling them."""
    draws = np.random.default_rng(0).choice(differences, (RESAMPLES, len(differences)))
    low, high = np.quantile(draws.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _differences(table: dict[str, dict[str, list[dict]]], rivals: list[str]) -> None:
    """How much better innerloop's scores are than those of each rival from the same points.

    Only tasks that all rivals have been run on count: the best of them may be the one missing.
    """
    print("\ninnerloop less rival, mean over seeds with a 95% interval; above 0 is better\n")
    _heading("task", *rivals, "at or above the best rival")
    above = judged = 0
    for task, runs in table.items():
        if OURS not in runs or len(runs) == 1:
            continue
        ours = _gains(task, runs[OURS])
        entries = []
        for rival in rivals:
            if rival not in runs:
                entries.append("")
                continue
            difference = ours - _gains(task, runs[rival])
            low, high = _interval(difference)
            wins = int((difference >= 0).sum())
            entries.append(
                f"{difference.mean():.3g} ({low:.3g} to {high:.3g}), {wins} of {len(ours)}"
            )
        if not set(rivals) <= set(runs):
            _row(task, *entries, "rivals are missing")
            continue
        best = max(float(np.median(_gains(task, runs[rival]))) for rival in rivals)
        reached = bool(np.median(ours) >= best - 1e-9 * abs(best))
        above, judged = above + reached, judged + 1
        _row(task, *entries, "yes" if reached else "no")
    print(f"\nmedian at or above that of the best rival on {above} of {judged} tasks")


def _seconds(table: dict[str, dict[str, list[dict]]], methods: list[str]) -> None:
    """Mean time of the optimizer, and how it compares with innerloop's."""
    print("\nOptimizer seconds per run, on the processor\n")
    _heading("task", *methods)
    means = {
        task: {m: float(np.mean([run["cpu_seconds"] for run in runs[m]])) for m in runs}
        for task, runs in table.items()
    }
    for task, mean in means.items():
        _row(task, *(f"{mean[m]:.3g}" if m in mean else "" for m in methods))
    if OURS not in methods:
        return
    ratios = []
    for rival in methods:
        pairs = [(mean[rival], mean[OURS]) for mean in means.values() if {rival, OURS} <= set(mean)]
        theirs, ours = np.array(pairs).reshape(-1, 2).sum(axis=0)
        ratios.append(f"{theirs / ours:.1f}" if pairs else "")
    _row("its own / innerloop's", *ratios)


def _oddities(cells: Cells) -> None:
    """Runs that failed, which count with what they had found, and starts that are not the same."""
    first: dict[tuple[str, int], float] = {}
    for (task, method, seed), cell in cells.items():
        if cell["error"]:
            print(f"failed: {task} {method} seed {seed}: {cell['error']}")
        start = cell["scores"][0]
        if not np.isclose(first.setdefault((task, seed), start), start, rtol=1e-9):
            print(f"another start: {task} {method} seed {seed}")


def _row(*entries: object) -> None:
    print("| " + " | ".join(str(entry) for entry in entries) + " |")


def _heading(*entries: object) -> None:
    _row(*entries)
    print("|" + "---|" * len(entries))
