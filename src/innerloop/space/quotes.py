"""Names between backticks, which may hold anything: "`feed rate` + x <= 3"; a double one is one."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

#: A name between backticks, in a regular expression.
QUOTED = r"`(?:[^`]|``)+`"
_QUOTED = re.compile(QUOTED)
_WORDS = re.compile(r"[^\W\d]\w*( \w+)*")


def unquoted(name: str) -> str:
    """A name without its backticks, if it has some.

    Args:
        name: as it is written in a constraint.

    Returns:
        The name itself.
    """
    return name[1:-1].replace("``", "`") if _QUOTED.fullmatch(name) else name


def with_identifiers(text: str) -> tuple[str, dict[str, str]]:
    """A text in which names between backticks are replaced by identifiers.

    Args:
        text: of a constraint.

    Returns:
        The text, and names by identifier.
    """
    start = "quoted_"
    while start in text:
        start += "_"
    names: dict[str, str] = {}

    def identifier(found: re.Match[str]) -> str:
        names[f"{start}{len(names)}"] = unquoted(found[0])
        return f" {start}{len(names) - 1} "

    return _QUOTED.sub(identifier, text), names


def named(tree: ast.expr, names: Mapping[str, str]) -> ast.expr | None:
    """A formula with names in place of the identifiers that stood for them.

    Args:
        tree: the formula, whose nodes are changed.
        names: by identifier.

    Returns:
        The formula; None if such a name is called like a function.
    """
    nodes = list(ast.walk(tree))
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    if any(isinstance(each, ast.Name) and each.id in names for each in called):
        return None
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return tree


def quoted(name: str) -> str:
    """A name as it may be written in a constraint.

    Args:
        name: any one.

    Returns:
        The name, between backticks if it has more in it than words.
    """
    return name if _WORDS.fullmatch(name) else f"`{name.replace('`', '``')}`"
