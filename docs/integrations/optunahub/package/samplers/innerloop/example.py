"""Four trials at a time over a mixed, conditional space.

Run it in a copy of the registry that has this package in `package/samplers/innerloop`.
"""

from __future__ import annotations

import math

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """A made-up training run: its best setting has the value 0."""
    rate = math.log10(trial.suggest_float("rate", 1e-5, 1e-1, log=True))
    layers = trial.suggest_int("layers", 1, 8)
    if trial.suggest_categorical("solver", ["momentum", "adaptive"]) == "momentum":
        momentum = trial.suggest_float("momentum", 0.0, 0.99)
        return 0.3 + 0.2 * (rate + 2.0) ** 2 + (momentum - 0.9) ** 2 + 0.02 * (layers - 4) ** 2
    decay = math.log10(trial.suggest_float("decay", 1e-6, 1e-1, log=True))
    return 0.2 * (rate + 3.5) ** 2 + 0.05 * (decay + 3.0) ** 2 + 0.02 * (layers - 5) ** 2


if __name__ == "__main__":
    module = optunahub.load_local_module(package="samplers/innerloop", registry_root="./package/")
    study = optuna.create_study(sampler=module.InnerLoopSampler(seed=0))
    while len(study.trials) < 48:
        # The four are chosen knowing of each other.
        trials = [study.ask() for _ in range(4)]
        for trial, value in [(trial, objective(trial)) for trial in trials]:
            study.tell(trial, value)
    print(study.best_params, study.best_value)
