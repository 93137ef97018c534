"""The check that settings of jobs have in common."""

from __future__ import annotations

from innerloop import InputError


def check_count(name: str, value: int) -> None:
    """Refuse what is not an integer of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name} must be an integer of 1 or more, got {value!r}")
