"""Commands that evaluate: run and demo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from innerloop.cli import options
from innerloop.cli.options import STORAGE, STUDY, Direction
from innerloop.cli.output import cell, message

if TYPE_CHECKING:
    from innerloop.run.loop import Pace
    from innerloop.run.stopping import Stop
    from innerloop.run.workers import Submits
    from innerloop.studies.command import Command
    from innerloop.studies.run import Ran
    from innerloop.studies.study import Study
    from innerloop.studies.targets import Function

_ENOUGH = ("target:", "patience:", "near optimal:")


def run(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(help="file.py:function or package.module:function.", metavar="TARGET"),
    ] = None,
    n: Annotated[
        int, typer.Option("-n", "--trials", min=1, help="Finished trials the study shall have.")
    ] = 64,
    p: Annotated[int, typer.Option("-p", "--parallel", min=1, help="Trials at a time.")] = 1,
    space: options.Space = None,
    storage: options.Storage = STORAGE,
    study: options.Study = STUDY,
    direction: options.Way = None,
    executor: Annotated[
        str,
        typer.Option(
            help="processes, threads, dask://HOST:PORT, tcp://HOST:PORT or a scheduler file.",
            metavar="KIND",
        ),
    ] = "processes",
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which the run ends.", metavar="S")
    ] = None,
    trial_timeout: Annotated[
        float | None, typer.Option(help="Seconds a trial may take.", metavar="S")
    ] = None,
    max_failures: Annotated[
        int, typer.Option(min=1, help="Places of failures in a row that end the run.", metavar="N")
    ] = 10,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="End after N trials without a better one.", metavar="N"),
    ] = None,
    goal: Annotated[
        float | None,
        typer.Option("--target", help="End when the best value is as good as this.", metavar="V"),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            "--near-optimal",
            help="End when the best value is this near the optimum, as far as the model knows.",
            metavar="GAP",
        ),
    ] = None,
    risk: Annotated[
        float, typer.Option(help="Chance that it is not that near, at most.", metavar="R")
    ] = 0.05,
    seed: options.Seed = None,
) -> None:
    """Evaluate trials until the study has N of them, now or when the same line is run again.

    TARGET is a function of a dict of params, or a command after --, with {name} for values:
    its last line of output is the value. Several outcomes are returned as a mapping, or printed
    as a JSON object in that line. For instance

    innerloop run train.py:loss --space space.toml -n 64 -p 4

    innerloop run --space space.toml -n 64 -p 4 -- python train.py --lr {lr}
    """
    words = context.obj
    if (target is None) == (words is None):
        raise typer.BadParameter("give either TARGET or a command after --")
    for name, seconds in (("--timeout", timeout), ("--trial-timeout", trial_timeout)):
        if seconds is not None and not seconds > 0:
            raise typer.BadParameter(f"{name} must be above 0, got {seconds}")
    _check_executor(executor, trial_timeout)

    from innerloop.cli.studies import open_study, opened, read_space
    from innerloop.run.loop import Pace
    from innerloop.run.stopping import NearOptimal, Patience, Stop, Target
    from innerloop.studies.targets import Function

    stop = list[Stop]()
    if goal is not None:
        stop.append(Target(goal))
    if patience is not None:
        stop.append(Patience(patience))
    if gap is not None:
        stop.append(NearOptimal(gap, risk))
    known = read_space(space) or open_study(storage, study).space
    names = known.names if known is not None else ()
    what = Function(target) if target is not None else _command(words, names)
    with _evaluating(what, executor, p, trial_timeout) as (f, workers):
        there = opened(storage, study, space=space, direction=direction, seed=seed)
        pace = Pace(p, timeout=timeout, max_failures=max_failures)
        run_and_report(there, n, pace, f, workers, stop)


def run_and_report(
    study: Study,
    total: int,
    pace: Pace,
    f: Callable[[dict[str, Any]], Any],
    workers: Submits,
    stop: Sequence[Stop] = (),
) -> None:
    """Run a study and say what came of it; ends the program if that is not good."""
    from innerloop.studies.run import run as run_study

    began = time.perf_counter()
    ran = run_study(study, total, pace, f=f, executor=workers, stop=stop)
    _summarize(study, ran, pace, time.perf_counter() - began)
    if ran.stopped == "interrupted":
        raise typer.Exit(130)
    if ran.stopped == "failures" or ran.stopped.startswith("executor"):
        raise typer.Exit(1)


def _summarize(study: Study, ran: Ran, pace: Pace, seconds: float) -> None:
    from innerloop.cli.views import front_of, summary_of

    summary = summary_of(study)
    lost = f", {summary['lost']} lost" if summary["lost"] else ""
    counts = f"{summary['complete']} complete, {summary['failed']} failed{lost}"
    message(f"study {study.name!r}: {counts}; {ran.told} of them in this run, {seconds:.1f} s")
    if len(study.goals.objectives) > 1 or (summary["complete"] and summary["best"] is None):
        message(front_of(study))
    elif summary["best"] is not None:
        best = study.best()
        params = ", ".join(f"{name}={cell(value)}" for name, value in best.params.items())
        message(f"best: {best.value:.6g} (trial {best.id}) at {params}")
    reasons = {
        "timeout": f"stopped after {pace.timeout} seconds",
        "interrupted": "interrupted: what was told is kept, and the same line goes on from there",
        "exhausted": "every point of the space has been tried",
        "elsewhere": "the rest is being run by other processes",
        "failures": f"stopped after failures in a row at {pace.max_failures} different places, "
        f"which --max-failures sets: {ran.last_error}",
    }
    if ran.stopped.startswith(_ENOUGH):
        message(f"stopped, {ran.stopped}")
    elif ran.stopped in reasons:
        message(reasons[ran.stopped])
    elif ran.stopped.startswith("executor"):
        message(f"stopped by its {ran.stopped}")
    elif ran.last_error:
        message(f"last failure: {ran.last_error}")


def _command(words: list[str], names: tuple[str, ...]) -> Command:
    from innerloop.studies.command import Command

    return Command(tuple(words), names)


def _check_executor(executor: str, trial_timeout: float | None) -> None:
    from innerloop.run.dask_client import FORMS, is_address

    if executor not in ("processes", "threads") and not is_address(executor):
        raise typer.BadParameter(
            f"--executor must be processes, threads, {FORMS}, got {executor!r}"
        )
    if executor != "processes" and trial_timeout is not None:
        raise typer.BadParameter("--trial-timeout needs --executor processes, which it can end")


@contextmanager
def _evaluating(
    target: Function | Command, executor: str, parallel: int, trial_timeout: float | None
) -> Iterator[tuple[Callable[[dict[str, Any]], Any], Submits]]:
    """How trials are evaluated and where; the target has been found to be there."""
    from innerloop.studies.command import Command
    from innerloop.studies.processes import DaemonThreads, Processes
    from innerloop.studies.targets import load

    if executor not in ("processes", "threads"):
        from innerloop.studies.cluster import cluster

        with cluster(executor, target) as pair:
            yield pair
    elif executor == "threads" and not isinstance(target, Command):
        yield load(target), DaemonThreads(parallel)
    else:
        processes = Processes(target, timeout=trial_timeout)
        try:
            yield processes, DaemonThreads(parallel)
        finally:
            processes.close()


def demo(
    n: Annotated[int, typer.Option("-n", "--trials", min=1, help="How many trials.")] = 64,
    p: Annotated[int, typer.Option("-p", "--parallel", min=1, help="Workers.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Makes it repeatable.")] = 0,
) -> None:
    """Minimize a function of six parameters with four workers, and write a report."""
    from innerloop.cli import hartmann
    from innerloop.cli.pages import write
    from innerloop.cli.studies import opened
    from innerloop.run.loop import Pace
    from innerloop.space.parameters import Real
    from innerloop.space.space import Space
    from innerloop.studies.targets import Function

    name = _new_name()
    message(f"Hartmann's function of 6 parameters, {p} workers, study {name!r} in {STORAGE}")
    space = Space({f"x{k}": Real(0.0, 1.0) for k in range(1, 7)})
    target = Function(f"{hartmann.__name__}:{hartmann.hartmann6.__name__}")
    with _evaluating(target, "processes", p, None) as (f, workers):
        study = opened(STORAGE, name, space=space, direction=Direction.minimize, seed=seed)
        run_and_report(study, n, Pace(p), f, workers)
    regret = (study.best().value or 0.0) - hartmann.MINIMUM
    message(f"the smallest value there is: {hartmann.MINIMUM:.6g}; found within {regret:.2g} of it")
    write([study], "report.html")


def _new_name() -> str:
    """A name for a study that is not there yet."""
    from innerloop.cli.studies import studies_in
    from innerloop.errors import StorageError

    try:
        taken = {study.name for study in studies_in(STORAGE)}
    except StorageError:
        taken = set()
    names = (f"demo-{k}" if k > 1 else "demo" for k in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
