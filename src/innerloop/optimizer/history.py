"""A book whose trials may be corrected or forgotten; what was there before stays in a history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from innerloop.optimizer.book import Book, locked
from innerloop.optimizer.changes import (
    Change,
    corrected,
    forgotten,
    remembered,
    teaches_the_same,
    told_of,
)
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.spaces import defaults_for, moved
from innerloop.optimizer.trials import Trial
from innerloop.space.space import Space


class History(Book):
    """Trials, as `Book` has them, and every change of what was told.

    Args:
        space: where the points lie.
        goals: what is told of them.
    """

    def __init__(self, space: Space, goals: Goals) -> None:
        super().__init__(space, goals)
        self._changes: tuple[Change, ...] = ()

    @property
    @locked
    def history(self) -> tuple[Change, ...]:
        """Every change of what was on record, the first one first."""
        return self._changes

    @locked
    def correct(
        self,
        trial: Trial | int,
        value: Any = None,
        *,
        state: str = "complete",
        noise_sd: Any = None,
        error: str | None = None,
    ) -> Trial:
        """Replace what a trial was told: from now on, everything is as if this had been told.

        What was told before is kept in the `history`.

        Args:
            trial: the trial, or its id.
            value: what came out; of several outcomes all or some by name, the others stay.
            state: "complete", or "failed" if there is no value.
            noise_sd: standard deviation of the noise in the value, where it is known.
            error: why there is no value.

        Returns:
            The trial as it is now.
        """
        known = self._known(trial)
        now = corrected(known, self.goals, value, state, noise_sd, error)
        return known if now is known else self._change("correct", known, now)

    @locked
    def forget(self, trial: Trial | int, *, undo: bool = False) -> Trial:
        """Keep a trial on record, marked as forgotten, and learn nothing from it.

        It is not the best one, and its point may be asked again.

        Args:
            trial: the trial, or its id; not one that is pending.
            undo: whether it is to be as it was before it was forgotten.

        Returns:
            The trial as it is now.
        """
        known = self._known(trial)
        now = remembered(known, self._changes) if undo else forgotten(known, self.goals)
        return known if now is known else self._change("undo" if undo else "forget", known, now)

    @locked
    def change_space(
        self,
        space: Space,
        *,
        defaults: Mapping[str, Any] | None = None,
        drop: Collection[str] = (),
    ) -> None:
        """Go on in another space, with all trials there are.

        Those that are not in the new space are marked as `outside`, and learned from if they have a
        place beside it: beyond a range, not with a choice that is gone. Values of a parameter that
        is gone are kept in the `history`; when it comes back, trials have them again.

        Args:
            space: what to choose from now on.
            defaults: of parameters that are new, the values which they had in earlier trials.
            drop: parameters that the new space does not have, because results are alike whatever
                they are. One that is held at a value from now on is in the space, with that value.
        """
        former, before = self._former_params(), self.space
        given = defaults_for(before, space, defaults or {}, drop, former)
        if space == before:
            return
        everywhere = [moved(space, {**given, **params}) for params in former]
        after = {"defaults": given} if given else {}
        change = Change(
            "space",
            None,
            {"space": before.to_dict(), **_lost(self._trials, [now for now, _ in everywhere])},
            {"space": space.to_dict(), **after},
        )
        self._trials = [
            replace(trial, params=params, outside=why)
            for trial, (params, why) in zip(self._trials, everywhere, strict=True)
        ]
        self._changes = (*self._changes, change)
        self._move_to(space)

    def _former_params(self) -> list[dict[str, Any]]:
        """All values that trials have or had, by name: the latest of each."""
        former: list[dict[str, Any]] = [{} for _ in self._trials]
        for change in self._changes:
            absent = change.before.get("absent", {})
            for name, values in change.before.get("params", {}).items():
                for k, value in enumerate(values):
                    if k not in absent.get(name, ()):
                        former[k][name] = value
        return [
            {**known, **trial.params} for known, trial in zip(former, self._trials, strict=True)
        ]

    def _change(self, kind: str, known: Trial, now: Trial) -> Trial:
        """Put a trial on record as it is now, and that it was changed."""
        change = Change(kind, known.id, told_of(known), told_of(now))
        self._trials[now.id] = now
        self._changes = (*self._changes, change)
        return now

    def _is_as_before(self, ids: Iterable[int] | None, first: int) -> bool:
        """Whether trials say what they said before some of the changes.

        Args:
            ids: those of the trials; None for all.
            first: the number of the first of the changes.

        Returns:
            Whether nothing was changed, or all of it back.
        """
        spaces = [change for change in self._changes[first:] if change.kind == "space"]
        if spaces and spaces[0].before["space"] != self.space.to_dict():
            return False
        chosen = None if ids is None else set(ids)
        then: dict[int, Mapping[str, Any]] = {}
        for change in self._changes[first:]:
            if change.trial is not None and (chosen is None or change.trial in chosen):
                then.setdefault(change.trial, change.before)
        now = {number: told_of(self._trials[number]) for number in then}
        return all(teaches_the_same(told, now[number]) for number, told in then.items())


def _lost(trials: Sequence[Trial], now: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Values of parameters that trials had and have not now, and which trials had none."""
    pairs = list(zip((trial.params for trial in trials), now, strict=True))
    gone = dict.fromkeys(n for before, after in pairs for n in before if n not in after)
    absent = {
        name: [k for k, (params, _) in enumerate(pairs) if name not in params] for name in gone
    }
    found = {
        "params": {name: [params.get(name) for params, _ in pairs] for name in gone},
        "absent": {name: each for name, each in absent.items() if each},
    }
    return {key: each for key, each in found.items() if each}
