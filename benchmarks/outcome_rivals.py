"""Optimizers of several outcomes, each behind the same three calls.

A method is told the initial points with `add`, and then alternates `ask` and `tell`. Each library
is imported where it is used, since each has an environment of its own, and works as its
documentation advises, on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Protocol

import numpy as np

from botorch_search import maximized
from outcome_tasks import Outcomes, Task
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

# Optuna's default of 50 would leave 64 evaluations with hardly more than one generation.
POPULATION = 16


class Method(Protocol):
    """An optimizer; points and outcomes are dicts of plain values."""

    def add(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        """Learn the initial points."""

    def ask(self, q: int) -> list[Point]:
        """The next q points."""

    def tell(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        """Learn the outcomes of the points last asked for."""


class RandomSearch:
    """Points drawn evenly from the space."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.generator = np.random.default_rng([seed, 3])

    def add(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        pass

    def ask(self, q: int) -> list[Point]:
        return [self.task.decode(u) for u in self.generator.random((q, self.task.d))]

    def tell(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        pass


def innerloop_optimizer(task: Task, seed: int, *, told: bool = True):
    """innerloop as it comes, told the reference point by which it is judged, as BoTorch is."""
    from innerloop import Choice, Integer, Optimizer, Real, Space

    def converted(parameter: Range | Whole | Options) -> Real | Integer | Choice:
        if isinstance(parameter, Range):
            return Real(parameter.low, parameter.high, log=parameter.log)
        if isinstance(parameter, Whole):
            return Integer(parameter.low, parameter.high)
        return Choice(list(parameter.values))

    return Optimizer(
        Space({name: converted(each) for name, each in task.parameters.items()}),
        objectives=dict(task.objectives),
        outcome_constraints=[f"{name} <= {limit}" for name, limit in task.limits.items()],
        reference=dict(task.reference) if told and len(task.objectives) > 1 else None,
        seed=seed,
    )


class InnerLoop:
    """An innerloop optimizer, asked for whole batches."""

    def __init__(self, task: Task, seed: int, *, told: bool = True) -> None:
        self.optimizer = innerloop_optimizer(task, seed, told=told)

    def add(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        for point, values in zip(points, outcomes, strict=True):
            self.optimizer.add(point, values)

    def ask(self, q: int) -> list[Point]:
        self.asked = self.optimizer.ask(q)
        return [dict(trial.params) for trial in self.asked]

    def tell(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        for trial, values in zip(self.asked, outcomes, strict=True):
            self.optimizer.tell(trial, values)


class BoTorch:
    """One default model per outcome, fitted anew every round; qLogNEHVI or, for one objective,
    qLogNEI.

    Models see reals and integers in the unit cube, logarithms taken where the space says so, and
    categories as their index. Outcomes to minimize are negated, as BoTorch maximizes; it is told
    the reference point by which it is judged. Outcomes are in units of their standard deviation,
    as Ax gives them to BoTorch, whose smoothing of maxima and of limits has a fixed width: with a
    limit on a volume of a million, one batch took a minute without this.
    """

    def __init__(self, task: Task, seed: int) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.task = task
        self.seed = seed
        self.points: list[Point] = []
        self.outcomes: list[Outcomes] = []
        self.categorical = options_among(task.parameters)
        self.discrete = levels_among(task.parameters)
        tops = [float(max(self.categorical.get(i, [1]))) for i in range(task.d)]
        self.bounds = torch.tensor([[0.0] * task.d, tops], dtype=torch.float64)

    def add(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        self.points += points
        self.outcomes += outcomes

    def tell(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        self.add(points, outcomes)

    def ask(self, q: int) -> list[Point]:

        acquisition = self._acquisition()
        candidates = maximized(
            acquisition, self.bounds, q, discrete=self.discrete, categorical=self.categorical
        )
        return [decoded(x.tolist(), self.task.parameters) for x in candidates]

    def _acquisition(self):
        import torch
        from botorch.acquisition import qLogNoisyExpectedImprovement
        from botorch.acquisition.multi_objective.logei import (
            qLogNoisyExpectedHypervolumeImprovement,
        )
        from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
        from botorch.acquisition.objective import GenericMCObjective
        from botorch.sampling import SobolQMCNormalSampler

        X = torch.tensor(
            [encoded(point, self.task.parameters) for point in self.points], dtype=torch.float64
        )
        Y, reference = self._scaled()
        model = self._fitted(X, torch.tensor(Y))
        m = len(self.task.objectives)
        # Feasible where negative.
        constraints = [lambda Z, k=m + i: Z[..., k] for i in range(len(self.task.limits))]
        # Another seed every round, so that errors of integration do not repeat.
        seed = 1000 * self.seed + len(self.points)
        common = {
            "X_baseline": X,
            "constraints": constraints or None,
            "prune_baseline": True,
            "sampler": SobolQMCNormalSampler(torch.Size([128 if m > 1 else 256]), seed=seed),
        }
        if m == 1:
            objective = GenericMCObjective(lambda Z, X=None: Z[..., 0])
            return qLogNoisyExpectedImprovement(model, objective=objective, **common)
        return qLogNoisyExpectedHypervolumeImprovement(
            model,
            ref_point=reference.tolist(),
            objective=IdentityMCMultiOutputObjective(outcomes=list(range(m))),
            **common,
        )

    def _scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """Objectives to maximize and constraints from 0 (n, K), and the reference point (m,)."""
        task, m = self.task, len(self.task.objectives)
        Y = np.array([[each[name] for name in task.outcomes] for each in self.outcomes])
        spread = Y.std(axis=0, ddof=1)
        spread[spread == 0.0] = 1.0
        signs = [1.0 if way == "maximize" else -1.0 for way in task.objectives.values()]
        units = np.array(signs + [1.0] * len(task.limits)) / spread
        origin = np.concatenate([Y[:, :m].mean(axis=0), list(task.limits.values())])
        reference = np.array([task.reference[name] for name in task.objectives])
        return units * (Y - origin), units[:m] * (reference - origin[:m])

    def _fitted(self, X, Y):
        """A list of models fitted to values Y (n, K) at the encoded points X (n, d)."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, ModelListGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import SumMarginalLogLikelihood

        models = []
        for values in Y.split(1, dim=1):
            scaling = Standardize(m=1)
            if self.categorical:
                cats = list(self.categorical)
                models.append(
                    MixedSingleTaskGP(X, values, cat_dims=cats, outcome_transform=scaling)
                )
            else:
                models.append(SingleTaskGP(X, values, outcome_transform=scaling))
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        return model


class Optuna:
    """A study in memory, whose first trials are the initial points."""

    def __init__(self, task: Task, seed: int, sampler: str) -> None:
        import optuna
        from optuna import distributions as ds

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        starts = len(task.initial_points(seed))
        samplers = {
            "gp": lambda: optuna.samplers.GPSampler(seed=seed, n_startup_trials=starts),
            "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=seed, population_size=POPULATION),
        }
        self.task = task
        self.study = optuna.create_study(
            directions=list(task.objectives.values()), sampler=samplers[sampler]()
        )
        self.distributions = {}
        for name, kind in task.parameters.items():
            if isinstance(kind, Range):
                distribution = ds.FloatDistribution(kind.low, kind.high, log=kind.log)
            elif isinstance(kind, Whole):
                distribution = ds.IntDistribution(kind.low, kind.high)
            else:
                distribution = ds.CategoricalDistribution(kind.values)
            self.distributions[name] = distribution

    def add(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        for point in points:
            self.study.enqueue_trial(point)
        asked = self.ask(len(points))
        if asked != points:
            raise RuntimeError("Optuna changed the initial points")
        sampler = self.study.sampler
        if hasattr(sampler, "get_trial_generation"):
            # Trials that were enqueued belong to no generation otherwise, and have no children.
            for trial in self.asked:
                sampler.get_trial_generation(self.study, self.study.trials[trial.number])
        self.tell(points, outcomes)

    def ask(self, q: int) -> list[Point]:
        self.asked = [self.study.ask(self.distributions) for _ in range(q)]
        return [dict(trial.params) for trial in self.asked]

    def tell(self, points: list[Point], outcomes: list[Outcomes]) -> None:
        for trial, values in zip(self.asked, outcomes, strict=True):
            for name, limit in self.task.limits.items():
                trial.set_constraint(name, values[name] - limit)
            self.study.tell(trial, [values[name] for name in self.task.objectives])


METHODS: dict[str, Callable[[Task, int], Method]] = {
    "innerloop": InnerLoop,
    "innerloop-alone": lambda task, seed: InnerLoop(task, seed, told=False),
    "botorch": BoTorch,
    "optuna-gp": lambda task, seed: Optuna(task, seed, "gp"),
    "optuna-nsga2": lambda task, seed: Optuna(task, seed, "nsga2"),
    "random": RandomSearch,
}
_PACKAGES = {
    "innerloop": ("innerloop", "numpy", "scipy"),
    "innerloop-alone": ("innerloop", "numpy", "scipy"),
    "botorch": ("botorch", "gpytorch", "torch"),
    "optuna-gp": ("optuna", "torch", "scipy"),
    "optuna-nsga2": ("optuna",),
    "random": ("numpy",),
}


def versions(method: str) -> dict[str, str]:
    """The packages that a method consists of, with their versions."""
    return {name: version(name) for name in _PACKAGES[method]}
