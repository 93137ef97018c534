"""Numbers as people read them, and as a page carries them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np

from innerloop.types import Array


def number(value: float, digits: int = 5) -> str:
    """A number to some significant digits: 0.0123, 5200, 1.3e-7."""
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        if 0 <= int(exponent) < 7:
            return str(round(value))
        return f"{mantissa}e{int(exponent)}"
    return text


def percent(share: float) -> str:
    """A share in percent: 3 %, 0.4 %, less than 0.1 %."""
    if share < 0.001:
        return "less than 0.1 %"
    return f"{100.0 * share:.{1 if share < 0.0095 else 0}f} %"


def duration(seconds: float) -> str:
    """A time span in the unit that suits it."""
    for limit, unit, size in ((1.0, "ms", 1e-3), (120.0, "s", 1.0), (7200.0, "min", 60.0)):
        if seconds < limit:
            return f"{number(seconds / size, 3)} {unit}"
    return (
        f"{number(seconds / 3600.0, 3)} h" if seconds < 172800.0 else f"{seconds / 86400.0:.1f} d"
    )


def moment(seconds: float) -> str:
    """A time since the epoch as a date."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return "an unknown time"


def finite(value: float) -> float | None:
    """`value`, or None in place of what JSON has no word for."""
    return value if math.isfinite(value) else None


def compact(values: Array, digits: int = 5) -> list[float | None]:
    """Values (n,) with as many digits as a figure of all of them can show."""
    known = values[np.isfinite(values)]
    if not known.size:
        return [None] * len(values)
    enough = digits_for(known, digits)
    return [rounded(v, enough) if math.isfinite(v) else None for v in values.tolist()]


def rounded(value: float, digits: int) -> float:
    """`value` to so many significant digits, unless that is beyond the largest number."""
    short = float(f"{value:.{digits}g}")
    return short if math.isfinite(short) else value


def digits_for(values: Array, digits: int) -> int:
    """So many significant digits, and more if all values (n,) are nearly the same."""
    largest = float(np.abs(values).max(initial=0.0))
    span = float(0.5 * values.max() - 0.5 * values.min()) if values.size else 0.0
    if not 0.0 < span < largest:
        return digits
    return min(digits + math.floor(math.log10(largest) - math.log10(span)), 15)
