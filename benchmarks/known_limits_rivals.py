"""Optimizers within known limits, each behind the same three calls.

A method is told the starting points with `add`, and then alternates `ask` and `tell`; points are
values (d,). Each library is imported where it is used, since each has an environment of its own,
and is given the limits as its documentation advises, on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Protocol

import numpy as np

from known_limits_tasks import Array, Task

# What BoTorch's search is given by default, as elsewhere in these benchmarks.
_RESTARTS, _RAW = 10, 512
_STOCK = 4096


class Method(Protocol):
    """An optimizer that minimizes."""

    def add(self, points: Array, values: list[float]) -> None:
        """Learn the starting points (n, d)."""

    def ask(self, q: int) -> Array:
        """The next points (q, d)."""

    def tell(self, points: Array, values: list[float]) -> None:
        """Learn the values at the points last asked for."""


class RandomPoints:
    """Random points within the limits."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task, self.generator = task, np.random.default_rng([seed, 3])

    def add(self, points: Array, values: list[float]) -> None:
        pass

    def ask(self, q: int) -> Array:
        return self.task.points(q, self.generator)

    def tell(self, points: Array, values: list[float]) -> None:
        pass


class InnerLoop:
    """innerloop as it comes."""

    def __init__(self, task: Task, seed: int) -> None:
        from innerloop import Optimizer, Real, Space

        self.names = list(task.ranges)
        texts = [each.text for each in task.linear] + [f"{text} <= 0" for text in task.formulas]
        space = Space({name: Real(*ends) for name, ends in task.ranges.items()}, constraints=texts)
        self.optimizer = Optimizer(space, direction="minimize", seed=seed)

    def add(self, points: Array, values: list[float]) -> None:
        for point, value in zip(points.tolist(), values, strict=True):
            self.optimizer.add(dict(zip(self.names, point, strict=True)), value)

    def ask(self, q: int) -> Array:
        self.asked = self.optimizer.ask(q)
        return np.array([[trial.params[name] for name in self.names] for trial in self.asked])

    def tell(self, points: Array, values: list[float]) -> None:
        self.optimizer.tell(self.asked, values)


class BoTorch:
    """BoTorch's default model, fitted anew every round, and qLogEI, one point after the other.

    The model sees the unit cube, and values are negated, as BoTorch maximizes. Linear limits are
    given to `optimize_acqf` as such, which then samples the polytope itself. With formulas it wants
    to be given where to begin: the best by a Boltzmann draw, which is its own rule, of as many
    random points within the limits as it would have drawn, from a stock that is made once.
    """

    def __init__(self, task: Task, seed: int) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.task, self.seed, self.torch = task, seed, torch
        self.generator = np.random.default_rng([seed, 4])
        self.points, self.values = np.zeros((0, task.d)), []
        self.stock: Array | None = None
        self.bounds = torch.tensor([[0.0] * task.d, [1.0] * task.d], dtype=torch.float64)

    def add(self, points: Array, values: list[float]) -> None:
        self.points = np.vstack([self.points, points])
        self.values = [*self.values, *values]

    def tell(self, points: Array, values: list[float]) -> None:
        self.add(points, values)

    def ask(self, q: int) -> Array:
        from botorch.acquisition import qLogExpectedImprovement
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler

        torch, limits = self.torch, self._limits()
        # Another seed every round, so that errors of integration do not repeat.
        sampler = SobolQMCNormalSampler(torch.Size([256]), seed=1000 * self.seed + len(self.values))
        acquisition = qLogExpectedImprovement(
            self._fitted(), best_f=-min(self.values), sampler=sampler
        )
        effort = {"num_restarts": _RESTARTS, "raw_samples": _RAW}
        if self.task.is_linear:
            X, _ = optimize_acqf(acquisition, self.bounds, q=q, sequential=True, **effort, **limits)
        else:
            chosen = []
            for _ in range(q):
                acquisition.set_X_pending(torch.cat(chosen) if chosen else None)
                x, _ = optimize_acqf(
                    acquisition,
                    self.bounds,
                    q=1,
                    batch_initial_conditions=self._starts(acquisition),
                    **effort,
                    **limits,
                )
                chosen.append(x)
            X = torch.cat(chosen)
        return self.task.low + self.task.span * X.detach().numpy()

    def _limits(self) -> dict:
        """The limits over the unit cube, as `optimize_acqf` wants them."""
        torch, task = self.torch, self.task
        limits: dict = {}
        for equations, key, sign in (
            (False, "inequality_constraints", -1.0),
            (True, "equality_constraints", 1.0),
        ):
            A, b = task.sides(equations=equations)
            scale = np.abs(A).max(axis=1, initial=0.0)
            limits[key] = [
                (
                    torch.tensor(np.flatnonzero(row)),
                    torch.tensor(sign * row[row != 0.0] / size),
                    float(sign * value / size),
                )
                for row, value, size in zip(A, b, scale, strict=True)
            ] or None
        low, span = torch.tensor(task.low), torch.tensor(task.span)
        functions = {name: getattr(torch, name) for name in ("sqrt", "exp", "log", "abs")}
        if task.formulas:
            limits["nonlinear_inequality_constraints"] = [
                (lambda u, text=text: -task.formula(text, low + span * u, functions), True)
                for text in task.formulas
            ]
        return limits

    def _starts(self, acquisition):
        """Points within the limits to search from: (10, 1, d)."""
        from botorch.optim.initializers import initialize_q_batch

        torch, task = self.torch, self.task
        if self.stock is None:
            self.stock = (task.points(_STOCK, self.generator) - task.low) / task.span
        X = torch.tensor(self.generator.choice(self.stock, _RAW, replace=False))[:, None]
        with torch.no_grad():
            values = acquisition(X)
        chosen = initialize_q_batch(X, values, n=_RESTARTS)
        return chosen[0] if isinstance(chosen, tuple) else chosen

    def _fitted(self):
        """The model of what was observed."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch, task = self.torch, self.task
        X = torch.tensor((self.points - task.low) / task.span)
        Y = -torch.tensor(self.values, dtype=torch.float64)[:, None]
        model = SingleTaskGP(X, Y, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


class Ax:
    """Ax's client as it comes, with its parameter constraints, which are linear."""

    def __init__(self, task: Task, seed: int) -> None:
        import torch
        from ax.api.client import Client
        from ax.core.experiment import Experiment
        from ax.core.parameter import ParameterType, RangeParameter
        from ax.core.parameter_constraint import ParameterConstraint
        from ax.core.search_space import SearchSpace

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.names = list(task.ranges)
        # The client's own way to describe parameters takes no equations.
        space = SearchSpace(
            [
                RangeParameter(name, ParameterType.FLOAT, float(low), float(high))
                for name, (low, high) in task.ranges.items()
            ],
            parameter_constraints=[
                ParameterConstraint(**{"equality" if each.is_equation else "inequality": each.text})
                for each in task.linear
            ],
        )
        self.client = Client(random_seed=seed)
        self.client.set_experiment(Experiment(search_space=space, name="task"))
        self.client.configure_optimization(objective="-value")
        self.client.configure_generation_strategy(
            method="fast",
            initialization_budget=task.starts,
            initialization_random_seed=seed,
            initialize_with_center=False,
        )

    def add(self, points: Array, values: list[float]) -> None:
        for point, value in zip(points.tolist(), values, strict=True):
            index = self.client.attach_trial(dict(zip(self.names, point, strict=True)))
            self.client.complete_trial(index, {"value": value})

    def ask(self, q: int) -> Array:
        self.asked = self.client.get_next_trials(max_trials=q)
        return np.array([[each[name] for name in self.names] for each in self.asked.values()])

    def tell(self, points: Array, values: list[float]) -> None:
        for index, value in zip(self.asked, values, strict=True):
            self.client.complete_trial(index, {"value": value})


METHODS: dict[str, Callable[[Task, int], Method]] = {
    "innerloop": InnerLoop,
    "botorch": BoTorch,
    "ax": Ax,
    "random": RandomPoints,
}
_PACKAGES = {
    "innerloop": ("innerloop", "numpy", "scipy"),
    "botorch": ("botorch", "gpytorch", "torch"),
    "ax": ("ax-platform", "botorch", "torch"),
    "random": ("numpy",),
}


def takes(method: str, task: Task) -> bool:
    """Whether a method knows limits of these kinds."""
    return method != "ax" or task.is_linear


def versions(method: str) -> dict[str, str]:
    """The packages that a method consists of, with their versions."""
    return {name: version(name) for name in _PACKAGES[method]}
