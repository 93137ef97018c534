"""The command `innerloop` and its exit codes: 0 done, 1 failed, 2 usage, 130 interrupted."""

from __future__ import annotations

import io
import re
import sys
import warnings
from typing import Any

try:
    import typer
except ImportError:
    sys.exit("the command innerloop needs more packages: pip install 'innerloop[study]'")

from innerloop.cli import changes, pages, runs, trials
from innerloop.cli.output import message
from innerloop.errors import InnerLoopError

_NEGATIVE = re.compile(r"-[\d.,]+([eE][-+]?\d+)?")

app = typer.Typer(
    name="innerloop",
    help="Parallel Bayesian optimization: studies that last, run by commands or by hand.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    runs.run,
    trials.ask,
    trials.tell,
    changes.add,
    changes.forget,
    changes.space,
    changes.history,
    trials.trials,
    trials.best,
    trials.front,
    trials.studies,
    pages.report,
    pages.dashboard,
    runs.demo,
):
    app.command()(command)


def main(arguments: list[str] | None = None) -> Any:
    """Do what the command line says."""
    given = sys.argv[1:] if arguments is None else arguments
    words = None
    if given[:1] == ["run"] and "--" in given:
        # What follows is a command of the user's own, and nothing in it an option of ours.
        split = given.index("--")
        given, words = given[:split], given[split + 1 :] or None
    if given[:1] == ["tell"]:
        # What begins with a dash is taken for an option, also a negative value.
        given = [f" {word}" if _NEGATIVE.fullmatch(word) else word for word in given]
    warnings.simplefilter("ignore")  # they are for those who call a library
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character is no reason to end.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(given, prog_name="innerloop", obj=words)
    except InnerLoopError as error:
        message(f"innerloop: {' '.join(str(error).split())}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
