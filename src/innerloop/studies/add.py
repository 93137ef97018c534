"""Results from elsewhere: each row of a file becomes a trial, at once and as a whole."""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from optuna.trial import TrialState, create_trial

from innerloop.errors import InputError, StudyError
from innerloop.integrations.optuna_space import distribution_of, fitting_names, widened
from innerloop.integrations.space_changes import spaces_in
from innerloop.integrations.trial_marks import ADDED, ERROR, NOISE_SD, OUTCOME, OUTSIDE, PARAMS
from innerloop.optimizer.changes import with_outcome
from innerloop.optimizer.trials import Trial
from innerloop.space.outside import admit
from innerloop.space.parameters import Choice, Parameter, Plain
from innerloop.space.space import Space
from innerloop.studies.records import Record
from innerloop.studies.storage import storage_errors
from innerloop.studies.study import Study
from innerloop.studies.tables import Numbers, noise_columns, short, table_of

_FAILED = "told to have failed"


class Added(NamedTuple):
    """What came of a file.

    Args:
        added: ids of the new trials.
        outside: ids of those among them that are not in the space.
        known: ids of trials that were added from the same rows before.
        complaints: what is wrong, with the line that it is in.
        ignored: columns that the study knows nothing of.
    """

    added: list[int]
    outside: list[int]
    known: list[int]
    complaints: list[str]
    ignored: list[str]


def add_text(study: Study, text: str, source: str, *, again: bool = False) -> Added:
    """Add every row that can be added.

    Args:
        study: one that has a space; a StudyError if it has none.
        text: a table with columns for all parameters and outcomes.
        source: what to call it in errors.
        again: whether rows are added that have been added before.

    Returns:
        What was added, and what was wrong.
    """
    if study.space is None:
        raise StudyError(f"study {study.name!r} has no space: it was not made by innerloop")
    columns = _Columns.of(study.space, study.goals.names)
    table = table_of(text, source, columns.names, columns.are_in, columns.wanted)
    places = {name: k for k, name in enumerate(table.columns)}
    numeric = [k for name, k in places.items() if columns.is_numeric(name)]
    numbers = Numbers.of(table.texts(numeric), table.separator)
    known = [field.name for field in fields(Record)]
    ignored = [n for n in table.columns if n and n not in columns.names and n not in known]
    done = Added([], [], [], [], ignored)
    before, seen = _added_before(study), Counter[int]()
    for row in table.rows:
        try:
            if row.complaint is not None:
                raise InputError(row.complaint)
            cells = {name: row.cells[k] for name, k in places.items()}
            trial = _trial(study, study.space, columns, cells, numbers)
            mark = _mark(trial, seen)
            if mark in before and not again:
                done.known.append(before[mark])
                continue
            number = _store(study, study.space, trial, mark)
            done.added.append(number)
            if trial.outside is not None:
                done.outside.append(number)
        except InputError as error:
            done.complaints.append(f"{source}, line {row.line}: {error}")
    return done


def defaults_of(space: Space, texts: Sequence[str]) -> dict[str, Plain]:
    """Values of new parameters in earlier trials.

    Args:
        space: which has the parameters.
        texts: such as "pressure=1.5".

    Returns:
        Values by name.
    """
    found: dict[str, Plain] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in space.parameters or name in found:
            raise InputError(f"a default is given once, as name=value of the space: got {text!r}")
        found[name] = plain_of(name, space.parameters[name], value, Numbers())
    return found


class _Columns(NamedTuple):
    """Columns that a study needs, or understands: by name, params and outcomes."""

    space: Space
    params: dict[str, str]
    outcomes: tuple[str, ...]

    @staticmethod
    def of(space: Space, outcomes: tuple[str, ...]) -> _Columns:
        """Params that are called like another column say that they are params."""
        taken = {*outcomes, *(field.name for field in fields(Record))}
        titles = {f"params.{name}" if name in taken else name: name for name in space.names}
        return _Columns(space, titles, outcomes)

    @property
    def names(self) -> tuple[str, ...]:
        """All that are understood."""
        noise = noise_columns(self.outcomes)
        return (*self.params, *self.outcomes, *noise, "state", ERROR)

    @property
    def wanted(self) -> str:
        """What is needed, in words."""
        return ", ".join(map(repr, self._needed))

    @property
    def _needed(self) -> list[str]:
        varying = self.space.varying
        always = varying.keys() - self.space.branches.needs.keys()
        return [*(t for t, name in self.params.items() if name in always), *self.outcomes]

    def are_in(self, columns: Sequence[str]) -> bool:
        """Whether all that is needed is there."""
        return set(self._needed) <= set(columns)

    def is_numeric(self, column: str) -> bool:
        """Whether its cells are numbers."""
        if column not in self.params:
            return column in self.outcomes or column in noise_columns(self.outcomes)
        kind = self.space.parameters[self.params[column]]
        return isinstance(kind, Parameter) and not isinstance(kind, Choice)


def _trial(
    study: Study, space: Space, columns: _Columns, cells: Mapping[str, str], numbers: Numbers
) -> Trial:
    """The trial that a row says."""
    values, why = admit(space, _params(space, columns, cells, numbers))
    trial = Trial(0, values, outside=why)
    told = [name for name in columns.outcomes if cells[name]]
    if cells.get("state") == "failed" and not told:
        error = cells.get(ERROR) or _FAILED
        return with_outcome(trial, study.goals, None, "failed", None, error)
    missing = [name for name in columns.outcomes if name not in told]
    if missing:
        raise InputError(f"there is no {' and no '.join(missing)}")
    noise = {name: cells.get(title) for title, name in noise_columns(columns.outcomes).items()}
    pairs = {
        name: (
            _number(name, cells[name], numbers),
            _number(f"noise_sd of {name}", each, numbers) if (each := noise[name]) else None,
        )
        for name in columns.outcomes
    }
    if not study.goals.is_plain:
        return with_outcome(trial, study.goals, pairs, "complete", None, None)
    ((value, sd),) = pairs.values()
    return with_outcome(trial, study.goals, value, "complete", sd, None)


def _params(
    space: Space, columns: _Columns, cells: Mapping[str, str], numbers: Numbers
) -> dict[str, Plain]:
    """The params in a row; cells of what does not apply are empty."""
    titles = {name: title for title, name in columns.params.items() if title in cells}
    given = {
        name: plain_of(name, space.parameters[name], cells[title], numbers)
        for name, title in titles.items()
        if cells[title] or (name in space.varying and name not in space.branches.needs)
    }
    for name in space.branches.needs:  # parents before their children
        if name in titles and name in space.lacking(given):
            given[name] = plain_of(name, space.parameters[name], cells[titles[name]], numbers)
    return given


def _number(name: str, text: str, numbers: Numbers) -> float:
    value = numbers.read(text)
    if not math.isfinite(value):
        raise InputError(f"{name} must be a number, got {short(text)}")
    return value


def plain_of(name: str, kind: Any, text: str, numbers: Numbers) -> Plain:
    """A value of a parameter, from its text.

    Args:
        name: what it is called in errors.
        kind: the parameter, or the value that it is held at.
        text: as it is written.
        numbers: how numbers are written.

    Returns:
        The value, which may be beyond a range; an InputError if it is none.
    """
    if isinstance(kind, Parameter) and not isinstance(kind, Choice):
        value = _number(name, text, numbers)
        return int(value) if value.is_integer() else value
    options = kind.values if isinstance(kind, Choice) else (kind,)
    texts = {option: option if isinstance(option, str) else _shown(option) for option in options}
    for said in (text, text.removeprefix("'")):
        found = [option for option in options if texts[option] == said]
        if not found:
            try:
                number = numbers.read(said)
            except InputError:
                number = math.nan
            found = [o for o in options if type(o) in (int, float) and o == number]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f"{name}: {short(text)} may be {' or '.join(map(repr, found))}")
    allowed = ", ".join(map(repr, options))
    raise InputError(f"{name} must be one of {allowed}, got {short(text)}")


def _shown(value: Plain) -> str:
    """A value as tables show it."""
    return "" if value is None else json.dumps(value)


def _mark(trial: Trial, seen: Counter[int]) -> str:
    """What tells a row from all others: what it says, and how many before it said the same."""
    told = [trial.params, trial.state, trial.value, trial.noise_sd, trial.outcomes, trial.noise_sds]
    digest = zlib.crc32(json.dumps(told, sort_keys=True).encode())
    seen[digest] += 1
    return f"{digest:08x}.{seen[digest]}"


def _added_before(study: Study) -> dict[str, int]:
    """Trials by the rows that they were added from."""
    trials = study.stored_trials()
    return {t.system_attrs[ADDED]: t.number for t in trials if ADDED in t.system_attrs}


def _store(study: Study, space: Space, trial: Trial, mark: str) -> int:
    """Put a trial on record in one transaction; its number."""
    names = study.goals.names
    complete = trial.state == "complete"
    varying = [name for name in space.varying if name in trial.params]
    fitting = [name for name in fitting_names(space, spaces_in(study.changes())) if name in varying]
    rest = {name: trial.params[name] for name in varying if name not in fitting}
    outcomes = trial.outcomes or {}
    noise = trial.noise_sds or ({} if trial.noise_sd is None else {names[0]: trial.noise_sd})
    told = outcomes if trial.value is None else {**outcomes, names[0]: trial.value}
    values = [told[name] for name in study.goals.objectives] if complete else None
    with storage_errors(study.url):
        return study.put(
            create_trial(
                state=TrialState.COMPLETE if complete else TrialState.FAIL,
                values=values,
                params={name: trial.params[name] for name in fitting},
                distributions={
                    name: widened(distribution_of(space.varying[name]), trial.params[name])
                    for name in fitting
                },
                user_attrs={
                    **{f"{OUTCOME}{name}": each for name, each in outcomes.items()},
                    **{f"{NOISE_SD}{name}": each for name, each in noise.items()},
                    **({} if trial.error is None else {ERROR: trial.error}),
                },
                system_attrs={
                    ADDED: mark,
                    **({PARAMS: rest} if rest else {}),
                    **({} if trial.outside is None else {OUTSIDE: trial.outside}),
                },
            )
        )
