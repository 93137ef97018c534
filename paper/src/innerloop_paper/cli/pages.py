"""Commands that show results: plot and page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from innerloop import InputError
from innerloop_paper import results_page, style
from innerloop_paper.cells import Cell
from innerloop_paper.cli.output import message
from innerloop_paper.cli.scope import (
    RESULTS,
    Budgets,
    Clock,
    Figures,
    Folder,
    ScaleName,
    Trials,
    chosen_scale,
    jobs_of,
    named,
)
from innerloop_paper.errors import NothingToDrawError
from innerloop_paper.figures import FIGURES
from innerloop_paper.files import write_text
from innerloop_paper.grid import SCALES
from innerloop_paper.store import Result, Store


def plot(
    figures: Figures,
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the figures.", metavar="FOLDER")
    ] = Path("figures"),
    suffix: Annotated[str, typer.Option("--as", help="svg, pdf or png.")] = "svg",
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
) -> None:
    """Draw figures from the results that are there."""
    settings = chosen_scale(scale, trials, budgets, clock)
    store = Store(results)
    for name in named(figures):
        found = store.results(FIGURES[name].jobs(settings))
        if not found:
            raise InputError(
                f"there are no results of figure {name} in {results}: "
                f"innerloop-paper run {name} --scale {scale}"
            )
        path = _drawn(name, found, output, suffix)
        message(f"figure {name}: {path}")


def page(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The page to write.", metavar="FILE")
    ] = Path("results.md"),
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
) -> None:
    """Write a page of claims, each with what was measured, and draw all figures beside it."""
    settings, store = chosen_scale(scale, trials, budgets, clock), Store(results)
    paths, everything = {}, store.results(jobs_of(["all"], settings))
    if not everything:
        raise InputError(f"there are no results in {results}: innerloop-paper run all")
    by_job = {result.job: result for result in everything}
    for name, figure in FIGURES.items():
        found = [by_job[job] for job in figure.jobs(settings) if job in by_job]
        with suppress(NothingToDrawError):
            drawn = _drawn(name, found, output.parent / "images", "svg")
            paths[name] = str(drawn.relative_to(output.parent))
    whole = [job for job in jobs_of(["all"], SCALES["paper"]) if isinstance(job, Cell)]
    scope = f"--scale {scale}" + "".join(
        [f" --trials {trials}" if trials else ""]
        + [f" --budget {budget}" for budget in budgets or ()]
        + [f" --clock {clock}" if clock else ""]
    )
    command = (
        f"innerloop-paper run all {scope}\ninnerloop-paper page {scope} --output {output.name}"
    )
    text = results_page.page(everything, command=command, figures=paths, grid=whole)
    try:
        write_text(output, text)
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror or error}") from error
    message(f"{len(everything)} results: {output}")


def _drawn(name: str, results: Sequence[Result], folder: Path, suffix: str) -> Path:
    """Draw a figure into a folder."""
    if suffix not in ("svg", "pdf", "png"):
        raise InputError(f"--as must be svg, pdf or png, got {suffix!r}")
    path = folder / f"figure_{name}.{suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        style.save(FIGURES[name].drawn(results), path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return path
