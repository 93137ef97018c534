"""Trials: what was asked, and what came of it."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from innerloop.errors import InputError

#: Asked and not told; told a value; told to have failed; not told in time; cut off, for reasons
#: that say nothing of its params: it teaches nothing, and its point is as good as new; and so it is
#: with one that is to be forgotten, whatever it was told.
STATES = ("pending", "complete", "failed", "expired", "cancelled", "forgotten")


@dataclass(frozen=True)
class Prediction:
    """What the model expects of the function at a point.

    With few results, or across steps, sd is often too small: mean plus and minus 1.96 sd held 84 to
    98 % of true values with 15 results, by the kind of function, and 38 % in the worst single case.

    Args:
        mean: expected value.
        sd: standard deviation.
    """

    mean: float
    sd: float


@dataclass(frozen=True)
class Forecast:
    """What the models expect of several outcomes at a point.

    Args:
        outcomes: predictions by name.
        feasible: the chance that all limits are met, if outcomes are independent.
    """

    outcomes: dict[str, Prediction]
    feasible: float


@dataclass(frozen=True)
class Certificate:
    """How good a batch is, by its own acquisition function, in units of the model.

    Args:
        value: acquisition value of the batch.
        upper_bound: no batch of its size is worth more, up to Monte Carlo error and the search
            having found the largest gain; None where there is no bound.
        fraction: the guaranteed share of the best possible value.
        seconds: what the ask took.
    """

    value: float
    upper_bound: float | None
    fraction: float | None
    seconds: float


@dataclass(frozen=True)
class Trial:
    """One evaluation of the function.

    Args:
        id: its number, from 0.
        params: plain Python values by name.
        state: "pending", "complete", "failed", "expired", "cancelled" or "forgotten".
        value: what was told, in a complete trial, or in one that was until it was forgotten.
        noise_sd: standard deviation of the noise in that value, if it was given.
        prediction: what was expected when it was asked.
        certificate: how good the whole batch was when it was asked.
        error: why there is no value.
        asked: when it was asked, in seconds since the epoch.
        told: when it was told, in seconds since the epoch.
        outcomes: where there are several, what was told of them so far, by name; of one objective
            with constraints, `value` is there too.
        noise_sds: standard deviations of the noise in them, where they were given.
        predictions: what was expected of each of several outcomes.
        outside: why its params are not in the space, if they are not. Something is learned from it
            if it has a place beside the space; it is never the best.
    """

    id: int
    params: dict[str, Any]
    state: str = "pending"
    value: float | None = None
    noise_sd: float | None = None
    prediction: Prediction | None = None
    certificate: Certificate | None = None
    error: str | None = None
    asked: float | None = None
    told: float | None = None
    outcomes: dict[str, float] | None = None
    noise_sds: dict[str, float] | None = None
    predictions: dict[str, Prediction] | None = None
    outside: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON; what most trials do not have only where it is."""
        plain = asdict(self)
        rare = ("outcomes", "noise_sds", "predictions", "outside")
        return {k: each for k, each in plain.items() if each is not None or k not in rare}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Trial:
        """The trial that `to_dict` wrote down.

        Args:
            data: plain data.

        Returns:
            The trial.
        """
        unknown = set(data) - {entry.name for entry in fields(Trial)}
        if unknown or data.get("state") not in STATES:
            raise InputError(f"not a trial: {dict(data)!r}")
        prediction, certificate = data.get("prediction"), data.get("certificate")
        predictions = data.get("predictions")
        return Trial(
            **{
                **data,
                "prediction": None if prediction is None else Prediction(**prediction),
                "certificate": None if certificate is None else Certificate(**certificate),
                "predictions": None
                if predictions is None
                else {name: Prediction(**each) for name, each in predictions.items()},
            }
        )


def point_of(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Params as something that sets can hold, given that all are of one space.

    Args:
        params: values by name.

    Returns:
        The names and the values: not all points have the same names.
    """
    return (*params, *params.values())


def tried(trials: Iterable[Trial]) -> set[tuple[Any, ...]]:
    """Points that need not be tried again, or are about to be tried.

    Args:
        trials: of which those that were cancelled or forgotten do not count.

    Returns:
        Their points.
    """
    new = ("cancelled", "forgotten")
    return {point_of(trial.params) for trial in trials if trial.state not in new}


def failed_for_a_while(trials: Iterable[Trial]) -> bool:
    """Whether all that failed did so in one stretch, which is over.

    Args:
        trials: in their order.

    Returns:
        Whether there are complete trials after those that failed, and none between.
    """
    told = [trial.state for trial in trials if trial.state in ("complete", "failed")]
    changes = sum(a != b for a, b in itertools.pairwise(["complete", *told]))
    return changes == 2


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
    refuse_forgotten(trial)
    if trial.state == "complete":
        told = f"was told {trial.value} before"
        raise InputError(f"trial {trial.id} {told}, and keeps it: `correct` replaces it")
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


def with_outcomes(trial: Trial, told: Any, names: Sequence[str], objectives: int) -> Trial:
    """The trial with some or all of several outcomes, or an error that leaves it as it was.

    Args:
        trial: as it is.
        told: numbers by name, or pairs of a number and the standard deviation of its noise. One
            that is not finite makes a failed trial; the others are kept.
        names: of all outcomes, objectives first.
        objectives: how many of them are objectives.

    Returns:
        The trial, complete if it has all outcomes, else still pending.
    """
    refuse_forgotten(trial)
    if trial.state == "complete":
        raise InputError(f"trial {trial.id} was told {trial.outcomes} before, and keeps it")
    if not isinstance(told, Mapping) or not told:
        raise InputError(
            f"tell trial {trial.id} a mapping with its outcomes, {list(names)}, got {told!r}"
        )
    check_names(told, names)
    values, noise = dict(trial.outcomes or {}), dict(trial.noise_sds or {})
    bad: list[str] = []
    for name, each in told.items():
        if name in values:
            raise InputError(
                f"{name!r} of trial {trial.id} was told {values[name]} before, and keeps it"
            )
        is_pair = isinstance(each, tuple) and len(each) == 2
        number = as_number(f"{name!r} of trial {trial.id}", each[0] if is_pair else each)
        sd = _deviation(each[1], trial.id) if is_pair else None
        if not math.isfinite(number):
            bad.append(f"{name} was {number}")
            continue
        values[name] = number
        if sd is not None:
            noise[name] = sd
    state = "complete" if len(values) == len(names) else "pending"
    changed = replace(trial, outcomes=values, noise_sds=noise or None, told=time.time())
    if bad:
        return replace(changed, state="failed", error=", ".join(bad))
    only = values.get(names[0]) if objectives == 1 and state == "complete" else None
    return replace(changed, state=state, value=only, error=None)


def refuse_forgotten(trial: Trial) -> None:
    """Refuse a trial that was forgotten.

    Args:
        trial: one of any state.
    """
    if trial.state == "forgotten":
        raise InputError(f"trial {trial.id} was forgotten: bring it back first")


def check_names(told: Iterable[str], names: Sequence[str]) -> None:
    """Refuse names that no outcome has.

    Args:
        told: the names.
        names: of all outcomes.
    """
    unknown = [name for name in told if name not in names]
    if unknown:
        raise InputError(f"there is no outcome {unknown[0]!r}: outcomes are {list(names)}")


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
