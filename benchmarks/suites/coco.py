"""bbob-mixint and bbob-noisy, through the package `coco-experiment`."""

from __future__ import annotations

import contextlib
import tempfile

import numpy as np

from catalogue import instance
from problem import Problem, Task
from task_parameters import Point, Range, Whole

# A fifth of the values or fewer carry Cauchy noise: the median of so many is one that does not.
REPEATS = 31


def make_task(name: str, seed: int) -> Task:
    """The function of a name such as "mixint-5-f07" or "noisy-5-f101", of the seed's instance."""
    import cocoex

    family, d, function = name.split("-")
    suite = cocoex.Suite(f"bbob-{family}", f"instances: {instance(seed)}", f"dimensions: {d}")

    def problem(number: int):
        return suite.get_problem_by_function_dimension_instance(number, int(d), instance(seed))

    number = int(function[1:])
    if family == "noisy":
        # Of three functions in a row, which differ in their noise alone, the third has Cauchy's.
        return _noisy(problem(number), problem(number + 2 - (number - 101) % 3), seed)
    return _mixed(problem(number))


def _mixed(problem) -> Task:
    """Integers come first, in COCO's coordinates."""
    parameters: dict[str, Range | Whole] = {}
    bounds = zip(problem.lower_bounds.tolist(), problem.upper_bounds.tolist(), strict=True)
    for i, (low, high) in enumerate(bounds):
        whole = i < problem.number_of_integer_variables
        parameters[f"x{i + 1}"] = Whole(int(low), int(high)) if whole else Range(low, high)
    lowest = problem(_optimum(problem))

    def evaluate(point: Point) -> tuple[float, float]:
        value = problem([float(point[key]) for key in parameters])
        return value, value - lowest

    return Task(Problem(parameters), evaluate)


def _noisy(problem, with_cauchy, seed: int) -> Task:
    """A function whose values without noise are the usual ones of its Cauchy form.

    COCO has one stream of noise in a process, always the same one, and does not say what values
    are without noise. So a run has a process to itself, begins further on in the stream by its
    seed, and goes through it in the same order whatever the points are.
    """
    d = problem.dimension
    parameters = {f"x{i}": Range(-5.0, 5.0) for i in range(1, d + 1)}

    def usual(x: list[float]) -> float:
        return float(np.median([with_cauchy(x) for _ in range(REPEATS)]))

    for _ in range(1000 * seed):
        problem([4.0] * d)
    lowest = usual(_optimum(problem))

    def evaluate(point: Point) -> tuple[float, float]:
        x = [point[key] for key in parameters]
        return problem(x), usual(x) - lowest

    return Task(Problem(parameters, noise=True), evaluate)


def _optimum(problem) -> list[float]:
    """Where the optimum is (d,), which COCO writes into a file of the working directory."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        problem._best_parameter("print")
        return np.loadtxt("._bbob_problem_best_parameter.txt").tolist()
