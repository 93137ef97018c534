"""One self-contained HTML file about an optimizer: what was tried, what was learned, what is next.

The page needs no network and no library: figures are drawn by a few hundred lines of script from
data that lie beside them in the file.
"""

from __future__ import annotations

import os
from pathlib import Path

from innerloop import checks, linalg
from innerloop.atomic import write_text
from innerloop.optimizer.optimizer import Optimizer
from innerloop.report.page import page
from innerloop.report.subject import subject_of


def write_report(
    optimizer: Optimizer,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    next_points: int = 4,
) -> Path:
    """Write the report to `path`, which holds either all of it or what it held before.

    title: the heading of the page. next_points: how many points to show that would be asked next;
    0 for none. The optimizer stays as it is.
    """
    target = Path(path)
    write_text(target, html_of(optimizer, title=title, next_points=next_points))
    return target


def html_of(optimizer: Optimizer, *, title: str | None = None, next_points: int = 4) -> str:
    """The report as text; see `write_report`."""
    checks.instance("optimizer", optimizer, Optimizer, "an Optimizer")
    if title is not None:
        checks.instance("title", title, str, "text")
    checks.count("next_points", next_points, 0)
    if any(trial.outside is not None for trial in optimizer.trials):
        optimizer = _inside(optimizer)
    with linalg.one_blas_thread():
        return page(subject_of(optimizer, next_points), title or "Optimization report")


def _inside(optimizer: Optimizer) -> Optimizer:
    """The same with the trials in its space alone: figures have no place for others."""
    copy = optimizer.with_trials(t for t in optimizer.trials if t.outside is None)
    copy.goals = optimizer.goals.resolved(optimizer.trials)
    return copy
