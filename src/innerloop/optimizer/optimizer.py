"""Ask for points to evaluate, tell what came out, in any order: the only stateful object here."""

from __future__ import annotations

import copy
import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, overload

import numpy as np

from innerloop import checks, linalg
from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.optimizer import files
from innerloop.optimizer.learning import Learned, Results, learn
from innerloop.optimizer.proposing import propose
from innerloop.optimizer.settings import Settings, default_initial
from innerloop.optimizer.telling import one_for_each, outcome
from innerloop.optimizer.trials import Prediction, Trial
from innerloop.space.space import Space
from innerloop.surrogate.gaussian_process import Posterior


class Optimizer:
    """Chooses parameters to try, given all results so far and all trials that are still running.

    space: what to choose from. direction: "minimize" or "maximize". seed: makes everything
    repeatable, also across `save` and `load`; drawn at random if None.

    initial: Sobol points to start from, by default some that suit the space. acquisition: "ei",
    "pi", "sr", "ucb", "es" or "kg"; form, parallelism and maximizer as in `innerloop.suggest`.
    seconds: about how long an ask may take, fits included; by default until the maximizer
    converges, which is milliseconds. expire: seconds after which a pending trial is given up.
    """

    def __init__(
        self,
        space: Space,
        *,
        direction: str = "minimize",
        seed: int | None = None,
        initial: int | None = None,
        acquisition: str = "ei",
        form: str | None = None,
        parallelism: str = "greedy",
        maximizer: str = "lbfgs",
        seconds: float | None = None,
        expire: float | None = None,
    ) -> None:
        checks.instance("space", space, Space, "a Space")
        self.space = space
        self._settings = Settings(
            direction=direction,
            seed=secrets.randbits(32) if seed is None else seed,
            acquisition=acquisition,
            form=form,
            parallelism=parallelism,
            maximizer=maximizer,
            seconds=seconds,
            initial=default_initial(len(space.varying)) if initial is None else initial,
            expire=expire,
        )
        self._domain = space.domain()
        self._everything = space.everything()
        self._trials: list[Trial] = []
        self._points: list[Array] = []
        self._drawn = 0  # points taken from the Sobol sequence
        self._learned: Learned | None = None  # at the last ask
        self._latest: tuple[object, Learned] | None = None  # from the present results

    @property
    def direction(self) -> str:
        """ "minimize" or "maximize"."""
        return self._settings.direction

    @property
    def seed(self) -> int:
        """The seed, drawn at random if none was given."""
        return self._settings.seed

    @property
    def acquisition(self) -> str:
        """The name of the acquisition function."""
        return self._settings.acquisition

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order of their ids."""
        return tuple(self._trials)

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were asked and not told yet."""
        return tuple(trial for trial in self._trials if trial.state == "pending")

    @property
    def best(self) -> Trial:
        """The complete trial with the best value; under noise, with the best posterior mean."""
        complete = self._complete()
        if not complete:
            raise InputError("there is no best trial: none has been told a value yet")
        results, learned = self._results(), self._learn()
        if learned.is_noisy(results):
            grades = learned.posterior(results).fitted
        else:
            grades = self._settings.sign * results.values
        return complete[int(np.argmax(grades))]

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite space has been tried or is pending."""
        if self._everything is None:
            return False
        tried = {tuple(trial.params.values()) for trial in self._trials}
        return len(tried) >= len(self._everything)

    @overload
    def ask(self, n: None = None, *, fixed: Mapping[str, Any] | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, fixed: Mapping[str, Any] | None = None) -> list[Trial]: ...
    def ask(
        self, n: int | None = None, *, fixed: Mapping[str, Any] | None = None
    ) -> Trial | list[Trial]:
        """The next trial, or a list of the next n, which are chosen together.

        fixed: values of some parameters, for these trials only. Pending trials are taken into
        account; points are new as long as there are new ones.
        """
        number = 1 if n is None else checks.count("n", n)
        self.expire()
        with linalg.one_blas_thread():
            asked = self._propose(number, fixed)
        return asked[0] if n is None else asked

    def _propose(self, number: int, fixed: Mapping[str, Any] | None) -> list[Trial]:
        """So many new trials."""
        started = time.perf_counter()
        results, learned = self._results(), None
        if len(results.values):
            learned = self._learn()
        proposal = propose(
            number,
            space=self.space,
            settings=self._settings,
            domain=self.space.domain(fixed) if fixed else self._domain,
            everything=self._everything,
            drawn=self._drawn,
            results=results,
            learned=learned,
            tried=self._trials,
            pending=self._rows("pending"),
            started=started,
        )
        self._learned, self._drawn = learned, proposal.drawn
        return [self._append(*each) for each in proposal.trials(len(self._trials))]

    def tell(
        self,
        trial: Trial | int | Sequence[Trial | int],
        value: Any = None,
        *,
        state: str = "complete",
        noise_sd: Any = None,
        error: str | None = None,
    ) -> Trial | list[Trial]:
        """What came of a trial, given by itself or by its id; or of several, with a value for each.

        A value that is not finite makes a failed trial. state: "failed" if there is no value.
        noise_sd: standard deviation of the noise in the value, where it is known. error: why it
        failed. Trials that failed or expired may still be told a value. Of several trials, all
        are told or, if anything is wrong, none.
        """
        if isinstance(trial, str | bytes) or not hasattr(trial, "__len__"):
            told = outcome(self._known(cast("Trial | int", trial)), value, state, noise_sd, error)
            self._trials[told.id] = told
            return told
        known = [self._known(each) for each in cast("Sequence[Trial | int]", trial)]
        if len({each.id for each in known}) < len(known):
            raise InputError(f"a trial is there twice: {[each.id for each in known]}")
        values = one_for_each("value", value, len(known))
        sds = one_for_each("noise_sd", noise_sd, len(known))
        several = [
            outcome(each, v, state, sd, error)
            for each, v, sd in zip(known, values, sds, strict=True)
        ]
        for told in several:
            self._trials[told.id] = told
        return several

    def add(
        self,
        params: Mapping[str, Any],
        value: Any = None,
        *,
        state: str = "complete",
        noise_sd: Any = None,
        error: str | None = None,
    ) -> Trial:
        """A result that came from elsewhere, as a new trial."""
        checked = self.space.check(params)
        trial = Trial(len(self._trials), checked)
        told = outcome(trial, value, state, noise_sd, error)
        return self._append(told, self.space.encode(checked))

    def predict(self, params: Mapping[str, Any]) -> Prediction:
        """What is expected of the function at a point, without noise: mean and sd.

        With few results sd is often too small; see `Prediction`.
        """
        x = self.space.encode(self.space.check(params))
        return self.learned.outputs.predictions(*self.posterior.marginals(x[None]))[0]

    @property
    def learned(self) -> Learned:
        """What the results so far have taught: the scaling of outputs and hyperparameters."""
        if not self._complete():
            raise InputError("nothing has been learned: no trial has been told a value yet")
        return self._learn()

    @property
    def posterior(self) -> Posterior:
        """The belief over points of the unit cube, in the scaling of `learned.outputs`."""
        return self.learned.posterior(self._results())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, which holds either all of it or what it held before."""
        files.write(
            path,
            {
                "space": self.space.to_dict(),
                "settings": self._settings.to_dict(),
                "trials": [trial.to_dict() for trial in self._trials],
                "drawn": self._drawn,
                "learned": None if self._learned is None else self._learned.to_dict(),
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """The optimizer that was saved; it goes on exactly as it would have without."""
        content = files.read(path)
        try:
            optimizer = cls(Space.from_dict(content["space"]))
            optimizer._settings = Settings.from_dict(content["settings"])
            for data in content["trials"]:
                trial = Trial.from_dict(data)
                optimizer._append(trial, optimizer.space.encode(trial.params))
            optimizer._drawn = content["drawn"]
            if content["learned"] is not None:
                optimizer._learned = Learned.from_dict(content["learned"])
        except (KeyError, TypeError, InputError) as error:
            raise InputError(f"{path} does not hold an optimizer: {error}") from error
        return optimizer

    def with_trials(self, trials: Iterable[Trial]) -> Optimizer:
        """A copy that holds these trials instead, with new ids from 0; this one stays as it is."""
        other = copy.copy(self)
        other._trials = [replace(trial, id=number) for number, trial in enumerate(trials)]
        other._points = [self.space.encode(trial.params) for trial in other._trials]
        other._latest = None
        return other

    def __repr__(self) -> str:
        states = [trial.state for trial in self._trials]
        counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
        return f"Optimizer({self.direction} over {', '.join(self.space.names)}: {counts or 'new'})"

    def _append(self, trial: Trial, x: Array) -> Trial:
        self._trials.append(trial)
        self._points.append(x)
        return trial

    def _known(self, trial: Trial | int) -> Trial:
        """The trial as it is on record."""
        checks.instance("trial", trial, Trial | int | np.integer, "a trial or the id of one")
        number = trial.id if isinstance(trial, Trial) else int(trial)
        if not 0 <= number < len(self._trials):
            have = f"0 to {len(self._trials) - 1}" if self._trials else "none yet"
            raise InputError(f"there is no trial {number}: trials of this optimizer are {have}")
        known = self._trials[number]
        if isinstance(trial, Trial) and trial.params != known.params:
            raise InputError(
                f"trial {number} comes from another optimizer: it has {trial.params}, "
                f"but here trial {number} has {known.params}"
            )
        return known

    def expire(self) -> None:
        """Give up pending trials that have taken longer than `expire` says; `ask` does it too."""
        if self._settings.expire is None:
            return
        now = time.time()
        for trial in self.pending:
            if trial.asked is not None and now - trial.asked > self._settings.expire:
                error = f"no result within {self._settings.expire} seconds"
                self._trials[trial.id] = replace(trial, state="expired", error=error)

    def _complete(self) -> list[Trial]:
        return [trial for trial in self._trials if trial.state == "complete"]

    def _rows(self, *states: str) -> Array:
        """Encoded points of the trials in some states, by id: (n, d)."""
        rows = [self._points[trial.id] for trial in self._trials if trial.state in states]
        return np.array(rows).reshape(-1, self.space.d)

    def _results(self) -> Results:
        """What was told, ordered by trial and not by when it was told."""
        complete = self._complete()
        return Results(
            X=self._rows("complete"),
            values=np.array([trial.value for trial in complete], dtype=np.float64),
            noise_sd=np.array([trial.noise_sd for trial in complete], dtype=np.float64),
            failed=self._rows("failed"),
        )

    def _learn(self) -> Learned:
        """What the present results teach, going on from what was learned at the last ask."""
        key = (self._learned, tuple((t.id, t.value) for t in self._complete()))
        if self._latest is None or self._latest[0] != key:
            learned, results = self._learned, self._results()
            if learned is None or learned.is_due(len(results.values)):
                learned = learn(results, self._settings.sign, learned, self._settings.seconds)
            self._latest = (key, learned)
        return self._latest[1]
