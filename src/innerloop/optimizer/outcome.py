"""What a trial becomes when its outcome is told."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from innerloop.errors import InputError
from innerloop.optimizer.trials import Trial


def outcome(trial: Trial, value: Any, state: str, noise_sd: Any, error: str | None) -> Trial:
    """The trial with its outcome, or an error that leaves it as it was.

    Args:
        trial: as it is on record.
        value: what came out.
        state: "complete", "failed" or "cancelled".
        noise_sd: standard deviation of the noise in the value, where it is known.
        error: why there is no value.

    Returns:
        The trial as it is now.
    """
    if state not in ("complete", "failed", "cancelled"):
        raise InputError(f"state must be 'complete', 'failed' or 'cancelled', got {state!r}")
    if trial.state == "complete":
        raise InputError(f"trial {trial.id} was told {trial.value} before, and keeps it")
    if error is not None and not isinstance(error, str):
        raise InputError(f"error must be text, got {error!r}")
    now = time.time()
    if state != "complete":
        if value is not None:
            raise InputError(f"a {state} trial has no value, got {value!r} for trial {trial.id}")
        return replace(trial, state=state, error=error, told=now)
    number = as_number(f"the value of trial {trial.id}", value)
    if not math.isfinite(number):
        reason = error or f"the value was {number}"
        return replace(trial, state="failed", error=reason, told=now)
    return replace(
        trial,
        state="complete",
        value=number,
        noise_sd=_deviation(noise_sd, trial.id),
        error=None,
        told=now,
    )


def as_number(name: str, value: Any) -> float:
    """A number as a float; anything like one will do, but not what only could be read as one.

    Args:
        name: what it is called in errors.
        value: anything.

    Returns:
        The number, infinite if it is too large for a float.
    """
    if value is None:
        raise InputError(f"{name} must be a number, got None; tell state='failed' if there is none")
    if not isinstance(value, str | bytes | bool | np.bool_ | complex) and np.ndim(value) == 0:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
        except (TypeError, ValueError):
            pass
    raise InputError(f"{name} must be a number, got {value!r}")


def _deviation(noise_sd: Any, number: int) -> float | None:
    """A standard deviation of noise, of 0 or above, or None."""
    if noise_sd is None:
        return None
    deviation = as_number(f"noise_sd of trial {number}", noise_sd)
    if not (math.isfinite(deviation) and deviation >= 0.0):
        raise InputError(f"noise_sd of trial {number} must be 0 or above, got {deviation}")
    return deviation


def one_for_each(name: str, value: Any, number: int) -> list[Any]:
    """One value for each of several trials.

    Args:
        name: what a value is called in errors.
        value: a list of values; None stands for as many of them.
        number: how many trials there are.

    Returns:
        So many values.
    """
    if value is None:
        return [None] * number
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        raise InputError(f"{number} trials need a list of as many {name}s, got {value!r}")
    if len(value) != number:
        raise InputError(f"{number} trials need as many {name}s, got {len(value)}")
    return list(value)
