"""What the trials of a study say: which space they share, what came of them, where others run."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from innerloop.integrations.optuna_space import searchable
from innerloop.optimizer.trials import Trial

#: What was chosen for a trial, by name as the space knows it, before it asks for its parameters.
PLAN = "innerloop:plan"
#: What was expected of it, and how good the batch is that it belongs to.
EXPECTED = "innerloop:expected"
#: Marks a trial that was given up before there was an answer: it says nothing of its parameters.
LOST = "innerloop:lost"
# A trial that started no longer ago and has no parameters yet is about to get some.
_ABOUT_TO_CHOOSE = datetime.timedelta(seconds=10)
_MOST_ABOUT_TO_CHOOSE = 15


class Outcome(NamedTuple):
    """What came of a finished trial: value is None if it failed.

    A value that is not finite is no value, and one that violates a constraint is of no use.
    pruned: whether the value is the last one before the trial was pruned.
    """

    value: float | None
    pruned: bool


def outcome_of(trial: FrozenTrial) -> Outcome:
    """What came of a finished trial."""
    pruned = trial.state == TrialState.PRUNED
    value = trial.values[0] if trial.values and trial.state != TrialState.FAIL else math.nan
    feasible = all(violation <= 0.0 for violation in trial.constraints.values())
    return Outcome(value if feasible and math.isfinite(value) else None, pruned)


class Known(NamedTuple):
    """What is known of the parameters of a trial under way.

    given: values that it has or that a user fixed by enqueueing it. planned: values that were
    chosen for it and not asked for yet, as the space knows them.
    """

    given: dict[str, Any]
    planned: dict[str, Any]

    @property
    def names(self) -> set[str]:
        """Parameters of which something is known."""
        return {*self.given, *self.planned}

    def but(self, name: str) -> Known:
        """The same without the plan for a parameter."""
        return Known(self.given, {n: value for n, value in self.planned.items() if n != name})


def known_of(trial: FrozenTrial) -> Known:
    """What is known of the parameters of a trial."""
    if trial.state.is_finished():
        return Known(trial.params, {})
    attributes = trial.system_attrs
    fixed = attributes.get("fixed_params") or {}
    return Known({**fixed, **trial.params}, attributes.get(PLAN) or {})


def plan(study: Study, trial: FrozenTrial, values: dict[str, Any]) -> None:
    """Let others know what a trial is about to evaluate."""
    study._storage.set_trial_system_attr(trial._trial_id, PLAN, values)


def expect(study: Study, trial: FrozenTrial, chosen: Trial) -> None:
    """Keep what was expected of a trial, if the model has chosen it."""
    if chosen.prediction is not None:
        certificate = None if chosen.certificate is None else asdict(chosen.certificate)
        expected = {"prediction": asdict(chosen.prediction), "certificate": certificate}
        study._storage.set_trial_system_attr(trial._trial_id, EXPECTED, expected)


def is_lost(trial: FrozenTrial) -> bool:
    """Whether a trial was given up before its target had an answer."""
    return trial.state == TrialState.FAIL and bool(trial.system_attrs.get(LOST))


def complete(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Those that have a value."""
    return [trial for trial in trials if trial.state == TrialState.COMPLETE]


def running(
    trials: Iterable[FrozenTrial], *, but: FrozenTrial, expire: float | None
) -> list[FrozenTrial]:
    """Other trials under way, without those that have been so for more than `expire` seconds."""
    limit = None if expire is None else datetime.timedelta(seconds=expire)
    return [
        trial
        for trial in trials
        if trial.state == TrialState.RUNNING
        and trial._trial_id != but._trial_id
        and (limit is None or _age(trial) <= limit)
    ]


def about_to_choose(others: Iterable[FrozenTrial], before: int) -> int:
    """How many of the trials numbered below `before` have just started and not chosen yet.

    Workers that start together would otherwise all choose the same point.
    """
    waiting = sum(
        trial.number < before
        and not trial.params
        and PLAN not in trial.system_attrs
        and _age(trial) <= _ABOUT_TO_CHOOSE
        for trial in others
    )
    return min(waiting, _MOST_ABOUT_TO_CHOOSE)


def common_space(
    trials: Sequence[FrozenTrial], having: Iterable[str] = ()
) -> dict[str, BaseDistribution]:
    """Distributions that all complete trials share, of those with all parameters in `having`.

    Where a distribution has changed once and for all, the new one counts.
    """
    required = set(having)
    histories = [t.distributions for t in trials if required <= t.distributions.keys()]
    if not histories:
        return {}
    names = sorted(set(histories[0]).intersection(*histories[1:]))
    present = {name: _present([each[name] for each in histories]) for name in names}
    return {name: d for name, d in present.items() if d is not None and searchable(d)}


def _present(history: Sequence[BaseDistribution]) -> BaseDistribution | None:
    """The latest distribution; None if it varies from trial to trial.

    It has been edited if the last two are the same and there was none like them before others.
    """
    latest = history[-1]
    same = [each == latest for each in history]
    first = same.index(True)
    settled = first == 0 or len(same) - first >= 2
    return latest if settled and all(same[first:]) else None


def _age(trial: FrozenTrial) -> datetime.timedelta:
    if trial.datetime_start is None:
        return datetime.timedelta(0)
    return datetime.datetime.now() - trial.datetime_start
