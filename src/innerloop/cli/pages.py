"""Commands that show a study in a browser: report and dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from innerloop.cli import options
from innerloop.cli.options import STORAGE, STUDY
from innerloop.cli.output import message

if TYPE_CHECKING:
    from innerloop.studies.view import StudyView


# Seconds after which browsers look at a page that is being watched.
_RELOAD = 5


def report(
    studies: Annotated[
        list[str] | None,
        typer.Argument(help="Names of studies; several are compared.", metavar="STUDY..."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write.", metavar="FILE")
    ] = Path("report.html"),
    watch: Annotated[
        bool, typer.Option("--watch", help="Write it anew when trials change, until Ctrl-C.")
    ] = False,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
) -> None:
    """Write a page about a study: what was tried, what was learned, what is next.

    Any study of Optuna's will do, whichever sampler has made it. Of several studies, how far each
    has come.
    """
    from innerloop.cli.views import any_view

    names = list(dict.fromkeys(studies or [study]))

    def look() -> list[StudyView]:
        return [any_view(storage, name) for name in names]

    if not watch:
        write(look(), output)
        return
    from innerloop.cli.watching import watch as watch_studies

    pages = list[str]()

    def act(seen: Sequence[StudyView]) -> None:
        pages[:] = [write(seen, output, reload=_RELOAD)]

    message("Ctrl-C ends it")
    try:
        watch_studies(look, act)
    except KeyboardInterrupt:
        if pages:  # browsers need not look any more
            _put(output, pages[0].replace(f' data-reload="{_RELOAD}"', "", 1))
        message(f"interrupted: {output} stays as it is")
        raise typer.Exit(130) from None


def write(studies: Sequence[StudyView], path: Path | str, reload: int | None = None) -> str:
    """Write the report of a study, or of several, and give its text."""
    from innerloop.report.report import html_of

    subject = studies[0] if len(studies) == 1 else {each.name: each for each in studies}
    page = html_of(subject, reload=reload)
    _put(path, page)
    trials = sum(len(each.stored_trials()) for each in studies)
    message(f"report: {path}" if reload is None else f"report: {path}, {trials} trials")
    return page


def _put(path: Path | str, page: str) -> None:
    from innerloop.atomic import write_text
    from innerloop.errors import StudyError

    try:
        write_text(path, page)
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror or error}") from error


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
