"""A page as text: what is in it is escaped, with a style, a script, and data for it.

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
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

import innerloop
from innerloop.report.numbers import moment

_STYLES = (
    "page.css",
    "controls.css",
    "figures.css",
    "timeline.css",
    "comparing.css",
    "tables.css",
    "media.css",
)


class Section(NamedTuple):
    """A part of a page; the script draws into the element of that name."""

    name: str
    heading: str
    words: tuple[str, ...]


def document(
    *,
    title: str,
    about: str,
    summary: str,
    sections: Sequence[Section],
    ending: str,
    scripts: Sequence[str],
    data: Mapping[str, Any],
    reload: float | None,
) -> str:
    """The whole page.

    summary and ending are markup, everything else is text. scripts: names of files, in order.
    reload: seconds after which the page is loaded anew, again and again; None if it stays.
    """
    style = "\n".join(map(_asset, _STYLES))
    body = "\n".join(map(_asset, scripts))
    script = f'(() => {{\n"use strict";\n{body}\n}})();'
    head = "\n".join(map(_asset, ["theme.js", *(() if reload is None else ["reload.js"])]))
    links = "".join(f'<a href="#{each.name}">{text(each.heading)}</a>' for each in sections)
    return Template(_asset("page.html")).substitute(
        policy=_policy([head, script], style),
        reload="" if reload is None else f' data-reload="{reload:g}"',
        style=style,
        head=head,
        script=script,
        data=_json(data),
        title=text(title),
        about=text(about),
        summary=summary,
        nav=f'<nav aria-label="Sections">{links}</nav>' if links else "",
        sections="\n".join([*map(_section, sections), ending]),
        footer=text(f"innerloop {innerloop.__version__}, {moment(time.time())}"),
    )


def text(value: str) -> str:
    """`value` as text of a page, whatever it contains."""
    # Halves of pairs cannot be encoded, and a null character cannot be in a page.
    whole = value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return html.escape(whole)


def items(pairs: Sequence[tuple[str, str]], name: str) -> str:
    """Terms with what they mean, as a list of a class."""
    rows = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in pairs)
    return f'<dl class="{name}">{rows}</dl>'


def _json(data: Mapping[str, Any]) -> str:
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
