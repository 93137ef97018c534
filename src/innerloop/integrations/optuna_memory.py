"""What a sampler remembers of a study from one ask to the next; all of it can be found again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from innerloop.integrations.optuna_model import Model
from innerloop.integrations.optuna_trials import common_space, complete
from innerloop.space.space import Space

# A study has more than one model and space if its parameters depend on each other.
_MODELS, _SPACES = 8, 64


class Memory:
    """Search spaces and models of one study, the latest ones; whole: its space, if it is known."""

    def __init__(
        self, study: Study, trials: Sequence[FrozenTrial], whole: Space | None = None
    ) -> None:
        self._whole = whole
        self._storage, self._identity = study._storage, _identity(study, trials)
        self._models: OrderedDict[str, Model] = OrderedDict()
        self._spaces: OrderedDict[Any, dict[str, BaseDistribution]] = OrderedDict()

    def is_of(self, study: Study, trials: Sequence[FrozenTrial]) -> bool:
        """Whether that is the study, which has these trials."""
        return study._storage is self._storage and _identity(study, trials) == self._identity

    def common_space(
        self, trials: Sequence[FrozenTrial], having: Iterable[str] = ()
    ) -> dict[str, BaseDistribution]:
        """Parameters that are in all complete trials, of those with all parameters in `having`."""
        told = complete(trials)
        # Complete trials become more and never change: their number says which they are.
        key = len(told), frozenset(having)
        if key not in self._spaces:
            _remember(self._spaces, key, common_space(told, having), _SPACES)
        return dict(self._spaces[key])

    def model(self, space: Mapping[str, BaseDistribution]) -> Model:
        """The model of a search space."""
        ordered = dict(sorted(space.items()))
        key = repr(ordered)
        if key not in self._models:
            _remember(self._models, key, Model(ordered, self._whole), _MODELS)
        self._models.move_to_end(key)
        return self._models[key]


def _identity(study: Study, trials: Sequence[FrozenTrial]) -> tuple[Any, ...]:
    """What tells a study of a storage from others, also from one with its number, deleted."""
    return study._study_id, *((trial._trial_id, trial.datetime_start) for trial in trials[:1])


def _remember(memory: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    memory[key] = value
    if len(memory) > most:
        memory.popitem(last=False)
