"""What a sampler remembers of a study from one ask to the next; all of it can be found again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from innerloop.integrations.optuna_model import SpaceModel
from innerloop.integrations.optuna_private import storage_of, study_id_of, trial_id_of
from innerloop.integrations.optuna_trials import common_space, complete
from innerloop.integrations.trial_changes import marks_of
from innerloop.optimizer.goals import Goals
from innerloop.space.space import Space

# A study has more than one model and space if its parameters depend on each other.
_MODELS, _SPACES = 8, 64


class Memory:
    """The latest search spaces and models of one study.

    Args:
        study: the study.
        trials: those that it has.
        whole: its space, if that is known.
        goals: what is wanted, if outcomes have names.
    """

    def __init__(
        self,
        study: Study,
        trials: Sequence[FrozenTrial],
        whole: Space | None = None,
        goals: Goals | None = None,
    ) -> None:
        self._whole, self._goals = whole, goals
        self._storage, self._identity = storage_of(study), _identity(study, trials)
        self._models: OrderedDict[str, SpaceModel] = OrderedDict()
        self._spaces: OrderedDict[Any, dict[str, BaseDistribution]] = OrderedDict()

    def is_of(self, study: Study, trials: Sequence[FrozenTrial]) -> bool:
        """Whether that is the study.

        Args:
            study: any study.
            trials: those that it has.

        Returns:
            Whether what is remembered is of that study.
        """
        return storage_of(study) is self._storage and _identity(study, trials) == self._identity

    def common_space(
        self, trials: Sequence[FrozenTrial], having: Iterable[str] = ()
    ) -> dict[str, BaseDistribution]:
        """Parameters that are in all complete trials.

        Args:
            trials: all of the study.
            having: only trials with all these parameters count.

        Returns:
            Distributions that a model can search, by name.
        """
        told = complete(trials)
        # Complete trials become more: their number says which they are, but for those changed.
        key = len(told), marks_of(told), frozenset(having)
        if key not in self._spaces:
            _remember(self._spaces, key, common_space(told, having), _SPACES)
        return dict(self._spaces[key])

    def model(self, space: Mapping[str, BaseDistribution]) -> SpaceModel:
        """The model of a search space.

        Args:
            space: distributions by name, in any order.

        Returns:
            The same model as before, if it is one of the latest.
        """
        ordered = dict(sorted(space.items()))
        key = repr(ordered)
        if key not in self._models:
            model = SpaceModel(ordered, self._whole, self._goals)
            _remember(self._models, key, model, _MODELS)
        self._models.move_to_end(key)
        return self._models[key]


def _identity(study: Study, trials: Sequence[FrozenTrial]) -> tuple[Any, ...]:
    """What tells a study of a storage from others, also from one with its number, deleted."""
    first = ((trial_id_of(trial), trial.datetime_start) for trial in trials[:1])
    return study_id_of(study), *first


def _remember(memory: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    memory[key] = value
    if len(memory) > most:
        memory.popitem(last=False)
