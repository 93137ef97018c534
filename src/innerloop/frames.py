"""Columns of plain values as a data frame of pandas or polars.

Numbers are numbers, integers integers, and what is missing is missing; where a column holds values
of several kinds, pandas is given the values and polars texts.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from innerloop import checks
from innerloop.optional import needed

LIBRARIES = ("pandas", "polars")
# Integers beyond this take more than 64 bits.
_LARGEST = 2**63 - 1


def frame(
    columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, Any], library: str | None
) -> Any:
    """A data frame.

    Args:
        columns: values by title, None where they are missing.
        kinds: by title, values such as there may be in the column besides those that there are.
        library: "pandas" or "polars"; by default pandas, or polars if only that is installed.

    Returns:
        A `DataFrame` of that library.
    """
    if library is None:
        library = next((name for name in LIBRARIES if find_spec(name) is not None), "pandas")
    checks.one_of("library", library, LIBRARIES)
    made = needed(library, "data frames", library)
    series = _of_pandas if library == "pandas" else _of_polars
    return made.DataFrame(
        {
            title: series(made, values, kind_of([*kinds.get(title, ()), *values]))
            for title, values in columns.items()
        }
    )


def kind_of(values: Iterable[Any]) -> str:
    """What a column with these values holds.

    Args:
        values: plain ones; None says nothing.

    Returns:
        "boolean", "integer", "number", "text" or "time"; "mixed" if none of them.
    """
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {"integer", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _kind(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return "integer" if abs(value) <= _LARGEST else "mixed"
    names = {bool: "boolean", float: "number", str: "text", datetime.datetime: "time"}
    return names.get(type(value), "mixed")


def _of_pandas(pandas: Any, values: Sequence[Any], kind: str) -> Any:
    if kind == "time":
        return pandas.Series(pandas.to_datetime(list(values), utc=True))
    if kind == "text":
        return pandas.Series(list(map(_whole, values)), dtype="string")
    is_whole = None not in values
    types = {
        "boolean": "bool" if is_whole else "boolean",
        "integer": "int64" if is_whole else "Int64",
        "number": "float64",
        "mixed": "object",
    }
    return pandas.Series(list(values), dtype=types[kind])


def _of_polars(polars: Any, values: Sequence[Any], kind: str) -> Any:
    types = {
        "boolean": polars.Boolean,
        "integer": polars.Int64,
        "number": polars.Float64,
        "time": polars.Datetime("us", "UTC"),
    }
    if kind in types:
        return polars.Series(values=values, dtype=types[kind], strict=False)
    texts = [None if value is None else _whole(str(value)) for value in values]
    return polars.Series(values=texts, dtype=polars.String)


def _whole(text: str | None) -> str | None:
    """A text that can be encoded: halves of characters cannot."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")
