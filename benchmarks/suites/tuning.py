"""scikit-learn's models tuned on the data sets that come with it, as in NeurIPS 2020's challenge.

Models and what may vary are those of bayesmark, which that challenge used, made smaller: networks
have fewer units and rounds, boosting fewer trees, and 400 rows of data are used at most. What
bayesmark varies on a logit scale varies evenly here, or on a logarithmic scale. The loss is that of
3-fold cross-validation, always with the same folds and the same random numbers: log loss for
classes (the share of errors for SVM, which has no probabilities), squared error over variance for
numbers.

Losses are kept in files by point, so that no point is evaluated twice by whoever asks for it.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from pathlib import Path

import numpy as np

from problem import Problem, Task
from results_file import append
from task_parameters import Parameters, Point, Range, Whole

ROWS, FOLDS = 400, 3
# Losses beyond this many times that of a guess say no more than that the model is useless.
USELESS = 10.0
CACHE = "SUITES_CACHE"

_TREE: Parameters = {
    "max_depth": Whole(1, 15),
    "min_samples_split": Range(0.01, 0.99, log=True),
    "min_samples_leaf": Range(0.01, 0.49, log=True),
    "min_weight_fraction_leaf": Range(0.01, 0.49, log=True),
    "max_features": Range(0.01, 0.99),
    "min_impurity_decrease": Range(0.0, 0.5),
}
_NETWORK: Parameters = {
    "hidden_layer_sizes": Whole(10, 50),
    "alpha": Range(1e-5, 1e1, log=True),
    "batch_size": Whole(10, 250),
    "learning_rate_init": Range(1e-5, 1e-1, log=True),
    "tol": Range(1e-5, 1e-1, log=True),
    "validation_fraction": Range(0.1, 0.9),
}
_LOGISTIC: Parameters = {
    "C": Range(1e-2, 1e2, log=True),
    "intercept_scaling": Range(1e-2, 1e2, log=True),
}
_PENALIZED: Parameters = {
    "alpha": Range(1e-3, 1e2, log=True),
    "tol": Range(1e-5, 1e-1, log=True),
    "max_iter": Whole(10, 500),
}
_SPACES: dict[str, Parameters] = {
    "knn": {"n_neighbors": Whole(1, 25), "p": Range(1.0, 4.0)},
    "svm": {
        "C": Range(1.0, 1e3, log=True),
        "gamma": Range(1e-4, 1e-3, log=True),
        "tol": Range(1e-5, 1e-1, log=True),
    },
    "tree": _TREE,
    "forest": _TREE,
    "mlp-adam": {
        **_NETWORK,
        "beta_1": Range(0.5, 0.99),
        "beta_2": Range(0.9, 1.0 - 1e-6),
        "epsilon": Range(1e-9, 1e-6, log=True),
    },
    "mlp-sgd": {**_NETWORK, "power_t": Range(0.1, 0.9), "momentum": Range(0.001, 0.999)},
    "ada": {"n_estimators": Whole(5, 50), "learning_rate": Range(1e-4, 1e1, log=True)},
}


def make_task(name: str, seed: int) -> Task:
    """The task of a name such as "tuning-mlp-adam-iris", the same for every seed."""
    model, data = name.removeprefix("tuning-").rsplit("-", 1)
    classes = data != "diabetes"
    linear = _LOGISTIC if classes else _PENALIZED
    X, y = _loaded(data)
    path = Path(os.environ[CACHE]) / f"{name}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    known = {each["point"]: each["loss"] for each in map(json.loads, lines)}

    def evaluate(point: Point) -> tuple[float, float]:
        key = json.dumps(point, sort_keys=True)
        if key not in known:
            known[key] = _loss(model, point, X, y, classes)
            append(path, {"point": key, "loss": known[key]})
        return known[key], known[key]

    return Task(Problem(_SPACES.get(model, linear)), evaluate)


def _loaded(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, k) and classes or standardized numbers (n,)."""
    from sklearn import datasets

    loader = {"breast": "load_breast_cancer"}.get(data, f"load_{data}")
    X, y = getattr(datasets, loader)(return_X_y=True)
    if data == "diabetes":
        y = (y - y.mean()) / y.std()
    kept = np.random.default_rng(0).permutation(len(X))[:ROWS]
    return X[kept], y[kept]


def _loss(model: str, point: Point, X: np.ndarray, y: np.ndarray, classes: bool) -> float:
    """What cross-validation says of a model with such parameters."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=0)
    of_classes = "accuracy" if model == "svm" else "neg_log_loss"
    scoring = of_classes if classes else "neg_mean_squared_error"
    pipeline = make_pipeline(StandardScaler(), _model(model, point, classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(pipeline, X, y, cv=folds, scoring=scoring, error_score=math.nan)
    guess = math.log(len(np.unique(y))) if scoring == "neg_log_loss" else 1.0
    loss = (1.0 if scoring == "accuracy" else 0.0) - float(scores.mean())
    return min(loss, USELESS * guess) if math.isfinite(loss) else USELESS * guess


def _model(name: str, point: Point, classes: bool):
    """An estimator with the parameters of a point."""
    from sklearn import ensemble, linear_model, neighbors, neural_network, svm, tree
    from sklearn.multiclass import OneVsRestClassifier

    kind = "Classifier" if classes else "Regressor"
    if name == "knn":
        return getattr(neighbors, f"KNeighbors{kind}")(**point)
    if name == "svm":
        return (svm.SVC if classes else svm.SVR)(**point, max_iter=10_000)
    if name == "tree":
        return getattr(tree, f"DecisionTree{kind}")(**point, random_state=0)
    if name == "forest":
        forest = getattr(ensemble, f"RandomForest{kind}")
        return forest(**point, n_estimators=10, random_state=0)
    if name == "ada":
        return getattr(ensemble, f"AdaBoost{kind}")(**point, random_state=0)
    if name.startswith("mlp"):
        network = getattr(neural_network, f"MLP{kind}")
        solver = name.removeprefix("mlp-")
        rate = {"learning_rate": "invscaling"} if solver == "sgd" else {}
        return network(
            **point, **rate, solver=solver, max_iter=40, early_stopping=True, random_state=0
        )
    if classes:
        share = 1.0 if name == "lasso" else 0.0
        logistic = linear_model.LogisticRegression(
            **point, l1_ratio=share, solver="liblinear", max_iter=20, random_state=0
        )
        return OneVsRestClassifier(logistic)
    if name == "lasso":
        return linear_model.Lasso(**point)
    return linear_model.Ridge(**point, solver="lsqr")
