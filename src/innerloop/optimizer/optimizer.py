"""Ask for points to evaluate, tell what came out, in any order: the only stateful object here."""

from __future__ import annotations

import copy
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack, cast, overload

import numpy as np

from innerloop import checks, linalg
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.batches.chance import Chance
from innerloop.errors import InputError
from innerloop.maximizers.maximizer import Maximizer
from innerloop.optimizer import files
from innerloop.optimizer.book import locked
from innerloop.optimizer.changes import Change
from innerloop.optimizer.goals import DIRECTIONS, Goals
from innerloop.optimizer.history import History
from innerloop.optimizer.importances import Importances, importances
from innerloop.optimizer.learn import Kinds, learn
from innerloop.optimizer.learned import Learned
from innerloop.optimizer.models import OneOutcome, SeveralOutcomes
from innerloop.optimizer.propose import designed, propose
from innerloop.optimizer.reasons import why_none
from innerloop.optimizer.regret import regrets
from innerloop.optimizer.results import Results
from innerloop.optimizer.rows import frame_of, rows_of
from innerloop.optimizer.settings import Settings, default_initial
from innerloop.optimizer.trials import Forecast, Prediction, Trial, failed_for_a_while, tried
from innerloop.optimizer.trials_table import trials_table
from innerloop.space.space import Space
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.surrogate.kernels import Kernel
from innerloop.types import Array


class SearchSettings(TypedDict, total=False):
    """How batches are searched for; see `Optimizer`."""

    form: str | None
    way: str | None
    maximizer: str | Maximizer | None
    seconds: float | None


class Optimizer(History):
    """Chooses parameters to try, given all results so far and all trials that are still running.

    Several threads may use one optimizer: a lock lets them in one at a time, so that no id and no
    point is given out twice. Who tells waits while another thread asks.

    Args:
        space: what to choose from.
        direction: "minimize" or "maximize", of the one objective if it has no name.
        objectives: names of what is optimized, with "minimize" or "maximize"; with several, what is
            sought is their front.
        outcome_constraints: limits of other outcomes, such as "impurity <= 2", "accuracy >= 0.9"
            or "latency <= 1.1 * trial 0". Outcomes are modelled as independent of each other.
        reference: of several objectives, the worst value of interest of each by name; by default
            below the worst of the front by a tenth of its range.
        seed: makes everything repeatable, also across `save` and `load`; drawn at random if None.
        initial: Sobol points to start from, by default some that suit the space.
        acquisition: "ei", "pi", "sr", "ucb", "es" or "kg"; or a `Utility` or the like, of values
            as the model sees them: larger is better, with mean 0 and standard deviation 1. Several
            outcomes have their own.
        kernel: the class of kernel that the model has; by default `Matern52`, and with several
            outcomes that or `SquaredExponential`, whichever explains the results of each better.
        expire: seconds after which a pending trial is given up.
        search: `form`, `way` and `maximizer` as in `innerloop.suggest`; and `seconds`, about how
            long an ask may take, fits included, by default until searches converge, which for each
            point that is asked for takes milliseconds, tens of them with "kg" and "es", and some
            hundred with "es" where parameters are discrete.
    """

    def __init__(
        self,
        space: Space,
        *,
        direction: str = "minimize",
        objectives: Mapping[str, str] | None = None,
        outcome_constraints: Sequence[str] = (),
        reference: Mapping[str, float] | None = None,
        seed: int | None = None,
        initial: int | None = None,
        acquisition: str | Utility | Lookahead = "ei",
        kernel: type[Kernel] | None = None,
        expire: float | None = None,
        **search: Unpack[SearchSettings],
    ) -> None:
        checks.one_of("direction", direction, tuple(DIRECTIONS))
        goals = Goals.of(objectives, outcome_constraints, reference, direction)
        super().__init__(space, goals)
        unknown = [name for name in search if name not in SearchSettings.__annotations__]
        if unknown:
            raise TypeError(f"Optimizer got an unexpected keyword argument {unknown[0]!r}")
        is_usual = goals.is_plain and objectives is None
        self._settings = Settings(
            direction=next(iter(goals.objectives.values())),
            seed=secrets.randbits(32) if seed is None else seed,
            acquisition=acquisition,
            kernel=kernel,
            initial=default_initial(space.together) if initial is None else initial,
            expire=expire,
            goals=None if is_usual else goals,
            **search,
        )
        self._drawn = 0  # points taken from the Sobol sequence
        # What was learned at the last ask that needed it, by outcome; and from the present results.
        self._learned: dict[str, Learned] = {}
        self._learned_after = 0  # so many changes
        self._latest: tuple[object, OneOutcome | SeveralOutcomes] | None = None

    @property
    def direction(self) -> str:
        """What is done with values, "minimize" or "maximize"."""
        return self._settings.direction

    @property
    def seed(self) -> int:
        """The seed, drawn at random if none was given."""
        return self._settings.seed

    @property
    def acquisition(self) -> str | Utility | Lookahead:
        """The acquisition function, or its name."""
        return self._settings.acquisition

    @property
    @locked
    def best(self) -> Trial:
        """The complete trial with the best value among those that are within all limits.

        Under noise, of one objective without limits, that with the best posterior mean.
        """
        complete = self._complete()
        if not complete:
            failed = [t.error for t in self._trials if t.state in ("failed", "expired")]
            why = why_none(failed, len(self._trials)) or "none has been told a value yet"
            raise InputError(f"there is no best trial: {why}")
        if all(trial.outside is not None for trial in complete):
            raise InputError("there is no best trial: none that was told a value is in the space")
        if self.goals.is_plain:
            model = self._one_outcome()
            results, learned = model.results, model.learned
            if learned.is_noisy(results):
                return complete[learned.best(results)]
            graded = self._settings.sign * results.values
            if results.outside is not None:
                graded = np.where(results.outside, -np.inf, graded)
            return complete[int(np.argmax(graded))]
        if len(self.goals.objectives) > 1:
            raise InputError("there are several objectives, and no best trial: see `front`")
        front = self.front
        if not front:
            raise InputError("there is no best trial: none is within all limits yet")
        return front[0]

    @property
    @locked
    def front(self) -> tuple[Trial, ...]:
        """Complete trials within all limits that no other one beats in all objectives.

        Of one objective, the best trial.
        """
        if self.goals.is_plain:
            known = any(trial.outside is None for trial in self._complete())
            return (self.best,) if known else ()
        return self.goals.front(self._trials)

    @locked
    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """The volume between the front and a reference, in the units of the objectives.

        Args:
            reference: the worst value of interest of each objective; by default that of the
                optimizer.

        Returns:
            The volume, 0 without a front.
        """
        goals = self.goals
        if reference is not None:
            given = Goals.of(goals.objectives, (), reference)
            goals = replace(goals, reference=given.reference)
        return goals.hypervolume(self._trials)

    @property
    @locked
    def exhausted(self) -> bool:
        """Whether every point of a finite space has been tried or is pending."""
        if self._everything is None:
            return False
        inside = tried(trial for trial in self._trials if trial.outside is None)
        return len(inside) >= len(self._everything)

    @overload
    def ask(self, n: None = None, *, fixed: Mapping[str, Any] | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, fixed: Mapping[str, Any] | None = None) -> list[Trial]: ...
    def ask(
        self, n: int | None = None, *, fixed: Mapping[str, Any] | None = None
    ) -> Trial | list[Trial]:
        """The next trial, or a list of the next n, which are chosen together.

        Pending trials are taken into account; points are new as long as there are new ones: those
        of cancelled trials are.

        Args:
            n: how many trials to choose; None for one, not in a list.
            fixed: values of some parameters, for these trials only.

        Returns:
            The trial, or a list of n trials, pending now.
        """
        number = 1 if n is None else checks.count("n", n)
        with self._lock, linalg.one_blas_thread():
            started = time.perf_counter()
            self.expire()
            told = len(self._complete())
            model: OneOutcome | SeveralOutcomes | None = None
            # Nothing needs to be learned for points of the initial design.
            if designed(number, self._settings, self._drawn, told) < number:
                model = self._one_outcome() if self.goals.is_plain else self._several_outcomes()
                self._keep_learned(model)
            proposal = propose(
                number,
                space=self.space,
                settings=self._settings,
                domain=self.space.domain(fixed) if fixed else self._domain,
                fixed=fixed,
                everything=self._everything,
                drawn=self._drawn,
                told=told,
                model=model,
                tried=self._trials,
                pending=self._rows("pending"),
                started=started,
            )
            self._drawn = proposal.drawn
            asked = [self._append(*each) for each in proposal.trials(len(self._trials))]
            self._given_out.update(trial.id for trial in asked)
        return asked[0] if n is None else asked

    @locked
    def predict(self, params: Mapping[str, Any]) -> Prediction | Forecast:
        """What is expected of the function at a point, without noise.

        With few results sd is often too small; see `Prediction`.

        Args:
            params: the point.

        Returns:
            Mean and standard deviation; of several outcomes those of each, and the chance that all
            limits are met.
        """
        x = self.space.encode(self.space.check(params))[None]
        model = self._taught()
        expected = model.predictions(x)[0]
        if isinstance(expected, Prediction):
            return expected
        chance = model.chance_of_feasibility(x) if isinstance(model, SeveralOutcomes) else [1.0]
        return Forecast(expected, float(chance[0]))

    @locked
    def importances(self, outcome: str | None = None) -> Importances:
        """How much of what an outcome varies by each parameter is responsible for, by its model.

        Total Sobol indices of the expected value, parameters uniform along their scales over what
        meets the constraints; see `Importances`. They are about the model, and as wrong as it is.

        Args:
            outcome: its name; by default the first objective.

        Returns:
            A share for each parameter that varies, the largest first; an `InputError` is raised as
            long as the model explains too little of the results.
        """
        name = self.goals.names[0] if outcome is None else outcome
        checks.one_of("outcome", name, self.goals.names)
        model = self._taught()
        if isinstance(model, OneOutcome):
            results, learned = model.results, model.learned
        else:
            results, learned = model.results[name], model.learned[name]
        with linalg.one_blas_thread():
            return importances(self.space, learned.outputs, learned.posterior(results))

    @property
    @locked
    def learned(self) -> Learned:
        """What the results so far have taught: the scaling of outputs and hyperparameters."""
        if not self._complete():
            raise InputError("nothing has been learned: no trial has been told a value yet")
        return self._one_outcome().learned

    @property
    @locked
    def posterior(self) -> Posterior:
        """The belief over points of the unit cube, in the scaling of `learned.outputs`.

        Of more than 1,500 results it is given a part; `predict` knows all that matter at a point.
        """
        return self.learned.posterior(self._one_outcome().results)

    @property
    @locked
    def several_outcomes(self) -> SeveralOutcomes | None:
        """What the results teach of several outcomes; None until each of them has been told."""
        return None if self.goals.is_plain else self._several_outcomes()

    @property
    @locked
    def chance(self) -> Chance | None:
        """The chance that trials succeed, over points of the unit cube; None if none has failed."""
        failed = self._rows("failed")
        if not len(failed):
            return None
        over = failed_for_a_while(self._trials)
        return Chance.of(self._rows("complete"), failed, for_a_while=over)

    @locked
    def regrets(self, draws: int = 256) -> Array:
        """How far the best trial may be from the optimum of the space, as far as the model knows.

            |max f_s - f_s(best)|,   f_s drawn from the posterior

        For one objective without limits. The draws are the same at every call until something is
        told. With few results the model is often too sure; see `Prediction`.

        Args:
            draws: S, how many functions are drawn.

        Returns:
            Regrets (S,) in the units of the values.
        """
        number, best = checks.count("draws", draws), self.best
        with linalg.one_blas_thread():
            return regrets(
                self._one_outcome(),
                self.space.encode(best.params),
                self._domain,
                draws=number,
                generator=np.random.default_rng((self.seed, len(self._complete()))),
                everything=self._everything,
            )

    @locked
    def to_dataframe(self, library: str | None = None) -> Any:
        """All trials as a data frame, one row for each.

        Columns are id, state, the outcomes ("value" if there is one without a name), "feasible" if
        there are limits, standard deviations of noise that was told, the parameters (those called
        like another column as "params.NAME"), "started" and "finished" (UTC), error, outside, and
        "changed" where a trial was corrected or forgotten.

        Args:
            library: "pandas" or "polars"; by default pandas, or polars if only that is installed.

        Returns:
            A `DataFrame` of that library.
        """
        rows = rows_of(self._trials, self.goals, self._changes, self.space)
        return frame_of(rows, self.goals, self.space, library)

    @locked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, which holds either all of it or what it held before.

        Args:
            path: of the file.
        """
        files.write(
            path,
            {
                "space": self.space.to_dict(),
                "settings": self._settings.to_dict(),
                "trials": [trial.to_dict() for trial in self._trials],
                "drawn": self._drawn,
                "learned": self._learned_to_dict(),
                **self._history_to_dict(),
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """The optimizer that was saved; it goes on exactly as it would have without.

        Args:
            path: of the file.

        Returns:
            The optimizer.
        """
        content = files.read(path)
        try:
            settings = Settings.from_dict(content["settings"])
            optimizer = cls(Space.from_dict(content["space"]))
            optimizer._settings = settings
            optimizer.goals = settings.goals or Goals.of(None, direction=settings.direction)
            optimizer._replace_all([Trial.from_dict(data) for data in content["trials"]])
            optimizer._drawn = content["drawn"]
            learned = content["learned"]
            if learned is not None:
                by_name = learned if "gp" not in learned else {optimizer.goals.names[0]: learned}
                optimizer._learned = {n: Learned.from_dict(each) for n, each in by_name.items()}
            optimizer._changes = tuple(map(Change.from_dict, content.get("history", ())))
            optimizer._learned_after = content.get("learned_after", 0)
        except (KeyError, TypeError, InputError) as error:
            raise InputError(f"{path} does not hold an optimizer: {error}") from error
        return optimizer

    @locked
    def with_trials(self, trials: Iterable[Trial]) -> Optimizer:
        """A copy that holds other trials instead, with new ids from 0; this one stays as it is.

        Args:
            trials: what the copy holds, in order.

        Returns:
            The copy.
        """
        other = copy.copy(self)
        other._replace_all([replace(trial, id=number) for number, trial in enumerate(trials)])
        if not self._is_as_before(None, self._learned_after):
            other._learned = {}
        other._latest, other._changes, other._learned_after = None, (), 0
        return other

    @locked
    def _repr_html_(self) -> str:
        return trials_table(repr(self), self._trials, self.goals, self.direction)

    def __repr__(self) -> str:
        states = [trial.state for trial in self._trials]
        counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
        return f"Optimizer({self.direction} over {', '.join(self.space.names)}: {counts or 'new'})"

    @locked
    def expire(self) -> None:
        """Give up pending trials that have taken longer than `expire` says; `ask` does it too."""
        if self._settings.expire is not None:
            self._expire(self._settings.expire)

    def _history_to_dict(self) -> dict[str, Any]:
        """The history, ready for JSON, if there is any."""
        if not self._changes:
            return {}
        history = [change.to_dict() for change in self._changes]
        return {"history": history, "learned_after": self._learned_after}

    def _learned_to_dict(self) -> dict[str, Any] | None:
        """What the last ask learned, ready for JSON; that of one objective without its name."""
        plain = {name: each.to_dict() for name, each in self._learned.items()}
        if not plain:
            return None
        return plain[self.goals.names[0]] if self.goals.is_plain else plain

    def _keep_learned(self, model: OneOutcome | SeveralOutcomes | None) -> None:
        """Keep what a model has learned, by outcome, to go on from at the next ask."""
        if model is None:
            return
        if isinstance(model, OneOutcome):
            self._learned = {self.goals.names[0]: model.learned}
        else:
            self._learned = dict(model.learned)
        self._learned_after = len(self._changes)

    def _one_outcome(self) -> OneOutcome:
        """The present results and what they teach, going on from what the last ask learned."""
        if not self.goals.is_plain:
            raise InputError("there are several outcomes: see `predict`")
        told = tuple((trial.id, trial.value, trial.noise_sd) for trial in self._complete())
        key = (self.space, told)
        if self._latest is None or self._latest[0] != key:
            results = self._results()
            name, sign = self.goals.names[0], self._settings.sign
            learned = self._teaches(name, len(told), sign, bends=True)(results)
            self._latest = (key, OneOutcome(results, learned.knowing(results)))
        model = cast(OneOutcome, self._latest[1])
        return replace(model, results=model.results._replace(failed=self._rows("failed")))

    def _taught(self) -> OneOutcome | SeveralOutcomes:
        """What the results teach, or an error if there are none."""
        if not self._complete():
            raise InputError("nothing has been learned: no trial has been told a value yet")
        model = self._one_outcome() if self.goals.is_plain else self._several_outcomes()
        if model is None:
            raise InputError("nothing has been learned: some outcome has not been told yet")
        return model

    def _several_outcomes(self) -> SeveralOutcomes | None:
        """The same for several outcomes; None as long as some outcome has not been told."""
        told = tuple(
            (t.id, t.state, *(t.outcomes or {}).items(), *(t.noise_sds or {}).items())
            for t in self._trials
        )
        key = (self.space, told)
        if self._latest is None or self._latest[0] != key:
            found = {name: self._results_of(name) for name in self.goals.names}
            if not all(ids for ids, _ in found.values()):
                return None
            sign_of, bends = self.goals.sign_of, self.goals.bends
            learned = {
                name: self._teaches(name, len(ids), sign_of(name), bends=bends(name))(each)
                for name, (ids, each) in found.items()
            }
            model = SeveralOutcomes(
                self.goals,
                tuple(self._trials),
                rows={name: ids for name, (ids, _) in found.items()},
                results={name: each for name, (_, each) in found.items()},
                learned={name: learned[name].knowing(each) for name, (_, each) in found.items()},
            )
            self._latest = (key, model)
        return cast(SeveralOutcomes, self._latest[1])

    def _teaches(
        self, name: str, results: int, sign: float, *, bends: bool
    ) -> Callable[[Results], Learned]:
        """What so many results of an outcome teach: as before, if there are few new ones."""
        learned, settings = self._learned.get(name), self._settings
        if learned is not None and not self._is_as_before(learned.ids, self._learned_after):
            learned = None  # what was wrong would be where the search for what is right begins
        if learned is not None and not learned.is_due(results):
            return learned.knowing
        return partial(
            learn,
            sign=sign,
            before=learned,
            kinds=Kinds.of(settings.kernel, plain=self.goals.is_plain, bends=bends),
            seconds=settings.seconds,
        )
