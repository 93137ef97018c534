"""Where values stand in a text for the shell: each becomes one quoted expansion of a variable.

The text is read from left to right as POSIX shells do, as far as all of them read it alike. What
they do not read alike, or where they would evaluate a value, ends the reading: placeholders from
there on are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from innerloop.errors import StudyError

#: Stands for a placeholder in a text; nothing else in a command can be this character.
MARK = "\0"
_VARIABLE = r"\$\w+|\$\{\w+\}"
_TERM = rf"[^'\"\\`(){{}}\0#$;\n]|{_VARIABLE}"
# Expansions that end at the same place in all shells, without placeholders in them.
_EXPANSION = (
    rf"\$\(\((?:{_TERM}|\((?:{_TERM})*\))*\)\)"
    rf"|\$\{{(?![\s|(])(?:[^'\"\\`(){{}}<>$\0]|{_VARIABLE})*\}}"
    r"|\$(?:\w+|[@*#?$!-])"
    r"|`(?:[^`\\\0#]|\\[^\0])*`"
)
_LETTER = r"[^\0'\"\\`$#()<>;&| \t\n]"
_EITHER = r"(?P<slot>\0)|(?P<quote>\")|(?P<open>\$\((?!\())"
_OUTSIDE = (
    rf"{_EITHER}|(?P<single>'[^']*')|(?P<close>\))|(?P<continued>(?<![^ \t\n])\\\n)"
    r"|(?P<between>\(\)|<(?![<(])|>(?!\()|[;&| \t\n])"
)
_WORD = rf"(?P<word>{_LETTER}+|\\[^\0\n]|{_EXPANSION}|\$(?![\0'\"\[({{]|\\\n))"
# What may come next within double quotes, within a word, and where a word may begin.
_QUOTED = re.compile(
    rf"{_EITHER}|(?P<word>[^\0\"\\`$]+|\\[^\0]|{_EXPANSION}|\$(?!\0|\[|\(|\{{|\\\n))"
)
_INSIDE_WORD = re.compile(rf"{_OUTSIDE}|(?P<hash>#)|{_WORD}")
_BEFORE_WORD = re.compile(rf"{_OUTSIDE}|(?P<group>\((?!\())|(?P<comment>#[^\n]*)|{_WORD}")
_BEFORE_WORD_SUBSTITUTED = re.compile(
    rf"{_OUTSIDE}|(?P<group>\((?!\())|(?!case(?!{_LETTER})){_WORD}"
)
# Why the reading ends where none of the above is found.
_REASONS = {
    r"\\\0": "a backslash before it would change what it means",
    r"\$\0": "a $ before it would change what it means",
    r"\$?\\\n": "a line is continued in the middle of a word",
    r"'": "a ' before it is never closed",
    r"`": "write $(...) instead of `...`",
    r"\$\(\(|\$\[|\(\(": "shells would evaluate it, or differ, in arithmetic",
    r"\$\{": "shells differ about what is in such a ${...}",
    r"\$": "shells differ about $'...' and $\"...\"",
    r"<<": "quotes mean something else in a here-document",
    r"case": "shells differ about 'case' in $(...)",
    r"#": "shells differ about comments in $(...)",
    r"": "not all shells know such parentheses",
}


class Slot(NamedTuple):
    """A placeholder in a text for the shell.

    Args:
        shown: the placeholder as it is written.
        variable: that of the environment which has its value.
    """

    shown: str
    variable: str


def expanding(text: str, slots: Sequence[Slot]) -> str:
    """A text with expansions of variables in place of its marks.

    Args:
        text: for the shell, with a mark for each slot.
        slots: in the order of the marks.

    Returns:
        The text; a StudyError if a value could mean more than itself.
    """
    return _Reader(text, slots).expanded() if slots else text


class _Reader:
    """Reads a text once.

    within: what has been opened and not closed, of '"', "$(" and "(". in_word: whether a word has
    begun, in which # begins no comment.
    """

    def __init__(self, text: str, slots: Sequence[Slot]) -> None:
        self._text, self._slots = text, list(slots)
        self._within: list[str] = []
        self._in_word = False

    def expanded(self) -> str:
        """The text with expansions."""
        parts: list[str] = []
        at = 0
        while at < len(self._text):
            found = self._expected().match(self._text, at)
            if found is None:
                self._refuse_slots(at)
                return "".join([*parts, self._text[at:]])
            parts.append(self._taken(found))
            at = found.end()
        for opened in ('"', "$("):
            if opened in self._within:
                raise StudyError(f"{opened} is never closed in the command")
        return "".join(parts)

    @property
    def _is_quoted(self) -> bool:
        return self._within[-1:] == ['"']

    def _expected(self) -> re.Pattern[str]:
        if self._is_quoted:
            return _QUOTED
        if self._in_word:
            return _INSIDE_WORD
        return _BEFORE_WORD_SUBSTITUTED if "$(" in self._within else _BEFORE_WORD

    def _taken(self, found: re.Match[str]) -> str:
        """What stands for a piece of the text in the result; remembers where that leads."""
        kind, piece, in_word = found.lastgroup, found[0], True
        if kind == "slot":
            piece = self._expansion() if self._is_quoted else self._expansion('"', '"')
        elif kind == "single":
            piece = re.sub(MARK, lambda _: self._expansion("'\"", "\"'"), piece)
        elif kind == "comment":
            piece, in_word = re.sub(MARK, lambda _: self._expansion(), piece), False
        elif kind == "quote":
            self._within = self._within[:-1] if self._is_quoted else [*self._within, piece]
        elif kind == "close":  # of a pattern of 'case' if nothing is open
            in_word = bool(self._within) and self._within.pop() == "$("
        elif kind in ("open", "group"):
            self._within, in_word = [*self._within, piece], False
        elif kind == "between":
            in_word = False
        elif kind == "continued":
            in_word = self._in_word
        self._in_word = in_word
        return piece

    def _expansion(self, before: str = "", after: str = "") -> str:
        return f"{before}${{{self._slots.pop(0).variable}}}{after}"

    def _refuse_slots(self, at: int) -> None:
        """Placeholders from here on cannot be put in their places."""
        if self._slots:
            reason = next(r for p, r in _REASONS.items() if re.match(p, self._text[at:]))
            shown = self._slots[0].shown
            raise StudyError(
                f"{shown} cannot be put into the command safely: {reason}. Set a variable first, "
                f"as in 'v={shown}; ... \"$v\" ...', or run a script with {shown} as an argument"
            )
