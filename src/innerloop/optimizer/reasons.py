"""Why trials have no values, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_LONGEST = 300


def last_line(text: str | None) -> str:
    """The last line that says something: of a traceback, which exception it was.

    Args:
        text: of an error, if there is one.

    Returns:
        The line.
    """
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def why_none(errors: Sequence[str | None], trials: int) -> str:
    """How many trials failed, and the reasons that most of them give.

    Args:
        errors: of those that failed.
        trials: how many there are.

    Returns:
        Words such as "all 12 trials failed, 11 of them with ValueError: no"; none without failures.
    """
    if not errors:
        return ""
    lines = [last_line(error)[:_LONGEST] for error in errors]
    if trials == 1:
        return f"the only trial failed with {lines[0]}"
    many = f"all {trials}" if len(errors) == trials else f"{len(errors)} of {trials}"
    (first, most), *others = Counter(lines).most_common(2)
    if most == 1 and len(lines) > 1:  # they differ, if only in a number
        return f"{many} trials failed, the last of them with {lines[-1]}"
    said = f"{many} trials failed, {most} of them with {first}"
    return said + "".join(f"; {number} with {line}" for line, number in others)
