"""Studies in SQLite files of Optuna's, read without Optuna, which takes long to import and to read.

Optuna does not document its tables. So only the version of them that is known here is read; files
of any other version, or of anything else, are left to Optuna.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

_VERSION = "v3.2.0.a"
# Seconds to wait for a process that is writing.
_PATIENCE = 60.0
_SPECIAL = {"INF_POS": float("inf"), "INF_NEG": float("-inf")}


class State(Enum):
    """What has become of a trial, by Optuna's names."""

    RUNNING = 0
    COMPLETE = 1
    PRUNED = 2
    FAIL = 3
    WAITING = 4


@dataclass(frozen=True)
class TableTrial:
    """A trial, with what innerloop needs of Optuna's `FrozenTrial`, by the same names."""

    number: int
    state: State
    values: list[float] | None
    params: dict[str, Any]
    user_attrs: dict[str, Any]
    system_attrs: dict[str, Any]
    datetime_start: datetime | None
    datetime_complete: datetime | None


class TableStudy(NamedTuple):
    """A study.

    Args:
        name: its name.
        directions: "minimize" or "maximize" for each objective.
        user_attrs: its attributes.
        trials: all of them, in the order of their numbers.
    """

    name: str
    directions: list[str]
    user_attrs: dict[str, Any]
    trials: list[TableTrial]


def studies_of(path: Path, name: str | None = None) -> list[TableStudy] | None:
    """The studies in a file.

    Args:
        path: a file, which may not be there.
        name: that of the only one wanted.

    Returns:
        The studies, or None if it takes Optuna to read them or to say what is wrong.
    """
    # Writing is allowed, so that SQLite can undo what a process left half written.
    address = f"file:{quote(str(path))}?mode=rw"
    try:
        with closing(sqlite3.connect(address, _PATIENCE, isolation_level=None, uri=True)) as base:
            base.execute("BEGIN")  # all queries see the same moment
            if base.execute("SELECT version_num FROM alembic_version").fetchall() != [(_VERSION,)]:
                return None
            found = base.execute("SELECT study_id, study_name FROM studies ORDER BY study_id")
            wanted = [(key, each) for key, each in found.fetchall() if name in (None, each)]
            return [_study(base, key, each) for key, each in wanted]
    except (sqlite3.Error, KeyError, ValueError):
        return None


def _study(base: sqlite3.Connection, key: int, name: str) -> TableStudy:
    directions = base.execute(
        "SELECT direction FROM study_directions WHERE study_id = ? ORDER BY objective", (key,)
    )
    attributes = base.execute(
        "SELECT key, value_json FROM study_user_attributes WHERE study_id = ?", (key,)
    )
    return TableStudy(
        name,
        [direction.lower() for (direction,) in directions],
        {name: json.loads(text) for name, text in attributes},
        _trials(base, key),
    )


def _trials(base: sqlite3.Connection, study: int) -> list[TableTrial]:
    def rows(table: str, columns: str, order: str) -> Iterator[Any]:
        """Rows of a table that belong to trials of the study: the id of the trial comes first."""
        return base.execute(
            f"SELECT t.trial_id, {columns} FROM {table} r JOIN trials t ON t.trial_id = r.trial_id "
            f"WHERE t.study_id = ? ORDER BY {order}",
            (study,),
        )

    values: defaultdict[int, list[float]] = defaultdict(list)
    for trial, value, kind in rows("trial_values", "value, value_type", "objective"):
        values[trial].append(value if kind == "FINITE" else _SPECIAL[kind])
    params: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    decode = _Decoders()
    columns = "param_name, param_value, distribution_json"
    for trial, name, value, distribution in rows("trial_params", columns, "param_id"):
        params[trial][name] = decode[distribution](value)

    def attributes(table: str) -> dict[int, dict[str, Any]]:
        found: defaultdict[int, dict[str, Any]] = defaultdict(dict)
        for trial, key, text in rows(table, "key, value_json", "r.trial_id"):
            found[trial][key] = json.loads(text)
        return found

    user, system = attributes("trial_user_attributes"), attributes("trial_system_attributes")
    trials = base.execute(
        "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials "
        "WHERE study_id = ? ORDER BY number",
        (study,),
    )
    return [
        TableTrial(
            number,
            State[state],
            values.get(key),
            params.get(key, {}),
            user.get(key, {}),
            system.get(key, {}),
            _local(begun),
            _local(finished),
        )
        for key, number, state, begun, finished in trials
    ]


class _Decoders(dict[str, Callable[[float], Any]]):
    """By the text of a distribution, which many trials share: how its values are to be read."""

    def __missing__(self, text: str) -> Callable[[float], Any]:
        distribution = json.loads(text)
        name, attributes = distribution["name"], distribution["attributes"]
        if name == "CategoricalDistribution":
            choices = attributes["choices"]
            self[text] = lambda value: choices[int(value)]
        else:
            self[text] = {"FloatDistribution": float, "IntDistribution": int}[name]
        return self[text]


def _local(moment: str | None) -> datetime | None:
    """As Optuna gives it: local time that does not say so; files have that of UTC."""
    if moment is None:
        return None
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
