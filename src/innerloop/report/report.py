"""One self-contained HTML file about an optimizer or a study: what was tried, what was learned.

The page needs no network and no library: figures are drawn by a few hundred lines of script from
data that lie beside them in the file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from innerloop import checks, linalg
from innerloop.atomic import write_text
from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.report.case import Case, case_of_optimizer, case_of_study
from innerloop.report.page import page
from innerloop.report.subject import subject_of
from innerloop.studies.view import StudyView

if TYPE_CHECKING:
    import optuna

_EXPECTED = "an Optimizer or a study of Optuna's"
_TITLE = "Optimization report"


def write_report(
    subject: Optimizer | optuna.Study | StudyView,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    next_points: int = 4,
) -> Path:
    """Write a report as one HTML file, which holds either all of it or what it held before.

    Args:
        subject: an optimizer; or a study of Optuna's, whichever sampler has made it.
        path: of the file.
        title: the heading of the page.
        next_points: how many points to show that would be asked next; 0 for none. The optimizer or
            study stays as it is.

    Returns:
        The path.
    """
    target = Path(path)
    write_text(target, html_of(subject, title=title, next_points=next_points))
    return target


def html_of(
    subject: Optimizer | optuna.Study | StudyView,
    *,
    title: str | None = None,
    next_points: int = 4,
) -> str:
    """The report as text.

    Args:
        subject: as `write_report` takes it.
        title: the heading of the page.
        next_points: how many points to show that would be asked next.

    Returns:
        The page.
    """
    name, case = _named(subject)
    if title is not None:
        checks.instance("title", title, str, "text")
    checks.count("next_points", next_points, 0)
    with linalg.one_blas_thread():
        return page(subject_of(case, next_points), name if title is None else title)


def _named(subject: Any) -> tuple[str, Case]:
    """A heading, and all there is to report."""
    if isinstance(subject, Optimizer):
        return _TITLE, case_of_optimizer(subject)
    if isinstance(subject, StudyView):
        return f"Study {subject.name}", case_of_study(subject, subject.space)
    # Whoever has such a study has imported Optuna.
    optuna = sys.modules.get("optuna")
    if optuna is None or not isinstance(subject, optuna.Study):
        raise InputError(f"subject must be {_EXPECTED}, got {subject!r}")
    from innerloop.studies.any_study import AnyStudy

    study = AnyStudy(subject)
    case = case_of_study(study, study.searched, is_inferred=study.is_inferred)
    return f"Study {study.name}", case
