"""What the trials of a study say: which space they share, what is planned, where others run."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from innerloop.integrations.optuna_private import fixed_params_of, storage_of, trial_id_of
from innerloop.integrations.optuna_space import searchable
from innerloop.integrations.trial_marks import EXPECTED, PLAN
from innerloop.optimizer.trials import Trial

# A trial that started no longer ago and has no parameters yet is about to get some.
_ABOUT_TO_CHOOSE = datetime.timedelta(seconds=10)
_MOST_ABOUT_TO_CHOOSE = 15


class Known(NamedTuple):
    """What is known of the parameters of a trial under way.

    Args:
        given: values that it has or that a user fixed by enqueueing it.
        planned: values that were chosen for it and not asked for yet, as the space knows them.
    """

    given: dict[str, Any]
    planned: dict[str, Any]

    @property
    def names(self) -> set[str]:
        """Parameters of which something is known."""
        return {*self.given, *self.planned}

    def but(self, name: str) -> Known:
        """The same without the plan for a parameter.

        Args:
            name: the parameter's.

        Returns:
            What else is known.
        """
        return Known(self.given, {n: value for n, value in self.planned.items() if n != name})


def known_of(trial: FrozenTrial) -> Known:
    """What is known of the parameters of a trial.

    Args:
        trial: one of any state.

    Returns:
        All its values, and what is planned if it is under way.
    """
    if trial.state.is_finished():
        return Known(trial.params, {})
    planned = trial.system_attrs.get(PLAN) or {}
    return Known({**fixed_params_of(trial), **trial.params}, planned)


def plan(study: Study, trial: FrozenTrial, values: dict[str, Any]) -> None:
    """Let others know what a trial is about to evaluate.

    Args:
        study: the study.
        trial: the trial, under way.
        values: those of its parameters by name, as the space knows them.
    """
    storage_of(study).set_trial_system_attr(trial_id_of(trial), PLAN, values)


def expect(study: Study, trial: FrozenTrial, chosen: Trial) -> None:
    """Keep what was expected of a trial, if the model has chosen it.

    Args:
        study: the study.
        trial: the trial, under way.
        chosen: the point that was chosen for it.
    """
    if chosen.prediction is not None or chosen.predictions is not None:
        plain = asdict(chosen)
        expected = {name: plain[name] for name in ("prediction", "certificate")}
        if chosen.predictions is not None:
            expected["predictions"] = plain["predictions"]
        storage_of(study).set_trial_system_attr(trial_id_of(trial), EXPECTED, expected)


def complete(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Those that have a value.

    Args:
        trials: those of a study.

    Returns:
        The complete ones, in the same order.
    """
    return [trial for trial in trials if trial.state == TrialState.COMPLETE]


def running(
    trials: Iterable[FrozenTrial], *, but: FrozenTrial, expire: float | None
) -> list[FrozenTrial]:
    """Other trials under way.

    Args:
        trials: those of a study.
        but: the one that is left out.
        expire: seconds after which a trial no longer counts; None if it always does.

    Returns:
        The others, in the same order.
    """
    limit = None if expire is None else datetime.timedelta(seconds=expire)
    return [
        trial
        for trial in trials
        if trial.state == TrialState.RUNNING
        and trial.number != but.number
        and (limit is None or _age(trial) <= limit)
    ]


def about_to_choose(others: Iterable[FrozenTrial], before: int) -> int:
    """How many trials have just started and not chosen yet.

    Workers that start together would otherwise all choose the same point.

    Args:
        others: trials under way.
        before: only those with smaller numbers count.

    Returns:
        Their number, up to some limit.
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
    """Distributions that trials share.

    Where a distribution has changed once and for all, the new one counts.

    Args:
        trials: complete ones.
        having: only trials with all these parameters count.

    Returns:
        Distributions that a model can search, by name.
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
