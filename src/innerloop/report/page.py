"""The page about one optimizer or study: its summary, its sections, and what is searched."""

from __future__ import annotations

from typing import Any

from innerloop.report.document import document, items, text
from innerloop.report.numbers import digits_for, duration, moment, number
from innerloop.report.outcomes_payload import outcomes_payload
from innerloop.report.outcomes_sections import aims, limit_of, others
from innerloop.report.outlook import outlook
from innerloop.report.payload import label, payload
from innerloop.report.sections import sections
from innerloop.report.subject import Subject
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.space.when import When

_SCRIPTS = (
    "text.js",
    "scales.js",
    "draw.js",
    "plot.js",
    "measures.js",
    "values.js",
    "convergence.js",
    "importance.js",
    "effects.js",
    "heat.js",
    "map.js",
    "parallel.js",
    "batches.js",
    "timeline.js",
    "tables.js",
    "front.js",
    "outcomes.js",
    "taking.js",
    "main.js",
)
_NOTHING = 1e-6
_WORDS = {
    "complete": "complete",
    "failed": "failed",
    "expired": "given up",
    "cancelled": "cancelled",
    "forgotten": "forgotten",
    "pruned": "pruned",
    "pending": "running",
    "waiting": "waiting",
    "outside": "outside the space",
}


def page(subject: Subject, title: str, reload: float | None = None) -> str:
    """The whole page. reload: seconds after which it is loaded anew, again and again."""
    return document(
        title=title,
        about=_about(subject),
        summary=_summary(subject),
        sections=sections(subject),
        ending=_space(subject),
        scripts=_SCRIPTS,
        data=_data(subject),
        reload=reload,
    )


def _data(subject: Subject) -> dict[str, Any]:
    """What the script draws."""
    shown = payload(subject)
    return shown if subject.goals.is_plain else {**shown, **outcomes_payload(subject)}


def _space(subject: Subject) -> str:
    """What is searched: parameters, their ranges, and constraints."""
    rows = [(name, _range(p) + _where(p)) for name, p in subject.varied.items()]
    rows += [(name, f"fixed at {_plain(value)}") for name, value in subject.fixed.items()]
    rows += [("constraint", each) for each in subject.constraints]
    if not subject.goals.is_plain:
        rows += [(f"objective {n}", way) for n, way in subject.goals.objectives.items()]
        rows += [
            (f"outcome {each.name}", limit_of(each, subject)) for each in subject.goals.constraints
        ]
    if not rows:
        return ""
    return f'<section id="space"><h2>What is searched</h2>{items(rows, "space")}</section>'


def _where(parameter: Parameter) -> str:
    """Where a parameter applies, if that is not everywhere."""
    return f"; where {parameter.when.text}" if isinstance(parameter.when, When) else ""


def _range(parameter: Real | Integer | Choice) -> str:
    if isinstance(parameter, Choice):
        return ", ".join(label(value) for value in parameter.values)
    if isinstance(parameter, Real) and parameter.at_least is not None:
        return f"0, or {_plain(parameter.at_least)} to {_plain(parameter.high)}"
    words = f"{_plain(parameter.low)} to {_plain(parameter.high)}"
    words += ", whole numbers" if isinstance(parameter, Integer) else ""
    words += ", on a logarithmic scale" if parameter.log else ""
    return words + (
        f", in steps of {_plain(parameter.step)}" if parameter.step not in (None, 1) else ""
    )


def _about(subject: Subject) -> str:
    varied = len(subject.varied)
    what = "Minimizing" if subject.sign < 0.0 else "Maximizing"
    if not subject.goals.is_plain:
        what = aims(subject)
    return f"{what} over {varied} parameter{'' if varied == 1 else 's'}"


def _summary(subject: Subject) -> str:
    parts = [_best(subject), _facts(subject)]
    parts.append(_outlook(outlook(subject)))
    notes = _notes(subject)
    if notes:
        parts.append(f'<p class="note">{text(" ".join(notes))}</p>')
    return "".join(parts)


def _notes(subject: Subject) -> list[str]:
    """What there is to know of how the model has come about."""
    notes, counts = list[str](), subject.counts()
    if (subject.model or subject.outcomes) and subject.used < subject.results:
        notes.append(
            f"The model on this page has learned from {subject.used} of the {subject.results} "
            "results: the best ones and a random choice of the others."
        )
        if subject.shows_all:
            notes.append("Progress, times and tables show all of them.")
    if subject.case.is_inferred and subject.varied:
        notes.append(
            "Parameters and their ranges are those of the trials; where ranges have changed, the "
            "widest. The model is innerloop's, whatever has chosen the trials."
        )
    if subject.case.lacks:
        notes.append(
            "Not all trials have the same parameters: the model is of those "
            f"{len(subject.case.numbers)} that have the parameters of the best one, or of most on "
            "the front."
        )
    if counts.get("pruned"):
        notes.append("It learns nothing from trials that were pruned.")
    return notes


def _outlook(sentences: list[str]) -> str:
    """The first sentence stands out, the others say more."""
    if not sentences:
        return ""
    first, *others = map(text, sentences)
    return f'<p class="outlook"><strong>{first}</strong> {" ".join(others)}</p>'


def _best(subject: Subject) -> str:
    if len(subject.goals.objectives) > 1:
        return _front(subject)
    best = subject.best
    if best is None or best.value is None:
        return (
            ""
            if subject.goals.is_plain or not subject.complete()
            else _nothing(_name_of_best(subject))
        )
    words, values = f"trial {best.id}", subject.values()
    digits = digits_for(values, 6)
    if subject.model is not None and subject.sign * best.value < (subject.sign * values).max():
        estimate = float(subject.model.expected(subject.model.center[None]).mean[0])
        words += (
            "; the model sees noise in the results, and holds this trial for the best, with an "
            f"estimate of {number(estimate, digits - 1)} without noise"
        )
    if not subject.goals.is_plain:
        words += f"; the best within all limits, with {others(subject, best)}"
    params = [
        (name, value, text(_shown(subject, name, value)))
        for name, value in subject.params_of(best).items()
    ]
    entries = "".join(
        f'<div><dt>{text(name)}</dt><dd title="{text(label(value))}">{shown}'
        f"{'<small>fixed</small>' if name in subject.fixed else ''}</dd></div>"
        for name, value, shown in params
    )
    return (
        f'<div class="best"><p class="label">{text(_name_of_best(subject))}</p>'
        f'<p class="value" title="{best.value!r}">{text(number(best.value, digits))}</p>'
        f'<p class="label">{text(words)}</p></div>'
        + (f'<dl class="params">{entries}</dl>' if entries else "")
    )


def _name_of_best(subject: Subject) -> str:
    return (
        "Best value" if subject.goals.is_plain else f"Best {next(iter(subject.goals.objectives))}"
    )


def _front(subject: Subject) -> str:
    """How many trials the front has, and the best of each objective."""
    front, goals = subject.front, subject.goals
    if not front:
        return _nothing("Front") if subject.complete() else ""
    entries = []
    for (name, way), column in zip(goals.objectives.items(), goals.wanted(front).T, strict=True):
        trial = front[int(column.argmax())]
        value = (trial.outcomes or {})[name]
        entries.append(
            f"<div><dt>{'lowest' if way == 'minimize' else 'highest'} {text(name)}</dt>"
            f'<dd title="{value!r}">{text(number(value, 6))}<small>trial {trial.id}</small></dd>'
            "</div>"
        )
    within = " and are within all limits" if goals.constraints else ""
    return (
        f'<div class="best"><p class="label">Front</p>'
        f'<p class="value">{len(front)} trial{"" if len(front) == 1 else "s"}</p>'
        f'<p class="label">that no other one beats in all objectives{within}</p></div>'
        f'<dl class="params">{"".join(entries)}</dl>'
    )


def _nothing(what: str) -> str:
    return (
        f'<div class="best"><p class="label">{text(what)}</p><p class="value">none yet</p>'
        '<p class="label">no trial is within all limits</p></div>'
    )


def _shown(subject: Subject, name: str, value: Any) -> str:
    """A value of a parameter; 0 in place of what is nothing beside its range."""
    kind = subject.varied.get(name)
    if isinstance(kind, Real) and not kind.log and abs(value) < _NOTHING * (kind.high - kind.low):
        return "0"
    return _plain(value)


def _plain(value: Any) -> str:
    return number(value, 6) if isinstance(value, float) else label(value)


def _facts(subject: Subject) -> str:
    counts, times = subject.counts(), subject.times()
    facts = [("trials", str(len(subject.trials)))]
    facts += [(_WORDS[s], str(counts[s])) for s in _WORDS if s in counts]
    if subject.has_limits:
        within = sum(subject.goals.feasible(t, subject.trials) for t in subject.complete())
        facts.append(("within all limits", str(within)))
    if times:
        facts.append(("began", moment(min(times))))
        told = [trial.told for trial in subject.trials if trial.told is not None]
        if told:
            facts.append(("last result", moment(max(told))))
            facts.append(("in all", duration(max(told) - min(times))))
    return items(facts, "facts")
