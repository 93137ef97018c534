"""The optimizers of the suites, each behind the same few calls, in an environment of its own.

Those of the closed loop are used as they are there. The others are here, each as its own
documentation advises: told the starting points with `add`, then asked and told in turns.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from closed_loop_rivals import METHODS as CLOSED_LOOP
from closed_loop_rivals import Method, Remembering
from problem import Problem
from task_parameters import Options, Point, Range, Whole, decoded, encoded
from turbo import Turbo


class CmaEs(Remembering):
    """CMA-ES on the unit cube, from the best starting point; a batch is part of a population.

    A population is that of the package, and more where it has to consist of whole batches of q.
    Integers are rounded.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem)
        self.seed = seed
        self.strategy = None
        self.queue: list[np.ndarray] = []
        self.population: list[tuple[np.ndarray, float]] = []

    def ask(self, q: int) -> list[Point]:
        if self.strategy is None:
            self.strategy = self._started(q)
        if not self.queue:
            self.queue = list(self.strategy.ask())
        self.asked, self.queue = self.queue[:q], self.queue[q:]
        return [decoded(x.tolist(), self.task.parameters) for x in self.asked]

    def tell(self, points: list[Point], values: list[float]) -> None:
        self.add(points, values)
        self.population += zip(self.asked, values, strict=True)
        if not self.queue:
            self.strategy.tell(*map(list, zip(*self.population, strict=True)))
            self.population = []

    def _started(self, q: int):
        import cma

        d = self.task.d
        usual = 4 + int(3 * np.log(d))
        options = {
            "bounds": [[0.0] * d, [1.0] * d],
            "popsize": q * -(-usual // q),
            # A seed of 0 stands for the clock.
            "seed": self.seed + 1,
            "verbose": -9,
        }
        start = encoded(self.recommend(), self.task.parameters)
        return cma.CMAEvolutionStrategy(start, 0.25, options)


class Hebo(Remembering):
    """HEBO as it comes."""

    def __init__(self, problem: Problem, seed: int) -> None:
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        super().__init__(problem)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - by which HEBO draws
        random.seed(seed)
        described = [self._described(name, kind) for name, kind in problem.parameters.items()]
        self.optimizer = HEBO(DesignSpace().parse(described), scramble_seed=seed)

    @staticmethod
    def _described(name: str, kind: Range | Whole | Options) -> dict:
        if isinstance(kind, Options):
            return {"name": name, "type": "cat", "categories": list(kind.values)}
        if isinstance(kind, Whole):
            return {"name": name, "type": "int", "lb": kind.low, "ub": kind.high}
        if kind.log:
            return {"name": name, "type": "pow", "lb": kind.low, "ub": kind.high, "base": 10}
        return {"name": name, "type": "num", "lb": kind.low, "ub": kind.high}

    def add(self, points: list[Point], values: list[float]) -> None:
        from pandas import DataFrame

        super().add(points, values)
        frame = DataFrame(points, columns=list(self.task.parameters))
        self.optimizer.observe(frame, np.array(values)[:, None])

    def ask(self, q: int) -> list[Point]:
        rows = self.optimizer.suggest(n_suggestions=q).to_dict("records")
        return [plain(row, self.task) for row in rows]


class Smac(Remembering):
    """SMAC's facade for reals where all parameters are real, and the one for tuning elsewhere.

    The model is fitted anew every round, of which the best challengers are a batch.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem)
        self.seed = seed
        self.facade = None
        # SMAC keeps files; this folder goes with the process.
        self.folder = tempfile.TemporaryDirectory()

    def ask(self, q: int) -> list[Point]:
        if self.facade is None:
            self.facade = self._started(q)
            self._tell([self._trial(point) for point in self.points], self.values)
        self.asked = [self.facade.ask() for _ in range(q)]
        return [plain(dict(trial.config), self.task) for trial in self.asked]

    def tell(self, points: list[Point], values: list[float]) -> None:
        super().tell(points, values)
        self._tell(self.asked, values)

    def _tell(self, trials: list, values: list[float]) -> None:
        from smac.runhistory.dataclasses import TrialValue

        for trial, value in zip(trials, values, strict=True):
            self.facade.tell(trial, TrialValue(cost=value), save=False)

    def _trial(self, point: Point):
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo

        return TrialInfo(Configuration(self.space, point), seed=0)

    def _started(self, q: int):
        import ConfigSpace
        from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario

        def converted(name: str, kind: Range | Whole | Options):
            if isinstance(kind, Range):
                return ConfigSpace.Float(name, (kind.low, kind.high), log=kind.log)
            if isinstance(kind, Whole):
                return ConfigSpace.Integer(name, (kind.low, kind.high))
            return ConfigSpace.Categorical(name, list(kind.values))

        parameters = self.task.parameters
        self.space = ConfigSpace.ConfigurationSpace(seed=self.seed)
        self.space.add([converted(name, kind) for name, kind in parameters.items()])
        scenario = Scenario(
            self.space,
            deterministic=True,
            n_trials=10_000,
            seed=self.seed,
            output_directory=self.folder.name,
        )
        real = all(isinstance(kind, Range) for kind in parameters.values())
        facade = BlackBoxFacade if real else HyperparameterOptimizationFacade
        return facade(
            scenario,
            _not_called,
            initial_design=facade.get_initial_design(scenario, n_configs=0),
            config_selector=facade.get_config_selector(scenario, retrain_after=q),
            logging_level=False,
            overwrite=True,
        )


def _not_called(config, seed: int = 0) -> float:
    """SMAC wants to know a function even where it is asked and told."""
    raise NotImplementedError


def plain(point: dict, problem: Problem) -> Point:
    """A point of plain values, which rounding may have put just outside their ranges."""
    values: Point = {}
    for name, kind in problem.parameters.items():
        if isinstance(kind, Range):
            values[name] = min(max(float(point[name]), kind.low), kind.high)
        else:
            values[name] = int(point[name]) if isinstance(kind, Whole) else str(point[name])
    return values


@dataclass(frozen=True)
class Rival:
    """An optimizer, the environment that it has, and the packages whose versions matter."""

    make: Callable[..., Method]
    environment: str
    packages: tuple[str, ...]
    takes_choices: bool = True


METHODS = {
    "innerloop": Rival(CLOSED_LOOP["innerloop"], "suites", ("numpy", "scipy")),
    "botorch": Rival(CLOSED_LOOP["botorch"], "botorch", ("botorch", "gpytorch", "torch")),
    "turbo": Rival(Turbo, "botorch", ("botorch", "gpytorch", "torch"), takes_choices=False),
    "optuna-gp": Rival(CLOSED_LOOP["optuna-gp"], "optuna", ("optuna", "torch", "greenlet")),
    "optuna-tpe": Rival(CLOSED_LOOP["optuna-tpe"], "optuna", ("optuna",)),
    "cma": Rival(CmaEs, "cma", ("cma",), takes_choices=False),
    "hebo": Rival(Hebo, "hebo", ("HEBO", "torch", "pymoo", "numpy")),
    "smac": Rival(Smac, "smac", ("smac", "ConfigSpace")),
    "random": Rival(CLOSED_LOOP["random"], "suites", ("numpy",)),
}


def versions(method: str) -> dict[str, str]:
    """The packages that a method consists of, with their versions; none where one is missing."""
    found = {}
    for name in METHODS[method].packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found
