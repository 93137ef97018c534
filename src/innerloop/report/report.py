"""One self-contained HTML file about an optimizer or a study: what was tried, what was learned.

The page needs no network and no library: figures are drawn by a few hundred lines of script from
data that lie beside them in the file.
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from innerloop import checks, linalg
from innerloop.atomic import write_text
from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.report.case import Case, case_of_optimizer, case_of_study
from innerloop.report.comparison import comparison
from innerloop.report.page import page
from innerloop.report.subject import subject_of
from innerloop.studies.view import StudyView

if TYPE_CHECKING:
    import optuna

    One = Optimizer | optuna.Study | StudyView

_EXPECTED = "an Optimizer or a study of Optuna's"
_TITLE = "Optimization report"

# Height of a report in a notebook, in pixels.
_HEIGHT = 720


def write_report(
    subject: One | Sequence[One] | Mapping[str, One],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    next_points: int = 4,
) -> Path:
    """Write a report as one HTML file, which holds either all of it or what it held before.

    Args:
        subject: an optimizer; or a study of Optuna's, whichever sampler has made it. Several of
            them, in a list or by name, are compared.
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
    subject: One | Sequence[One] | Mapping[str, One],
    *,
    title: str | None = None,
    next_points: int = 4,
    reload: float | None = None,
) -> str:
    """The report as text.

    Args:
        subject: as `write_report` takes it.
        title: the heading of the page.
        next_points: how many points to show that would be asked next.
        reload: seconds after which browsers load the page anew, again and again.

    Returns:
        The page.
    """
    if title is not None:
        checks.instance("title", title, str, "text")
    checks.count("next_points", next_points, 0)
    with linalg.one_blas_thread():
        if isinstance(subject, Mapping | list | tuple):
            return comparison(_several(subject), title or "Comparison", reload)
        name, case = _named(subject)
        heading = _TITLE if name is None else f"Study {name}"
        return page(subject_of(case, next_points), title or heading, reload)


class Report:
    """The report as it is now, which a notebook shows in its output.

    What it is about stays as it is. `html` is the whole page as text.

    Args:
        subject: as `write_report` takes it.
        title: the heading of the page.
        next_points: how many points to show that would be asked next; 0 for none.
    """

    def __init__(
        self,
        subject: One | Sequence[One] | Mapping[str, One],
        *,
        title: str | None = None,
        next_points: int = 4,
    ) -> None:
        self.html = html_of(subject, title=title, next_points=next_points)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which holds either all of it or what it held before.

        Args:
            path: where to.

        Returns:
            The path.
        """
        write_text(Path(path), self.html)
        return Path(path)

    def __repr__(self) -> str:
        return f"Report({len(self.html) // 1024} kB)"

    def _repr_html_(self) -> str:
        # A page of its own: it may run its scripts, and touch nothing of the page around it.
        style = f"width: 100%; height: {_HEIGHT}px; border: 0"
        page = html.escape(self.html)
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


def _several(subject: Sequence[Any] | Mapping[str, Any]) -> dict[str, Case]:
    """Several cases by name: where none is given, that of a study, or a number."""
    if not subject:
        raise InputError(f"subject must be {_EXPECTED}, or some of these, got none")
    if isinstance(subject, Mapping):
        return {str(name): _named(each)[1] for name, each in subject.items()}
    named: dict[str, Case] = {}
    for number, each in enumerate(subject, 1):
        name, case = _named(each)
        name = f"Optimizer {number}" if name is None else name
        named[name if name not in named else f"{name} ({number})"] = case
    return named


def _named(subject: Any) -> tuple[str | None, Case]:
    """All there is to report, with a name if it has one."""
    if isinstance(subject, Optimizer):
        return None, case_of_optimizer(subject)
    if isinstance(subject, StudyView):
        return subject.name, case_of_study(subject)
    # Whoever has such a study has imported Optuna.
    optuna = sys.modules.get("optuna")
    if optuna is None or not isinstance(subject, optuna.Study):
        raise InputError(f"subject must be {_EXPECTED}, got {subject!r}")
    from innerloop.studies.any_study import AnyStudy

    study = AnyStudy(subject)
    return study.name, case_of_study(study)
