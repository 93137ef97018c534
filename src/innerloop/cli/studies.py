"""Studies as the commands open and describe them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna

from innerloop.cli.options import Direction
from innerloop.errors import InnerLoopError
from innerloop.space import toml
from innerloop.space.space import Space
from innerloop.studies.study import Study, create_study, open_study, studies_in

__all__ = ["open_study", "opened", "read_space", "studies_in", "summary_of"]

# Optuna's log repeats what the commands say.
optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def read_space(path: Path | None) -> Space | None:
    """The space in a file, if there is one."""
    if path is None:
        return None
    return toml.read(path, lambda parameters, texts: Space(parameters, constraints=texts))


def opened(
    url: str,
    name: str,
    *,
    space: Path | Space | None,
    direction: Direction | None,
    seed: int | None,
) -> Study:
    """A study, created if a space is given."""
    given = space if isinstance(space, Space) else read_space(space)
    way = None if direction is None else direction.value
    return create_study(url, name, space=given, direction=way, seed=seed)


def summary_of(study: Study) -> dict[str, Any]:
    """Name, direction, how many trials there are of each kind, and the best value."""
    records = study.records()
    states = ["lost" if record.lost else record.state for record in records]
    try:
        best = study.best().value
    except InnerLoopError:
        best = None
    return {
        "name": study.name,
        "direction": study.direction,
        "complete": states.count("complete"),
        "failed": states.count("failed"),
        "lost": states.count("lost"),
        "running": states.count("running"),
        "best": best,
    }
