"""What jobs will cost, and how far they are, for the person at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from innerloop_paper.cli.output import duration, message
from innerloop_paper.cpu_seconds import cpu_seconds
from innerloop_paper.jobs import Job


@contextmanager
def progress(jobs: Sequence[Job], workers: int) -> Iterator[Callable[[Job], None]]:
    """Say what the jobs will cost, and show how far they are."""
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
