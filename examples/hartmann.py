"""Minimize Hartmann-6, a function of six parameters, with four workers at the same time.

    python examples/hartmann.py

Every evaluation takes about a twentieth of a second, in place of a training run or a simulation.
The run ends when the best value is within 0.01 of the smallest there is. Shows a progress bar on
a terminal, prints what was found, and saves a picture, `convergence.png`, in the current
directory. Needs matplotlib; the progress bar needs rich.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import innerloop as il

SPACE = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(1, 7)})
SMALLEST = -3.322368011415515
TARGET = 0.01  # the regret to reach: how far the best value may be from the smallest
WORKERS, TRIALS = 4, 96
PICTURE = Path("convergence.png")

HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
WIDTHS = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
CENTERS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)

INK, DOT, START, LINE, GOAL = "#22272e", "#2f6fab", "#e3a008", "#d1495b", "#5b8c5a"


def hartmann(params: dict[str, Any]) -> float:
    """Four valleys in six dimensions; one of them is the deepest."""
    time.sleep(0.05)
    x = np.array(list(params.values()))
    return -float(HEIGHTS @ np.exp(-(WIDTHS * (x - CENTERS) ** 2).sum(axis=1)))


def stop_at_target(optimizer: il.Optimizer, trial: il.Trial) -> None:
    """Ends the run when a trial is good enough."""
    if trial.value is not None and trial.value - SMALLEST <= TARGET:
        raise StopIteration


def draw(result: il.Result, path: Path) -> None:
    """The regret of every trial, in the order of their results, and of the best one so far."""
    told = sorted((t for t in result.trials if t.value is not None), key=lambda t: t.told or 0.0)
    regret = np.array([t.value for t in told]) - SMALLEST
    number = np.arange(1, len(told) + 1)
    initial = np.array([t.prediction is None for t in told])

    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    panel = figure.add_subplot()
    panel.axhline(TARGET, color=GOAL, lw=1.2, ls=(0, (5, 3)), zorder=1)
    panel.text(0.2, TARGET * 1.08, f"target {TARGET}", color=GOAL, va="bottom", fontsize=9)
    best = np.minimum.accumulate(regret)
    panel.step(number, best, where="post", color=LINE, lw=2.0, label="best so far", zorder=2)
    style = {"s": 30, "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
    spread, chosen = ("initial, spread evenly", "chosen by the model")
    panel.scatter(number[initial], regret[initial], color=START, marker="D", label=spread, **style)
    panel.scatter(number[~initial], regret[~initial], color=DOT, label=chosen, **style)
    panel.set_yscale("log")
    panel.set_xlim(0.0, len(told) + 1.0)
    panel.set_ylim(min(best[-1], TARGET) / 1.8, regret.max() * 1.6)
    panel.set_xlabel("results told", color=INK)
    panel.set_ylabel("regret: value minus the smallest there is", color=INK)
    panel.set_title(
        f"Hartmann-6, {WORKERS} workers: regret {best[-1]:.2g} after {len(told)} results",
        loc="left",
        color=INK,
    )
    panel.legend(loc="upper right", frameon=False, fontsize=9)
    panel.grid(axis="y", which="major", color="#d8dee4", lw=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(colors=INK, labelsize=9)
    figure.savefig(path, dpi=150)


def main() -> None:
    with ProcessPoolExecutor(WORKERS) as executor:
        result = il.minimize(
            hartmann,
            SPACE,
            n_trials=TRIALS,
            batch_size=WORKERS,
            executor=executor,
            callbacks=[stop_at_target],
            seed=0,
        )
    regret = result.value - SMALLEST
    asks = len({trial.asked for trial in result.trials})
    print(f"best value  {result.value:.6f}, regret {regret:.2g}")
    print(f"params      {', '.join(f'{name} {x:.4f}' for name, x in result.params.items())}")
    print(f"trials      {len(result.trials)}, stopped: {result.stopped}")
    print(
        f"time        {result.seconds:.1f} s, of which {result.ask_seconds:.2f} s to choose points "
        f"({1e3 * result.ask_seconds / asks:.0f} ms for each of {asks} asks)"
    )
    draw(result, PICTURE)
    print(f"picture     {PICTURE}")
    if regret > TARGET:
        sys.exit(f"the regret is {regret:.2g}, and should be {TARGET} or less")


if __name__ == "__main__":
    main()
