"""Make the pictures of docs/plots.md.

    python tools/pictures.py

writes small PNG files into docs/images/plots.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl

import innerloop as il

mpl.use("Agg")
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "plots"
SPACE = il.Space(
    {
        "rate": il.Real(1e-5, 1e-1, log=True),
        "dropout": il.Real(0.0, 0.6),
        "layers": il.Integer(1, 6),
        "activation": il.Choice(["relu", "tanh", "gelu"]),
    }
)
PLANE = il.Space({"temperature": il.Real(20.0, 120.0), "catalyst": il.Real(0.1, 5.0)})


def loss(params: dict[str, float]) -> float:
    """Something like the loss of a network; it diverges at high rates."""
    rate = math.log10(params["rate"])
    if rate > -1.3:
        raise ArithmeticError("diverged")
    kind = {"relu": 0.1, "tanh": 0.2, "gelu": 0.0}[params["activation"]]
    others = (params["dropout"] - 0.2) ** 2 + 0.01 * (params["layers"] - 4) ** 2
    return 0.2 + 0.1 * (rate + 2.7) ** 2 + others + kind


def reaction(params: dict[str, float]) -> dict[str, float]:
    """Yield and cost of a reaction, and how much of a by-product there is."""
    heat, amount = (params["temperature"] - 20.0) / 100.0, params["catalyst"] / 5.0
    output = 90.0 * (1.0 - (heat - 0.7) ** 2) * amount / (amount + 0.2)
    return {"yield": output, "cost": 2.0 + 3.0 * amount + heat, "impurity": 4.0 * heat**2 * amount}


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    one = il.minimize(loss, SPACE, n_trials=40, batch_size=4, seed=0)
    several = il.optimize(
        reaction,
        PLANE,
        objectives={"yield": "maximize", "cost": "minimize"},
        outcome_constraints=["impurity <= 1.2"],
        n_trials=32,
        batch_size=4,
        seed=0,
    )
    plot = il.plot
    pictures = {
        "convergence": lambda ax: plot.convergence(one, ax=ax),
        "slice": lambda ax: plot.slices(one, "rate", ax=ax),
        "contour": lambda ax: plot.contour(one, "rate", "dropout", ax=ax),
        "importances": lambda ax: plot.importances(one, ax=ax),
        "parallel_coordinates": lambda ax: plot.parallel_coordinates(one, ax=ax),
        "front": lambda ax: plot.front(several, ax=ax),
        "predicted_against_observed": lambda ax: plot.predicted_against_observed(one, ax=ax),
        "calibration": lambda ax: plot.calibration(one, ax=ax),
    }
    for name, draw in pictures.items():
        figure, ax = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
        draw(ax)
        figure.savefig(FOLDER / f"{name}.png", dpi=80)
        plt.close(figure)
        print(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
