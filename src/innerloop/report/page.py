"""The page itself: text that is escaped, a style, a script, and data for it.

Nothing that comes from a study is ever markup. Text in the page is escaped; data are JSON in which
no `<` occurs, and the script writes them as text; and the page forbids itself, by a policy that
browsers enforce, every script and style but its own and every access to a network.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import time
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

import innerloop
from innerloop.report.numbers import digits_for, duration, moment, number
from innerloop.report.outcomes_payload import outcomes_payload
from innerloop.report.outcomes_sections import aims, limit_of, others
from innerloop.report.outlook import outlook
from innerloop.report.payload import label, payload
from innerloop.report.sections import Section, sections
from innerloop.report.subject import Subject
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.space.when import When

_STYLES = ("page.css", "controls.css", "figures.css", "tables.css", "media.css")
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
    "tables.js",
    "front.js",
    "outcomes.js",
    "main.js",
)
_WORDS = {
    "complete": "complete",
    "failed": "failed",
    "expired": "given up",
    "cancelled": "cancelled",
    "forgotten": "forgotten",
    "pending": "running",
}


def page(subject: Subject, title: str) -> str:
    """The whole page."""
    style = "\n".join(_asset(name) for name in _STYLES)
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}\n}})();'
    shown = sections(subject)
    return Template(_asset("page.html")).substitute(
        policy=_policy([_asset("theme.js"), script], style),
        style=style,
        theme=_asset("theme.js"),
        script=script,
        data=_json(_data(subject)),
        title=text(title),
        about=text(_about(subject)),
        summary=_summary(subject),
        links="".join(f'<a href="#{s.name}">{text(s.heading)}</a>' for s in shown),
        sections="\n".join([*map(_section, shown), _space(subject)]),
        footer=text(f"innerloop {innerloop.__version__}, {moment(time.time())}"),
    )


def _data(subject: Subject) -> dict[str, Any]:
    """What the script draws."""
    shown = payload(subject)
    return shown if subject.goals.is_plain else {**shown, **outcomes_payload(subject)}


def text(value: str) -> str:
    """`value` as text of a page, whatever it contains."""
    # Halves of pairs cannot be encoded, and a null character cannot be in a page.
    whole = value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return html.escape(whole)


def _json(data: dict[str, Any]) -> str:
    """JSON that can stand inside a script element."""
    encoded = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return encoded.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _asset(name: str) -> str:
    return (files("innerloop.report") / "assets" / name).read_text(encoding="utf-8").strip()


def _policy(scripts: list[str], style: str) -> str:
    allowed = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'sha256-{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _section(section: Section) -> str:
    words = "".join(f"<p>{text(sentence)}</p>" for sentence in section.words)
    return (
        f'<section id="{section.name}"><h2>{text(section.heading)}</h2>'
        f'{words}<div class="content"></div></section>'
    )


def _space(subject: Subject) -> str:
    """What is searched: parameters, their ranges, and constraints."""
    rows = [(name, _range(p) + _where(p)) for name, p in subject.varied.items()]
    rows += [(name, f"fixed at {_plain(value)}") for name, value in subject.fixed.items()]
    rows += [("constraint", each) for each in subject.optimizer.space.texts]
    if not subject.goals.is_plain:
        rows += [(f"objective {n}", way) for n, way in subject.goals.objectives.items()]
        rows += [
            (f"outcome {each.name}", limit_of(each, subject)) for each in subject.goals.constraints
        ]
    items = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in rows)
    return f'<section id="space"><h2>What is searched</h2><dl class="space">{items}</dl></section>'


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
    if (subject.model or subject.outcomes) and subject.copy.used < subject.copy.results:
        parts.append(
            f'<p class="note">The model on this page has learned from {subject.copy.used} of the '
            f"{subject.copy.results} results: the best ones and a random choice of the others."
            f"{' Progress, times and tables show all of them.' if subject.shows_all else ''}</p>"
        )
    return "".join(parts)


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
    params = {**{n: best.params[n] for n in subject.varied if n in best.params}, **subject.fixed}
    entries = "".join(
        f'<div><dt>{text(name)}</dt><dd title="{text(label(value))}">{text(_plain(value))}'
        f"{'<small>fixed</small>' if name in subject.fixed else ''}</dd></div>"
        for name, value in params.items()
    )
    return (
        f'<div class="best"><p class="label">{text(_name_of_best(subject))}</p>'
        f'<p class="value" title="{best.value!r}">{text(number(best.value, digits))}</p>'
        f'<p class="label">{text(words)}</p></div>'
        f'<dl class="params">{entries}</dl>'
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
    items = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in facts)
    return f'<dl class="facts">{items}</dl>'
