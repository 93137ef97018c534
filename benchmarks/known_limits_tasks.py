"""Tasks with known limits whose optimum is known too: the minimum of a function within them.

Limits are texts that Python reads, over names of reals: linear ones by their coefficients, others
as a formula that may not be above 0. G04 to G09 are those of the collection for CEC 2006 (Liang et
al. 2006), and the designs of a vessel, a spring and a beam are the well-known ones, the vessel
without steps; all optima are those of `known_limits.py --check`, which agree with the best that
are published. Nothing here needs more than NumPy and SciPy, so that it loads in every rival's
environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import known_limits_functions as functions
from known_limits_functions import Array

Q, EVALUATIONS = 4, 48
# Suggestions may be beyond a limit by as much as this, in units of the limit's own sides.
ALLOWED = 1e-6
_FUNCTIONS = {"sqrt": np.sqrt, "exp": np.exp, "log": np.log, "abs": np.abs}


@dataclass(frozen=True)
class Linear:
    """The sum of coefficients times values is at most a value, or equal to it."""

    coefficients: Mapping[str, float]
    value: float
    is_equation: bool = False

    @property
    def text(self) -> str:
        terms = " + ".join(f"{c!r}*{name}" for name, c in self.coefficients.items())
        return f"{terms} {'==' if self.is_equation else '<='} {self.value!r}"


@dataclass(frozen=True, eq=False)
class Task:
    """A function of reals to be minimized within limits.

    formulas: may not be above 0. inside: values that meet all limits. spread: about how much the
    function varies among feasible points. optimum: its minimum.
    """

    name: str
    ranges: Mapping[str, tuple[float, float]]
    function: Callable[[Array], Array]
    optimum: float
    inside: Sequence[float]
    spread: float
    linear: tuple[Linear, ...] = ()
    formulas: tuple[str, ...] = ()

    @property
    def d(self) -> int:
        return len(self.ranges)

    @cached_property
    def low(self) -> Array:
        return np.array([low for low, _ in self.ranges.values()], dtype=float)

    @cached_property
    def span(self) -> Array:
        return np.array([high for _, high in self.ranges.values()], dtype=float) - self.low

    @property
    def starts(self) -> int:
        """A run begins with 2 (d + 1) points, a quarter of all at most, in whole rounds."""
        return Q * math.ceil(min(2 * (self.d + 1), EVALUATIONS / 4) / Q)

    @property
    def is_linear(self) -> bool:
        return not self.formulas

    def sides(self, *, equations: bool) -> tuple[Array, Array]:
        """A and b of the inequalities A u <= b, or the equations A u = b, over the unit cube."""
        chosen = [each for each in self.linear if each.is_equation == equations]
        A = np.array([[each.coefficients.get(n, 0.0) for n in self.ranges] for each in chosen])
        A = A.reshape(len(chosen), self.d)
        b = np.array([each.value for each in chosen]) - A @ self.low
        return A * self.span, b

    def formula(self, text: str, x, known: Mapping[str, Callable] = _FUNCTIONS):
        """A formula at values x (..., d), of NumPy's or of a library with such functions."""
        names = {name: x[..., k] for k, name in enumerate(self.ranges)}
        return eval(text, {"__builtins__": {}, **known, **names})

    def excess(self, x: Array) -> Array:
        """By how much values x (..., d) are beyond the limit that they miss most: (...)."""
        u = (x - self.low) / self.span
        over = [np.maximum(np.maximum(-u, u - 1.0).max(axis=-1), 0.0)]
        for equations in (False, True):
            A, b = self.sides(equations=equations)
            for row, limit in zip(A, b, strict=True):
                gap = (u @ row - limit) / np.abs(row).max()
                over.append(np.abs(gap) if equations else np.maximum(gap, 0.0))
        over += [np.maximum(self.formula(text, x), 0.0) for text in self.formulas]
        return np.max(over, axis=0)

    def value(self, x: Array) -> float:
        """The function at values (d,)."""
        return float(self.function(x))

    def points(self, number: int, generator: np.random.Generator) -> Array:
        """Random values within the limits (number, d): the ends of as many random walks.

        Hit-and-run in the plane of the equations (Smith 1984), on lines that are cut shorter where
        they leave the limits, as in slice sampling (Neal 2003).
        """
        E, _ = self.sides(equations=True)
        plane = np.linalg.svd(E)[2][len(E) :] if len(E) else np.eye(self.d)
        u = np.tile((np.array(self.inside) - self.low) / self.span, (number, 1))
        ways = plane
        for step in range(20 + 10 * self.d):
            if step % 10 == 5 and number > 2 * self.d:
                # As far as points have gone, so that narrow limits are walked along.
                size, axes = np.linalg.eigh(np.cov(u.T))
                ways = 2.0 * (np.sqrt(np.maximum(size, 1e-12)) * axes).T @ plane.T @ plane
            way = generator.standard_normal((number, len(ways))) @ ways
            way /= np.linalg.norm(way, axis=1, keepdims=True)
            ends = np.stack([-u / way, (1.0 - u) / way])
            ahead, behind = ends.max(axis=0).min(axis=1), ends.min(axis=0).max(axis=1)
            left = np.arange(number)
            for _ in range(30):
                t = behind[left] + (ahead - behind)[left] * generator.random(len(left))
                moved = np.clip(u[left] + t[:, None] * way[left], 0.0, 1.0)
                good = self.excess(self.low + self.span * moved) <= 1e-9
                ahead[left] = np.where(t > 0.0, t, ahead[left])
                behind[left] = np.where(t > 0.0, behind[left], t)
                u[left[good]] = moved[good]
                left = left[~good]
        return self.low + self.span * u


def _mixture(names: Sequence[str]) -> Linear:
    return Linear(dict.fromkeys(names, 1.0), 1.0, is_equation=True)


def _units(n: int) -> dict[str, tuple[float, float]]:
    return {f"x{k}": (0.0, 1.0) for k in range(n)}


_SHEAR = "(6000/(1.4142135623730951*h*l))"
_BENDING = (
    "(6000*(14+l/2)*sqrt(l**2/4+((h+t)/2)**2)/(2*(1.4142135623730951*h*l*(l**2/12+((h+t)/2)**2))))"
)
_BUCKLING = "(4.013*30e6*t*b**3/6/196*(1-t/28*0.7905694150420949))"  # sqrt(E / (4 G)) = 0.79

TASKS = {
    task.name: task
    for task in (
        Task(
            "mixture-3", dict.fromkeys("abc", (0.0, 1.0)), functions.mixture_3,
            0.4632362391852567, [1 / 3] * 3, 1.0,
            linear=(_mixture("abc"),),
        ),
        Task(
            "mixture-7", _units(7), functions.mixture_7, -0.0472481428959666, [1 / 7] * 7, 0.3,
            linear=(_mixture(list(_units(7))),),
        ),
        Task(
            "mixture-20", _units(20), functions.mixture_20, 0.116675421745767, [0.05] * 20, 0.15,
            linear=(_mixture(list(_units(20))),),
        ),
        Task(
            "process", {**dict.fromkeys("abcd", (0.0, 1.0)), "T": (20.0, 120.0)}, functions.process,
            0.533027189321474, [0.25, 0.25, 0.25, 0.25, 60.0], 0.4,
            linear=(_mixture("abcd"),),
            formulas=("T*a/40 - 1", "exp(3*b + 2*c - 1.5*(T - 20)/100)/3 - 1"),
        ),
        Task(
            "hartmann-6", _units(6), functions.hartmann, -2.595108293729442, [0.2] * 6, 0.4,
            linear=(
                Linear(dict.fromkeys(_units(6), 1.0), 1.5),
                Linear({"x0": 1.0, "x1": -1.0, "x5": -0.5}, 0.0),
            ),
        ),
        Task(
            "vessel",
            {"s": (0.1, 6.1875), "h": (0.1, 6.1875), "r": (10.0, 200.0), "length": (10.0, 200.0)},
            functions.vessel, 5885.332773615936, [1.5, 1.0, 55.0, 120.0], 100000.0,
            linear=(Linear({"s": -1.0, "r": 0.0193}, 0.0), Linear({"h": -1.0, "r": 0.00954}, 0.0)),
            formulas=("1 - 3.141592653589793*r**2*(length + 4*r/3)/1296000",),
        ),
        Task(
            "spring", {"d": (0.05, 2.0), "D": (0.25, 1.3), "n": (2.0, 15.0)},
            functions.spring, 0.012665232788082, [0.06, 0.5, 8.0], 0.05,
            linear=(Linear({"d": 1.0, "D": 1.0}, 1.5),),
            formulas=(
                "1 - D**3*n/(71785*d**4)",
                "(4*D**2 - d*D)/(12566*(D*d**3 - d**4)) + 1/(5108*d**2) - 1",
                "1 - 140.45*d/(D**2*n)",
            ),
        ),
        Task(
            "beam", {"h": (0.125, 5.0), "l": (0.1, 10.0), "t": (0.1, 10.0), "b": (0.1, 5.0)},
            functions.beam, 1.7248523085573972, [0.25, 6.0, 9.0, 0.3], 2.0,
            linear=(Linear({"h": 1.0, "b": -1.0}, 0.0),),
            formulas=(
                f"sqrt({_SHEAR}**2 + 2*{_SHEAR}*{_BENDING}*l/(2*sqrt(l**2/4+((h+t)/2)**2))"
                f" + {_BENDING}**2)/13600 - 1",
                "504000/(b*t**2)/30000 - 1",
                "(0.10471*h**2 + 0.04811*t*b*(14 + l))/5 - 1",
                "2.1952/(t**3*b)/0.25 - 1",
                f"1 - {_BUCKLING}/6000",
            ),
        ),
        Task(
            "G04",
            {"a": (78, 102), "b": (33, 45), "c": (27, 45), "d": (27, 45), "e": (27, 45)},
            functions.g04, -30665.5386718124, [80.0, 35.0, 32.0, 40.0, 36.0], 1500.0,
            formulas=(
                "(85.334407 + 0.0056858*b*e + 0.0006262*a*d - 0.0022053*c*e)/92 - 1",
                "-(85.334407 + 0.0056858*b*e + 0.0006262*a*d - 0.0022053*c*e)/92",
                "(80.51249 + 0.0071317*b*e + 0.0029955*a*b + 0.0021813*c**2)/110 - 1",
                "1 - (80.51249 + 0.0071317*b*e + 0.0029955*a*b + 0.0021813*c**2)/90",
                "(9.300961 + 0.0047026*c*e + 0.0012547*a*c + 0.0019085*c*d)/25 - 1",
                "1 - (9.300961 + 0.0047026*c*e + 0.0012547*a*c + 0.0019085*c*d)/20",
            ),
        ),
        Task(
            "G06", {"a": (13.0, 100.0), "b": (0.0, 100.0)}, functions.g06, -6961.8138777,
            [15.05, 5.0], 1000.0,
            formulas=("1 - ((a - 5)**2 + (b - 5)**2)/100", "((a - 6)**2 + (b - 5)**2)/82.81 - 1"),
        ),
        Task(
            "G07", dict.fromkeys("abcdefghij", (-10.0, 10.0)), functions.g07, 24.3062090681,
            [2.8, 1.2, 6.1, 6.1, -0.2, 2.0, 4.0, -1.2, 6.1, 7.1], 1000.0,
            linear=(
                Linear({"a": 4.0, "b": 5.0, "g": -3.0, "h": 9.0}, 105.0),
                Linear({"a": 10.0, "b": -8.0, "g": -17.0, "h": 2.0}, 0.0),
                Linear({"a": -8.0, "b": 2.0, "i": 5.0, "j": -2.0}, 12.0),
            ),
            formulas=(
                "(3*(a - 2)**2 + 4*(b - 3)**2 + 2*c**2 - 7*d)/120 - 1",
                "(5*a**2 + 8*b + (c - 6)**2 - 2*d)/40 - 1",
                "(a**2 + 2*(b - 2)**2 - 2*a*b + 14*e - 6*f)/100",
                "(0.5*(a - 8)**2 + 2*(b - 4)**2 + 3*e**2 - f)/30 - 1",
                "(-3*a + 6*b + 12*(i - 8)**2 - 7*j)/100",
            ),
        ),
        Task(
            "G09", dict.fromkeys("abcdefg", (-10.0, 10.0)), functions.g09, 680.630057374,
            [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0], 1e6,
            formulas=(
                "(2*a**2 + 3*b**4 + c + 4*d**2 + 5*e)/127 - 1",
                "(7*a + 3*b + 10*c**2 + d - e)/282 - 1",
                "(23*a + b**2 + 6*f**2 - 8*g)/196 - 1",
                "(4*a**2 + b**2 - 3*a*b + 2*c**2 + 5*f - 11*g)/100",
            ),
        ),
    )
}  # fmt: skip


def best_found(task: Task, climbs: int = 200, seed: int = 0) -> tuple[float, Array]:
    """The lowest value that SLSQP finds from random points, and where; a check of the optimum."""
    from scipy.optimize import minimize

    limits = []
    for equations in (True, False):
        A, b = task.sides(equations=equations)
        if len(A):
            gap = {"type": "eq" if equations else "ineq", "fun": lambda u, A=A, b=b: b - A @ u}
            limits.append(gap)
    limits += [
        {"type": "ineq", "fun": lambda u, g=text: -task.formula(g, task.low + task.span * u)}
        for text in task.formulas
    ]
    best, where = np.inf, task.low
    for x in task.points(climbs, np.random.default_rng(seed)):
        found = minimize(
            lambda u: task.value(task.low + task.span * np.clip(u, 0.0, 1.0)) / task.spread,
            (x - task.low) / task.span,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * task.d,
            constraints=limits,
            options={"ftol": 1e-13, "maxiter": 300},
        )
        there = task.low + task.span * np.clip(found.x, 0.0, 1.0)
        if task.excess(there) <= 1e-8 and task.value(there) < best:
            best, where = task.value(there), there
    return best, where
