"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from innerloop_paper.paired_differences import NOT_REPRODUCED, REPRODUCED, Estimate

NOTHING = "-"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a line for every row."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign, to so many digits after the point."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0.0 else text


def interval(found: Estimate | None) -> str:
    """The two ends of a confidence interval."""
    if found is None or found.interval is None:
        return NOTHING
    low, high = found.interval
    return f"{signed(low)} to {signed(high)}"


def difference(found: Estimate | None) -> str:
    """A difference alone."""
    return NOTHING if found is None else signed(found.value)


def brief(found: Estimate | None) -> str:
    """A difference with half the width of its interval, marked by the side of 0 it lies on."""
    if found is None:
        return NOTHING
    if found.interval is None:
        return signed(found.value, 2)
    text = f"{signed(found.value, 2)} ± {0.5 * (found.interval[1] - found.interval[0]):.2f}"
    marks = {REPRODUCED: "**", NOT_REPRODUCED: "*"}
    mark = marks.get(found.verdict, "")
    return f"{mark}{text}{mark}"


def listed(values: Iterable[object]) -> str:
    """Values one after the other."""
    return ", ".join(str(value) for value in values) or NOTHING


def spread(values: Sequence[int]) -> str:
    """One number if all are the same, otherwise the least and the greatest."""
    least, greatest = min(values), max(values)
    return str(least) if least == greatest else f"{least} to {greatest}"


def power(n: int) -> str:
    """A power of two as such."""
    exponent = n.bit_length() - 1
    return f"2^{exponent}" if n == 2**exponent else str(n)
