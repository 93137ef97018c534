"""Several optimizers or studies on one page: how far each has come, by trial and by time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from innerloop.errors import InputError
from innerloop.insight.outcomes import growth
from innerloop.insight.progress import best_so_far
from innerloop.optimizer.goals import DIRECTIONS, Goals
from innerloop.optimizer.trials import Trial
from innerloop.report.case import Case
from innerloop.report.document import Section, document, text
from innerloop.report.numbers import finite, number

_SCRIPTS = (
    "text.js",
    "scales.js",
    "draw.js",
    "plot.js",
    "measures.js",
    "tables.js",
    "comparing.js",
)


class Step(NamedTuple):
    """Where one of several became better: a trial, seconds since the start, the best so far."""

    trial: int
    seconds: float | None
    value: float


@dataclass(frozen=True)
class Course:
    """How far one of several has come, in the order of the trials and in that of their ends.

    seconds: from the first trial asked to the last one told.
    """

    name: str
    steps: tuple[Step, ...]
    timed: tuple[Step, ...]
    trials: int
    states: Mapping[str, int]
    seconds: float | None


def comparison(named: Mapping[str, Case], title: str, reload: float | None = None) -> str:
    """The page about several cases with the same objectives, by name."""
    goals = _common(named)
    courses = [
        _course(name, case.trials, replace(case.goals, reference=goals.reference))
        for name, case in named.items()
    ]
    several = len(goals.objectives) > 1
    sign = _sign(goals)
    what = "hypervolume" if several else next(iter(goals.objectives))
    return document(
        title=title,
        about=_about(goals, len(courses)),
        summary=_summary(courses, sign, what),
        sections=_sections(goals, several=several),
        ending="",
        scripts=_SCRIPTS,
        data={"minimize": sign < 0.0, "what": what, "studies": [_plain(c) for c in courses]},
        reload=reload,
    )


def _common(named: Mapping[str, Case]) -> Goals:
    """The goals of all, with one reference; an InputError if they want different things."""
    (first, one), *others = named.items()
    wanted = one.goals.objectives
    for name, case in others:
        own = case.goals.objectives
        same = own == wanted if len(wanted) > 1 else list(own.values()) == list(wanted.values())
        if not same:
            raise InputError(
                f"{first!r} and {name!r} cannot be compared: objectives are {wanted} and {own}"
            )
    if len(wanted) == 1 or one.goals.reference is not None:
        return one.goals
    complete = [
        trial for case in named.values() for trial in case.trials if trial.state == "complete"
    ]
    if not complete:
        return one.goals
    plain = replace(one.goals, constraints=())
    points = plain.wanted(complete)
    worst = plain.reference_of(plain.wanted(plain.front(complete)), points) * plain.signs
    return replace(one.goals, reference=dict(zip(wanted, worst.tolist(), strict=True)))


def _course(name: str, trials: Sequence[Trial], goals: Goals) -> Course:
    """How far trials have come, within their own limits."""
    times = [t for trial in trials for t in (trial.asked, trial.told) if t is not None]
    start, known = min(times, default=0.0), goals.resolved(trials)
    ended = sorted((t for t in trials if t.told is not None), key=lambda trial: trial.told or 0.0)
    return Course(
        name,
        _steps(trials, known, start),
        _steps(ended, known, start),
        len(trials),
        Counter(trial.state for trial in trials),
        finite(max(times) - start) if times else None,
    )


def _steps(trials: Sequence[Trial], goals: Goals, start: float) -> tuple[Step, ...]:
    """Where trials, in their order, are better than all before them."""
    steps, best = list[Step](), -math.inf
    for trial, value in _values(trials, goals):
        if value > best:
            told = None if trial.told is None else finite(round(trial.told - start, 4))
            best = value
            steps.append(Step(trial.id, told, _sign(goals) * value))
    return tuple(steps)


def _sign(goals: Goals) -> float:
    """1 if what is compared is the larger the better, -1 otherwise."""
    several = len(goals.objectives) > 1
    return 1.0 if several else DIRECTIONS[next(iter(goals.objectives.values()))]


def _values(trials: Sequence[Trial], goals: Goals) -> list[tuple[Trial, float]]:
    """Trials with the best so far or the hypervolume then, larger is better."""
    if len(goals.objectives) > 1:
        grown = growth(goals, trials)
        by_id = {trial.id: trial for trial in trials}
        return [(by_id[k], v) for k, v in zip(grown.ids, grown.volumes.tolist(), strict=True)]
    best = _sign(goals) * best_so_far(trials, goals, next(iter(goals.objectives)))
    pairs = zip(trials, best.tolist(), strict=True)
    return [(trial, value) for trial, value in pairs if not math.isnan(value)]


def _plain(course: Course) -> dict[str, Any]:
    """A course as the script draws it."""
    return {
        "name": course.name,
        "steps": [list(step) for step in course.steps],
        "timed": [list(step) for step in course.timed],
        "trials": course.trials,
        "complete": course.states.get("complete", 0),
        "failed": course.states.get("failed", 0) + course.states.get("expired", 0),
        "pruned": course.states.get("pruned", 0),
        "running": course.states.get("pending", 0),
        "seconds": course.seconds,
    }


def _about(goals: Goals, number_: int) -> str:
    ways = ", ".join(f"{way} {name}" for name, way in goals.objectives.items())
    return f"{number_} studies: {ways}"


def _summary(courses: Sequence[Course], sign: float, what: str) -> str:
    """Which of all has found the best."""
    found = [course for course in courses if course.steps]
    if not found:
        return '<p class="outlook"><strong>No trial has given a value yet.</strong></p>'
    best = max(found, key=lambda course: sign * course.steps[-1].value)
    value, trial = best.steps[-1].value, best.steps[-1].trial
    return (
        f'<div class="best"><p class="label">{text(f"Best {what}")}</p>'
        f'<p class="value" title="{value!r}">{text(number(value, 6))}</p>'
        f'<p class="label">{text(f"{best.name}, trial {trial}")}</p></div>'
    )


def _sections(goals: Goals, *, several: bool) -> list[Section]:
    if several:
        reference = ", ".join(f"{n} {number(v, 5)}" for n, v in (goals.reference or {}).items())
        progress = (
            "Each line is the hypervolume of a study after each of its trials, above the same "
            f"reference for all: {reference}. Higher is better."
        )
    else:
        better = "Lower" if "minimize" in goals.objectives.values() else "Higher"
        progress = (
            f"Each line is the best so far of a study, within its limits. {better} is better."
        )
    return [
        Section("comparison", "Progress", (progress,)),
        Section("studies", "Studies", ("Click on a heading to sort by it.",)),
    ]
