"""Formulas as MathML, made when the site is built, so that pages need no script and no network.

`pymdownx.arithmatex` marks formulas in the HTML of a page: inline ones as
`<span class="arithmatex">\\(...\\)</span>`, displayed ones as `<div class="arithmatex">` with
`\\[...\\]`. This hook replaces both by what latex2mathml makes of them.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_FORMULA = re.compile(
    r'<span class="arithmatex">\\\((?P<inline>.*?)\\\)</span>'
    r'|<div class="arithmatex">\s*\\\[(?P<display>.*?)\\\]\s*</div>',
    re.DOTALL,
)
# A minus that follows an opening bracket, a comma or an equals sign.
_MINUS_SIGN = re.compile(r"(<mo[^>]*>(?:&#x00028;|\[|&#x0002C;|&#x0003D;)</mo>)<mo>&#x02212;</mo>")


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of every page."""
    return _FORMULA.sub(_mathml, html)


def _mathml(formula: re.Match[str]) -> str:
    if formula["inline"] is not None:
        return _converted(formula["inline"], "inline")
    return f'<div class="math-display">{_converted(formula["display"], "block")}</div>'


def _converted(escaped: str, display: str) -> str:
    latex = unescape(escaped).strip()
    mathml = convert(latex, display=display)
    # What latex2mathml does not know, it passes through as text.
    if "\\" in mathml or "<mi>&</mi>" in mathml:
        raise PluginError(f"latex2mathml does not know all of {latex!r}")
    # latex2mathml takes the transpose sign for a relation, and gives it the space of one, and
    # every minus inside parentheses for a difference.
    mathml = mathml.replace("<mo>&#x022A4;</mo>", "<mi>&#x022A4;</mi>")
    return _MINUS_SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', mathml)
