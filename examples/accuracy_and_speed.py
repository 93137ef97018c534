"""Two objectives: how accurate a forest is, and how much work a prediction takes.

    python examples/accuracy_and_speed.py

More and deeper trees read handwritten digits better, and take longer to do so. The answer is not
one forest but a front of them. Work is counted in questions that the trees ask of an image, which
stands for time and is the same on every machine. Needs scikit-learn.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import innerloop as il

SPACE = il.Space(
    {
        "trees": il.Integer(1, 60, log=True),
        "depth": il.Integer(2, 14),
        "pixels": il.Integer(1, 32, log=True),
    }
)
OBJECTIVES = {"accuracy": "maximize", "questions": "minimize"}
TRIALS = 28


@cache
def digits() -> tuple[Any, Any]:
    """Images (n, 64) and the digits they show (n,), in random order."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return images[order], labels[order]


def forest(params: dict[str, Any]) -> dict[str, float]:
    """Accuracy on images that were not learned from, and questions asked of each of them."""
    images, labels = digits()
    model = RandomForestClassifier(
        params["trees"], max_depth=params["depth"], max_features=params["pixels"], random_state=0
    ).fit(images[:1000], labels[:1000])
    paths, _ = model.decision_path(images[1000:])
    asked = paths.sum() / len(images[1000:]) - params["trees"]  # leaves ask nothing
    accuracy = model.score(images[1000:], labels[1000:])
    return {"accuracy": float(accuracy), "questions": float(asked)}


def main() -> None:
    result = il.optimize(forest, SPACE, OBJECTIVES, n_trials=TRIALS, batch_size=4, seed=0)
    print(f"{len(result.front)} of {TRIALS} forests are on the front:")
    for trial in sorted(result.front, key=lambda trial: trial.outcomes["questions"]):
        accuracy, questions = trial.outcomes["accuracy"], trial.outcomes["questions"]
        print(f"accuracy {accuracy:.4f} with questions {questions:.1f}, {trial.params}")
    volume = result.optimizer.hypervolume({"accuracy": 0.0, "questions": 800.0})
    print(f"hypervolume {volume:.1f}")

    # Or: the best forest that asks 100 questions at most.
    quick = il.optimize(
        forest,
        SPACE,
        {"accuracy": "maximize"},
        outcome_constraints=["questions <= 100"],
        n_trials=TRIALS,
        batch_size=4,
        seed=0,
    )
    best = quick.best
    print(f"within 100: accuracy {best.value:.4f} with questions {best.outcomes['questions']:.1f}")


if __name__ == "__main__":
    main()
