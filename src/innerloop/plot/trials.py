"""All trials at once, and the front of several objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from innerloop import checks
from innerloop.errors import InputError
from innerloop.insight.progress import told_of
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.trials import Trial
from innerloop.plot.canvas import (
    axes,
    ink,
    is_light,
    legend,
    matplotlib,
    number,
    places,
    slant,
    text,
)
from innerloop.plot.subject import Source, optimizer_in, outcome_in
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of more categories than this only some have a label on their line.
_MOST_LABELS = 8
_LONGEST_NAME, _LONGEST_VALUE = 18, 12
_SIDE_BY_SIDE = 44


def parallel_coordinates(
    source: Source, *, outcome: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw each trial as a line through its values of all parameters, to its outcome.

    Colours are those of the outcome, by rank. Lines of failed trials are dotted and end early.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        outcome: which outcome; by default the first objective.
        ax: the axes to draw on; by default those of a new figure.

    Returns:
        The axes.
    """
    optimizer = optimizer_in(source)
    name = outcome_in(optimizer, outcome)
    kinds = optimizer.space.varying
    shown = [t for t in optimizer.trials if t.outside is None and t.state != "forgotten"]
    told = [told_of(trial, name) for trial in shown]
    values = np.array([np.nan if each is None else each for each in told])
    known = values[np.isfinite(values)]
    if not known.size:
        raise InputError("there is nothing to draw: no trial has been told a value yet")
    ax = axes(ax)
    low, high = float(known.min()), float(known.max())
    heights = [_height(kind, [t.params.get(n) for t in shown]) for n, kind in kinds.items()]
    lines = np.column_stack([*heights, _share(values, low, high)])
    _lines(ax, lines, values, optimizer.goals.sign_of(name))
    failed = np.array([trial.state == "failed" for trial in shown])
    for line in lines[failed & np.isnan(values)]:
        ax.plot(line, color="C3", linestyle=":", linewidth=0.9, alpha=0.6)
    for k, kind in enumerate(kinds.values()):
        _labels(ax, k, *_marks(kind))
    _labels(ax, len(kinds), [0.0, 1.0] if high > low else [0.5], [low, high][: 1 + (high > low)])
    names = [text(each, _LONGEST_NAME) for each in (*kinds, name)]
    ax.set_xticks(range(len(names)), names)
    if sum(map(len, names)) > _SIDE_BY_SIDE:
        slant(ax)
    ax.set_yticks([])
    ax.set_ylim(-0.05, 1.05)
    ax.set_xlim(-0.2, len(kinds) + 0.6)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def front(
    source: Source, x: str | None = None, y: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw two objectives of all complete trials, and the front of those that no other one beats.

    Of three objectives and more, trials of the front may lie behind others, and there is no line.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        x: the objective across; by default the first one.
        y: the objective upwards; by default the next one.
        ax: the axes to draw on; by default those of a new figure.

    Returns:
        The axes.
    """
    optimizer = optimizer_in(source)
    goals, names = optimizer.goals, tuple(optimizer.goals.objectives)
    if len(names) < 2:
        raise InputError(f"a front needs several objectives, and there is one, {names[0]!r}")
    for each in (x, y):
        if each is not None:
            checks.one_of("the objective", each, names)
    across = x or next(name for name in names if name != y)
    up = y or next(name for name in names if name != across)
    if across == up:
        raise InputError(f"a front needs two different objectives, got {up!r} twice")
    trials = optimizer.trials
    complete = [t for t in trials if t.state == "complete" and t.outside is None]
    if not complete:
        raise InputError("there is nothing to draw: no trial has been told all outcomes yet")
    best = optimizer.front
    on_front = {trial.id for trial in best}
    ax = axes(ax)
    beaten = [t for t in complete if t.id not in on_front and goals.feasible(t, trials)]
    beyond = [t for t in complete if not goals.feasible(t, trials)]
    for some, style, label in (
        (beyond, {"marker": "x", "color": "C3", "alpha": 0.7}, "not within all limits"),
        (beaten, {"marker": "o", "color": "C0", "alpha": 0.45, "mew": 0}, "beaten"),
        (best, {"marker": "o", "color": "C1", "ms": 7, "mec": ink(ax), "mew": 0.5}, "front"),
    ):
        if some:
            spots = _spots(some, across, up)
            ax.plot(*spots, linestyle="none", zorder=3, label=label, **{"ms": 5, **style})
    if len(names) == 2 and best:
        _stairs(ax, _spots(best, across, up), goals, across)
    for axis, each in ((ax.xaxis, across), (ax.yaxis, up)):
        axis.set_label_text(f"{text(each)} ({goals.objectives[each]})")
    legend(ax)
    return ax


def _spots(trials: Sequence[Trial], x: str, y: str) -> Array:
    """Two outcomes of trials: (2, n)."""
    return np.array([[told_of(trial, name) for trial in trials] for name in (x, y)], dtype=float)


def _stairs(ax: Axes, spots: Array, goals: Goals, x: str) -> None:
    """The border of what trials of the front (2, n) beat."""
    ordered = spots[:, np.argsort(spots[0], kind="stable")]
    where: Any = "post" if goals.objectives[x] == "minimize" else "pre"
    ax.step(*ordered, where=where, color="C1", linewidth=1.2)


def _lines(ax: Axes, lines: Array, values: Array, sign: float) -> None:
    """Lines of trials that have values, the best ones on top."""
    order = np.argsort(np.where(np.isnan(values), -np.inf, sign * values), kind="stable")
    order = order[np.isfinite(values[order])]
    cmap = matplotlib("pyplot").get_cmap()
    if is_light(ax) == (sum(cmap(1.0)[:3]) > sum(cmap(0.0)[:3])):
        cmap = cmap.reversed()  # the best ones stand out
    shades = (np.arange(len(order)) + 0.5) / len(order)
    for share, row in zip(shades.tolist(), order, strict=True):
        ax.plot(lines[row], color=cmap(share), linewidth=0.8 + share, alpha=0.35 + 0.6 * share)


def _height(kind: Parameter, values: list[Any]) -> Array:
    """Where values of a parameter lie between the ends of its line (n,), NaN where missing."""
    at = places(kind, values)
    if isinstance(kind, Choice):
        return at / (len(kind.values) - 1)
    assert isinstance(kind, Real | Integer)
    low, high = float(kind.low), float(kind.high)
    if kind.log:
        return np.asarray(np.log(at / low) / np.log(high / low))
    return _share(at, low, high)


def _share(values: Array, low: float, high: float) -> Array:
    """How far values (n,) are from low to high; 0.5 if these are the same."""
    if high <= low:
        return np.where(np.isnan(values), np.nan, 0.5)
    return np.asarray((0.5 * values - 0.5 * low) / (0.5 * high - 0.5 * low))


def _marks(kind: Parameter) -> tuple[list[float], list[Any]]:
    """Heights and values to write beside the line of a parameter."""
    if isinstance(kind, Choice):
        count = len(kind.values)
        some = range(0, count, -(-count // _MOST_LABELS))
        return [k / (count - 1) for k in some], [kind.values[k] for k in some]
    assert isinstance(kind, Real | Integer)
    return [0.0, 1.0], [kind.low, kind.high]


def _labels(ax: Axes, k: int, heights: list[float], values: list[Any]) -> None:
    """The line of a parameter or outcome, and what some heights of it mean."""
    ax.axvline(k, color=ink(ax), linewidth=0.8, alpha=0.6)
    box = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
    for height, value in zip(heights, values, strict=True):
        is_number = isinstance(value, float)
        label = number(value) if is_number else text(value, _LONGEST_VALUE)
        ax.text(k + 0.04, height, label, fontsize="x-small", va="center", bbox=box)
