"""Proposals from a Space: its fixed values and constraints are honoured from the first trial on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study
from optuna.trial import FrozenTrial

from innerloop.integrations.optuna import InnerLoopSampler, _Ask
from innerloop.integrations.optuna_memory import Memory
from innerloop.integrations.optuna_model import Finished, Model
from innerloop.integrations.optuna_space import external
from innerloop.integrations.optuna_trials import plan, running
from innerloop.linalg import one_blas_thread
from innerloop.optimizer.learning import Results
from innerloop.optimizer.proposing import propose
from innerloop.optimizer.settings import Settings
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.space.space import Space
from innerloop.studies.records import is_lost


def distributions_of(space: Space) -> dict[str, BaseDistribution]:
    """Optuna's distributions of the parameters that have two values or more."""
    return {name: _distribution(parameter) for name, parameter in space.varying.items()}


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Choice):
        return CategoricalDistribution(parameter.values)
    if isinstance(parameter, Integer):
        step = parameter.step
        return IntDistribution(parameter.low, parameter.high, log=parameter.log, step=step)
    assert isinstance(parameter, Real)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)


class SpaceSampler(InnerLoopSampler):
    """`InnerLoopSampler` for a study whose space is known: every proposal is a point of it.

    Trials that were lost, such as those whose worker died, teach nothing.
    """

    def __init__(self, space: Space, *, seed: int) -> None:
        super().__init__(seed=seed)
        self._whole = space
        self.distributions = distributions_of(space)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The whole space, whatever the trials so far had."""
        return dict(self.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values for the whole space: from the model or, before it can be used, a Sobol point."""
        with one_blas_thread():  # other processes want the other cores
            return self._sample(study, trial, search_space)

    def _sample(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        chosen = super().sample_relative(study, trial, search_space)
        if chosen:
            return chosen
        trials = study._get_trials(deepcopy=False, use_cache=False)
        with self._lock:
            model = self._memory_of(_Ask(study, trial, trials)).model(search_space)
            assert isinstance(model, _SpaceModel)
            chosen = model.design(trial, trials, self._settings)
        plan(study, trial, chosen)
        return {name: external(each, chosen[name]) for name, each in search_space.items()}

    def _memory_of(self, ask: _Ask) -> Memory:
        if self._memory is None or not self._memory.is_of(ask.study, ask.trials):
            self._memory = _SpaceMemory(ask.study, ask.trials)
            self._memory.whole = self._whole
        return self._memory


class _SpaceMemory(Memory):
    """Remembers models of the space with its fixed values and constraints."""

    whole: Space

    def model(self, space: Mapping[str, BaseDistribution]) -> Model:
        ordered = dict(sorted(space.items()))
        key = repr(ordered)
        if key not in self._models:
            self._models[key] = _SpaceModel(ordered, self.whole)
        return self._models[key]


class _SpaceModel(Model):
    """A model whose space has fixed values and constraints, too."""

    def __init__(self, distributions: Mapping[str, BaseDistribution], whole: Space) -> None:
        super().__init__(distributions)
        single = {n: p for n, p in whole.parameters.items() if n not in distributions}
        fixed = {n: p.decode(()) if isinstance(p, Parameter) else p for n, p in single.items()}
        self.space = Space({**self._parameters, **fixed}, constraints=whole.constraints)
        self._domain = self.space.domain()
        self._everything = self.space.everything()

    def finished(self, trials: Sequence[FrozenTrial]) -> list[Finished]:
        return super().finished([trial for trial in trials if not is_lost(trial)])

    def design(
        self, trial: FrozenTrial, trials: Sequence[FrozenTrial], settings: Settings
    ) -> dict[str, Any]:
        """The point of a Sobol sequence that belongs to a trial's number, or a new one near by."""
        others = running(trials, but=trial, expire=settings.expire)
        places = [each.place for each in self.finished(trials)]
        places += [place for each in others if (place := self.place(each)) is not None]
        empty = np.zeros((0, self.space.d))
        proposal = propose(
            1,
            space=self.space,
            settings=settings,
            domain=self._domain,
            everything=self._everything,
            drawn=trial.number,
            results=Results(empty, np.zeros(0), np.zeros(0), empty),
            learned=None,
            tried=[place.trial for place in places],
            pending=empty,
            started=time.perf_counter(),
        )
        return proposal.params[0]
