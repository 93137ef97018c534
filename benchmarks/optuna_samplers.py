"""InnerLoopSampler beside Optuna's own GPSampler and TPESampler, all inside Optuna.

    python benchmarks/optuna_samplers.py                  # needs the `bench` extra; an hour or so
    python benchmarks/optuna_samplers.py -n 20 --seeds 1 --evaluations 24 --repetitions 1

Time per ask: a study in memory knows n results of Hartmann-6. A first ask, whose value is told,
lets samplers that go on from their last fit have one; then four asks are timed, with nothing told
in between. Samplers take turns, each with a study of its own, and the best of the repetitions is
kept for every ask.

Regret: four workers, which is four asks and then four tells, until 64 evaluations are made, from
the same initial points for all.

TPESampler works with multivariate=True and constant_liar=True, as its documentation advises for
parameters that interact and for parallel workers. One thread for everything.
"""

from __future__ import annotations

import os

# Libraries read these once, when they are imported.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Callable

import numpy as np
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from threadpoolctl import threadpool_limits

import optuna_setup
from closed_loop import Evaluator, Stopwatch
from closed_loop_report import FLOOR
from closed_loop_rivals import Optuna
from closed_loop_tasks import Task, make_task
from innerloop.integrations.optuna import InnerLoopSampler
from timing import timed

WORKERS = 4
OURS = "InnerLoopSampler"
SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    OURS: lambda seed: InnerLoopSampler(seed=seed, n_startup_trials=0),
    "GPSampler": lambda seed: GPSampler(seed=seed, n_startup_trials=0),
    "TPESampler": lambda seed: TPESampler(
        seed=seed, n_startup_trials=0, multivariate=True, constant_liar=True
    ),
}


class InOptuna(Optuna):
    """A study in memory with one of the samplers."""

    def __init__(self, task: Task, seed: int, sampler: str) -> None:
        super().__init__(task, seed, "tpe")
        self.study.sampler = SAMPLERS[sampler](seed)


def seconds_of_asks(sampler: str, n: int, seed: int) -> np.ndarray:
    """Seconds of each of the four asks that follow a result: (4,)."""
    task = make_task("hartmann-6", seed)
    evaluate = Evaluator(task, seed)
    method = InOptuna(task, seed, sampler)
    points = [task.decode(u) for u in np.random.default_rng(seed).random((n - 1, task.d))]
    method.add(points, evaluate(points))
    last = method.ask(1)
    method.tell(last, evaluate(last))
    return np.array([timed(lambda: method.ask(1)).seconds for _ in range(WORKERS)])


def print_times(sizes: list[int], seeds: int, repetitions: int) -> None:
    print(
        "Time per ask in ms: the first after a result, and the mean of all four, median of seeds\n"
    )
    print(f"| n | sampler | first ask | all four | times {OURS} |")
    print("|---|---|---|---|---|", flush=True)
    for n in sizes:
        best = {name: np.full((seeds, WORKERS), np.inf) for name in SAMPLERS}
        for seed in range(seeds):
            for _ in range(repetitions):
                for name, times in best.items():
                    times[seed] = np.minimum(times[seed], seconds_of_asks(name, n, seed))
        typical = {name: np.median(times.mean(axis=1)) for name, times in best.items()}
        for name, times in best.items():
            first = 1e3 * np.median(times[:, 0])
            ratio = typical[name] / typical[OURS]
            print(f"| {n} | {name} | {first:.1f} | {1e3 * typical[name]:.1f} | {ratio:.1f} |")


def run(task: Task, sampler: str, seed: int, evaluations: int) -> tuple[float, float]:
    """Regret of the best point that was evaluated, and seconds spent in Optuna."""
    watch, evaluate = Stopwatch(), Evaluator(task, seed)
    method = InOptuna(task, seed, sampler)
    points = task.initial_points(seed, WORKERS)
    method.add(points, evaluate(points))
    while len(evaluate.regrets) < evaluations:
        points = watch(lambda: method.ask(WORKERS))
        values = evaluate(points)
        watch(lambda points=points, values=values: method.tell(points, values))
    return min(evaluate.regrets), watch.seconds


def print_regrets(tasks: list[str], seeds: int, evaluations: int) -> None:
    print(f"\nRegret after {evaluations} evaluations with {WORKERS} workers, {seeds} seeds\n")
    print("| task | sampler | median log10 regret | best | worst | as good as ours | seconds |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for task_name in tasks:
        ours = None
        for name in SAMPLERS:
            cells = [
                run(make_task(task_name, seed), name, seed, evaluations) for seed in range(seeds)
            ]
            regrets = np.log10(np.maximum([regret for regret, _ in cells], FLOOR))
            ours = regrets if ours is None else ours
            spent = float(np.median([seconds for _, seconds in cells]))
            print(
                f"| {task_name} | {name} | {np.median(regrets):.2f} | {regrets.min():.2f} "
                f"| {regrets.max():.2f} | {(regrets <= ours).sum()} of {seeds} | {spent:.1f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, nargs="+", default=[20, 100, 300])
    parser.add_argument("--tasks", nargs="+", default=["hartmann-6", "mixed"])
    parser.add_argument("--seeds", type=int, default=8, help="how many, from 0")
    parser.add_argument("--evaluations", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    optuna_setup.prepare(parser)
    with threadpool_limits(1):
        for name in SAMPLERS:
            seconds_of_asks(name, 8, seed=0)  # imports and first calls
        print_times(arguments.n, arguments.seeds, arguments.repetitions)
        print_regrets(arguments.tasks, arguments.seeds, arguments.evaluations)


if __name__ == "__main__":
    main()
