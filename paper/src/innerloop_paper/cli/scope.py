"""What commands about the paper have in common: figures, a scale, and where results are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from innerloop import InputError
from innerloop_paper.figures import FIGURES
from innerloop_paper.grid import SCALES, Scale, in_turn
from innerloop_paper.jobs import Job

Figures = Annotated[
    list[str], typer.Argument(help="Figures, such as 3 or 1d, or all.", metavar="FIGURE...")
]
AllFigures = Annotated[
    list[str] | None, typer.Argument(help="Figures; all if none is named.", metavar="[FIGURE...]")
]
ScaleName = Annotated[str, typer.Option("--scale", help="How much: small, laptop or paper.")]
Folder = Annotated[
    Path, typer.Option("--results", help="Folder or .tar.xz file of results.", metavar="PATH")
]
Trials = Annotated[int | None, typer.Option(help="Trials, if not those of the scale.", min=1)]
Budgets = Annotated[
    list[int] | None,
    typer.Option("--budget", help="Inner budget N, if not those of the scale; may be repeated."),
]
Clock = Annotated[
    str | None, typer.Option(help="Budgets by 'cpu' time or 'evaluations', if not the scale's.")
]
RESULTS = Path("paper-results")


def named(figures: Sequence[str]) -> list[str]:
    """Names of figures; "all" stands for every one."""
    for name in figures:
        if name != "all" and name not in FIGURES:
            raise InputError(f"there is no figure {name!r}: all or some of {', '.join(FIGURES)}")
    return list(FIGURES) if "all" in figures else list(dict.fromkeys(figures))


def jobs_of(figures: Sequence[str], scale: Scale) -> list[Job]:
    """Jobs of some figures, each once, what is quick first."""
    return in_turn([FIGURES[name].jobs(scale) for name in named(figures)])


def chosen_scale(
    name: str, trials: int | None, budgets: list[int] | None, clock: str | None
) -> Scale:
    """The scale of that name, with what is given in place of its own."""
    if name not in SCALES:
        raise InputError(f"--scale must be one of {', '.join(SCALES)}, got {name!r}")
    scale = SCALES[name]
    return replace(
        scale,
        trials=trials or scale.trials,
        budgets=tuple(budgets or scale.budgets),
        clock=clock or scale.clock,
    )
