"""Parameters that apply only with some values of others: what is found, told of it or not.

    python benchmarks/conditional.py                       # 10 seeds, 60 trials, one at a time
    python benchmarks/conditional.py --tasks tree --seeds 3 --out tree.jsonl

Runs go to a file, and those that are there already are not repeated. Tasks, all at best 0:

    tree       the tree of Jenatton et al. (2017): two choices lead to four parabolas
    optimizer  a made-up training run: three optimizers with parameters of their own
    layers     one to four layers, each with its units, and dropout that is on or off
    families   Branin, Hartmann-3 and a valley, one of which has to be chosen

A line shows the median regret after 15, 30 and 60 trials and the mean time of an ask by method:
`when`, innerloop with conditions; `free`, innerloop with the same parameters all of the time, those
that do not apply being ignored by the function; `tpe`, Optuna's default, define-by-run; `group`,
the same with `multivariate=True, group=True`; and `random`, points of the space at random.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np
import optuna

import innerloop as il
from results_file import append, load

Params = dict[str, Any]
SHOWN = (15, 30, 60)


class Task(NamedTuple):
    """What is minimized, parents before what depends on them; the function is 0 at best."""

    parameters: dict[str, il.Real | il.Integer | il.Choice]
    function: Callable[[Params], float]


def tree(p: Params) -> float:
    if p["x1"] == 0:
        return (p["x4"] if p["x2"] == 0 else p["x5"]) ** 2 + 0.1 * p["x2"] + p["r8"]
    return (p["x6"] if p["x3"] == 0 else p["x7"]) ** 2 + 0.2 + 0.1 * p["x3"] + p["r9"]


def optimizer(p: Params) -> float:
    decay = 0.02 * (math.log10(p["decay"]) + 4.0) ** 2
    if p["kind"] == "sgd":
        step = math.log10(p["lr_sgd"] / (1.0 - p["momentum"]))
        return 0.3 * (step - 0.5) ** 2 + (p["momentum"] - 0.9) ** 2 + decay
    if p["kind"] == "adam":
        rate = 0.2 * (math.log10(p["lr_adam"]) + 2.7) ** 2
        return 0.05 + rate + (p["beta"] - 0.85) ** 2 + 0.1 * p["amsgrad"] + decay
    return 0.1 + 0.2 * (math.log10(p["lr_rms"]) + 3.2) ** 2 + (p["rho"] - 0.95) ** 2 + decay


def layers(p: Params) -> float:
    n = p["layers"]
    units = [math.log2(p[f"units{k}"]) for k in range(1, n + 1)]
    loss = 0.2 * abs(n - 3) + sum((u - 7.0 + 0.5 * k) ** 2 for k, u in enumerate(units)) / (4 * n)
    if p["dropout"]:
        return loss + 2.0 * (p["rate"] - 0.2) ** 2
    return loss + 0.15


def families(p: Params) -> float:
    if p["family"] == "branin":
        x, y = 15.0 * p["b1"] - 5.0, 15.0 * p["b2"]
        bowl = (y - 5.1 * x**2 / (4.0 * math.pi**2) + 5.0 * x / math.pi - 6.0) ** 2
        return (bowl + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 9.602113) / 50.0 + 0.2
    if p["family"] == "hartmann":
        x = np.array([p["h1"], p["h2"], p["h3"]])
        peaks = np.exp(-(_RATES * (x - _CENTERS) ** 2).sum(axis=1))
        return max(3.862783 - float(np.array([1.0, 1.2, 3.0, 3.2]) @ peaks), 0.0)
    x, y = 4.0 * p["v1"] - 2.0, 4.0 * p["v2"] - 1.0
    return 0.4 + (100.0 * (y - x**2) ** 2 + (1.0 - x) ** 2) / 300.0


_RATES = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]])
_CENTERS = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)


def _real(low: float = 0.0, high: float = 1.0, *, log: bool = False, **when: Any) -> il.Real:
    return il.Real(low, high, log=log, when=when)


TASKS = {
    "tree": Task(
        {
            "x1": il.Choice([0, 1]),
            "x2": il.Choice([0, 1], when={"x1": 0}),
            "x3": il.Choice([0, 1], when={"x1": 1}),
            "r8": _real(x1=0),
            "r9": _real(x1=1),
            "x4": _real(-1.0, 1.0, x2=0),
            "x5": _real(-1.0, 1.0, x2=1),
            "x6": _real(-1.0, 1.0, x3=0),
            "x7": _real(-1.0, 1.0, x3=1),
        },
        tree,
    ),
    "optimizer": Task(
        {
            "kind": il.Choice(["sgd", "adam", "rms"]),
            "decay": _real(1e-7, 1e-1, log=True),
            "lr_sgd": _real(1e-4, 10.0, log=True, kind="sgd"),
            "momentum": _real(0.0, 0.99, kind="sgd"),
            "lr_adam": _real(1e-6, 1.0, log=True, kind="adam"),
            "beta": _real(0.0, 0.999, kind="adam"),
            "amsgrad": il.Choice([False, True], when={"kind": "adam"}),
            "lr_rms": _real(1e-6, 1.0, log=True, kind="rms"),
            "rho": _real(0.5, 0.999, kind="rms"),
        },
        optimizer,
    ),
    "layers": Task(
        {
            "layers": il.Integer(1, 4),
            **{
                f"units{k}": il.Integer(4, 1024, log=True, when={"layers": list(range(k, 5))})
                for k in range(1, 5)
            },
            "dropout": il.Choice([False, True]),
            "rate": _real(0.0, 0.8, dropout=True),
        },
        layers,
    ),
    "families": Task(
        {
            "family": il.Choice(["branin", "hartmann", "valley"]),
            **{name: _real(family="branin") for name in ("b1", "b2")},
            **{name: _real(family="hartmann") for name in ("h1", "h2", "h3")},
            **{name: _real(family="valley") for name in ("v1", "v2")},
        },
        families,
    ),
}


def by_innerloop(task: Task, number: int, seed: int, *, told: bool) -> Iterator[float]:
    parameters = task.parameters
    if not told:
        parameters = {name: replace(each, when=None) for name, each in parameters.items()}
    chooser = il.Optimizer(il.Space(parameters), seed=seed)
    for _ in range(number):
        trial = chooser.ask()
        yield chooser.tell(trial, task.function(trial.params)).value or 0.0


def by_optuna(
    task: Task, number: int, seed: int, *, sampler: Callable[..., Any], **settings: Any
) -> Iterator[float]:
    study = optuna.create_study(sampler=sampler(seed=seed, **settings))
    for _ in range(number):
        trial = study.ask()
        params: Params = {}
        for name, each in task.parameters.items():
            if all(params.get(parent) in values for parent, values in (each.when or {}).items()):
                params[name] = _suggested(trial, name, each)
        value = task.function(params)
        study.tell(trial, value)
        yield value


def _suggested(trial: optuna.Trial, name: str, each: il.Real | il.Integer | il.Choice) -> Any:
    if isinstance(each, il.Choice):
        return trial.suggest_categorical(name, each.values)
    suggest = trial.suggest_int if isinstance(each, il.Integer) else trial.suggest_float
    return suggest(name, each.low, each.high, log=each.log)


TPE, RANDOM = optuna.samplers.TPESampler, optuna.samplers.RandomSampler
METHODS: dict[str, Callable[[Task, int, int], Iterator[float]]] = {
    "when": lambda *run: by_innerloop(*run, told=True),
    "free": lambda *run: by_innerloop(*run, told=False),
    "tpe": lambda *run: by_optuna(*run, sampler=TPE),
    "group": lambda *run: by_optuna(*run, sampler=TPE, multivariate=True, group=True),
    "random": lambda *run: by_optuna(*run, sampler=RANDOM),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/conditional.jsonl"))
    parser.add_argument("--table", action="store_true", help="show what is there, run nothing")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    for seed in range(0 if arguments.table else arguments.seeds):
        for name in arguments.tasks:
            for method in arguments.methods:
                if (name, method, seed) not in load(arguments.out):
                    append(arguments.out, _run(name, method, seed))
    cells = load(arguments.out)
    print("task       method  " + "".join(f"{f'after {n}':>10}" for n in SHOWN) + "   ms an ask")
    for name in arguments.tasks:
        for method in arguments.methods:
            runs = [cells[key] for key in cells if key[:2] == (name, method)]
            if runs:
                found = [median(min(run["values"][:n]) for run in runs) for n in SHOWN]
                took = 1e3 * fmean(run["seconds"] for run in runs) / SHOWN[-1]
                shown = "".join(f"{value:10.4f}" for value in found)
                print(f"{name:10} {method:7} {shown} {took:11.1f}")


def _run(name: str, method: str, seed: int) -> dict[str, Any]:
    began = time.perf_counter()
    values = list(METHODS[method](TASKS[name], SHOWN[-1], seed))
    seconds = round(time.perf_counter() - began, 3)
    return {"task": name, "method": method, "seed": seed, "seconds": seconds, "values": values}


if __name__ == "__main__":
    main()
