"""Commands that run and plot the paper's experiments: innerloop paper list, run, plot, status."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from innerloop.cli import paper_pages
from innerloop.cli.options import Format
from innerloop.cli.output import message, show
from innerloop.cli.paper_scope import (
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
from innerloop.errors import InputError

if TYPE_CHECKING:
    from innerloop.experiments.jobs import Job
    from innerloop.experiments.running import Workers

paper = typer.Typer(
    help="The paper's experiments: run, resume, plot.", no_args_is_help=True, name="paper"
)
paper.command()(paper_pages.plot)
paper.command()(paper_pages.page)


@paper.command("list")
def list_figures(form: Annotated[Format, typer.Option("-f", "--format")] = Format.table) -> None:
    """Print the figures, and how many jobs each takes at every scale."""
    from innerloop.experiments.figures import FIGURES
    from innerloop.experiments.grid import SCALES

    rows = [
        {"figure": name, "shows": figure.title}
        | {scale: len(figure.jobs(settings)) for scale, settings in SCALES.items()}
        for name, figure in FIGURES.items()
    ]
    show(rows, form)


@paper.command()
def run(
    figures: Figures,
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    workers: Annotated[
        int, typer.Option("-p", "--workers", help="Processes; 0: one for each core.", min=0)
    ] = 0,
    scheduler: Annotated[
        str | None, typer.Option(help="A Dask scheduler instead, such as tcp://HOST:8786.")
    ] = None,
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
) -> None:
    """Compute what is missing for some figures; a run that was ended goes on where it was."""
    from innerloop.experiments import running
    from innerloop.experiments.store import Store

    jobs = jobs_of(figures, chosen_scale(scale, trials, budgets, clock))
    store = Store(results)
    missing = running.missing(jobs, store)
    total = len(running.needed(jobs))
    message(f"{total} jobs, of which {len(missing)} are to be computed, into {results}")
    if not missing:
        return
    with _workers(workers, scheduler) as crew, _progress(missing, crew.number) as done:
        failures = running.run(jobs, store, crew, done=done)
    for failure in failures[:5]:
        message(f"failed: {failure.reason} in {failure.job}")
    if failures:
        raise InputError(f"{len(failures)} jobs failed; run it again to try them once more")


@paper.command()
def status(
    figures: AllFigures = None,
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
    form: Annotated[Format, typer.Option("-f", "--format")] = Format.table,
) -> None:
    """Print how much of each figure is done, and what the rest will cost."""
    from innerloop.experiments.estimate import cpu_seconds
    from innerloop.experiments.figures import FIGURES
    from innerloop.experiments.running import missing
    from innerloop.experiments.store import Store

    settings, store = chosen_scale(scale, trials, budgets, clock), Store(results)
    rows = []
    for name in named(figures or ["all"]):
        jobs = set(FIGURES[name].jobs(settings))
        left = missing(jobs, store)
        cost = round(sum(cpu_seconds(left)) / 60.0, 1)
        done = sum(store.has(job) for job in jobs)
        rows.append({"figure": name, "jobs": len(jobs), "done": done, "cpu_minutes_left": cost})
    show(rows, form)


@paper.command()
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
    from innerloop.experiments.running import needed
    from innerloop.experiments.store import Store

    jobs = needed(jobs_of(figures, chosen_scale(scale, trials, budgets, clock)))
    message(f"{Store(results).pack(jobs, output)} results: {output}")


def _workers(number: int, scheduler: str | None) -> AbstractContextManager[Workers]:
    from innerloop.experiments.workers import cluster, processes

    return cluster(scheduler) if scheduler else processes(number or os.cpu_count() or 1)


@contextmanager
def _progress(jobs: Sequence[Job], workers: int) -> Iterator[Callable[[Job], None]]:
    """Say what the jobs will cost, and show how far they are."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from innerloop.experiments.estimate import cpu_seconds
    from innerloop.report.numbers import duration

    cost = dict(zip(jobs, cpu_seconds(jobs), strict=True))
    total = sum(cost.values())
    crew = "1 worker has" if workers == 1 else f"{workers} workers each have"
    message(f"about {duration(total)} of CPU time: {duration(total / workers)} if {crew} a core")
    bar = Progress(
        TextColumn("{task.fields[jobs]}"),
        BarColumn(bar_width=None),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        expand=True,
    )
    finished: list[Job] = []
    with bar:
        task = bar.add_task("", total=total, jobs=f"0/{len(jobs)}", left="")

        def done(job: Job) -> None:
            finished.append(job)
            bar.advance(task, cost[job])
            share = max(bar.tasks[0].completed / total, 1e-9)
            left = (bar.tasks[0].elapsed or 0.0) * (1.0 / share - 1.0)
            bar.update(task, jobs=f"{len(finished)}/{len(jobs)}", left=f"{duration(left)} left")

        yield done
