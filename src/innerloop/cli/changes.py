"""Commands that change what is on record, and show how: add, forget, space, history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from innerloop.cli import options
from innerloop.cli.options import STORAGE, STUDY, Format
from innerloop.cli.output import message, show

if TYPE_CHECKING:
    from innerloop.optimizer.changes import Change


def add(
    results: Annotated[
        str,
        typer.Argument(
            help="CSV file with a column for each parameter and each outcome; - for stdin.",
            metavar="FILE",
        ),
    ],
    again: Annotated[
        bool, typer.Option("--again", help="Add rows that have been added before, too.")
    ] = False,
    space: options.Space = None,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    direction: options.Way = None,
    seed: options.Seed = None,
) -> None:
    """Add results from elsewhere. Rows that cannot be added are named, and the others are added."""
    from innerloop.cli.studies import opened
    from innerloop.studies.add import add_text
    from innerloop.studies.tables import read_text

    text = read_text(results)
    there = opened(storage, study, space=space, direction=direction, seed=seed)
    done = add_text(there, text, "stdin" if results == "-" else results, again=again)
    outside = f", {len(done.outside)} of them outside the space" if done.outside else ""
    before = f", {len(done.known)} had been added before" if done.known else ""
    message(f"added {len(done.added)}{outside}{before}")
    if done.ignored:
        message(f"ignored: {', '.join(map(repr, done.ignored))}")
    for complaint in done.complaints:
        message(complaint)
    if done.complaints:
        raise typer.Exit(1)


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


def space(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="The new space; without it the present one is printed.", metavar="FILE"
        ),
    ] = None,
    default: Annotated[
        list[str] | None,
        typer.Option(help="Of a new parameter, its value in earlier trials.", metavar="NAME=VALUE"),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A parameter that is gone.", metavar="NAME")
    ] = None,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
) -> None:
    """Go on in another space. All trials stay; those that are not in it are marked as outside."""
    from innerloop.cli.studies import open_study, read_goals, read_space
    from innerloop.errors import StudyError
    from innerloop.studies.add import defaults_of

    new = read_space(file)
    opened = open_study(storage, study)
    if file is None or new is None:
        if opened.space is None:
            raise StudyError(f"study {study!r} has no space")
        print(opened.space.to_toml(), end="")
        return
    if read_goals(file, None) not in (None, opened.goals):
        raise StudyError(f"study {study!r} keeps its goals: {file} has others")
    opened.change_space(new, defaults=defaults_of(new, default or ()), drop=drop or ())
    records = opened.records()
    outside = sum(record.outside is not None for record in records)
    message(f"{len(records)} trials, {outside} of them outside the space")


def history(
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    form: options.Formatted = Format.table,
) -> None:
    """Print every change of what was on record: what it was before, and what it is now."""
    from innerloop.cli.views import view

    changes = [_row(change, form) for change in view(storage, study).changes()]
    show(changes, form, columns=("at", "kind", "trial", "before", "after"))


def _row(change: Change, form: Format) -> dict[str, Any]:
    """A change as plain data; in tables and CSV what differs, in words."""
    at = datetime.fromtimestamp(change.at, UTC).isoformat(timespec="milliseconds")
    about = {"at": at.replace("+00:00", "Z"), "kind": change.kind, "trial": change.trial}
    if form is Format.json:
        return {**about, "before": dict(change.before), "after": dict(change.after)}
    before, after = _flat(change.before), _flat(change.after)
    different = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {
        **about,
        **{
            title: ", ".join(
                f"{name} {json.dumps(side[name])}" for name in different if name in side
            )
            for title, side in (("before", before), ("after", after))
        },
    }


def _flat(told: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """What was told, or the parameters of a space, with a name for each of several things."""
    flat: dict[str, Any] = {}
    for name, each in told.items():
        inner = prefix if name in ("space", "parameters") else f"{prefix}{name}."
        flat |= _flat(each, inner) if isinstance(each, Mapping) else {f"{prefix}{name}": each}
    return flat
