"""Fit included: Optuna's GPSampler asked q times, beside innerloop's fit and one batch.

    pip install optuna greenlet                  # beside the `bench` extra
    python benchmarks/fit_and_batch.py

Both start from the same n observations and know nothing else. Optuna holds them as completed
trials; the q asks are timed, with nothing told in between, so that it conditions on running trials
itself. It fits from scratch at the first ask and from its last fit afterwards. innerloop fits from
scratch, conditions and suggests q points at once. Each is repeated with fresh state and the same
seed, and its best time kept. One thread for everything.

Values are the expected improvement of each batch over the best observation under the surrogate
that the data were drawn from, which neither method is shown: mean over the seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from threadpoolctl import threadpool_limits

import innerloop as il
import optuna_setup
import rivals
from data import dataset
from timing import Timed, timed

DRAWS = 2**15


def study_of(X: np.ndarray, y: np.ndarray, seed: int) -> optuna.Study:
    """A study in memory that has seen every observation."""
    sampler = optuna.samplers.GPSampler(
        seed=seed, n_startup_trials=0, deterministic_objective=False
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = unit_cube(X.shape[1])
    for x, value in zip(X, y, strict=True):
        params = dict(zip(distributions, x.tolist(), strict=True))
        study.add_trial(
            optuna.trial.create_trial(
                params=params, distributions=distributions, value=float(value)
            )
        )
    return study


def unit_cube(d: int) -> dict[str, FloatDistribution]:
    return {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(d)}


def ask(study: optuna.Study, d: int, q: int) -> np.ndarray:
    """q asks without an answer in between: (q, d)."""
    distributions = unit_cube(d)
    trials = [study.ask(distributions) for _ in range(q)]
    return np.array([[trial.params[name] for name in distributions] for trial in trials])


def fit_and_suggest(X: np.ndarray, y: np.ndarray, q: int, seed: int) -> np.ndarray:
    return il.suggest(il.fit(X, y).condition(X, y), q, seed=seed).X


@dataclass(frozen=True)
class Outcome:
    """Seconds taken and expected improvement reached with one seed's data."""

    seconds: float
    value: float


def measure(n: int, d: int, q: int, seed: int, repetitions: int) -> tuple[Outcome, Outcome]:
    """innerloop and Optuna on the same data, taking turns."""
    X, y, gp = dataset(n, d, seed)
    ours = theirs = None
    for _ in range(repetitions):
        ours = sooner(ours, lambda: fit_and_suggest(X, y, q, seed))
        study = study_of(X, y, seed)
        theirs = sooner(theirs, lambda study=study: ask(study, d, q))

    model = rivals.fixed_model(X, y, gp)
    utility, z = il.ExpectedImprovement(float(y.max())), il.sobol_normal(DRAWS, q, seed=seed)

    def outcome(run: Timed[np.ndarray]) -> Outcome:
        value = il.expected_utility(utility, *rivals.belief(model, run.result), z)
        return Outcome(run.seconds, float(value))

    return outcome(ours), outcome(theirs)


def sooner(best: Timed | None, job: Callable[[], np.ndarray]) -> Timed:
    run = timed(job)
    return run if best is None or run.seconds < best.seconds else best


def row(n: int, d: int, q: int, seeds: int, repetitions: int) -> str:
    ours, theirs = zip(*(measure(n, d, q, seed, repetitions) for seed in range(seeds)), strict=True)
    our_time, their_time = (np.median([o.seconds for o in each]) for each in (ours, theirs))
    our_value, their_value = (np.mean([o.value for o in each]) for each in (ours, theirs))
    return (
        f"| {n} | {d} | {q} | {1e3 * our_time:.1f} | {1e3 * their_time:.0f} "
        f"| {their_time / our_time:.1f} | {our_value:.4f} | {their_value:.4f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, nargs="+", default=[20, 50, 100, 200])
    parser.add_argument("-d", type=int, default=6)
    parser.add_argument("-q", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    optuna_setup.prepare(parser)
    with threadpool_limits(1):
        measure(10, 2, 2, seed=0, repetitions=1)  # imports and first calls
        print(f"fit and {arguments.q} points; times in ms, median of {arguments.seeds} seeds\n")
        print("| n | d | q | innerloop | Optuna | time ratio | value | Optuna's value |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for n in arguments.n:
            size = n, arguments.d, arguments.q
            print(row(*size, arguments.seeds, arguments.repetitions), flush=True)


if __name__ == "__main__":
    main()
