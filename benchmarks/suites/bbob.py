"""The 24 functions of BBOB, through the package `ioh`."""

from __future__ import annotations

from catalogue import instance
from problem import Problem, Task
from task_parameters import Point, Range


def make_task(name: str, seed: int) -> Task:
    """The function of a name such as "bbob-5-f07", of the seed's instance."""
    import ioh

    _, d, function = name.split("-")
    problem = ioh.get_problem(
        int(function[1:]),
        instance=instance(seed),
        dimension=int(d),
        problem_class=ioh.ProblemClass.BBOB,
    )
    parameters = {f"x{i}": Range(-5.0, 5.0) for i in range(1, int(d) + 1)}

    def evaluate(point: Point) -> tuple[float, float]:
        value = problem([point[key] for key in parameters])
        return value, value - problem.optimum.y

    return Task(Problem(parameters), evaluate)
