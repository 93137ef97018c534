"""One ask for four points, the fit of hyperparameters included, beside BoTorch and Optuna.

    python benchmarks/ask.py [-n 100] [-d 6]

All know the same n results and nothing else. innerloop's `Optimizer` is asked for four trials,
"cold" with nothing learned before, and "warm" as in a running study, after four more results.
BoTorch fits its default model (SingleTaskGP, standardized outputs) and maximizes qLogEI
sequentially; Optuna's GPSampler is asked four times. They take turns, each from fresh state; best
of the repetitions for each seed, median over the seeds. One thread for everything.
"""

from __future__ import annotations

import argparse

import gpytorch
import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from threadpoolctl import threadpool_limits

import fit_and_batch
import optuna_setup
import rivals
from data import dataset
from timing import timed
from told import Q, asked_before, optimizer_with


def botorch_batch(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Fit and sequential qLogEI, with BoTorch's defaults."""
    targets = torch.as_tensor(y)[:, None]
    model = SingleTaskGP(torch.as_tensor(X), targets, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    return rivals.optimized_batch(model, float(y.max()), Q, "qLogEI", True, seed)


def seconds(n: int, d: int, seed: int, repetitions: int) -> dict[str, float]:
    """Best time of each on one set of results."""
    X, y, _ = dataset(n, d, seed)
    times: dict[str, list[float]] = {}
    for _ in range(repetitions):
        cold, warm = optimizer_with(X, y, seed), asked_before(X, y, seed)
        study = fit_and_batch.study_of(X, y, seed)
        jobs = {
            "innerloop, cold": lambda cold=cold: cold.ask(Q),
            "innerloop, warm": lambda warm=warm: warm.ask(Q),
            "BoTorch": lambda: botorch_batch(X, y, seed),
            "Optuna GPSampler": lambda study=study: fit_and_batch.ask(study, d, Q),
        }
        for name, job in jobs.items():
            times.setdefault(name, []).append(timed(job).seconds)
    return {name: min(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, nargs="+", default=[100])
    parser.add_argument("-d", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    optuna_setup.prepare(parser)
    with threadpool_limits(1):
        seconds(12, 2, seed=0, repetitions=1)  # imports and first calls
        print("| n | d | method | ms for ask(4) | times innerloop, cold | times innerloop, warm |")
        print("|---|---|---|---|---|---|")
        for n in arguments.n:
            runs = [
                seconds(n, arguments.d, seed, arguments.repetitions)
                for seed in range(arguments.seeds)
            ]
            median = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
            cold, warm = median["innerloop, cold"], median["innerloop, warm"]
            for name, time in median.items():
                ratios = f"{time / cold:.1f} | {time / warm:.1f}"
                print(f"| {n} | {arguments.d} | {name} | {1e3 * time:.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
