"""Some trials as a table for notebooks, without asking the model."""

from __future__ import annotations

from collections.abc import Sequence

from innerloop.html_table import table
from innerloop.optimizer.goals import DIRECTIONS, Goals
from innerloop.optimizer.trials import Trial

_SHOWN = 5


def trials_table(
    caption: str, trials: Sequence[Trial], goals: Goals, direction: str, notes: Sequence[str] = ()
) -> str:
    """The best trials, as HTML; without any, the last ones.

    Args:
        caption: what it is about.
        trials: all of them.
        goals: what is wanted of them.
        direction: of a single objective.
        notes: lines below.

    Returns:
        A table.
    """
    known = [t for t in trials if t.state == "complete" and t.outside is None]
    if not known:
        kind, shown = "last", list(trials[-_SHOWN:])
    elif goals.is_plain:
        sign = DIRECTIONS[direction]
        kind, shown = "best", sorted(known, key=lambda t: -sign * (t.value or 0.0))[:_SHOWN]
    else:
        front = goals.front(trials)
        kind, shown = ("front", list(front)) if front else ("last", known[-_SHOWN:])
    names = list(shown[0].params) if shown else []
    outcomes = [] if goals.is_plain else list(goals.names)
    header = ["trial", "state", *(outcomes or ["value"]), *names]
    rows = [
        [t.id, t.state, *_told(t, outcomes), *(t.params.get(name) for name in names)] for t in shown
    ]
    which = "" if len(shown) == len(trials) else f"; the {kind} {len(shown)} by what was told"
    return table(caption + which, rows, header=header if rows else (), notes=notes)


def _told(trial: Trial, outcomes: list[str]) -> list[float | None]:
    """What was told of a trial: its value, or these outcomes."""
    if not outcomes:
        return [trial.value]
    return [(trial.outcomes or {}).get(name) for name in outcomes]
