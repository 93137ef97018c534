"""Studies as the commands open and describe them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna

from innerloop.cli.options import Direction
from innerloop.errors import InnerLoopError, InputError
from innerloop.optimizer.goals import VALUE, Goals
from innerloop.space import toml
from innerloop.space.space import Space
from innerloop.studies.create import create_study
from innerloop.studies.study import Study, open_study, studies_in

__all__ = ["front_of", "open_study", "opened", "read_space", "studies_in", "summary_of"]

# Optuna's log repeats what the commands say.
optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def read_space(path: Path | None) -> Space | None:
    """The space in a file, if there is one."""
    if path is None:
        return None
    return toml.read(path, lambda parameters, texts: Space(parameters, constraints=texts))


def read_goals(path: Path, direction: str | None) -> Goals | None:
    """The objectives and limits in a file, if there are any."""

    def make(objectives: Any = None, **others: Any) -> Goals:
        if objectives is not None and direction is not None:
            raise InputError("objectives have directions: leave out --direction")
        return Goals.of(objectives, **others, direction=direction or "minimize")

    return toml.read_goals(path, make)


def opened(
    url: str,
    name: str,
    *,
    space: Path | Space | None,
    direction: Direction | None,
    seed: int | None,
) -> Study:
    """A study, created if a space is given, with the goals that are in the same file."""
    way = None if direction is None else direction.value
    if not isinstance(space, Path):
        return create_study(url, name, space=space, direction=way, seed=seed)
    goals, given = read_goals(space, way), read_space(space)
    way = None if goals is not None else way
    return create_study(url, name, space=given, direction=way, seed=seed, goals=goals)


def front_of(study: Study) -> str:
    """The front of several objectives in a few words; of one objective, whether there is any."""
    number = len(study.front())
    if not number:
        complete = any(record.state == "complete" for record in study.records())
        return "no trial is within all limits" if complete else "no trial is complete yet"
    trials = f"a front of {number} trial{'s' if number > 1 else ''}"
    if len(study.goals.objectives) == 1:
        return trials
    return f"{trials}, hypervolume {study.hypervolume():.6g}"


def summary_of(study: Study) -> dict[str, Any]:
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
