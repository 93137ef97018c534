"""The data of the figures, as plain lists and dictionaries that the script of the page draws."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from innerloop.insight.model import FittedModel
from innerloop.insight.slices import Map, Slice, maps, slices
from innerloop.optimizer.reasons import last_line
from innerloop.optimizer.trials import Trial
from innerloop.report.case import SHOWN_STATES
from innerloop.report.numbers import compact, finite, rounded
from innerloop.report.subject import Subject, thinned
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.types import Array

# Errors are cut to their ends; of more than so many different ones only the last lines are kept.
_LONGEST_ERROR, _LONGEST_LINE, _MOST_ERRORS = 6000, 300, 200
# Of more batches than this every second one is shown, or every third, and so on.
_MOST_BATCHES = 2000
# So few values of a number are shown one by one.
_FEW = 40


def payload(subject: Subject) -> dict[str, Any]:
    """All that the figures and tables of the page show."""
    varied = subject.varied
    errors = _Errors()
    best = subject.best
    return {
        "minimize": subject.sign < 0.0,
        "parameters": [_axis(name, p) for name, p in varied.items()],
        "ids": None if subject.shows_all else [trial.id for trial in subject.shown],
        "trials": _columns(subject, errors),
        "errors": errors.entries,
        "best": None if best is None else best.id,
        "batches": [
            [b.first, b.size, b.certificate.fraction, b.certificate.seconds]
            for b in thinned(subject.batches(), _MOST_BATCHES)
        ],
        "workers": _workers(subject),
        "foreign": subject.case.is_inferred,
        "copies": _copies(subject),
        # Of many trials the page would be nothing else.
        "csv": _compressed(subject.case.csv) if subject.shows_all else None,
        "file": "trials.csv",
        "next": [_next(subject, trial) for trial in subject.next_trials],
        "model": None if subject.model is None else _model(subject, subject.model),
    }


def _compressed(text: str) -> str:
    """Text as browsers can unpack it."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def _workers(subject: Subject) -> list[str]:
    """All who ran trials, the first one first."""
    return list(dict.fromkeys(subject.case.workers.values()))


def _copies(subject: Subject) -> dict[str, str] | None:
    """The parameters of the best trial, or of those on the front, to be pasted elsewhere."""
    several = len(subject.goals.objectives) > 1
    best = subject.best
    taken: Any = None if best is None else subject.params_of(best)
    if several:
        taken = [
            {"trial": trial.id, "params": subject.params_of(trial), "outcomes": trial.outcomes}
            for trial in subject.front
        ]
    return {"json": json.dumps(taken), "python": repr(taken)} if taken else None


def label(value: Any) -> str:
    """A value of a parameter as text."""
    return value if isinstance(value, str) else str(value)


def _axis(name: str, parameter: Real | Integer | Choice) -> dict[str, Any]:
    if isinstance(parameter, Choice):
        return {"name": name, "kind": "choice", "values": [label(v) for v in parameter.values]}
    return {
        "name": name,
        "kind": "integer" if isinstance(parameter, Integer) else "real",
        "low": parameter.low,
        "high": parameter.high,
        "log": parameter.log,
        "steps": parameter.count is not None and parameter.count <= _FEW,
    }


def place(parameter: Parameter, value: Any) -> Any:
    """A value as the script takes it: a number, or which of the categories it is; None if none."""
    if isinstance(parameter, Choice):
        return parameter.values.index(value) if value in parameter.values else None
    return rounded(value, 8) if isinstance(value, float) else value


def place_in(trial: Trial, name: str, parameter: Parameter) -> Any:
    """The place of what a trial has of a parameter; None if that does not apply."""
    return place(parameter, trial.params[name]) if name in trial.params else None


def _columns(subject: Subject, errors: _Errors) -> dict[str, list[Any]]:
    """Trials, one list for each of their properties; times in seconds since the first one."""
    trials, start = subject.shown, min(subject.times(), default=0.0)
    predictions = [trial.prediction for trial in trials]
    worker = {name: k for k, name in enumerate(_workers(subject))}
    return {
        "state": [SHOWN_STATES.index(trial.state) for trial in trials],
        "value": [trial.value for trial in trials],
        "asked": _since(start, (trial.asked for trial in trials)),
        "told": _since(start, (trial.told for trial in trials)),
        "mean": [None if p is None else short(p.mean) for p in predictions],
        "sd": [None if p is None else short(p.sd) for p in predictions],
        "error": [errors.number(trial) for trial in trials],
        "worker": [worker.get(subject.case.workers.get(trial.id, "")) for trial in trials],
        "params": [
            [place_in(trial, name, parameter) for trial in trials]
            for name, parameter in subject.varied.items()
        ],
    }


def _since(start: float, times: Iterable[float | None]) -> list[float | None]:
    return [None if time is None else finite(round(time - start, 4)) for time in times]


def short(value: float) -> float | None:
    """A number to 8 digits, or None in place of what JSON has no word for."""
    return finite(rounded(value, 8))


class _Errors:
    """Texts of errors, each of them once."""

    def __init__(self) -> None:
        self.entries: list[list[str]] = []
        self._numbers: dict[str, int] = {}

    def number(self, trial: Trial) -> int | None:
        """Which entry says why the trial has no value; None if it has one."""
        if trial.state not in ("failed", "expired"):
            return None
        text = (trial.error or "").strip()
        if text not in self._numbers:
            self._numbers[text] = len(self.entries)
            last = last_line(text)
            ending = last if len(last) <= _LONGEST_LINE else last[:_LONGEST_LINE] + "…"
            full = text if len(text) <= _LONGEST_ERROR else "…" + text[-_LONGEST_ERROR:]
            told = ending != text != "" and len(self.entries) < _MOST_ERRORS
            self.entries.append([ending, full] if told else [ending])
        return self._numbers[text]


def _next(subject: Subject, trial: Trial) -> dict[str, Any]:
    row: dict[str, Any] = {
        "params": [place_in(trial, name, p) for name, p in subject.varied.items()]
    }
    if subject.model is not None:
        x = subject.model.space.encode(trial.params)[None]
        mean, low, high = (short(float(v[0])) for v in subject.model.expected(x))
        row |= {"mean": mean, "low": low, "high": high}
        row["chance"] = rounded(float(subject.model.chance(x)[0]), 3)
    return row


def _model(subject: Subject, model: FittedModel) -> dict[str, Any]:
    numbers = {name: k for k, name in enumerate(subject.varied)}
    complete = [t for t in subject.learner.trials if t.state == "complete"]
    drawn = maps(model)
    squares = model.offsets(model.space.encode_all([trial.params for trial in complete]))
    return {
        "order": [numbers[name] for name in model.ordered],
        "importance": [[numbers[n], round(s, 5)] for n, s in model.importance.items()],
        "slices": [_slice(model, numbers, each, alone=not drawn) for each in slices(model)],
        "maps": [_map(numbers, each) for each in drawn],
        "promise": _promise(subject, model),
        # Which trials are shown as dots, and how far from the best point along each parameter.
        "shown": [subject.learned_from[trial.id] for trial in complete],
        "offsets": offsets_of(squares, subject.varied),
    }


def offsets_of(squares: Mapping[str, Array], names: Iterable[str]) -> list[list[float]]:
    """Squared distances (n,) by parameter; none for those that the model does not have."""
    return [[rounded(s, 2) for s in squares[n].tolist()] if n in squares else [] for n in names]


def _promise(subject: Subject, model: FittedModel) -> float:
    """The largest improvement that is expected of one of the next points."""
    X = model.space.encode_all([trial.params for trial in subject.next_trials])
    return float(model.improvement(X).max()) if len(X) else 0.0


def _slice(
    model: FittedModel, numbers: dict[str, int], each: Slice, *, alone: bool
) -> dict[str, Any]:
    parameter = model.parameters[each.name]
    return {
        "parameter": numbers[each.name],
        "x": [place(parameter, value) for value in each.values],
        "mean": compact(each.expected.mean),
        "low": compact(each.expected.low),
        "high": compact(each.expected.high),
        "improvement": compact(each.improvement) if alone else None,
    }


def _map(numbers: dict[str, int], each: Map) -> dict[str, Any]:
    return {
        "x": numbers[each.x],
        "y": numbers[each.y],
        "columns": each.mean.shape[1],
        "mean": compact(each.mean.ravel(), 4),
        "improvement": compact(each.improvement.ravel(), 4),
        "sides": each.sides.tolist(),
    }
