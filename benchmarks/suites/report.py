"""innerloop beside its rivals on one suite, in Markdown."""

from __future__ import annotations

import numpy as np

import paired
from page import table
from results_file import Cells
from scores import Scores, paired_differences


def report(scores: Scores, ours: str, rivals: list[str], part: str, at: int) -> list[str]:
    """A summary over all tasks, the tasks one by one, and what went wrong.

    ours: the label of the innerloop that is compared. at: how many evaluations count.
    """
    suite = scores.suite
    methods = [m for m in [ours, *rivals] if any(m == label for _, label, _ in scores.cells)]
    tasks = [t for t in suite.tasks if any(t == name for name, _, _ in scores.cells)]
    if not tasks:
        return [f"{suite.name}: no run of the {part} part is there yet"]
    seeds = {seed for _, _, seed in scores.cells}
    lines = [
        f"{suite.name}, {part} part: {len(tasks)} tasks, {len(seeds)} seeds, {at} evaluations, "
        f"{suite.q} at a time."
    ]
    lines += _summary(scores, ours, methods, tasks, at)
    lines += _by_task(scores, methods, tasks, at)
    lines += _versions(scores.cells, methods)
    lines += _oddities(scores.cells, methods)
    return lines


def _summary(scores: Scores, ours: str, methods: list[str], tasks: list[str], at: int) -> list[str]:
    found = {m: {t: s for t in tasks if (s := scores.of(t, m, at))} for m in methods}
    half = {m: {t: scores.of(t, m, at // 2) for t in found[m]} for m in methods}
    complete = [m for m in methods if len(found[m]) == len(tasks)]
    rank = _ranks([found[m] for m in complete], tasks)
    rows = []
    for method in methods:
        row: list[object] = [method, f"{len(found[method])}"]
        if method in complete and rank is not None:
            i = complete.index(method)
            row.append(paired.for_tasks_like_these([each[i] for each in rank]))
            if ours in complete and method != ours:
                j = complete.index(ours)
                row.append(paired.for_tasks_like_these([each[i] - each[j] for each in rank]))
            else:
                row.append("")
        else:
            row += ["", ""]
        row += _against(scores, found, ours, method)
        for each in (half, found):
            row.append(scores.shown(_mean(each[method])))
        if scores.suite.noisy:
            picked = {t: scores.of(t, method, at, recommended=True) for t in found[method]}
            row.append(scores.shown(_mean(picked)))
        rows.append([*row, *_costs(scores.cells, method)])
    return table(
        [
            *("method", "tasks", "mean rank", f"rank less {ours}'s"),
            *(f"{ours} at or below it", f"{ours}'s {scores.unit} less its own"),
            *(f"mean {scores.title} at {at // 2}", f"at {at}"),
            *(["at the recommended point"] if scores.suite.noisy else []),
            *("CPU seconds a run", "seconds", "failed"),
        ],
        rows,
    )


def _ranks(found: list[dict], tasks: list[str]) -> list[np.ndarray] | None:
    """By task, the ranks (methods, seeds) over the seeds that all methods have."""
    each = []
    for task in tasks:
        seeds = sorted(set.intersection(*(set(scores[task]) for scores in found)) if found else ())
        if seeds:
            each.append(paired.ranks(np.array([[s[task][k] for k in seeds] for s in found])))
    return each or None


def _against(scores: Scores, found: dict, ours: str, method: str) -> list[object]:
    """On how many tasks ours is at or below another method, and the mean difference."""
    common = [t for t in found[method] if t in found.get(ours, {})]
    pairs = {t: paired_differences(found[ours][t], found[method][t]) for t in common}
    pairs = {t: each for t, each in pairs.items() if len(each)}
    if method == ours or not pairs:
        return ["", ""]
    below = 0
    for task in pairs:
        seeds = sorted(found[ours][task].keys() & found[method][task].keys())
        mine, its = (
            scores.typical(np.array([found[m][task][s] for s in seeds])) for m in (ours, method)
        )
        below += mine <= its + 1e-9 * max(1.0, abs(its))
    return [f"{below} of {len(pairs)}", paired.for_tasks_like_these(list(pairs.values()))]


def _mean(by_task: dict[str, dict[int, float]]) -> float:
    """The mean over tasks of the mean over seeds."""
    return float(np.mean([np.mean(list(seeds.values())) for seeds in by_task.values()]))


def _costs(cells: Cells, method: str) -> list[str]:
    runs = [cell for (_, label, _), cell in cells.items() if label == method]
    failed = sum(cell["error"] is not None for cell in runs)
    means = [float(np.mean([cell[key] for cell in runs])) for key in ("cpu_seconds", "seconds")]
    return [f"{means[0]:.3g}", f"{means[1]:.3g}", str(failed)]


def _by_task(scores: Scores, methods: list[str], tasks: list[str], at: int) -> list[str]:
    """What stands for each task, by method; the best is bold."""
    rows = []
    for task in tasks:
        found = {m: list(scores.of(task, m, at).values()) for m in methods}
        typical = {m: scores.typical(np.array(each)) for m, each in found.items() if each}
        best = min(typical.values())
        shown = []
        for m in methods:
            text = scores.shown(typical[m]) if m in typical else ""
            shown.append(f"**{text}**" if text and typical[m] <= best + 1e-9 else text)
        rows.append([scores.suite.tasks[task], max(map(len, found.values())), *shown])
    middle = "Median" if scores.suite.score == "log regret" else "Mean"
    return [f"{middle} {scores.title}:", *table(["task", "seeds", *methods], rows)]


def _versions(cells: Cells, methods: list[str]) -> list[str]:
    """The versions that results were obtained with, where there are several all of them."""
    parts = []
    for method in methods:
        runs = [cell for (_, label, _), cell in cells.items() if label == method]
        texts = {
            " ".join(f"{name} {number}" for name, number in cell["versions"].items())
            for cell in runs
            if "versions" in cell
        }
        parts.append(f"{method} ({' or '.join(sorted(texts))})")
    return ["Versions: " + ", ".join(parts) + ".", ""]


def _oddities(cells: Cells, methods: list[str]) -> list[str]:
    """Runs that failed, which count with what they had found; other starts; undercut optima."""
    lines, first = [], {}
    for (task, method, seed), cell in cells.items():
        if method not in methods or not cell["scores"]:
            continue
        where = f"{task}, {method}, seed {seed}"
        if cell["error"]:
            lines.append(
                f"- failed after {len(cell['scores'])} evaluations: {where}: {cell['error'][:200]}"
            )
        start = cell["scores"][: cell["starts"]]
        if start != first.setdefault((task, seed), start):
            lines.append(f"- other starting points: {where}")
        if min(cell["scores"]) < -1e-6:
            lines.append(f"- below the optimum by {-min(cell['scores']):.1e}: {where}")
    return lines
