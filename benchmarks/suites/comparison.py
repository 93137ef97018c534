"""Two innerloops on one suite, from the same points: is one of them better?"""

from __future__ import annotations

import numpy as np

import paired
from page import table
from scores import Scores, paired_differences

STAGES = (0.25, 0.5, 0.75, 1.0)
# Scores that differ by no more are the same.
SAME = 1e-9
COUNTS = "runs lower : equal : higher"


def compare(scores: Scores, one: str, other: str, at: int) -> list[str]:
    """Mean differences of one less the other, over tasks and seeds: below 0, one is better."""
    suite = scores.suite
    final = _differences(scores, one, other, at)
    if not final:
        return [f"{suite.name}: {one} and {other} have no run in common"]
    runs = sum(map(len, final.values()))
    lines = [f"### {suite.name}: {one} less {other}, {len(final)} tasks, {runs} paired runs"]
    lines += _stages(scores, one, other, at)
    lines += _groups(scores, final)
    lines += _tasks(scores, final, one, other, at)
    lines += [_conclusion(final, one, other, scores), _time(scores, one, other), ""]
    return lines


def summary(found: list[tuple[Scores, int]], one: str, other: str) -> list[str]:
    """The same over whole suites, each with the evaluations that count in it."""
    rows = []
    for scores, at in found:
        differences = list(_differences(scores, one, other, at).values())
        if differences:
            rows.append(_row(f"{scores.suite.name}, {scores.unit}", differences))
    heading = ["suite", "these tasks", "tasks like these", "rank (-1 to 1)", COUNTS]
    return [f"### {one} less {other}", *table(heading, rows)]


def _differences(scores: Scores, one: str, other: str, at: int) -> dict[str, np.ndarray]:
    """By task, the differences of scores (seeds,) in the runs that both have."""
    found = {}
    for task in scores.suite.tasks:
        each = paired_differences(scores.of(task, one, at), scores.of(task, other, at))
        if len(each):
            found[task] = each
    return found


def _counts(differences: list[np.ndarray]) -> str:
    all_of_them = np.concatenate(differences)
    lower, higher = sum(all_of_them < -SAME), sum(all_of_them > SAME)
    return f"{lower} : {len(all_of_them) - lower - higher} : {higher}"


def _signs(differences: list[np.ndarray]) -> list[np.ndarray]:
    """Differences in rank among the two: -1, 0 or 1."""
    return [np.sign(np.where(np.abs(each) > SAME, each, 0.0)) for each in differences]


def _row(title: str, differences: list[np.ndarray]) -> list[object]:
    return [
        title,
        paired.for_these_tasks(differences),
        paired.for_tasks_like_these(differences),
        paired.for_tasks_like_these(_signs(differences)),
        _counts(differences),
    ]


def _heading(first: str, scores: Scores) -> list[str]:
    return [
        first,
        f"{scores.unit}, these tasks",
        "tasks like these",
        "rank (-1 to 1)",
        COUNTS,
    ]


def _stages(scores: Scores, one: str, other: str, at: int) -> list[str]:
    rows = []
    for share in STAGES:
        count = round(share * at)
        rows.append(_row(str(count), list(_differences(scores, one, other, count).values())))
    return table(_heading("evaluations", scores), rows)


def _groups(scores: Scores, final: dict[str, np.ndarray]) -> list[str]:
    """By kind of task."""
    groups: dict[str, list[np.ndarray]] = {}
    for task, each in final.items():
        groups.setdefault(scores.suite.groups[task], []).append(each)
    if len(groups) < 2:
        return []
    rows = [_row(f"{name}, {len(each)}", each) for name, each in groups.items()]
    return table(_heading("kind, tasks", scores), rows)


def _tasks(
    scores: Scores, final: dict[str, np.ndarray], one: str, other: str, at: int
) -> list[str]:
    rows = []
    for task, each in final.items():
        ends = [list(scores.of(task, label, at).values()) for label in (one, other)]
        error = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        typical = [scores.shown(scores.typical(np.array(end))) for end in ends]
        name = scores.suite.tasks[task]
        rows.append([name, len(each), *typical, f"{each.mean():.2f} ± {error:.2f}"])
    heading = ["task", "seeds", one, other, "difference ± standard error"]
    return table(heading, rows)


def _conclusion(final: dict[str, np.ndarray], one: str, other: str, scores: Scores) -> str:
    differences = list(final.values())
    these, like = paired.for_these_tasks(differences), paired.for_tasks_like_these(differences)
    if all((np.abs(each) <= SAME).all() for each in differences):
        return f"There is no difference in any run of {one} and {other}."
    better, worse = (one, other) if these.value < 0 else (other, one)
    size = f"{abs(these.value):.3f} in {scores.unit}"
    if these.sure and like.sure:
        return f"**{better} is better than {worse}** by {size}, on tasks like these too."
    if these.sure:
        return (
            f"**{better} is better than {worse}** by {size} on these tasks; "
            "not surely so on tasks like these."
        )
    return f"Undecided: {better} is ahead by {size}, within what seeds alone do."


def _time(scores: Scores, one: str, other: str) -> str:
    """CPU seconds of the optimizer over the runs that both have."""
    runs = {(t, s) for t, m, s in scores.cells if m == one}
    runs &= {(t, s) for t, m, s in scores.cells if m == other}
    mine, its = (
        float(np.mean([scores.cells[t, m, s]["cpu_seconds"] for t, s in runs]))
        for m in (one, other)
    )
    return f"CPU seconds a run: {mine:.3g} and {its:.3g}, ratio {mine / its:.2f}."
