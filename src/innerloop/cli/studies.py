"""Studies as the commands open them, to work on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna

from innerloop.cli.options import Direction
from innerloop.errors import InputError
from innerloop.optimizer.goals import Goals
from innerloop.space import toml
from innerloop.space.space import Space
from innerloop.studies.create import create_study
from innerloop.studies.study import Study, any_study, open_study, studies_in

__all__ = ["any_study", "open_study", "opened", "read_space", "studies_in"]

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
