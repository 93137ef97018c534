"""Rows with mappings in them as columns: one way for tables, CSV and data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

#: The name of a column: a key of a row, or that of a mapping in it and a key of this.
Name = tuple[str, ...]


def flat(row: Mapping[str, Any]) -> dict[Name, Any]:
    """A row in which mappings have a column for each of their keys.

    Args:
        row: values by key, some of which are mappings.

    Returns:
        Values by name of the column.
    """
    columns: dict[Name, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            columns.update({(key, name): each for name, each in value.items()})
        else:
            columns[(key,)] = value
    return columns


def titles(names: Sequence[Name]) -> list[str]:
    """Titles of columns: params that are called like another column say that they are params.

    Args:
        names: of the columns, all different.

    Returns:
        As many titles, all different.
    """
    own = {name[0] for name in names if len(name) == 1}
    found = [".".join(name) if name[-1] in own else name[-1] for name in names]
    often = Counter(found)
    return [
        ".".join(name) if often[title] > 1 else title
        for name, title in zip(names, found, strict=True)
    ]
