"""Commands about the trials of a study: ask, tell, trials, best, studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from innerloop.cli import options
from innerloop.cli.options import STORAGE, STUDY, Format
from innerloop.cli.output import message, show

if TYPE_CHECKING:
    from innerloop.studies.records import Record


def ask(
    n: Annotated[int, typer.Option("-n", "--trials", min=1, help="How many.")] = 1,
    space: options.Space = None,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    direction: options.Way = None,
    seed: options.Seed = None,
    form: options.Formatted = Format.table,
) -> None:
    """Print trials to evaluate by hand. They stay pending until 'innerloop tell'."""
    from innerloop.cli.studies import opened

    asked = opened(storage, study, space=space, direction=direction, seed=seed)
    for number in asked.bury():
        message(f"trial {number}: its worker died")
    records = [asked.ask() for _ in range(n)]
    for record in records:
        asked.hand_out(record.id)
    if form is Format.json:
        show(_rows(records, form), form)
    else:
        # Values are to be filled in.
        show([{"id": r.id, "params": r.params, "value": None} for r in records], form)


def tell(
    results: Annotated[
        str | None,
        typer.Argument(help="CSV file with the columns id and value; - for stdin.", metavar="FILE"),
    ] = None,
    failed: Annotated[
        list[int] | None, typer.Option(help="A trial that has no value.", metavar="ID")
    ] = None,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
) -> None:
    """Store the values of trials. Rows that cannot be told are named, and the others are told."""
    from innerloop.cli.studies import open_study
    from innerloop.errors import InputError
    from innerloop.studies.results import tell_file

    if results is None and not failed:
        raise typer.BadParameter("give a CSV file, or --failed with the id of a trial")
    complaints = []
    told = open_study(storage, study)
    for number in failed or ():
        try:
            told.fail(number, "told to have failed")
        except InputError as error:
            complaints.append(str(error))
    if results is not None:
        outcome = tell_file(told, results)
        complaints += outcome.complaints
        before = f", {len(outcome.known)} had been told before" if outcome.known else ""
        message(f"told {len(outcome.told)}{before}")
    for complaint in complaints:
        message(complaint)
    if complaints:
        raise typer.Exit(1)


def trials(
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    form: options.Formatted = Format.table,
) -> None:
    """Print all trials of a study."""
    from innerloop.cli.studies import open_study

    records = open_study(storage, study, writing=False).records()
    show(_rows(records, form), form, columns=("id", "state", "value"))


def best(
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    form: options.Formatted = Format.table,
) -> None:
    """Print the trial with the best value."""
    from innerloop.cli.studies import open_study

    record = open_study(storage, study, writing=False).best()
    show(_rows([record], form), form)


def _rows(records: Sequence[Record], form: Format) -> list[dict[str, Any]]:
    """Records as plain data; what the model expected is in JSON only, tables being wide enough."""
    left_out = () if form is Format.json else ("prediction", "certificate")
    return [{k: v for k, v in r.to_dict().items() if k not in left_out} for r in records]


def studies(storage: options.Storage = STORAGE, form: options.Formatted = Format.table) -> None:
    """Print the studies of a database."""
    from innerloop.cli.studies import studies_in, summary_of

    summaries = [summary_of(study) for study in studies_in(storage)]
    show(summaries, form, columns=("name", "direction", "complete"))
