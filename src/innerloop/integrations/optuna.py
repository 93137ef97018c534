"""A sampler for Optuna: `optuna.create_study(sampler=InnerLoopSampler())`."""

from __future__ import annotations

import secrets
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

try:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise ImportError("InnerLoopSampler needs Optuna: pip install 'innerloop[study]'") from error

from innerloop import checks
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.integrations.optuna_changes import latest_as_changed, listed_as_changed
from innerloop.integrations.optuna_memory import Memory
from innerloop.integrations.optuna_outcomes import goals_of
from innerloop.integrations.optuna_private import set_constraints_of
from innerloop.integrations.optuna_settled import Ask, Chosen, settled
from innerloop.integrations.optuna_space import (
    at_quantile,
    contains,
    distribution_of,
    external,
    searchable,
)
from innerloop.integrations.optuna_trials import (
    Known,
    about_to_choose,
    complete,
    known_of,
    running,
)
from innerloop.integrations.trial_changes import marks_of
from innerloop.linalg import one_blas_thread
from innerloop.maximizers.maximizer import Maximizer
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.settings import Settings, default_initial
from innerloop.space.space import Space
from innerloop.surrogate.kernels import Kernel

# Values of a parameter in so many consecutive trials that start a study are evenly spread.
_SPREAD = 16


class InnerLoopSampler(BaseSampler):
    """Gaussian process and batch acquisition functions, as `innerloop.Optimizer` uses them.

    Running trials are pending points, also those of other processes on the same storage; of trials
    that choose one point at the same moment, all but one at most choose again. Failed trials and
    values that are not finite make their surroundings less attractive (with EI and PI). A pruned
    trial counts with its last value, moved between the median and the worst of the complete ones.

    In a study with several directions points are chosen by the hypervolume that they are expected
    to add to its front. Constraints, of `Trial.set_constraint` or `constraints_func`, are modelled
    one by one as soon as two trials have them: what is sought is improvement among points that
    meet all of them, and such a point as long as none is known. A trial that violates one that is
    not modelled counts as failed, and one that lacks one that others have is not known to be
    feasible.

    What is learned is kept in the study, where other processes find it, unless the class of kernel
    is one that they cannot import. Samplers with other kernels pass it over.

    Args:
        space: the parameters, if they are known beforehand; all trials are points of it, from the
            first one on, with its fixed values and within its constraints.
        seed: with the number of a trial it settles what is chosen, so that a study on disk that is
            resumed goes on exactly as it would have; drawn at random if None.
        n_startup_trials: trials that have to be finished before the model is used; by default some
            that suit the space.
        acquisition: "ei", "pi", "sr", "ucb", "es" or "kg"; or a `Utility` or the like, of values
            as the model sees them: larger is better, with mean 0 and standard deviation 1. Several
            objectives have their own, and constraints are modelled with "ei" alone.
        form: as in `innerloop.suggest`.
        way: as in `innerloop.suggest`.
        maximizer: as in `innerloop.suggest`, a name or an instance.
        kernel: the class of kernel that the model has; by default `Matern52`, and with several
            outcomes that or `SquaredExponential`, whichever explains the results of each better.
        seconds: about how long a choice may take, fits included; by default until searches
            converge, which takes milliseconds, tens of them with "kg" and "es", and some hundred
            with "es" where parameters are discrete.
        expire: seconds after which a running trial no longer counts as pending, for workers that
            die.
        independent_sampler: chooses what comes before the model and all parameters that are not in
            every trial; by default these are spread evenly, and modelled given the values that the
            trial has already, once there are results with them.
        constraints_func: as in Optuna's own samplers, says of a trial that is about to finish by
            how much it violates each constraint; they are met up to 0.
        goals: what is wanted, in a study whose trials keep outcomes by name, as those of the
            command `innerloop` do; limits in it are numbers.
    """

    def __init__(
        self,
        *,
        space: Space | None = None,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        acquisition: str | Utility | Lookahead = "ei",
        form: str | None = None,
        way: str | None = None,
        maximizer: str | Maximizer | None = None,
        kernel: type[Kernel] | None = None,
        seconds: float | None = None,
        expire: float | None = None,
        independent_sampler: BaseSampler | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        goals: Goals | None = None,
    ) -> None:
        if n_startup_trials is not None:
            checks.count("n_startup_trials", n_startup_trials, 0)
        if independent_sampler is not None:
            checks.instance(
                "independent_sampler", independent_sampler, BaseSampler, "a sampler of Optuna"
            )
        if space is not None:
            checks.instance("space", space, Space, "a Space")
        if constraints_func is not None:
            checks.instance("constraints_func", constraints_func, Callable, "a function")
        self._space, self.goals = space, goals
        self._startup = n_startup_trials
        self._independent = independent_sampler
        self._constraints_func = constraints_func
        self._settings = Settings(
            direction="minimize",
            seed=_random_seed() if seed is None else seed,
            acquisition=acquisition,
            form=form,
            way=way,
            maximizer=maximizer,
            kernel=kernel,
            seconds=seconds,
            initial=1,
            expire=expire,
        )
        self._lock = threading.Lock()
        self._memory: Memory | None = None

    @property
    def seed(self) -> int:
        """The seed, drawn at random if none was given."""
        return self._settings.seed

    def reseed_rng(self) -> None:
        """Draw another seed, so that copies of this sampler differ from each other."""
        self._settings = replace(self._settings, seed=_random_seed())
        if self._independent is not None:
            self._independent.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Tell the independent sampler, if there is one.

        Args:
            study: the study.
            trial: a trial that has just begun.
        """
        if self._independent is not None:
            self._independent.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Write down constraints, and tell the independent sampler, if there are any.

        Args:
            study: the study.
            trial: a trial that is about to finish.
            state: what it will be.
            values: what came of it, if anything did.
        """
        if self._constraints_func is not None:
            set_constraints_of(study, trial, state, self._constraints_func)
        if self._independent is not None:
            self._independent.after_trial(study, trial, state, values)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Those of the parameters of the space that vary, if there is a space."""
        varying = {} if self._space is None else self._space.varying
        return {name: distribution_of(parameter) for name, parameter in varying.items()}

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Distributions of the space, or of parameters that all complete trials have.

        Args:
            study: the study.
            trial: the trial that asks.

        Returns:
            The distributions as they are now, by name.
        """
        # Settings say whether they suit several objectives.
        replace(self._settings, goals=goals_of(study.directions, ()))
        if self._space is not None:
            return self.distributions
        trials = listed_as_changed(study)
        with self._lock:
            return self._memory_of(Ask(study, trial, trials)).common_space(trials)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values for the whole search space, which others see as pending from now on.

        Args:
            study: the study.
            trial: the trial that asks.
            search_space: distributions by name.

        Returns:
            Values by name, of all parameters that the model chooses; none before there is one.
        """
        space = {name: each for name, each in search_space.items() if searchable(each)}
        if not space:
            return {}
        number = len(space) if self._space is None else self._space.together
        startup = default_initial(number) if self._startup is None else self._startup
        with self._lock, one_blas_thread():  # other processes want the other cores
            # What others plan may have changed since any list of trials was kept.
            trials = latest_as_changed(study)
            known = known_of(trial)

            def choose(ask: Ask) -> Chosen | None:
                chosen = self._choose(ask, space, startup, known)
                is_design = chosen is None and self._space is not None
                return self._design(ask, space, known) if is_design else chosen

            return settled(Ask(study, trial, trials), choose, self._settings.expire)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A value for a parameter that is not in every trial, or that comes before the model.

        Args:
            study: the study.
            trial: the trial that asks.
            param_name: the parameter's.
            param_distribution: what to choose from.

        Returns:
            The value.
        """
        if self._independent is not None:
            return self._independent.sample_independent(
                study, trial, param_name, param_distribution
            )
        if searchable(param_distribution):
            with self._lock, one_blas_thread():
                ask = Ask(study, trial, listed_as_changed(study))
                chosen = self._given_the_others(ask, param_name, param_distribution)
            if param_name in chosen:
                return chosen[param_name]
        return self._spread(trial.number, param_name, param_distribution)

    def _given_the_others(
        self, ask: Ask, name: str, distribution: BaseDistribution
    ) -> dict[str, Any]:
        """Values for parameters of this branch, given those that the trial has already.

        Nothing if too few trials are known that went the same way.
        """
        memory, known = self._memory_of(ask), known_of(ask.trial)
        if not known.planned and memory.common_space(ask.trials):
            return {}  # the study has just started
        if name in known.planned and contains(distribution, known.planned[name]):
            return {name: external(distribution, known.planned[name])}
        if not any(name in each.params for each in complete(ask.trials)):
            return {}
        known = known.but(name)
        space = {**memory.common_space(ask.trials, {*known.names, name}), name: distribution}
        startup = default_initial(len(space.keys() - known.names))
        if self._startup is not None:
            startup = min(startup, self._startup)
        return settled(
            ask,
            lambda ask: self._choose(ask, space, startup, known, name),
            self._settings.expire,
        )

    def _choose(
        self,
        ask: Ask,
        space: Mapping[str, BaseDistribution],
        startup: int,
        known: Known,
        *purpose: str,
    ) -> Chosen | None:
        """A point of a space, given some values; None as long as there are too few results."""
        started, number = time.perf_counter(), ask.trial.number
        model = self._memory_of(ask).model(space)
        finished = model.finished(ask.trials)
        if len(finished) < startup:
            return None
        told = [*finished, *model.told_in_part(ask.trials)]
        told.sort(key=lambda each: each.number)
        taught = model.taught(ask.study, told, self._settings, marks_of(ask.trials))
        if taught is None:
            return None
        others = running(ask.trials, but=ask.trial, expire=self._settings.expire)
        chosen = model.choose(
            taught,
            settings=replace(self._settings, seed=self._seed_for(number, *purpose)),
            held=model.held(known),
            finished=finished,
            pending=model.places(others),
            others=about_to_choose(others, number) + ask.rivals,
            started=started,
        )
        return Chosen.of(model, chosen, known.planned)

    def _design(self, ask: Ask, space: Mapping[str, BaseDistribution], known: Known) -> Chosen:
        """A point of the whole space of a study that has just begun."""
        started, model = time.perf_counter(), self._memory_of(ask).model(space)
        others = running(ask.trials, but=ask.trial, expire=self._settings.expire)
        settings = self._settings
        if ask.again:  # or those who met would meet again at the next point that is left
            seed = self._seed_for(ask.trial.number, "again", str(ask.again))
            settings = replace(settings, seed=seed)
        chosen = model.design(
            ask.trial.number,
            settings=settings,
            # What is given decides what applies.
            held=model.held(known) if model.space.branches.needs else {},
            finished=model.finished(ask.trials),
            pending=model.places(others),
            started=started,
        )
        return Chosen.of(model, chosen, {})

    def _spread(self, number: int, name: str, distribution: BaseDistribution) -> Any:
        """A random value, but evenly spread over trials that follow each other."""
        generator = np.random.default_rng(self._seed_for(number // _SPREAD, name, "spread"))
        place = number % _SPREAD
        stratum, offset = generator.permutation(_SPREAD)[place], generator.random(_SPREAD)[place]
        return at_quantile(distribution, float((stratum + offset) / _SPREAD))

    def _seed_for(self, number: int, *purpose: str) -> int:
        words = (zlib.crc32(each.encode()) for each in purpose)
        state = np.random.SeedSequence([self.seed, number, *words]).generate_state(1, np.uint64)
        return int(state[0])

    def _memory_of(self, ask: Ask) -> Memory:
        if self._memory is None or not self._memory.is_of(ask.study, ask.trials):
            self._memory = Memory(ask.study, ask.trials, self._space, self.goals)
        return self._memory

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_memory": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _random_seed() -> int:
    return secrets.randbits(32)
