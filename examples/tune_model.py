"""Tune a scikit-learn model by cross-validation, on four processes.

    python examples/tune_model.py

A support vector machine that reads handwritten digits has four settings that matter: two numbers
best searched in their logarithm, an integer, and a choice. Needs scikit-learn.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import innerloop as il

SPACE = il.Space(
    {
        "C": il.Real(0.1, 1000.0, log=True),
        "gamma": il.Real(1e-5, 1.0, log=True),
        "components": il.Integer(4, 60),
        "scaling": il.Choice(["none", "standard"]),
    }
)
TRIALS = 40


@cache
def digits() -> tuple[Any, Any]:
    """Images (n, 64) and the digits they show (n,); loaded once in every process."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))[:900]
    return images[order], labels[order]


def model(params: dict[str, Any]) -> Pipeline:
    """Scaling, principal components, support vector machine."""
    scaling = [StandardScaler()] if params["scaling"] == "standard" else []
    machine = SVC(C=params["C"], gamma=params["gamma"])
    return make_pipeline(*scaling, PCA(params["components"], random_state=0), machine)


def accuracy(params: dict[str, Any]) -> float:
    """The share of digits that are read correctly, by cross-validation in four parts."""
    return float(cross_val_score(model(params), *digits(), cv=4).mean())


def main() -> None:
    default = float(cross_val_score(SVC(), *digits(), cv=4).mean())
    print(f"as scikit-learn sets it   accuracy {default:.4f}")

    # Four processes with as many threads each as there are cores would be too many threads.
    with ProcessPoolExecutor(4, initializer=threadpool_limits, initargs=(1,)) as executor:
        result = il.maximize(
            accuracy, SPACE, n_trials=TRIALS, batch_size=4, executor=executor, seed=0
        )
    print(f"after {TRIALS} trials           accuracy {result.value:.4f}\n")
    for name, value in result.params.items():
        print(f"  {name:<12}{value:.4g}" if isinstance(value, float) else f"  {name:<12}{value}")
    print(f"\n{result.seconds:.1f} s, of which {result.ask_seconds:.1f} s to choose what to try")


if __name__ == "__main__":
    main()
