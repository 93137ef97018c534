"""A model of one search space of a study: what its trials teach, and the next point to try."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from innerloop.errors import InputError
from innerloop.integrations.optuna_learning import SharedLearning
from innerloop.integrations.optuna_outcomes import TrialOutcome, goals_of, outcome_of
from innerloop.integrations.optuna_space import internal, parameter_of
from innerloop.integrations.optuna_trials import Known, known_of
from innerloop.integrations.trial_changes import mark_of
from innerloop.integrations.trial_marks import OUTSIDE, is_lost
from innerloop.optimizer.goals import Goals
from innerloop.optimizer.learn import Kinds
from innerloop.optimizer.learned import Learned
from innerloop.optimizer.models import OneOutcome, SeveralOutcomes
from innerloop.optimizer.propose import propose
from innerloop.optimizer.results import Results, outside
from innerloop.optimizer.settings import Settings
from innerloop.optimizer.trials import Trial
from innerloop.space.outside import admit, locate
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.space.space import Space
from innerloop.types import Array


class Place(NamedTuple):
    """A point of the space.

    Args:
        trial: a trial with its values.
        x: its coordinates (d,).
    """

    trial: Trial
    x: Array


class FinishedTrial(NamedTuple):
    """A finished trial of this space, or one that runs and has been told in part.

    Args:
        number: that of the trial.
        place: where it was evaluated.
        outcome: what came of it.
    """

    number: int
    place: Place
    outcome: TrialOutcome


class Taught(NamedTuple):
    """What some trials teach.

    Args:
        key: the trials and how much was told of each, and those that were changed.
        model: what came of them, with hyperparameters and the posterior at hand.
        failures: the numbers of those that failed.
    """

    key: tuple[tuple[int, ...], ...]
    model: OneOutcome | SeveralOutcomes
    failures: frozenset[int]


class SpaceModel:
    """Learns from the trials that have all parameters of a space, within their present ranges.

    Results outside these are left out, unless they are marked: a value that cannot be chosen any
    more must not count as the best one, and moving it to the nearest end would put a wrong value
    there.

    Args:
        distributions: those of the parameters, by name.
        whole: a space with these parameters that may have fixed values and constraints besides.
        goals: what is wanted, if outcomes have names.
    """

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        whole: Space | None = None,
        goals: Goals | None = None,
    ) -> None:
        self._goals = goals
        self.distributions = dict(distributions)
        self._parameters = {name: parameter_of(each) for name, each in distributions.items()}
        self.space = _with_rest(self._parameters, whole, distributions)
        self._fixed = [name for name in self.space.names if name not in self._parameters]
        self._domain = self.space.domain()
        self._everything = self.space.everything()
        self._learning = SharedLearning.of(self.space, distributions)
        self._finished: dict[tuple[int, int], FinishedTrial | None] = {}  # by number and mark
        self._taught: Taught | None = None

    def finished(self, trials: Sequence[FrozenTrial]) -> list[FinishedTrial]:
        """Finished trials that lie in the space.

        Args:
            trials: all of the study.

        Returns:
            Those that are finished and in the space, in the same order.
        """
        known, found = self._finished, list[FinishedTrial]()
        for trial in trials:
            key = trial.number, mark_of(trial)
            if key in known:
                each = known[key]
            elif trial.state.is_finished():
                each = known[key] = self._as_finished(trial)
            else:
                continue
            if each is not None:
                found.append(each)
        return found

    def _as_finished(self, trial: FrozenTrial) -> FinishedTrial | None:
        """A trial that has finished; None if it was lost, or is not in the space."""
        place = None if is_lost(trial) else self.place(trial)
        if place is None:
            return None
        place = place._replace(trial=replace(place.trial, state="complete"))
        return FinishedTrial(trial.number, place, outcome_of(trial, self._goals))

    def told_in_part(self, trials: Sequence[FrozenTrial]) -> list[FinishedTrial]:
        """Trials that run and have been told some outcomes, where these have names.

        Args:
            trials: all of the study.

        Returns:
            Those in the space, in the same order.
        """
        running = [] if self._goals is None else [t for t in trials if not t.state.is_finished()]
        outcomes = [(trial, outcome_of(trial, self._goals)) for trial in running]
        told = [(trial, some, self.place(trial)) for trial, some in outcomes if some.constraints]
        return [FinishedTrial(trial.number, at, some) for trial, some, at in told if at is not None]

    def place(self, trial: FrozenTrial) -> Place | None:
        """Where a trial is or will be evaluated.

        Args:
            trial: one of any state.

        Returns:
            The place; None if that is not known, or not in the space.
        """
        known = known_of(trial)
        try:
            given = dict[str, Any]()
            for name in self._parameters:
                with contextlib.suppress(KeyError):  # it need not apply
                    given[name] = self._value(name, known)
            # What is fixed now may have been something else.
            given |= {n: trial.params[n] for n in self._fixed if n in trial.params}
            # Ranges may have been others: what is known to be beyond them is marked.
            values, why = admit(self.space, self.space.branches.present(given))
        except InputError:
            return None
        if why is not None and OUTSIDE not in trial.system_attrs:
            return None
        return Place(Trial(trial.number, values, outside=why), locate(self.space, values))

    def places(self, trials: Iterable[FrozenTrial]) -> list[Place]:
        """Where trials will be evaluated.

        Args:
            trials: those that are under way.

        Returns:
            The places, of those for which that is known.
        """
        return [place for trial in trials if (place := self.place(trial)) is not None]

    def held(self, known: Known) -> dict[str, Any]:
        """Values that some parameters keep while the others are chosen.

        Args:
            known: what is known of the trial that asks.

        Returns:
            Those of the values that are in range, by name as the space knows them.
        """
        held = {}
        for name, parameter in self._parameters.items():
            with contextlib.suppress(InputError, KeyError):
                held[name] = parameter.check(name, self._value(name, known))
        return self.space.branches.present(held)

    def taught(
        self,
        study: Study,
        finished: Sequence[FinishedTrial],
        settings: Settings,
        changed: tuple[tuple[int, int], ...] = (),
    ) -> Taught | None:
        """What trials teach.

        Learned once for given trials, by whichever process comes first: the others find it in the
        study, and so does one that resumes it.

        Args:
            study: the study.
            finished: its finished trials that lie in the space, and those told in part.
            settings: the same at every call; `kernel`, `seconds` and `acquisition` of them count:
                constraints are modelled where it is the default.
            changed: the trials of the study that are not as Optuna has them, as `marks_of` gives.

        Returns:
            What they teach; None if there is no value among the trials, of some outcome.
        """
        known = ((e.number, e.outcome.running, len(e.outcome.constraints)) for e in finished)
        key = (*known, *changed)
        if self._taught is not None and self._taught.key == key:
            return self._taught
        goals = self._goals or goals_of(
            study.directions,
            [each.outcome for each in finished],
            with_constraints=settings.acquisition == "ei",
        )
        told = [each.outcome.told(goals) for each in finished]
        rows = {
            name: [each for each, outcomes in zip(finished, told, strict=True) if name in outcomes]
            for name in goals.names
        }
        if not all(rows.values()):
            return None
        without = [each for each in finished if each.outcome.failed(goals)]
        failures = frozenset(each.number for each in without)
        failed = self._rows([each.place for each in without])
        results = {name: self._results(name, rows[name], failed, goals) for name in rows}
        if goals.is_plain:
            (name,) = rows
            numbers = tuple(each.number for each in finished)
            learned = self._learn(study, numbers, changed, results[name], name, goals, settings)
            self._taught = Taught(key, OneOutcome(results[name], learned), failures)
        else:
            ids = {name: tuple(each.number for each in rows[name]) for name in rows}
            by_name = {
                name: self._learn(study, ids[name], changed, results[name], name, goals, settings)
                for name in rows
            }
            trials = tuple(_with_outcomes(each, goals) for each in finished)
            model = SeveralOutcomes(goals, trials, ids, results, by_name)
            self._taught = Taught(key, model, failures)
        return self._taught

    def choose(
        self,
        taught: Taught,
        *,
        settings: Settings,
        held: Mapping[str, Any],
        finished: Sequence[FinishedTrial],
        pending: Sequence[Place],
        others: int,
        started: float,
    ) -> Trial:
        """A trial with values of all parameters, the best to try beside what is pending.

        Args:
            taught: what the finished trials teach.
            settings: how to choose.
            held: values of parameters that are not to be chosen.
            finished: finished trials that lie in the space.
            pending: where trials will be evaluated.
            others: how many other points are being chosen at this moment; the last of a batch of
                one more is taken.
            started: when the ask began, by `time.perf_counter`.

        Returns:
            The trial, with what is expected of it.
        """
        if not self.space.lacking(held):
            return Trial(0, dict(held))
        told = [
            replace(each.place.trial, state="failed")
            if each.number in taught.failures
            else each.place.trial
            for each in finished
        ]
        proposal = propose(
            1 + others,
            space=self.space,
            settings=settings,
            domain=self.space.domain(held) if held else self._domain,
            fixed=held,
            everything=self._everything,
            drawn=0,
            told=len(taught.model.succeeded),
            model=taught.model,
            tried=[*told, *(place.trial for place in pending)],
            pending=self._rows(pending),
            started=started,
        )
        return proposal.trials(0)[-1][0]

    def design(
        self,
        number: int,
        *,
        settings: Settings,
        held: dict[str, Any],
        finished: Sequence[FinishedTrial],
        pending: Sequence[Place],
        started: float,
    ) -> Trial:
        """A trial for a study that has just begun: the Sobol point of a number, or one near by.

        Args:
            number: that of the trial.
            settings: how to choose.
            held: values that some parameters keep.
            finished: finished trials that lie in the space.
            pending: where trials will be evaluated.
            started: when the ask began, by `time.perf_counter`.

        Returns:
            The trial.
        """
        tried = [each.place for each in finished] + list(pending)
        proposal = propose(
            1,
            space=self.space,
            settings=settings,
            domain=self.space.domain(held) if held else self._domain,
            fixed=held,
            everything=self._everything,
            drawn=number,
            told=0,
            model=None,
            tried=[place.trial for place in tried],
            pending=self._rows(pending),
            started=started,
        )
        return proposal.trials(0)[0][0]

    def _value(self, name: str, known: Known) -> Any:
        """A value as the space knows it; a KeyError if there is none."""
        if name in known.given:
            return internal(self.distributions[name], known.given[name])
        return known.planned[name]

    def _rows(self, places: Sequence[Place]) -> Array:
        """Coordinates of places: (n, d)."""
        return np.array([place.x for place in places]).reshape(-1, self.space.d)

    def _results(
        self, name: str, having: Sequence[FinishedTrial], failed: Array, goals: Goals
    ) -> Results:
        """What trials that have an outcome were told of it, beside points (f, d) that failed."""
        values = np.array([each.outcome.value_of(name) for each in having], dtype=np.float64)
        if name in goals.objectives:
            pruned = np.array([each.outcome.pruned for each in having], dtype=bool)
            values = _tempered(values, pruned, goals.sign_of(name))
        return Results(
            X=self._rows([each.place for each in having]),
            values=values,
            noise_sd=np.array([each.outcome.noise_sds.get(name, np.nan) for each in having]),
            failed=failed,
            groups=self.space.groups,
            reach=self.space.reach,
            outside=outside([each.place.trial for each in having]),
        )

    def _learn(
        self,
        study: Study,
        numbers: tuple[int, ...],
        changed: tuple[tuple[int, int], ...],
        results: Results,
        name: str,
        goals: Goals,
        settings: Settings,
    ) -> Learned:
        """What results teach of an outcome, with the posterior at hand."""
        shared = self._learning if goals.is_plain else self._learning.of_outcome(name)
        learned = shared.learn(
            study,
            numbers,
            results,
            goals.sign_of(name),
            Kinds.of(settings.kernel, plain=goals.is_plain, bends=goals.bends(name)),
            seconds=settings.seconds,
            changed=changed,
        )
        return learned.knowing(results)


def _with_outcomes(finished: FinishedTrial, goals: Goals) -> Trial:
    """A trial of innerloop's with what was told, complete if that is all there is to be told."""
    told, trial = finished.outcome.told(goals), finished.place.trial
    if finished.outcome.failed(goals):
        return replace(trial, state="failed", outcomes=told)
    is_complete = len(told) == len(goals.names)
    return replace(trial, state="complete" if is_complete else "pending", outcomes=told)


def _with_rest(
    parameters: Mapping[str, Real | Integer | Choice],
    whole: Space | None,
    distributions: Mapping[str, BaseDistribution],
) -> Space:
    """The space of parameters that vary, with the fixed values and constraints of another."""
    if whole is None:
        return Space(parameters)
    # Optuna's distributions know nothing of digits, nor of gaps, nor of conditions.
    own = {
        name: replace(each, when=_when(whole, name, distributions))
        for name, each in parameters.items()
    }
    rounded = {
        name: replace(
            each, digits=known.digits, at_least=known.at_least if each.low == 0.0 else None
        )
        for name, each in own.items()
        if isinstance(each, Real) and isinstance(known := whole.parameters.get(name), Real)
    }
    single = {name: each for name, each in whole.parameters.items() if name not in parameters}
    fixed = {n: p.decode(()) if isinstance(p, Parameter) else p for n, p in single.items()}
    return Space({**own, **rounded, **fixed}, constraints=whole.constraints)


def _when(
    whole: Space, name: str, distributions: Mapping[str, BaseDistribution]
) -> dict[str, list[Any]] | None:
    """Where a parameter of a space applies, by values as models know them."""
    known = whole.parameters.get(name)
    if not isinstance(known, Parameter) or known.when is None:
        return None
    return {
        parent: [internal(distributions[parent], value) for value in values]
        if parent in distributions
        else list(values)
        for parent, values in known.when.items()
    }


def _tempered(values: Array, pruned: np.ndarray, sign: float) -> Array:
    """Values (n,) with those of pruned trials between the median and the worst of the others.

    A trial is pruned because it would not have been good; its last value is that of a run cut
    short, which may be far off either way.
    """
    if pruned.all() or not pruned.any():
        return values
    badness = -sign * values
    rest = badness[~pruned]
    within = np.minimum(np.maximum(badness, np.median(rest)), rest.max())
    return -sign * np.where(pruned, within, badness)
