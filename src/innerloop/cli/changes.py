"""Commands that change what is on record: forget."""

from __future__ import annotations

from typing import Annotated

import typer

from innerloop.cli import options
from innerloop.cli.options import STORAGE, STUDY
from innerloop.cli.output import message


def forget(
    trials: Annotated[list[int], typer.Argument(help="Ids of trials.", metavar="ID...")],
    undo: Annotated[bool, typer.Option("--undo", help="Bring them back.")] = False,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
) -> None:
    """Keep trials on record and learn nothing from them: they are not the best, nor tried."""
    from innerloop.cli.studies import open_study
    from innerloop.errors import InputError

    opened, complaints = open_study(storage, study), list[str]()
    for number in trials:
        try:
            opened.forget(number, undo=undo)
        except InputError as error:
            complaints.append(str(error))
    done = "brought back" if undo else "forgotten"
    message(f"{done}: {len(trials) - len(complaints)}")
    for complaint in complaints:
        message(complaint)
    if complaints:
        raise typer.Exit(1)
