"""Commands that run and plot the paper's experiments: innerloop paper list, run, plot, status."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from innerloop.cli.options import Format
from innerloop.cli.output import message, show
from innerloop.errors import InputError

if TYPE_CHECKING:
    from innerloop.experiments.grid import Scale
    from innerloop.experiments.jobs import Job
    from innerloop.experiments.running import Workers

paper = typer.Typer(
    help="The paper's experiments: run, resume, plot.", no_args_is_help=True, name="paper"
)

Figures = Annotated[
    list[str], typer.Argument(help="Figures, such as 3 or 1d, or all.", metavar="FIGURE...")
]
AllFigures = Annotated[
    list[str] | None, typer.Argument(help="Figures; all if none is named.", metavar="[FIGURE...]")
]
ScaleName = Annotated[str, typer.Option("--scale", help="How much: small, laptop or paper.")]
Folder = Annotated[
    Path, typer.Option("--results", help="Folder or zip file of results.", metavar="PATH")
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
    message(f"{len(set(jobs))} jobs, of which {len(missing)} are to be computed, into {results}")
    if not missing:
        return
    with _workers(workers, scheduler) as crew, _progress(missing, crew.number) as done:
        failures = running.run(jobs, store, crew, done=done)
    for failure in failures[:5]:
        message(f"failed: {failure.reason} in {failure.job}")
    if failures:
        raise InputError(f"{len(failures)} jobs failed; run it again to try them once more")


@paper.command()
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
    from innerloop.experiments.figures import FIGURES
    from innerloop.experiments.store import Store
    from innerloop.experiments.style import save

    settings = chosen_scale(scale, trials, budgets, clock)
    store = Store(results)
    output.mkdir(parents=True, exist_ok=True)
    for name in named(figures):
        found = store.results(FIGURES[name].jobs(settings))
        if not found:
            raise InputError(
                f"there are no results of figure {name} in {results}: "
                f"innerloop paper run {name} --scale {scale}"
            )
        path = output / f"figure_{name}.{suffix}"
        save(FIGURES[name].draw(found), path)
        message(f"figure {name}: {path}")


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
        Path, typer.Option("-o", "--output", help="The zip file to write.", metavar="FILE")
    ],
    scale: ScaleName = "small",
    results: Folder = RESULTS,
    trials: Trials = None,
    budgets: Budgets = None,
    clock: Clock = None,
) -> None:
    """Put results into one zip file, which the other commands read like a folder."""
    from innerloop.experiments.running import needed
    from innerloop.experiments.store import Store

    jobs = needed(jobs_of(figures, chosen_scale(scale, trials, budgets, clock)))
    message(f"{Store(results).pack(jobs, output)} results: {output}")


def named(figures: Sequence[str]) -> list[str]:
    """Names of figures; "all" stands for every one."""
    from innerloop.experiments.figures import FIGURES

    for name in figures:
        if name != "all" and name not in FIGURES:
            raise InputError(f"there is no figure {name!r}: all or some of {', '.join(FIGURES)}")
    return list(FIGURES) if "all" in figures else list(dict.fromkeys(figures))


def jobs_of(figures: Sequence[str], scale: Scale) -> list[Job]:
    """Jobs of some figures, each once, what is quick first."""
    from innerloop.experiments.figures import FIGURES
    from innerloop.experiments.grid import in_turn

    return in_turn([FIGURES[name].jobs(scale) for name in named(figures)])


def chosen_scale(
    name: str, trials: int | None, budgets: list[int] | None, clock: str | None
) -> Scale:
    """The scale of that name, with what is given in place of its own."""
    from innerloop.experiments.grid import SCALES

    if name not in SCALES:
        raise InputError(f"--scale must be one of {', '.join(SCALES)}, got {name!r}")
    scale = SCALES[name]
    return replace(
        scale,
        trials=trials or scale.trials,
        budgets=tuple(budgets or scale.budgets),
        clock=clock or scale.clock,
    )


def _workers(number: int, scheduler: str | None) -> AbstractContextManager[Workers]:
    from innerloop.experiments.workers import cluster, processes

    return cluster(scheduler) if scheduler else processes(number or os.cpu_count() or 1)


@contextmanager
def _progress(jobs: Sequence[Job], workers: int) -> Iterator[Callable[[Job], None]]:
    """Say what the jobs will cost, and show how far they are."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from innerloop.experiments.estimate import cpu_seconds

    cost = dict(zip(jobs, cpu_seconds(jobs), strict=True))
    total = sum(cost.values())
    message(
        f"about {_duration(total)} of CPU time, {_duration(total / workers)} with {workers} "
        f"worker{'s' if workers > 1 else ''} of their own"
    )
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
            bar.update(task, jobs=f"{len(finished)}/{len(jobs)}", left=f"{_duration(left)} left")

        yield done


def _duration(seconds: float) -> str:
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} seconds"
