"""The command `innerloop-paper`; exit codes: 0 done, 1 failed, 2 usage, 130 interrupted."""

from __future__ import annotations

import sys
import warnings

import typer

from innerloop import InnerLoopError
from innerloop_paper.cli import pages, work
from innerloop_paper.cli.output import message

app = typer.Typer(
    name="innerloop-paper",
    help="The paper's experiments: run, resume, plot.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(work.list_figures)
for command in (work.run, work.status, work.pack, pages.plot, pages.page):
    app.command()(command)


def main() -> None:
    """Do what the command line says."""
    warnings.simplefilter("ignore")  # they are for those who call a library
    try:
        app(prog_name="innerloop-paper")
    except InnerLoopError as error:
        message(f"innerloop-paper: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
