"""A belief, six acquisition functions over it, and a batch of four points chosen greedily.

    python examples/demonstration.py

Prints two small tables and saves `demonstration.png` in the current directory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

import innerloop as il

Array = NDArray[np.float64]

OBSERVED = np.array([0.03, 0.21, 0.42, 0.59, 0.80, 0.98])
GRID = np.linspace(0.0, 1.0, 241)  # where acquisition functions are drawn
CANDIDATES = np.linspace(0.0, 1.0, 2001)  # where the batch is chosen from
DISCRETIZATION = np.linspace(0.0, 1.0, 60)[:, None]  # where ES and KG look for the best
Q = 4
STATES = 256
PICTURE = Path("demonstration.png")

INK, BELIEF, CHOICE = "#22272e", "#2f6fab", "#d1495b"


def objective(x: Array) -> Array:
    """The function to be maximized, known to the demonstration but not to the surrogate."""
    return (0.5 + 0.5 * x) * np.sin(18.0 * x - 1.4)


def acquisition_functions(posterior: il.Posterior, threshold: float) -> dict[str, Array]:
    """The six acquisition functions for a single query, at every point of GRID."""
    mean, var = posterior.marginals(GRID[:, None])
    z = il.sobol_normal(128, 1, seed=0)
    queries = GRID[:, None, None]  # 241 query sets of one point in one dimension
    entropy_search = il.EntropySearch(DISCRETIZATION, temperature=0.05)
    return {
        "EI": il.ExpectedImprovement(threshold).marginal(mean, var),
        "PI": il.ProbabilityOfImprovement(threshold).marginal(mean, var),
        "SR": il.SimpleRegret().marginal(mean, var),
        "UCB": il.UpperConfidenceBound(beta=2.0).marginal(mean, var),
        "ES": il.Joint(entropy_search, posterior, z).value(queries),
        "KG": il.Joint(il.KnowledgeGradient(DISCRETIZATION), posterior, z).value(queries),
    }


def greedy_batch(posterior: il.Posterior, utility: il.Utility) -> tuple[Array, Array]:
    """Q points, each with the largest expected gain over those before it, and their gains."""
    candidates = CANDIDATES[:, None, None]
    acquisition = il.Incremental(utility, posterior, il.sobol_normal(STATES, Q, seed=1), log=True)
    batch, gains = [], []
    for _ in range(Q):
        log_gain = acquisition.value(candidates)
        best = int(log_gain.argmax())
        batch.append(CANDIDATES[best])
        gains.append(np.exp(log_gain[best]))
        acquisition = acquisition.extend(candidates[best, 0])
    return np.array(batch), np.array(gains)


def print_tables(
    posterior: il.Posterior,
    utility: il.ExpectedImprovement,
    acquisitions: dict[str, Array],
    batch: Array,
    gains: Array,
) -> None:
    """What was found, in numbers."""
    print(f"{posterior.n} observations, the best of them {utility.threshold:.4f}\n")

    print("Single queries: where each acquisition function is largest")
    print(f"{'':>6}{'x':>9}{'value':>10}")
    for name, values in acquisitions.items():
        top = int(values.argmax())
        print(f"{name:>6}{GRID[top]:>9.4f}{values[top]:>10.4f}")

    mean, var = posterior.marginals(batch[:, None])
    print(f"\nA batch of {Q}, chosen greedily by expected improvement over {STATES} states")
    print(f"{'':>6}{'x':>9}{'mean':>10}{'sd':>9}{'gain':>9}")
    for j in range(Q):
        row = f"{batch[j]:>9.4f}{mean[j]:>10.4f}{np.sqrt(var[j]):>9.4f}{gains[j]:>9.4f}"
        print(f"{j + 1:>6}{row}")

    z = il.sobol_normal(2**15, Q, seed=2)
    joint = il.Joint(utility, posterior, z).value(batch[None, :, None])[0]
    print(f"\nsum of the gains                  {gains.sum():.4f}")
    print(f"joint value from {len(z)} draws     {joint:.4f}")


def draw(posterior: il.Posterior, acquisitions: dict[str, Array], batch: Array, path: Path) -> None:
    """The belief and the batch above, the six acquisition functions below."""
    engine = ConstrainedLayoutEngine(hspace=0.06, wspace=0.05)
    figure = Figure(figsize=(10.0, 8.2), layout=engine)
    rows = figure.add_gridspec(3, 3, height_ratios=[2.3, 1.0, 1.0])
    draw_belief(figure.add_subplot(rows[0, :]), posterior, batch)
    for index, (name, values) in enumerate(acquisitions.items()):
        draw_acquisition(figure.add_subplot(rows[1 + index // 3, index % 3]), name, values)
    for panel in figure.axes:
        panel.set_xlim(0.0, 1.0)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(colors=INK, labelsize=9)
    figure.savefig(path, dpi=150)


def draw_belief(panel: Axes, posterior: il.Posterior, batch: Array) -> None:
    """Mean, two standard deviations, observations, and the batch in the order of its choice."""
    mean, var = posterior.marginals(GRID[:, None])
    margin = 2.0 * np.sqrt(var)
    label = "two standard deviations"
    panel.fill_between(
        GRID, mean - margin, mean + margin, color=BELIEF, alpha=0.16, lw=0, label=label
    )
    panel.plot(GRID, objective(GRID), color=INK, lw=1.0, ls=(0, (4, 3)), label="objective")
    panel.plot(GRID, mean, color=BELIEF, lw=2.0, label="mean")
    panel.plot(posterior.X[:, 0], posterior.y, "o", color=INK, ms=6, label="observations")

    at_batch = posterior.marginals(batch[:, None])[0]
    top = float((mean + margin).max()) + 0.25
    panel.vlines(batch, at_batch, top, color=CHOICE, lw=1.0, alpha=0.6)
    panel.plot(
        batch, at_batch, "*", color=CHOICE, ms=14, mec="white", mew=0.8, label="chosen batch"
    )
    for j, x in enumerate(batch, start=1):
        panel.text(x, top + 0.03, f"{j}", color=CHOICE, ha="center", va="bottom", weight="bold")
    panel.set_title(
        "Belief after six observations, and a batch of four", loc="left", color=INK, pad=22
    )
    panel.set_ylabel("f(x)", color=INK)
    panel.legend(ncols=5, loc="lower left", bbox_to_anchor=(0.0, -0.02), frameon=False, fontsize=9)
    panel.set_ylim(float((mean - margin).min()) - 0.55, top)


def draw_acquisition(panel: Axes, name: str, values: Array) -> None:
    """One acquisition function, with a mark where it is largest."""
    titles = {
        "EI": "Expected improvement",
        "PI": "Probability of improvement",
        "SR": "Simple regret",
        "UCB": "Upper confidence bound",
        "ES": "Entropy search",
        "KG": "Knowledge gradient",
    }
    top = int(values.argmax())
    low = float(values.min())
    height = float(values.max()) - low
    panel.fill_between(GRID, low, values, color=BELIEF, alpha=0.12, lw=0)
    panel.plot(GRID, values, color=BELIEF, lw=1.5)
    panel.plot(GRID[top], values[top], "o", color=CHOICE, ms=6, mec="white", mew=0.8)
    panel.set_title(titles[name], loc="left", fontsize=10, color=INK)
    panel.set_ylim(low - 0.03 * height, low + 1.12 * height)
    panel.locator_params(axis="y", nbins=4)


def main() -> None:
    surrogate = il.GaussianProcess(il.Matern52(0.12), noise=1e-3)
    posterior = surrogate.condition(OBSERVED[:, None], objective(OBSERVED))
    utility = il.ExpectedImprovement(float(posterior.y.max()))
    acquisitions = acquisition_functions(posterior, utility.threshold)
    batch, gains = greedy_batch(posterior, utility)
    print_tables(posterior, utility, acquisitions, batch, gains)
    draw(posterior, acquisitions, batch, PICTURE)
    print(f"\npicture saved to {PICTURE}")


if __name__ == "__main__":
    main()
