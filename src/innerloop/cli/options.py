"""Options that several commands share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Format(str, Enum):  # noqa: UP042 (typer shows the values of these)
    """How data are printed."""

    table = "table"
    csv = "csv"
    json = "json"


class Direction(str, Enum):  # noqa: UP042
    """What to do with the values."""

    minimize = "minimize"
    maximize = "maximize"


Storage = Annotated[
    str,
    typer.Option(envvar="INNERLOOP_STORAGE", help="URL of the database.", metavar="URL"),
]
Study = Annotated[str, typer.Option(help="Name of the study.", metavar="NAME")]
Space = Annotated[
    Path | None,
    typer.Option(help="File with the space; needed when the study is new.", metavar="FILE"),
]
Formatted = Annotated[Format, typer.Option("-f", "--format", help="How to print.")]
Way = Annotated[Direction | None, typer.Option(help="Of a new study; minimize by default.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Of a new study; random by default.", metavar="N")
]

STORAGE = "sqlite:///innerloop.db"
STUDY = "default"
