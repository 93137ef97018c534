"""Studies as the commands look at them and describe them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innerloop.errors import InnerLoopError
from innerloop.optimizer.goals import VALUE
from innerloop.optimizer.trials import point_of
from innerloop.studies.records import Record
from innerloop.studies.study_file import own_study_file, study_file, study_files
from innerloop.studies.view import StudyView


def view(url: str, name: str) -> StudyView:
    """A study to look at; files are read without Optuna, which takes longer than all the rest."""
    found = study_file(url, name)
    if found is not None:
        return found
    from innerloop.cli.studies import open_study

    return open_study(url, name, writing=False)


def any_view(url: str, name: str) -> StudyView:
    """A study to look at, whatever has made it: those of others have the space of their trials."""
    found = own_study_file(url, name)
    if found is not None:
        return found
    from innerloop.cli.studies import any_study

    return any_study(url, name)


def views(url: str) -> Sequence[StudyView]:
    """The studies of a database to look at."""
    found = study_files(url)
    if found is not None:
        return found
    from innerloop.cli.studies import studies_in

    return studies_in(url)


def best_of(study: StudyView) -> Record:
    """The best trial; the model is asked only where values are known to be noisy."""
    best = study.best()
    told = [record for record in study.records() if record.state == "complete"]
    points = {point_of(record.params) for record in told}
    if len(points) == len(told) and not any(record.noise_sds for record in told):
        return best
    from innerloop.studies.optimizers import recommended

    return recommended(study)


def front_of(study: StudyView) -> str:
    """The front of several objectives in a few words; of one objective, whether there is any."""
    number = len(study.front())
    if not number:
        complete = any(record.state == "complete" for record in study.records())
        if complete:
            return "no trial is within all limits"
        why = f": {said}" if (said := study.failures()) else ""
        return f"no trial is complete yet{why}"
    trials = f"a front of {number} trial{'s' if number > 1 else ''}"
    if len(study.goals.objectives) == 1:
        return trials
    return f"{trials}, hypervolume {study.hypervolume():.6g}"


def summary_of(study: StudyView) -> dict[str, Any]:
    """Name, directions, how many trials there are of each kind, and the best value."""
    records = study.records()
    states = ["lost" if record.lost else record.state for record in records]
    try:
        best = study.best().value
    except InnerLoopError:
        best = None
    return {
        "name": study.name,
        "direction": study.direction
        if study.goals.names == (VALUE,)
        else ", ".join(f"{way} {name}" for name, way in study.goals.objectives.items()),
        "complete": states.count("complete"),
        "failed": states.count("failed"),
        "lost": states.count("lost"),
        "running": states.count("running"),
        "best": best,
    }
