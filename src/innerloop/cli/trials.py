"""Commands about the trials of a study: ask, tell, trials, best, front, studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from innerloop.cli import options
from innerloop.cli.options import STORAGE, STUDY, Format
from innerloop.cli.output import message, show

if TYPE_CHECKING:
    from innerloop.studies.records import Record
    from innerloop.studies.view import StudyView


def ask(
    n: Annotated[int, typer.Option("-n", "--trials", min=1, help="How many.")] = 1,
    space: options.Space = None,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    direction: options.Way = None,
    seed: options.Seed = None,
    form: options.Formatted = Format.table,
) -> None:
    """Print trials to evaluate by hand. They stay pending until 'innerloop tell'.

    In CSV there is an empty column for each outcome.
    """
    from innerloop.cli.studies import opened
    from innerloop.optimizer.rows import with_places

    asked = opened(storage, study, space=space, direction=direction, seed=seed)
    for number in asked.bury():
        message(f"trial {number}: its worker died")
    records = [asked.ask() for _ in range(n)]
    for record in records:
        asked.hand_out(record.id)
    if form is Format.json:
        show(_rows(asked, records, form), form)
    else:
        # Outcomes are to be filled in.
        empty = dict.fromkeys(asked.goals.names)
        rows = [{"id": r.id, "params": with_places(r.params, asked.space)} for r in records]
        show([{**row, **empty} for row in rows], form)


def tell(
    results: Annotated[
        str | None,
        typer.Argument(
            help="CSV file with the columns id and value, or those of outcomes; - for stdin. "
            "Or the id of a trial.",
            metavar="FILE|ID",
        ),
    ] = None,
    outcomes: Annotated[
        list[str] | None,
        typer.Argument(
            help="What came of the trial, all or some of it; of one outcome its value alone.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    failed: Annotated[
        list[int] | None, typer.Option(help="A trial that has no value.", metavar="ID")
    ] = None,
    correct: Annotated[
        bool, typer.Option("--correct", help="Replace what was told otherwise before.")
    ] = False,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
) -> None:
    """Store what came of trials. Rows that cannot be told are named, and the others are told.

    Several outcomes may be told at once or in parts: the trial is complete when all are there.

    innerloop tell results.csv

    innerloop tell 7 yield=71.5 cost=3.2

    innerloop tell 7 71.5 --correct
    """
    from innerloop.cli.studies import open_study
    from innerloop.errors import InputError
    from innerloop.studies.results import tell_failed, tell_one, tell_text
    from innerloop.studies.tables import read_text

    if results is None and not failed:
        raise typer.BadParameter("give a CSV file, or --failed with the id of a trial")
    if results is not None and results.isdigit() and not outcomes and not Path(results).exists():
        raise typer.BadParameter(f"give what came of trial {results}, as name=value")
    complaints = []
    # A file that is not there leaves everything as it is, failures that are told with it included.
    text = None if results is None or outcomes else read_text(results)
    told = open_study(storage, study)
    for number in failed or ():
        try:
            tell_failed(told, number, correct=correct)
        except InputError as error:
            complaints.append(str(error))
    if results is not None:
        source = "stdin" if results == "-" else results
        if text is None:
            done = tell_one(told, results, outcomes or (), correct=correct)
        else:
            done = tell_text(told, text, source, correct=correct)
        complaints += done.complaints
        before = f", {len(done.known)} had been told before" if done.known else ""
        part = f", {len(done.waiting)} of them in part" if done.waiting else ""
        again = f", corrected {len(done.corrected)}" if done.corrected else ""
        message(f"told {len(done.told)}{part}{again}{before}")
        if done.ignored:
            names = ", ".join(map(repr, told.goals.names))
            message(f"ignored: {', '.join(map(repr, done.ignored))}; outcomes are {names}")
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
    from innerloop.cli.views import view

    seen = view(storage, study)
    _show(seen, seen.records(), form)


def best(
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    form: options.Formatted = Format.table,
) -> None:
    """Print the trial with the best value, of those within all limits.

    Where points have several results or noise was told, the one with the best mean by the model.
    """
    from innerloop.cli.views import best_of, view

    seen = view(storage, study)
    _show(seen, [best_of(seen)], form)


def front(
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    form: options.Formatted = Format.table,
) -> None:
    """Print the trials within all limits that no other one beats in all objectives."""
    from innerloop.cli.views import front_of, view

    seen = view(storage, study)
    records = seen.front()
    _show(seen, records, form)
    message(front_of(seen))


def _show(study: StudyView, records: Sequence[Record], form: Format) -> None:
    show(_rows(study, records, form), form, columns=("id", "state", *study.goals.names))


def _rows(study: StudyView, records: Sequence[Record], form: Format) -> list[dict[str, Any]]:
    """Records as plain data; what the model expected is in JSON only, tables being wide enough."""
    return [_row(study, record, form) for record in records]


def _row(study: StudyView, record: Record, form: Format) -> dict[str, Any]:
    if form is not Format.json:
        from innerloop.studies.records import row_of_record

        return row_of_record(record, study.goals, study.space)
    several = ("outcomes", "noise_sds", "feasible", "predictions")
    is_plain = study.goals.is_plain
    return {k: v for k, v in record.to_dict().items() if not (is_plain and k in several)}


def studies(storage: options.Storage = STORAGE, form: options.Formatted = Format.table) -> None:
    """Print the studies of a database."""
    from innerloop.cli.views import summary_of, views

    summaries = [summary_of(study) for study in views(storage)]
    show(summaries, form, columns=("name", "direction", "complete"))
