"""Commands that compute: list, run, status and pack."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from innerloop import InputError
from innerloop_paper import runner
from innerloop_paper.cli.output import Format, Formatted, message, show
from innerloop_paper.cli.progress import progress
from innerloop_paper.cli.scope import (
    RESULTS,
    AllFigures,
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
from innerloop_paper.cpu_seconds import cpu_seconds
from innerloop_paper.figures import FIGURES
from innerloop_paper.grid import SCALES
from innerloop_paper.store import Store
from innerloop_paper.workers import cluster, processes


def list_figures(form: Formatted = Format.table) -> None:
    """Print the figures, and how many jobs each takes at every scale."""
    rows = [
        {"figure": name, "shows": figure.title}
        | {scale: len(figure.jobs(settings)) for scale, settings in SCALES.items()}
        for name, figure in FIGURES.items()
    ]
    show(rows, form)


def run(
    figures: Figures,
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    workers: Annotated[
        int, typer.Option("-p", "--workers", help="Processes; 0: one for each core.", min=0)
    ] = 0,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="A Dask scheduler instead: dask://HOST:PORT, tcp://HOST:PORT or its file."
        ),
    ] = None,
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
) -> None:
    """Compute what is missing for some figures; a run that was ended goes on where it was."""
    jobs = jobs_of(figures, chosen_scale(scale, trials, budgets, clock))
    store = Store(results)
    missing = runner.missing(jobs, store)
    total = len(runner.needed(jobs))
    message(f"{total} jobs, of which {len(missing)} are to be computed, into {results}")
    if not missing:
        return
    with _workers(workers, scheduler) as crew, progress(missing, crew.number) as done:
        failures = runner.run(jobs, store, crew, done=done)
    for failure in failures[:5]:
        message(f"failed: {failure.reason} in {failure.job}")
    if failures:
        raise InputError(f"{len(failures)} jobs failed; run it again to try them once more")


def status(
    figures: AllFigures = None,
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
    form: Formatted = Format.table,
) -> None:
    """Print how much of each figure is done, and what the rest will cost."""
    settings, store = chosen_scale(scale, trials, budgets, clock), Store(results)
    rows = []
    for name in named(figures or ["all"]):
        jobs = set(FIGURES[name].jobs(settings))
        left = runner.missing(jobs, store)
        cost = round(sum(cpu_seconds(left)) / 60.0, 1)
        done = sum(store.has(job) for job in jobs)
        rows.append({"figure": name, "jobs": len(jobs), "done": done, "cpu_minutes_left": cost})
    show(rows, form)


def pack(
    figures: Figures,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The .tar.xz file to write.", metavar="FILE")
    ],
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
) -> None:
    """Put results into one .tar.xz file, which the other commands read like a folder."""
    jobs = runner.needed(jobs_of(figures, chosen_scale(scale, trials, budgets, clock)))
    message(f"{Store(results).pack(jobs, output)} results: {output}")


def _workers(number: int, scheduler: str | None) -> AbstractContextManager[runner.Workers]:
    return cluster(scheduler) if scheduler else processes(number or os.cpu_count() or 1)
