"""The optimizers of the closed loop, each behind the same four calls.

A method is told the initial points with `add`, and then alternates `ask` and `tell`; `recommend`
is called once at the end of a noisy task. Foreign libraries are imported where they are used, and
every one of them works as its own documentation advises, on one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from botorch_search import maximized
from task_parameters import (
    Options,
    Point,
    Range,
    Whole,
    decoded,
    encoded,
    levels_among,
    options_among,
)

if TYPE_CHECKING:
    # Rivals have environments of their own, without what tasks need.
    from closed_loop_tasks import Task


class Method(Protocol):
    """An optimizer that minimizes; points are dicts of plain values."""

    def add(self, points: list[Point], values: list[float]) -> None:
        """Learn the initial points."""

    def ask(self, q: int) -> list[Point]:
        """The next q points."""

    def tell(self, points: list[Point], values: list[float]) -> None:
        """Learn the values at the points last asked for."""

    def recommend(self) -> Point:
        """The evaluated point that is thought best."""


class Remembering:
    """Keeps what was observed; recommends the best observation."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.points: list[Point] = []
        self.values: list[float] = []

    def add(self, points: list[Point], values: list[float]) -> None:
        self.points += points
        self.values += values

    def tell(self, points: list[Point], values: list[float]) -> None:
        self.add(points, values)

    def recommend(self) -> Point:
        return self.points[int(np.argmin(self.values))]


class RandomSearch(Remembering):
    """Points drawn evenly from the space."""

    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task)
        self.generator = np.random.default_rng([seed, 3])

    def ask(self, q: int) -> list[Point]:
        return [self.task.decode(u) for u in self.generator.random((q, self.task.d))]


class InnerLoop:
    """innerloop as it comes, or with other settings of its optimizer."""

    def __init__(self, task: Task, seed: int, **settings) -> None:
        from innerloop import Choice, Integer, Optimizer, Real, Space

        def converted(parameter: Range | Whole | Options) -> Real | Integer | Choice:
            if isinstance(parameter, Range):
                return Real(parameter.low, parameter.high, log=parameter.log)
            if isinstance(parameter, Whole):
                return Integer(parameter.low, parameter.high)
            return Choice(list(parameter.values))

        space = Space({name: converted(each) for name, each in task.parameters.items()})
        self.optimizer = Optimizer(space, direction="minimize", seed=seed, **settings)

    def add(self, points: list[Point], values: list[float]) -> None:
        for point, value in zip(points, values, strict=True):
            self.optimizer.add(point, value)

    def ask(self, q: int) -> list[Point]:
        self.asked = self.optimizer.ask(q)
        return [dict(trial.params) for trial in self.asked]

    def tell(self, points: list[Point], values: list[float]) -> None:
        self.optimizer.tell(self.asked, values)

    def recommend(self) -> Point:
        return dict(self.optimizer.best.params)


class BoTorch(Remembering):
    """BoTorch's default model, fitted anew every round, and qLogEI (noisy tasks: qLogNEI).

    The model sees reals and integers in the unit cube, logarithms taken where the space says so,
    and categories as their index. Values are negated, as BoTorch maximizes.

    told: whether the model is given the variance of the noise. Its own estimate is never below
    1e-4 of the variance of the values, which a function without noise suffers from; told that
    there is next to none, it is given 1e-6.
    """

    def __init__(self, task: Task, seed: int, told: bool = False) -> None:
        import torch

        super().__init__(task)
        self.told = told
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.seed = seed
        self.categorical = options_among(task.parameters)
        self.discrete = levels_among(task.parameters)
        tops = [float(max(self.categorical.get(i, [1]))) for i in range(task.d)]
        self.bounds = torch.tensor([[0.0] * task.d, tops], dtype=torch.float64)

    def ask(self, q: int) -> list[Point]:
        from botorch.acquisition import qLogExpectedImprovement, qLogNoisyExpectedImprovement
        from botorch.sampling import SobolQMCNormalSampler
        from torch import Size

        model, X = self._fitted()
        # Another seed every round, so that errors of integration do not repeat.
        sampler = SobolQMCNormalSampler(Size([256]), seed=1000 * self.seed + len(self.values))
        if self.task.noise:
            acquisition = qLogNoisyExpectedImprovement(model, X_baseline=X, sampler=sampler)
        else:
            best = -min(self.values)
            acquisition = qLogExpectedImprovement(model, best_f=best, sampler=sampler)
        candidates = maximized(
            acquisition, self.bounds, q, discrete=self.discrete, categorical=self.categorical
        )
        return [decoded(x.tolist(), self.task.parameters) for x in candidates]

    def recommend(self) -> Point:
        from torch import no_grad

        model, X = self._fitted()
        with no_grad():
            means = model.posterior(X).mean[:, 0].numpy()
        return self.points[int(np.argmax(means))]

    def _fitted(self):
        """The model fitted to everything observed, and the encoded points (n, d)."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(
            [encoded(point, self.task.parameters) for point in self.points], dtype=torch.float64
        )
        Y = -torch.tensor(self.values, dtype=torch.float64)[:, None]
        settings = {"outcome_transform": Standardize(m=1)}
        if self.told:
            noise = self.task.noise**2 or 1e-6 * float(Y.var())
            settings["train_Yvar"] = torch.full_like(Y, noise)
        if self.categorical:
            model = MixedSingleTaskGP(X, Y, cat_dims=list(self.categorical), **settings)
        else:
            model = SingleTaskGP(X, Y, **settings)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, X


class Optuna(Remembering):
    """A study in memory; the initial points are its first trials, so nothing is drawn at random."""

    def __init__(self, task: Task, seed: int, sampler: str) -> None:
        import optuna
        from optuna import distributions as ds

        super().__init__(task)
        samplers = {
            "gp": lambda: optuna.samplers.GPSampler(seed=seed, n_startup_trials=0),
            "tpe": lambda: optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=0, multivariate=True, constant_liar=True
            ),
        }
        self.study = optuna.create_study(direction="minimize", sampler=samplers[sampler]())
        self.distributions = {}
        for name, kind in task.parameters.items():
            if isinstance(kind, Range):
                distribution = ds.FloatDistribution(kind.low, kind.high, log=kind.log)
            elif isinstance(kind, Whole):
                distribution = ds.IntDistribution(kind.low, kind.high)
            else:
                distribution = ds.CategoricalDistribution(kind.values)
            self.distributions[name] = distribution

    def add(self, points: list[Point], values: list[float]) -> None:
        from optuna.trial import create_trial

        super().add(points, values)
        for params, value in zip(points, values, strict=True):
            self.study.add_trial(
                create_trial(params=params, distributions=self.distributions, value=value)
            )

    def ask(self, q: int) -> list[Point]:
        self.asked = [self.study.ask(self.distributions) for _ in range(q)]
        return [dict(trial.params) for trial in self.asked]

    def tell(self, points: list[Point], values: list[float]) -> None:
        super().add(points, values)
        for trial, value in zip(self.asked, values, strict=True):
            self.study.tell(trial, value)


METHODS = {
    "innerloop": InnerLoop,
    "botorch": BoTorch,
    "botorch-told": lambda task, seed: BoTorch(task, seed, told=True),
    "optuna-gp": lambda task, seed: Optuna(task, seed, "gp"),
    "optuna-tpe": lambda task, seed: Optuna(task, seed, "tpe"),
    "random": RandomSearch,
}
