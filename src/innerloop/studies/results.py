"""Results by hand: rows of files, with the lines of what is wrong; or one trial."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import NamedTuple, TextIO

from innerloop.errors import InputError
from innerloop.optimizer.trials import check_names
from innerloop.studies.records import Record
from innerloop.studies.study import Study
from innerloop.studies.tables import Numbers, Table, noise_columns, read_text, short, table_of

# Ids of more digits are not those of trials, and may be more than Python reads.
_LONGEST_ID = 18


class Told(NamedTuple):
    """What came of a file.

    Args:
        told: ids of trials that were told now.
        corrected: ids of trials that were told something else now.
        known: ids of trials that had the same outcomes before.
        waiting: ids of trials that were told now and lack some outcome.
        complaints: what is wrong, with the line that it is in.
        ignored: columns that the study knows nothing of.
    """

    told: list[int]
    corrected: list[int]
    known: list[int]
    waiting: list[int]
    complaints: list[str]
    ignored: list[str]


def tell_file(study: Study, path: str) -> Told:
    """Tell every row of a file that can be told.

    Args:
        study: one that has the trials.
        path: that of the file; "-" is stdin.

    Returns:
        What was told, and what was wrong.
    """
    return tell_text(study, read_text(path), "stdin" if path == "-" else path)


def tell_rows(study: Study, file: TextIO, source: str) -> Told:
    """The same of a file that is open.

    Args:
        study: one that has the trials.
        file: a table with the columns id and those of outcomes.
        source: what to call it in errors.

    Returns:
        What was told, and what was wrong.
    """
    return tell_text(study, file.read(), source)


def tell_text(study: Study, text: str, source: str, *, correct: bool = False) -> Told:
    """The same of the text of a file.

    Args:
        study: one that has the trials.
        text: a table with the columns id and those of outcomes.
        source: what to call it in errors.
        correct: whether what was told otherwise before is replaced.

    Returns:
        What was told, and what was wrong.
    """
    table = _results_in(text, source, study.goals.names)
    columns, names = table.columns, study.goals.names
    outcomes = {columns.index(name): name for name in names if name in columns}
    noise = {
        n: columns.index(title) for title, n in noise_columns(names).items() if title in columns
    }
    numbers = Numbers.of(table.texts([*outcomes, *noise.values()]), table.separator)
    every = Told([], [], [], [], [], _unknown(study, columns))
    first = columns.index("id")
    for row in table.rows:
        try:
            if row.complaint is not None:
                raise InputError(row.complaint)
            told = {name: row.cells[k] for k, name in outcomes.items() if row.cells[k]}
            known = {name: row.cells[k] for name, k in noise.items() if row.cells[k]}
            _tell(study, row.cells[first], told, numbers, every, correct, known)
        except InputError as error:
            every.complaints.append(f"{source}, line {row.line}: {error}")
    return every


def tell_one(study: Study, id: str, told: Sequence[str], *, correct: bool = False) -> Told:
    """Tell what came of one trial.

    Args:
        study: one that has the trial.
        id: its number.
        told: texts such as "yield=71"; of one outcome, its value alone will do.
        correct: whether what was told otherwise before is replaced.

    Returns:
        What was told, and what was wrong.
    """
    every = Told([], [], [], [], [], [])
    try:
        texts = _named(told, study.goals.names)
        _tell(study, id, texts, Numbers(), every, correct)
    except InputError as error:
        every.complaints.append(str(error))
    return every


def tell_failed(study: Study, id: int, *, correct: bool = False) -> None:
    """Tell that a trial has no value.

    Args:
        study: one that has the trial; an InputError if it has not, or if the trial was told before.
        id: its number.
        correct: whether what was told otherwise before is replaced.
    """
    why = "told to have failed"
    if correct and study.record(id).state not in ("running", "waiting"):
        study.correct(id, None, error=why)
    else:
        study.fail(id, why)


def _named(told: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Texts of outcomes by name."""
    if len(told) == 1 == len(names) and "=" not in told[0]:
        return {names[0]: told[0].strip()}
    texts: dict[str, str] = {}
    for text in told:
        name, equals, value = text.rpartition("=")
        if not equals or not value.strip():
            raise InputError(f"an outcome is told as name=value, got {short(text)}")
        if name.strip() in texts:
            raise InputError(f"{name.strip()!r} is there twice")
        texts[name.strip()] = value.strip()
    check_names(texts, names)
    return texts


def _results_in(text: str, source: str, names: Sequence[str]) -> Table:
    """A table with the columns id and those of some outcomes."""
    wanted = f"'id' and {' or '.join(map(repr, names))}"

    def has_results(columns: Sequence[str]) -> bool:
        return "id" in columns and not set(names).isdisjoint(columns)

    return table_of(text, source, ("id", *names, *noise_columns(names)), has_results, wanted)


def _unknown(study: Study, columns: Sequence[str]) -> list[str]:
    """Columns that may be misspelt outcomes."""
    params = study.space.names if study.space is not None else ()
    known = {field.name for field in fields(Record)} | {*study.goals.names, *params}
    known |= set(noise_columns(study.goals.names))
    return [name for name in columns if name and name.removeprefix("params.") not in known]


def _tell(
    study: Study,
    id: str,
    texts: Mapping[str, str],
    numbers: Numbers,
    every: Told,
    correct: bool,
    noise: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Tell a trial, and note what came of it; an InputError if that cannot be."""
    number = _trial(id)
    values = {name: _value(id, name, text, numbers) for name, text in texts.items()}
    if not values:
        names = " or ".join(study.goals.names)
        raise InputError(f"trial {id} has no {names} yet and stays as it is")
    sds = {name: _noise(id, name, text, numbers) for name, text in noise.items() if name in values}
    told = {name: (each, sds[name]) if name in sds else each for name, each in values.items()}
    record = study.record(number)
    new = {name: told[name] for name in told if _is_new(record, name, values[name], sds.get(name))}
    if not new and record.state in ("complete", "running"):
        every.known.append(number)
        return
    wrong = {name: each for name, each in new.items() if name in record.outcomes}
    if correct and (wrong or record.state == "failed"):
        is_running = record.state == "running"
        study.correct(number, wrong if is_running else new or told)
        every.corrected.append(number)
        new = {name: each for name, each in new.items() if name not in wrong}
        if not is_running or not new:
            return
    if study.goals.is_plain:
        record = study.tell(number, values, noise_sd=next(iter(sds.values()), None))
    else:
        record = study.tell(number, new or told)
    if record.state == "running":
        every.waiting.append(number)
    every.told.append(number)


def _is_new(record: Record, name: str, value: float, noise_sd: float | None) -> bool:
    """Whether a trial was not told that before; noise that is not given now stays."""
    is_told = record.outcomes.get(name) == value
    return not is_told or noise_sd not in (None, record.noise_sds.get(name))


def _noise(id: str, name: str, text: str, numbers: Numbers) -> float:
    value = numbers.read(text)
    if not 0.0 <= value < math.inf:
        raise InputError(f"the noise_sd of {name} of trial {id} must be 0 or above, got {text!r}")
    return value


def _trial(id: str) -> int:
    if not (id.isascii() and id.isdigit()):
        raise InputError(f"id must be the number of a trial, got {short(id)}")
    digits = id.lstrip("0") or "0"
    if len(digits) > _LONGEST_ID:
        raise InputError(f"there is no trial {short(id)}")
    return int(digits)


def _value(id: str, name: str, text: str, numbers: Numbers) -> float:
    value = numbers.read(text)
    if not math.isfinite(value):
        raise InputError(
            f"the {name} of trial {id} must be a number, got {short(text)}; "
            "'innerloop tell --failed' tells that a trial failed"
        )
    return value
