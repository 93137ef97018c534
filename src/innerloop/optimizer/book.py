"""The trials of an optimizer and their encoded points: who has asked what, and what came of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.changes import with_outcome
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.results import Results, outside
from innerloop.optimizer.trials import Trial, one_for_each, point_of, refuse_forgotten, tried
from innerloop.space.outside import admit, locate
from innerloop.space.space import Space
from innerloop.types import Array

_Method = TypeVar("_Method", bound=Callable[..., Any])


def locked(method: _Method) -> _Method:
    """The method of an object with a `_lock`, waiting while other threads are in such methods.

    Args:
        method: of that object.

    Returns:
        The method that waits.
    """

    @wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(_Method, alone)


class Book:
    """Trials at points of a space, as they are asked and told; for several threads at a time.

    Args:
        space: where the points lie.
        goals: what is told of them.
    """

    def __init__(self, space: Space, goals: Goals) -> None:
        checks.instance("space", space, Space, "a Space")
        self.goals = goals
        self._lock = threading.RLock()
        self._trials: list[Trial] = []
        self._points: list[Array] = []
        self._given_out: set[int] = set()  # ids of trials that somebody here may be evaluating
        self._move_to(space)

    @property
    @locked
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order of their ids."""
        return tuple(self._trials)

    @property
    @locked
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were asked and not told yet."""
        return tuple(trial for trial in self._trials if trial.state == "pending")

    @property
    @locked
    def abandoned(self) -> tuple[Trial, ...]:
        """Trials that nobody evaluates, though their points have not been tried; see `resume`.

        They were cancelled; or they were pending when the optimizer was saved, and whoever had
        asked them is not known here.
        """
        orphans = {t.id for t in self.pending if t.id not in self._given_out}
        points = tried(trial for trial in self._trials if trial.id not in orphans)
        found: list[Trial] = []
        for trial in self._trials:
            point = point_of(trial.params)
            if (trial.id in orphans or trial.state == "cancelled") and point not in points:
                points.add(point)
                found.append(trial)
        return tuple(found)

    @locked
    def resume(self, trial: Trial | int) -> Trial:
        """A trial as a pending one that was asked just now.

        For trials that are `abandoned`, and others without a value that are to be tried again.

        Args:
            trial: the trial, or its id.

        Returns:
            The trial, pending again.
        """
        known = self._known(trial)
        refuse_forgotten(known)
        if known.state == "complete" or (known.state == "pending" and known.id in self._given_out):
            raise InputError(f"trial {known.id} is {known.state}: it cannot be taken up again")
        again = replace(known, state="pending", error=None, asked=time.time(), told=None)
        self._given_out.add(again.id)
        self._trials[again.id] = again
        return again

    @locked
    def tell(
        self,
        trial: Trial | int | Sequence[Trial | int],
        value: Any = None,
        *,
        state: str = "complete",
        noise_sd: Any = None,
        error: str | None = None,
    ) -> Trial | list[Trial]:
        """What came of a trial; or of several, with a value for each.

        Trials that failed, expired or were cancelled may still be told a value. Of several trials,
        all are told or, if anything is wrong, none.

        Args:
            trial: the trial, or its id; or a list of these.
            value: what came out; one that is not finite makes a failed trial.
            state: "complete"; "failed" if there is no value; or "cancelled" if it was not
                evaluated, which says nothing of its params: the model learns nothing, and the point
                may be asked again.
            noise_sd: standard deviation of the noise in the value, where it is known.
            error: why there is no value.

        Returns:
            The trial as it is now, or a list of them.
        """
        if isinstance(trial, str | bytes) or not hasattr(trial, "__len__"):
            known_one = self._known(cast("Trial | int", trial))
            told = self._told(known_one, value, state, noise_sd, error)
            self._trials[told.id] = told
            return told
        known = [self._known(each) for each in cast("Sequence[Trial | int]", trial)]
        if len({each.id for each in known}) < len(known):
            raise InputError(f"a trial is there twice: {[each.id for each in known]}")
        values = one_for_each("value", value, len(known))
        sds = one_for_each("noise_sd", noise_sd, len(known))
        several = [
            self._told(each, v, state, sd, error)
            for each, v, sd in zip(known, values, sds, strict=True)
        ]
        for told in several:
            self._trials[told.id] = told
        return several

    @locked
    def add(
        self,
        params: Mapping[str, Any],
        value: Any = None,
        *,
        state: str = "complete",
        noise_sd: Any = None,
        error: str | None = None,
    ) -> Trial:
        """A result that came from elsewhere, as a new trial.

        It may be beyond ranges or constraints of the space: then the trial says so as `outside`.

        Args:
            params: values by name; choices are those of the space.
            value: what came out; one that is not finite makes a failed trial.
            state: "complete", "failed" or "cancelled".
            noise_sd: standard deviation of the noise in the value, where it is known.
            error: why there is no value.

        Returns:
            The new trial.
        """
        admitted, why = admit(self.space, params)
        trial = Trial(len(self._trials), admitted, outside=why)
        told = self._told(trial, value, state, noise_sd, error)
        return self._append(told, locate(self.space, admitted))

    def __getstate__(self) -> dict[str, Any]:
        """What copies and other processes get: lists of their own, and no lock.

        Nobody there evaluates what was given out here.
        """
        with self._lock:
            own = {"_trials": list(self._trials), "_points": list(self._points)}
            return {**self.__dict__, **own, "_given_out": set(), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def _told(
        self, trial: Trial, value: Any, state: str, noise_sd: Any, error: str | None
    ) -> Trial:
        """A trial with its outcome, or with some of several."""
        return with_outcome(trial, self.goals, value, state, noise_sd, error)

    def _append(self, trial: Trial, x: Array) -> Trial:
        """Put a trial on record, with its encoded point (d,)."""
        self._trials.append(trial)
        self._points.append(x)
        return trial

    def _replace_all(self, trials: Sequence[Trial]) -> None:
        """Hold these trials instead."""
        self._trials = list(trials)
        self._points = [self._place_of(trial) for trial in trials]

    def _move_to(self, space: Space) -> None:
        """Have all points in a space."""
        self.space, self._domain = space, space.domain()
        self._everything = space.everything()
        self._replace_all(self._trials)

    def _place_of(self, trial: Trial) -> Array:
        """The encoded point of a trial (d,), NaN if it has none."""
        if trial.outside is None:
            return self.space.encode(trial.params)
        try:
            admitted, _ = admit(self.space, trial.params)
        except InputError:
            return np.full(self.space.d, np.nan)
        return locate(self.space, admitted)

    def _known(self, trial: Trial | int) -> Trial:
        """The trial as it is on record."""
        checks.instance("trial", trial, Trial | int | np.integer, "a trial or the id of one")
        number = trial.id if isinstance(trial, Trial) else int(trial)
        if not 0 <= number < len(self._trials):
            have = f"0 to {len(self._trials) - 1}" if self._trials else "none yet"
            raise InputError(f"there is no trial {number}: trials of this optimizer are {have}")
        known = self._trials[number]
        if isinstance(trial, Trial) and not _may_be(trial, known):
            raise InputError(
                f"trial {number} comes from another optimizer: it has {trial.params}, "
                f"but here trial {number} has {known.params}"
            )
        return known

    def _expire(self, seconds: float) -> None:
        """Give up pending trials that were asked longer ago than that."""
        now = time.time()
        for trial in self.pending:
            if trial.asked is not None and now - trial.asked > seconds:
                error = f"no result within {seconds} seconds"
                self._trials[trial.id] = replace(trial, state="expired", error=error)

    def _complete(self) -> list[Trial]:
        """Trials that were told a value and have a place, if maybe beside the space."""
        return [t for t in self._trials if t.state == "complete" and self._has_place(t)]

    def _has_place(self, trial: Trial) -> bool:
        return trial.outside is None or not np.isnan(self._points[trial.id]).any()

    def _rows(self, *states: str) -> Array:
        """Encoded points of the trials in some states, by id: (n, d)."""
        chosen = (trial for trial in self._trials if trial.state in states)
        rows = [self._points[trial.id] for trial in chosen if self._has_place(trial)]
        return np.array(rows).reshape(-1, self.space.d)

    def _results(self) -> Results:
        """What was told, ordered by trial and not by when it was told."""
        complete = self._complete()
        return Results(
            X=self._rows("complete"),
            values=np.array([trial.value for trial in complete], dtype=np.float64),
            noise_sd=np.array([trial.noise_sd for trial in complete], dtype=np.float64),
            failed=self._rows("failed"),
            groups=self.space.groups,
            reach=self.space.reach,
            ids=np.array([trial.id for trial in complete], dtype=np.intp),
            outside=outside(complete),
        )

    def _results_of(self, name: str) -> tuple[tuple[int, ...], Results]:
        """The trials that have one of several outcomes, by id, and what was told of it."""
        told = [t for t in self._trials if t.state not in ("cancelled", "forgotten")]
        having = [t for t in told if name in (t.outcomes or {}) and self._has_place(t)]
        noise = [(trial.noise_sds or {}).get(name) for trial in having]
        X = np.array([self._points[trial.id] for trial in having]).reshape(-1, self.space.d)
        values = [(trial.outcomes or {})[name] for trial in having]
        ids = tuple(trial.id for trial in having)
        return ids, Results(
            X=X,
            values=np.array(values, dtype=np.float64),
            noise_sd=np.array(noise, dtype=np.float64),
            failed=self._rows("failed"),
            groups=self.space.groups,
            reach=self.space.reach,
            ids=np.array(ids, dtype=np.intp),
            outside=outside(having),
        )


def _may_be(trial: Trial, known: Trial) -> bool:
    """Whether a trial that somebody has is one on record, which may be in a new space by now."""
    both = trial.params.keys() & known.params.keys()
    return bool(both) and all(trial.params[name] == known.params[name] for name in both)
