"""Ask for points to evaluate, tell what came out, in any order: the only stateful object here."""

from __future__ import annotations

import copy
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from innerloop import checks, linalg
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utility import Utility
from innerloop.batches.chance import Chance
from innerloop.errors import InputError
from innerloop.maximizers.maximizer import Maximizer
from innerloop.optimizer import files
from innerloop.optimizer.book import Book, locked
from innerloop.optimizer.learn import Learned, Results, learn
from innerloop.optimizer.propose import designed, propose
from innerloop.optimizer.settings import Settings, default_initial
from innerloop.optimizer.trials import Prediction, Trial, tried
from innerloop.space.space import Space
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.surrogate.kernels import Kernel, Matern52


class Optimizer(Book):
    """Chooses parameters to try, given all results so far and all trials that are still running.

    Several threads may use one optimizer: a lock lets them in one at a time, so that no id and no
    point is given out twice. Who tells waits while another thread asks.

    Args:
        space: what to choose from.
        direction: "minimize" or "maximize".
        seed: makes everything repeatable, also across `save` and `load`; drawn at random if None.
        initial: Sobol points to start from, by default some that suit the space.
        acquisition: "ei", "pi", "sr", "ucb", "es" or "kg"; or a `Utility` or the like, of values
            as the model sees them: larger is better, with mean 0 and standard deviation 1.
        form: as in `innerloop.suggest`.
        way: as in `innerloop.suggest`.
        maximizer: as in `innerloop.suggest`, a name or an instance.
        kernel: the class of kernel that the model has, such as `Matern52`.
        seconds: about how long an ask may take, fits included; by default until searches converge,
            which for each point that is asked for takes milliseconds, tens of them with "kg" and
            "es", and some hundred with "es" where parameters are discrete.
        expire: seconds after which a pending trial is given up.
    """

    def __init__(
        self,
        space: Space,
        *,
        direction: str = "minimize",
        seed: int | None = None,
        initial: int | None = None,
        acquisition: str | Utility | Lookahead = "ei",
        form: str | None = None,
        way: str | None = None,
        maximizer: str | Maximizer | None = None,
        kernel: type[Kernel] = Matern52,
        seconds: float | None = None,
        expire: float | None = None,
    ) -> None:
        super().__init__(space)
        self._settings = Settings(
            direction=direction,
            seed=secrets.randbits(32) if seed is None else seed,
            acquisition=acquisition,
            form=form,
            way=way,
            maximizer=maximizer,
            kernel=kernel,
            seconds=seconds,
            initial=default_initial(len(space.varying)) if initial is None else initial,
            expire=expire,
        )
        self._domain = space.domain()
        self._everything = space.everything()
        self._drawn = 0  # points taken from the Sobol sequence
        self._learned: Learned | None = None  # at the last ask that needed it
        self._latest: tuple[object, Results, Learned] | None = None  # from the present results

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
        """The complete trial with the best value; under noise, with the best posterior mean."""
        complete = self._complete()
        if not complete:
            raise InputError("there is no best trial: none has been told a value yet")
        results, learned = self._learn()
        if learned.is_noisy(results):
            grades = learned.posterior(results).fitted
        else:
            grades = self._settings.sign * results.values
        return complete[int(np.argmax(grades))]

    @property
    @locked
    def exhausted(self) -> bool:
        """Whether every point of a finite space has been tried or is pending."""
        return self._everything is not None and len(tried(self._trials)) >= len(self._everything)

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
            told = sum(trial.state == "complete" for trial in self._trials)
            if designed(number, self._settings, self._drawn, told) < number:
                results, self._learned = self._learn()
            else:  # nothing needs to be learned for points of the initial design
                results = self._results()
            proposal = propose(
                number,
                space=self.space,
                settings=self._settings,
                domain=self.space.domain(fixed) if fixed else self._domain,
                everything=self._everything,
                drawn=self._drawn,
                results=results,
                learned=self._learned,
                tried=self._trials,
                pending=self._rows("pending"),
                started=started,
            )
            self._drawn = proposal.drawn
            asked = [self._append(*each) for each in proposal.trials(len(self._trials))]
            self._given_out.update(trial.id for trial in asked)
        return asked[0] if n is None else asked

    @locked
    def predict(self, params: Mapping[str, Any]) -> Prediction:
        """What is expected of the function at a point, without noise: mean and sd.

        With few results sd is often too small; see `Prediction`.

        Args:
            params: values by name.

        Returns:
            Mean and sd in the units of the values.
        """
        x = self.space.encode(self.space.check(params))
        return self.learned.outputs.predictions(*self.posterior.marginals(x[None]))[0]

    @property
    @locked
    def learned(self) -> Learned:
        """What the results so far have taught: the scaling of outputs and hyperparameters."""
        if not self._complete():
            raise InputError("nothing has been learned: no trial has been told a value yet")
        return self._learn()[1]

    @property
    @locked
    def posterior(self) -> Posterior:
        """The belief over points of the unit cube, in the scaling of `learned.outputs`."""
        return self.learned.posterior(self._learn()[0])

    @property
    @locked
    def chance(self) -> Chance | None:
        """The chance that trials succeed, over points of the unit cube; None if none has failed."""
        results = self._results()
        return Chance.of(results.X, results.failed) if len(results.failed) else None

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
                "learned": None if self._learned is None else self._learned.to_dict(),
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
            optimizer = cls(Space.from_dict(content["space"]))
            optimizer._settings = Settings.from_dict(content["settings"])
            optimizer._replace_all([Trial.from_dict(data) for data in content["trials"]])
            optimizer._drawn = content["drawn"]
            if content["learned"] is not None:
                optimizer._learned = Learned.from_dict(content["learned"])
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
        other._latest = None
        return other

    @locked
    def __repr__(self) -> str:
        states = [trial.state for trial in self._trials]
        counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
        return f"Optimizer({self.direction} over {', '.join(self.space.names)}: {counts or 'new'})"

    @locked
    def expire(self) -> None:
        """Give up pending trials that have taken longer than `expire` says; `ask` does it too."""
        if self._settings.expire is not None:
            self._expire(self._settings.expire)

    def _learn(self) -> tuple[Results, Learned]:
        """The present results and what they teach, going on from what the last ask learned."""
        told = tuple((trial.id, trial.value) for trial in self._complete())
        if self._latest is None or self._latest[0] != told:
            learned, results, settings = self._learned, self._results(), self._settings
            if learned is None or learned.is_due(len(results.values)):
                learned = learn(
                    results,
                    settings.sign,
                    learned,
                    kernel=settings.kernel,
                    seconds=settings.seconds,
                )
            self._latest = (told, results, learned.knowing(results))
        _, results, learned = self._latest
        return results._replace(failed=self._rows("failed")), learned
