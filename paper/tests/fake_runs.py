"""Results of runs that were never made, with regrets that a test chooses."""

from itertools import product

import numpy as np

from innerloop_paper.cells import Cell
from innerloop_paper.store import Result

PAPER = tuple(product(("adam", "cmaes", "random_search"), ("greedy", "joint")))


def run(logs, *, trial, maximizer="adam", parallelism="greedy", form="joint", draws=32, **panel):
    """The result of one run whose log10 regrets are `logs`, one after each batch."""
    settings = {
        **{"task": "synthetic", "d": 4, "q": 4, "acquisition": "ei"},
        **{"budget": 2**12, "clock": "evaluations"},
        **panel,
    }
    k, q = len(logs), settings["q"]
    cell = Cell(
        **settings,
        form="incremental" if maximizer == "innerloop" else form,
        parallelism=parallelism,
        maximizer=maximizer,
        draws=draws,
        evaluations=3 + q * (k - 1),
        trial=trial,
    )
    table = {
        "evaluations": [3 + q * i for i in range(k)],
        "regret": [float(10.0**value) if value > -np.inf else 0.0 for value in logs],
        "acquisition": [float("nan"), *[1.0] * (k - 1)],
        "inner_evaluations": [0, *[10] * (k - 1)],
        **{f"{phase}_seconds": [0.5] * k for phase in ("fit", "suggest", "evaluate")},
    }
    return Result(cell, table)


def runs(logs, **settings):
    """Runs of one method, one for each trial, from log10 regrets (trials, batches + 1)."""
    return [run(row, trial=trial, **settings) for trial, row in enumerate(logs)]


def noisy(seed, level, *, trials=8, batches=6, spread=0.1):
    """log10 regrets (trials, batches + 1) that fall from about 0 to about `level`."""
    rng = np.random.default_rng(seed)
    fall = np.linspace(0.0, 1.0, batches + 1)
    return level * fall + spread * rng.standard_normal((trials, batches + 1))


def everything(effects, *, seed=0, trials=6):
    """A small grid in which every method is ahead by the sum of its effects."""
    results = []
    tasks = (("synthetic", 4, 4), ("synthetic", 8, 8), ("withheld", 4, 4))
    tasks += (("hartmann-6", 6, 4), ("levy", 4, 4))
    for k, (task, d, q) in enumerate(tasks):
        for a, acquisition in enumerate(("ei", "ucb")):
            methods = [(*method, "joint", 32) for method in PAPER]
            methods.append(("innerloop", "greedy", "incremental", 64))
            if (task, acquisition) == ("synthetic", "ei"):
                methods += [(one, "greedy", "incremental", 16) for one, p in PAPER if p == "greedy"]
            for j, (maximizer, parallelism, form, draws) in enumerate(methods):
                ahead = effects(task, d * q, acquisition, maximizer, parallelism, form)
                logs = noisy([seed, k, a, j], -1.0 - ahead, trials=trials, spread=0.02)
                results += runs(
                    logs,
                    **{"maximizer": maximizer, "parallelism": parallelism, "form": form},
                    **{"task": task, "d": d, "q": q, "acquisition": acquisition, "draws": draws},
                )
    return results


def as_the_paper_says(task, size, acquisition, maximizer, parallelism, form):
    """How far ahead a method is if all claims hold."""
    gain = {"adam": 0.02, "cmaes": 0.004, "random_search": 0.0, "innerloop": 0.08}[maximizer]
    ahead = gain * size
    ahead += 0.02 * size * (parallelism == "greedy")
    ahead += 0.3 * (acquisition == "ucb") * (-1 if task == "levy" else 1)
    if form == "incremental":
        ahead += 0.03 * size * (3 if maximizer == "cmaes" else 1)
    return ahead
