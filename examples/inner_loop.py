"""The inner loop in pictures: greedy rounds in two dimensions, joint ascent of two queries in one.

    python examples/inner_loop.py [picture.png]

Saves `docs/images/inner_loop.png`, or the picture that is named.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import innerloop as il

Array = NDArray[np.float64]

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "inner_loop.png"
SIDE = np.linspace(0.0, 1.0, 81)  # of the grids on which surfaces are drawn
LINE = np.linspace(0.0, 1.0, 301)
Q = 4
STATES = 512

# Joint ascent: Adam with the paper's learning rate, on fresh draws at every step.
STEPS = 120
LEARNING_RATE = 1 / 40
DRAWS = 128
START = np.array([0.12, 0.80])

INK, BELIEF, CHOICE, ASCENT = "#22272e", "#2f6fab", "#d1495b", "#e69f00"
# Light where little is to be gained, dark where much is.
GAINS = LinearSegmentedColormap.from_list(
    "gains", ["#f7fafc", "#d3e3ef", "#93bcd9", "#4a8ab9", "#215a8c", "#0f2f52"]
)
MEANS = LinearSegmentedColormap.from_list("means", ["#fbfbfa", "#e9e8e4", "#c9c7c0", "#a5a299"])


def in_two_dimensions() -> il.Posterior:
    """A belief after eight observations."""
    X = np.array(
        [
            [0.10, 0.15],
            [0.22, 0.62],
            [0.16, 0.92],
            [0.42, 0.35],
            [0.60, 0.68],
            [0.68, 0.10],
            [0.86, 0.44],
            [0.92, 0.90],
        ]
    )
    y = np.sin(5.0 * X[:, 0] - 0.8) * np.cos(3.0 * X[:, 1] - 1.5) + 0.3 * X[:, 1]
    return il.GaussianProcess(il.Matern52(0.3), noise=1e-4).condition(X, y)


def in_one_dimension() -> il.Posterior:
    """A belief after two observations, with room for two queries between them."""
    X, y = np.array([[0.1], [0.9]]), np.array([0.0, 0.1])
    return il.GaussianProcess(il.Matern52(0.2), noise=1e-4).condition(X, y)


def pairs_on_grid() -> Array:
    """All points of the unit square that surfaces are drawn on: (N, 2)."""
    return np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2)


def greedy_surfaces(posterior: il.Posterior, chosen: Array) -> list[Array]:
    """What one more query anywhere in the square adds to the first 0, 1, ... of those chosen."""
    utility = il.ExpectedImprovement(float(posterior.fitted.max()))
    z = il.sobol_normal(STATES, len(chosen), seed=0)
    gain = il.Incremental(utility, posterior, z, log=True)
    surfaces = []
    for x in chosen:
        log_gain = gain.value(pairs_on_grid()[:, None])
        surfaces.append(np.exp(log_gain).reshape(SIDE.size, SIDE.size))
        gain = gain.extend(x)
    return surfaces


def joint_ascent(posterior: il.Posterior, utility: il.Utility) -> Array:
    """Where stochastic gradient ascent takes two queries: (STEPS + 1, 2)."""
    acquisition = il.Joint(utility, posterior, il.FreshDraws(DRAWS, 2, seed=0))
    X = START.reshape(1, 2, 1)  # one set of two queries in one dimension
    slope, square = np.zeros_like(X), np.zeros_like(X)
    path = [X.ravel()]
    for step in range(1, STEPS + 1):
        _, gradient = acquisition.value_and_grad(X)
        slope = 0.9 * slope + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        expected_slope, expected_square = slope / (1 - 0.9**step), square / (1 - 0.999**step)
        move = LEARNING_RATE * expected_slope / (np.sqrt(expected_square) + 1e-12)
        X = np.clip(X + move, 0.0, 1.0)
        path.append(X.ravel())
    return np.array(path)


@dataclass(frozen=True)
class Pairs:
    """Two queries in one dimension, chosen greedily and jointly, and how all pairs are valued."""

    posterior: il.Posterior
    surface: Array  # joint expected improvement over (x1, x2)
    greedy: Array  # (2,)
    greedy_value: float
    path: Array  # (STEPS + 1, 2), of the joint ascent
    values: Array  # (STEPS + 1,), along the path


def choose_pairs() -> Pairs:
    """Choose two queries greedily, and by joint ascent."""
    posterior = in_one_dimension()
    utility = il.ExpectedImprovement(float(posterior.fitted.max()))
    greedy = np.sort(il.suggest(posterior, 2, utility, way="greedy", draws=256, seed=0).X[:, 0])
    path = joint_ascent(posterior, utility)
    joint = il.Joint(utility, posterior, il.sobol_normal(1024, 2, seed=1))
    surface = joint.value(pairs_on_grid()[..., None]).reshape(SIDE.size, SIDE.size)
    *values, greedy_value = joint.value(np.vstack([path, greedy])[..., None])
    return Pairs(posterior, surface, greedy, float(greedy_value), path, np.array(values))


def draw(path: Path) -> None:
    """Greedy rounds above, joint ascent below."""
    posterior = in_two_dimensions()
    batch = il.suggest(posterior, Q, way="greedy", draws=256, seed=0)
    surfaces = greedy_surfaces(posterior, batch.X)
    highest = max(float(surface.max()) for surface in surfaces)

    figure = Figure(figsize=(13.0, 7.6))
    top = figure.add_gridspec(1, Q + 1, left=0.04, right=0.925, bottom=0.60, top=0.96, wspace=0.12)
    panels = [figure.add_subplot(top[0, j]) for j in range(Q + 1)]
    draw_mean(panels[0], posterior)
    for j, surface in enumerate(surfaces):
        filled = draw_round(panels[j + 1], posterior, surface, highest, batch.X[: j + 1])
    bar = figure.colorbar(filled, cax=figure.add_axes((0.94, 0.64, 0.011, 0.24)), format="%.2g")
    bar.set_ticks([tick for tick in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if tick < highest])
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.ax.set_title("gain", fontsize=10, color=INK, loc="left")

    pairs = choose_pairs()
    draw_belief(figure.add_axes((0.04, 0.07, 0.35, 0.45)), pairs)
    draw_joint(figure.add_axes((0.447, 0.07, 0.263, 0.45)), pairs)
    draw_values(figure.add_axes((0.757, 0.07, 0.228, 0.45)), pairs)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def style(panel: Axes, title: str) -> None:
    panel.set_title(title, loc="left", fontsize=11, color=INK)
    panel.tick_params(colors=INK, labelsize=9)
    for spine in panel.spines.values():
        spine.set_color("#8a9099")


def style_square(panel: Axes, title: str) -> None:
    style(panel, title)
    panel.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")


def draw_mean(panel: Axes, posterior: il.Posterior) -> None:
    """The posterior mean and the observations."""
    mean = posterior.marginals(pairs_on_grid())[0].reshape(SIDE.size, SIDE.size)
    panel.contourf(SIDE, SIDE, mean, levels=14, cmap=MEANS)
    lines = panel.contour(SIDE, SIDE, mean, levels=7, colors=INK, linewidths=0.6, linestyles="-")
    panel.clabel(lines, fontsize=7, fmt="%.1f")
    draw_observations(panel, posterior)
    style_square(panel, "Mean and observations")


def draw_observations(panel: Axes, posterior: il.Posterior) -> None:
    panel.plot(*posterior.X.T, "o", color=INK, ms=5.5, mec="white", mew=0.9, zorder=4)


def draw_round(
    panel: Axes, posterior: il.Posterior, surface: Array, highest: float, chosen: Array
) -> QuadContourSet:
    """What one more query would add, with the queries before and the one that adds most."""
    lowest = 0.01 * highest
    filled = panel.contourf(
        SIDE,
        SIDE,
        np.maximum(surface, lowest),
        levels=np.geomspace(lowest, highest * 1.001, 25),
        norm=LogNorm(lowest, highest),
        cmap=GAINS,
    )
    draw_observations(panel, posterior)
    before, new = chosen[:-1], chosen[-1]
    panel.plot(*before.T, "o", color="white", ms=9, mec=CHOICE, mew=2.0, zorder=5, clip_on=False)
    panel.plot(*new, "*", color=CHOICE, ms=18, mec="white", mew=1.0, zorder=6, clip_on=False)
    style_square(panel, f"Round {len(chosen)}: adds {surface.max():.3f}")
    panel.set_yticklabels([])
    return filled


def draw_belief(panel: Axes, pairs: Pairs) -> None:
    """The belief in one dimension, and where the greedy and the joint pair lie."""
    mean, var = pairs.posterior.marginals(LINE[:, None])
    margin = 2.0 * np.sqrt(var)
    panel.fill_between(LINE, mean - margin, mean + margin, color=BELIEF, alpha=0.15, lw=0)
    panel.plot(LINE, mean, color=BELIEF, lw=2.0)
    low, top = float((mean - margin).min()) - 0.1, float((mean + margin).max())
    rows = ((pairs.greedy, CHOICE, "*", 16, "greedy"), (pairs.path[-1], ASCENT, "D", 9, "joint"))
    for height, (xs, colour, marker, size, name) in zip((0.70, 0.35), rows, strict=True):
        panel.vlines(xs, low, top + height, color=colour, lw=1.3, ls=(0, (4, 3)))
        panel.plot(xs, np.full(2, top + height), marker, color=colour, ms=size, mec="white")
        panel.text(0.02, top + height, name, color=INK, va="center", fontsize=10)
    panel.plot(
        pairs.posterior.X[:, 0], pairs.posterior.y, "o", color=INK, ms=7, mec="white", zorder=4
    )
    style(panel, "One dimension: the belief, and two queries")
    panel.set(xlim=(0, 1), ylim=(low, top + 1.0))
    panel.set_xlabel("x", color=INK)
    panel.spines[["top", "right"]].set_visible(False)


def draw_joint(panel: Axes, pairs: Pairs) -> None:
    """Joint expected improvement of all pairs, the ascent, and the greedy pair."""
    levels = np.linspace(0.0, pairs.surface.max() * 1.001, 25)
    panel.contourf(SIDE, SIDE, pairs.surface, levels=levels, cmap=GAINS)
    panel.plot([0, 1], [0, 1], color=INK, lw=0.6, ls=":")
    start, end = pairs.path[0], pairs.path[-1]
    panel.plot(*pairs.path.T, color="white", lw=4.0, zorder=4)
    panel.plot(*pairs.path.T, color=ASCENT, lw=2.2, zorder=5)
    panel.plot(*start, "X", color=ASCENT, ms=12, mec="white", mew=1.0, zorder=6)
    panel.plot(*end, "D", color=ASCENT, ms=10, mec="white", mew=1.2, zorder=7)
    panel.plot(*pairs.greedy, "*", color=CHOICE, ms=19, mec="white", mew=1.0, zorder=6)
    style_square(panel, "Joint expected improvement of x₁ and x₂")
    panel.set_xlabel("x₁", color=INK, labelpad=1)
    panel.set_ylabel("x₂", color=INK, labelpad=4)


def draw_values(panel: Axes, pairs: Pairs) -> None:
    """The value along the ascent, and that of the greedy pair."""
    panel.axhline(pairs.greedy_value, color=CHOICE, lw=1.4, ls=(0, (4, 3)))
    panel.plot(pairs.values, color=ASCENT, lw=2.2)
    panel.plot(0, pairs.values[0], "X", color=ASCENT, ms=12, mec="white", clip_on=False)
    panel.plot(STEPS, pairs.values[-1], "D", color=ASCENT, ms=10, mec="white", clip_on=False)
    panel.plot(0.5 * STEPS, pairs.greedy_value, "*", color=CHOICE, ms=17, mec="white")
    low, high = float(pairs.values.min()), float(pairs.values.max())
    style(panel, "Value along the ascent")
    panel.set(xlim=(0, STEPS), ylim=(low - 0.1 * (high - low), high + 0.1 * (high - low)))
    panel.set_xlabel("step", color=INK)
    panel.spines[["top", "right"]].set_visible(False)


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    with threadpool_limits(1):
        draw(path)
    print(f"picture saved to {path}")


if __name__ == "__main__":
    main()
