"""Closed-loop runs with the probability of improvement, which used to end in NaN.

    python benchmarks/probability_runs.py --runs 200

Warnings are errors. Prints how many runs failed, and with what.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import innerloop as il

FUNCTIONS = (
    lambda p: p["a"] + 2.0 * p["b"],
    lambda p: (p["a"] - 0.3) ** 2 + p["b"],
    lambda p: -p["a"],
    lambda p: np.sin(5.0 * p["a"]) + p["b"] ** 2,
    lambda p: max(p["a"], p["b"]),
)


def run(seed: int, trials: int) -> il.Optimizer:
    """Ask and tell so many times, with one of the functions."""
    space = il.Space({"a": il.Real(0.0, 1.0), "b": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(space, acquisition="pi", seed=seed)
    for _ in range(trials):
        trial = optimizer.ask()
        optimizer.tell(trial, float(FUNCTIONS[seed % len(FUNCTIONS)](trial.params)))
    return optimizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("error")
    failed = []
    for seed in range(options.runs):
        try:
            run(seed, options.trials)
        except Exception as error:
            failed.append(f"run {seed}: {type(error).__name__}: {error}")
    print(f"{len(failed)} of {options.runs} runs failed", *failed, sep="\n")


if __name__ == "__main__":
    main()
