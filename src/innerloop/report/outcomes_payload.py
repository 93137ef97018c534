"""The data of the figures where there are several outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from innerloop.insight.model import FittedModel
from innerloop.insight.outcomes import OutcomesModel, growth
from innerloop.insight.slices import Line, Plane, line_along, planes
from innerloop.optimizer.trials import Trial
from innerloop.report.numbers import compact, finite
from innerloop.report.payload import offsets_of, place, place_in, short
from innerloop.report.subject import Subject
from innerloop.types import Array


def outcomes_payload(subject: Subject) -> dict[str, Any]:
    """What the page shows of several outcomes, in addition to or in place of that of one."""
    goals, trials = subject.goals, subject.trials
    return {
        "outcomes": [_outcome(subject, name) for name in goals.names],
        "objectives": len(goals.objectives),
        "within": [
            goals.feasible(trial, trials) if trial.state == "complete" else None
            for trial in subject.shown
        ],
        "front": [trial.id for trial in subject.front],
        "growth": _growth(subject),
        "next": [_next(subject, trial) for trial in subject.next_trials],
        "model": None if subject.outcomes is None else _model(subject, subject.outcomes),
    }


def _outcome(subject: Subject, name: str) -> dict[str, Any]:
    """Its name, which way is good, its limit, and what was told and expected of it by trial."""
    goals, trials = subject.goals, subject.trials
    limits = {each.name: each for each in goals.constraints}
    limit = limits[name].limit(trials) if name in limits else None
    is_low = limits[name].sign > 0.0 if name in limits else goals.objectives[name] == "minimize"
    expected = [(trial.predictions or {}).get(name) for trial in subject.shown]
    return {
        "name": name,
        "minimize": is_low,
        "limit": limit,
        "value": [(trial.outcomes or {}).get(name) for trial in subject.shown],
        "mean": [None if each is None else short(each.mean) for each in expected],
        "sd": [None if each is None else short(each.sd) for each in expected],
    }


def _growth(subject: Subject) -> dict[str, Any] | None:
    if len(subject.goals.objectives) < 2 or not subject.complete():
        return None
    grown, shown = growth(subject.goals, subject.trials), {trial.id for trial in subject.shown}
    pairs = zip(grown.ids, grown.volumes.tolist(), strict=True)
    kept = [(id, finite(volume)) for id, volume in pairs if id in shown]
    return {"ids": [id for id, _ in kept], "volumes": [volume for _, volume in kept]}


def _next(subject: Subject, trial: Trial) -> dict[str, Any]:
    row: dict[str, Any] = {
        "params": [place_in(trial, name, p) for name, p in subject.varied.items()]
    }
    if subject.outcomes is not None:
        x = subject.outcomes.first.space.encode(trial.params)[None]
        row["outcomes"] = [
            dict(zip(("mean", "low", "high"), (short(float(v[0])) for v in expected), strict=True))
            for expected in (each.expected(x) for each in subject.outcomes.models.values())
        ]
        row["within"] = short(float(subject.outcomes.feasible(x)[0]))
    return row


def _model(subject: Subject, known: OutcomesModel) -> dict[str, Any]:
    numbers = {name: k for k, name in enumerate(subject.varied)}
    complete = [t for t in subject.learner.trials if t.state == "complete"]
    X = known.first.space.encode_all([trial.params for trial in complete])
    shown = known.first.applying(known.ordered)
    lines = [line_along(known.first, name) for name in shown]
    maps = planes(known.first, shown)
    drawn = _Drawn(subject, numbers, lines, maps)
    return {
        "order": [numbers[name] for name in known.ordered],
        "shown": [subject.learned_from[trial.id] for trial in complete],
        "center": subject.learned_from[known.first.best.id],
        "views": [drawn.outcome(model, X) for model in known.models.values()],
        "within": drawn.chance(known.feasible) if subject.has_limits else None,
    }


class _Drawn:
    """Lines and planes through one point, to be drawn for each outcome."""

    def __init__(
        self, subject: Subject, numbers: dict[str, int], lines: list[Line], maps: list[Plane]
    ) -> None:
        self._varied, self._numbers, self._lines, self._maps = subject.varied, numbers, lines, maps

    def outcome(self, model: FittedModel, X: Array) -> dict[str, Any]:
        """What is expected of one outcome, and how far points (n, d) are from the slices."""
        squares = model.offsets(X)
        slices = []
        for line in self._lines:
            mean, low, high = (compact(each) for each in model.expected(line.X))
            slices.append({**self._along(line), "mean": mean, "low": low, "high": high})
        shares = model.importance.items()
        return {
            "importance": [[self._numbers[name], round(share, 5)] for name, share in shares],
            "slices": slices,
            "maps": [self._over(plane, model.expected(plane.X).mean) for plane in self._maps],
            "offsets": offsets_of(squares, self._varied),
        }

    def chance(self, feasible: Callable[[Array], Array]) -> dict[str, Any]:
        """The chance to be within all limits."""
        return {
            "slices": [
                {**self._along(line), "mean": np.round(feasible(line.X), 5).tolist()}
                for line in self._lines
            ],
            "maps": [self._over(plane, np.round(feasible(plane.X), 5)) for plane in self._maps],
        }

    def _along(self, line: Line) -> dict[str, Any]:
        parameter = self._varied[line.name]
        return {
            "parameter": self._numbers[line.name],
            "x": [place(parameter, value) for value in line.values],
        }

    def _over(self, plane: Plane, values: Array) -> dict[str, Any]:
        return {
            "x": self._numbers[plane.x],
            "y": self._numbers[plane.y],
            "columns": plane.shape[1],
            "mean": compact(plane.grid(values).ravel(), 4),
            "sides": plane.sides.tolist(),
        }
