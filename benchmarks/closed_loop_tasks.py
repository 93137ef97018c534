"""Functions to minimize in closed loop, with their optima; nothing here knows of any optimizer.

A task is a space of named parameters, a function of a point (a dict of plain values), and the
smallest value that function takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

import innerloop as il
from innerloop_paper import functions
from task_parameters import Options, Point, Range, Whole, at_fractions


@dataclass(frozen=True)
class Task:
    """A function to minimize; observations carry Gaussian noise of the given standard deviation."""

    name: str
    parameters: Mapping[str, Range | Whole | Options]
    function: Callable[[Point], float]
    optimum: float
    noise: float = 0.0

    @property
    def d(self) -> int:
        return len(self.parameters)

    @property
    def evaluations(self) -> int:
        """Evaluations in all, the initial points included."""
        return 128 if self.d >= 8 else 64

    def initial_points(self, seed: int, q: int) -> list[Point]:
        """2 d + 2 Sobol points or a few more, for whole rounds of q."""
        count = q * math.ceil((2 * self.d + 2) / q)
        sobol = qmc.Sobol(self.d, seed=np.random.default_rng([seed, 0]))
        return [self.decode(u) for u in sobol.random_base2(math.ceil(math.log2(count)))[:count]]

    def decode(self, u: np.ndarray) -> Point:
        """The point at fractions u (d,) of the parameters' ranges."""
        return at_fractions(u.tolist(), self.parameters)

    def regret(self, point: Point) -> float:
        """How far the noise-free value is above the optimum."""
        for name, parameter in self.parameters.items():
            if not parameter.contains(point[name]):
                raise ValueError(f"{name} must be in {parameter}, got {point[name]!r}")
        return float(self.function(point)) - self.optimum


def _reals(
    name: str,
    bounds: list[tuple[float, float]],
    function: Callable[[np.ndarray], float],
    optimum: float = 0.0,
    noise: float = 0.0,
) -> Task:
    """A task over real parameters x0, x1, ... from a function of their array (d,)."""
    parameters = {f"x{i}": Range(low, high) for i, (low, high) in enumerate(bounds)}
    return Task(
        name,
        parameters,
        lambda point: function(np.array([point[key] for key in parameters])),
        optimum,
        noise,
    )


def branin(x: np.ndarray) -> float:
    valley = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10


def hartmann(x: np.ndarray) -> float:
    return -float(functions.hartmann(x))


def levy(x: np.ndarray) -> float:
    w = 1 + (x - 1) / 4
    inner = ((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)).sum()
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + inner + last)


def ackley(x: np.ndarray) -> float:
    bowl = -20 * np.exp(-0.2 * np.sqrt((x**2).mean()))
    return float(bowl - np.exp(np.cos(2 * np.pi * x).mean()) + 20 + np.e)


def rosenbrock(x: np.ndarray) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def _gp_draw(seed: int, d: int = 8) -> Task:
    """The negative of a draw from a Matern-5/2 prior, another one for every seed."""
    gp = il.GaussianProcess(il.Matern52(np.full(d, np.sqrt(d) / 4)))
    draw = il.prior_draws(gp, d, seed=np.random.default_rng([seed, 2]))

    def negative(x: np.ndarray) -> float:
        return -float(draw(x)[0])

    def with_slope(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = draw.value_and_grad(x)
        return -float(value[0]), -slope[0]

    # The best of many points each start a local search; the lowest end is taken for the optimum.
    spread = qmc.Sobol(d, seed=seed).random_base2(13)
    starts = spread[np.argsort(draw(spread)[0])[-256:]]
    box = [(0.0, 1.0)] * d
    ends = [minimize(with_slope, x, jac=True, method="L-BFGS-B", bounds=box).fun for x in starts]
    return _reals("gp-draw-8", box, negative, min(ends))


_SCHEDULES = ("constant", "step", "cosine", "linear")
_SOLVERS = ("plain", "momentum", "adaptive")
# What the best setting of the numbers reaches with each solver (row) and schedule (column), the
# number of layers that suits each solver, and its best rate as a share of the logarithmic range.
_PAIR_COST = np.array([[0.9, 0.5, 0.6, 0.35], [0.6, 0.25, 0.3, 0.4], [0.45, 0.5, 0.0, 0.3]])
_SUITED_LAYERS = {"plain": 3, "momentum": 6, "adaptive": 5}
_SUITED_RATE = {"plain": 0.85, "momentum": 0.6, "adaptive": 0.35}
_SUITED_DECAY = {"constant": 0.2, "step": 0.8, "cosine": 0.6, "linear": 0.4}


def tuning(point: Point) -> float:
    """A made-up training run: the best numbers depend on the choices and on each other.

    Zero at adaptive, cosine, 5 layers, decay 0.6, dropout 0.31 and the rate 10^-3.6; above
    elsewhere.
    """
    solver, schedule, layers = point["solver"], point["schedule"], point["layers"]
    surplus = layers - _SUITED_LAYERS[solver]
    rate = (math.log10(point["rate"]) + 5) / 4 - _SUITED_RATE[solver] + 0.05 * surplus
    decay = point["decay"] - _SUITED_DECAY[schedule]
    dropout = point["dropout"] - 0.3 * point["decay"] - 0.13 + 0.06 * surplus
    pair = _PAIR_COST[_SOLVERS.index(solver), _SCHEDULES.index(schedule)]
    ripple = 0.1 * math.sin(3 * math.pi * dropout) ** 2
    return float(pair + 4 * rate**2 + decay**2 + 2 * dropout**2 + ripple + 0.03 * surplus**2)


_MIXED = {
    "rate": Range(1e-5, 1e-1, log=True),
    "decay": Range(0.0, 1.0),
    "dropout": Range(0.0, 1.0),
    "layers": Whole(1, 8),
    "solver": Options(_SOLVERS),
    "schedule": Options(_SCHEDULES),
}
_UNIT = (0.0, 1.0)
_HARTMANN_3, _HARTMANN_6 = -functions.MAXIMA["hartmann-3"], -functions.MAXIMA["hartmann-6"]

_TASKS: dict[str, Callable[[int], Task]] = {
    "branin": lambda _: _reals("branin", [(-5, 10), (0, 15)], branin, 10 / (8 * np.pi)),
    "hartmann-3": lambda _: _reals("hartmann-3", [_UNIT] * 3, hartmann, _HARTMANN_3),
    "hartmann-6": lambda _: _reals("hartmann-6", [_UNIT] * 6, hartmann, _HARTMANN_6),
    "levy-4": lambda _: _reals("levy-4", [(-10, 10)] * 4, levy),
    "ackley-5": lambda _: _reals("ackley-5", [(-32.768, 32.768)] * 5, ackley),
    "rosenbrock-4": lambda _: _reals("rosenbrock-4", [(-5, 10)] * 4, rosenbrock),
    "gp-draw-8": _gp_draw,
    "mixed": lambda _: Task("mixed", _MIXED, tuning, 0.0),
    "noisy": lambda _: _reals("noisy", [_UNIT] * 6, hartmann, _HARTMANN_6, noise=0.2),
}
NAMES = tuple(_TASKS)


@cache
def make_task(name: str, seed: int) -> Task:
    """The task of that name; only the draw from a prior depends on the seed."""
    return _TASKS[name](seed)
