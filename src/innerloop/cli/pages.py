"""Commands that show a study in a browser: report and dashboard."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from innerloop.cli import options
from innerloop.cli.options import STORAGE, STUDY
from innerloop.cli.output import message

if TYPE_CHECKING:
    from innerloop.studies.view import StudyView


def report(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write.", metavar="FILE")
    ] = Path("report.html"),
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
) -> None:
    """Write a page about a study: what was tried, what was learned, what is next."""
    from innerloop.cli.views import view

    write(view(storage, study), output)


def write(study: StudyView, path: Path | str) -> None:
    """Write the report of a study."""
    from innerloop.errors import StudyError
    from innerloop.report.report import write_report
    from innerloop.studies.optimizers import optimizer_of

    optimizer = optimizer_of(study)
    try:
        written = write_report(optimizer, path, title=f"Study {study.name}")
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror or error}") from error
    message(f"report: {written}")


def dashboard(
    storage: options.Storage = STORAGE,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.", min=1, max=65535)] = 8080,
) -> None:
    """Serve Optuna's dashboard of a database, if it is installed."""
    from innerloop.errors import StudyError
    from innerloop.studies.storage import open_storage

    try:
        served = import_module("optuna_dashboard")
    except ImportError as error:
        raise StudyError(
            "the dashboard is a package of its own: pip install optuna-dashboard; "
            "'innerloop report' needs nothing more"
        ) from error
    opened = open_storage(storage, writing=False)

    message(f"http://{host}:{port}/ (Ctrl-C ends it)")
    try:
        served.run_server(opened, host=host, port=port)
    except OSError as error:
        raise StudyError(f"cannot listen at {host}:{port}: {error}") from error
