"""Running the trials of a study until there are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from innerloop.optimizer.reasons import last_line
from innerloop.run.interrupts import Interrupts
from innerloop.run.loop import Loop, Pace
from innerloop.run.progress import display
from innerloop.run.stopping import Stop, checked, first_reached
from innerloop.run.workers import Pool, Submits
from innerloop.studies.optimizers import optimizer_of
from innerloop.studies.records import trial_of
from innerloop.studies.study import Study
from innerloop.studies.study_trials import StudyTrials


class Ran(NamedTuple):
    """Why a run ended, and what it did.

    Args:
        stopped: "done", "timeout", "interrupted", "exhausted", "elsewhere", "failures", "target:
            ...", "patience: ..." or "near optimal: ..." with what was reached, or "executor: ..."
            with what went wrong there.
        told: how many trials it told.
        last_error: that of the last trial that failed.
    """

    stopped: str
    told: int
    last_error: str | None


def run(
    study: Study,
    total: int,
    pace: Pace,
    *,
    f: Callable[[dict[str, Any]], Any],
    executor: Submits,
    stop: Sequence[Stop] = (),
) -> Ran:
    """Have trials evaluated until the study has enough of them.

    Args:
        study: whose trials.
        total: answers that the study shall have, those from before among them.
        pace: how many trials at a time, and when to give up.
        f: evaluates the params of a trial.
        executor: where it is called.
        stop: what ends the run before that.

    Returns:
        Why the run ended, and what it did.
    """
    stop = checked(stop, study.goals)
    study.bury()
    records = study.records()
    left = max(total - sum(record.counts for record in records), 0)
    before = [trial_of(record) for record in records]
    with Interrupts() as interrupts, display(None, study.direction, before, left) as bar:
        workers = Pool(f, interrupts, executor)
        trials = StudyTrials(study, total)
        loop = Loop(
            trials,
            pace,
            workers=workers,
            interrupts=interrupts,
            display=bar,
            enough=lambda: first_reached(stop, optimizer_of(study)) if stop else None,
        )
        loop.run()
    if loop.error is not None:  # no new point could be chosen
        raise loop.error
    last_error = None if loop.last_failure is None else last_line(loop.last_failure.error)
    return Ran(loop.stopped or "", loop.told, last_error)
