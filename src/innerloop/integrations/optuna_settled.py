"""Points that one trial alone has, also when processes choose at the same moment.

What is chosen is written down, and then it is looked at what others have written meanwhile. Of two
trials that chose one point at least the one that wrote it later sees the other, and chooses again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from innerloop.integrations.optuna_changes import latest_as_changed
from innerloop.integrations.optuna_model import SpaceModel
from innerloop.integrations.optuna_space import external
from innerloop.integrations.optuna_trials import expect, plan, running
from innerloop.optimizer.trials import Trial
from innerloop.types import Array

# Coordinates in the unit cube that differ by no more are the same. Points that are as close as the
# other are only avoided once: near the end of a search all of them are close.
_SAME, _CLOSE = 1e-6, 1e-3
# Whoever has met others so often stays where they are.
_ROUNDS = 10


class Ask(NamedTuple):
    """A trial that asks for parameters, and all trials of its study.

    Args:
        study: the study.
        trial: the one that asks.
        trials: all of them, by number.
        rivals: how many trials with lower numbers have chosen the same point before.
        again: how often this trial has chosen before.
    """

    study: Study
    trial: FrozenTrial
    trials: Sequence[FrozenTrial]
    rivals: int = 0
    again: int = 0


class Chosen(NamedTuple):
    """A point of a model's space.

    Args:
        model: what has chosen it.
        point: the point, as a trial of innerloop's.
        planned: what others are to know, by name as the space knows it.
        values: those of the point, by name as Optuna's users know them.
    """

    model: SpaceModel
    point: Trial
    planned: dict[str, Any]
    values: dict[str, Any]

    @staticmethod
    def of(model: SpaceModel, point: Trial, planned: Mapping[str, Any]) -> Chosen:
        """A point that the model chose, beside what was planned before.

        Args:
            model: what has chosen it.
            point: the point.
            planned: values that were chosen before, as the space knows them.

        Returns:
            The choice, with the values of all parameters that the model has.
        """
        chosen = [(n, each) for n, each in model.distributions.items() if n in point.params]
        values = {name: external(each, point.params[name]) for name, each in chosen}
        return Chosen(model, point, {**planned, **point.params}, values)


def settled(
    ask: Ask, choose: Callable[[Ask], Chosen | None], expire: float | None
) -> dict[str, Any]:
    """Values that are chosen, and seen by others from now on.

    Args:
        ask: the trial that asks.
        choose: what chooses, and may be called again with what has come to be known since.
        expire: seconds after which a running trial no longer counts; None if it always does.

    Returns:
        The values by name, as Optuna's users know them; none if nothing is chosen.
    """
    choice = choose(ask)
    while choice is not None:
        before = _places(choice.model, ask, expire)
        plan(ask.study, ask.trial, choice.planned)
        latest = ask._replace(trials=latest_as_changed(ask.study))
        reach = _SAME if ask.again else _CLOSE
        met = _met(choice, before, _places(choice.model, latest, expire), reach)
        if not met or ask.again >= _ROUNDS:
            expect(ask.study, ask.trial, choice.point)
            return choice.values
        lower = sum(number < ask.trial.number for number in met)
        ask = latest._replace(rivals=lower, again=ask.again + 1)
        choice = choose(ask)
    return {}


def _places(model: SpaceModel, ask: Ask, expire: float | None) -> dict[int, Array]:
    """Coordinates (d,) of all other trials that are under way or have finished, by number."""
    under_way = model.places(running(ask.trials, but=ask.trial, expire=expire))
    finished = {each.number: each.place.x for each in model.finished(ask.trials)}
    return {**finished, **{place.trial.id: place.x for place in under_way}}


def _met(
    choice: Chosen, before: Mapping[int, Array], now: Mapping[int, Array], reach: float
) -> list[int]:
    """Numbers of trials that have come to be within reach of the point since it was chosen."""
    x = choice.model.space.encode(choice.point.params)
    new = {n: at for n, at in now.items() if n not in before or (before[n] != at).any()}
    return [number for number, at in new.items() if np.abs(at - x).max() <= reach]
