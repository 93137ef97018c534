"""What several illustrations draw alike: beliefs, acquisition functions, surfaces and ascents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from innerloop_paper.arrays import Array
from innerloop_paper.illustrations.series import Points, grid
from innerloop_paper.style import ASCENT, BELIEF, CHOICE, INK, MUTED, colormap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = 14


def draw_belief(axes: Axes, mean: Points, low: Points, high: Points) -> None:
    """The mean as a line within a band."""
    band: dict[str, Any] = {"color": BELIEF, "alpha": 0.13, "lw": 0}
    axes.fill_between(mean.x, low.y, high.y, label="two standard deviations", **band)
    axes.plot(mean.x, mean.y, color=BELIEF, label="mean")
    axes.set_xlim(0.0, 1.0)


def draw_observations(axes: Axes, observations: Points) -> None:
    """A dot for every observation."""
    axes.plot(observations.x, observations.y, "o", color=INK, ms=5, mec="white", mew=0.7, zorder=5)


def draw_star(axes: Axes, x: float, y: float) -> None:
    """A star at what is chosen."""
    axes.plot(x, y, "*", color=CHOICE, ms=11, mec="white", mew=0.7, zorder=6, clip_on=False)


def draw_acquisition(axes: Axes, values: Points, best: Points) -> None:
    """The area under an acquisition function, from zero, with a star at its maximum."""
    axes.fill_between(values.x, 0.0, values.y, color=CHOICE, alpha=0.12, lw=0)
    axes.plot(values.x, values.y, color=CHOICE)
    axes.vlines(best.x, 0.0, best.y, color=CHOICE, lw=0.8, ls=(0, (1, 2)))
    draw_star(axes, best.x[0], best.y[0])
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.25 * max(values.y.max(), best.y[0]))


def draw_surface(axes: Axes, surface: Points, colors: tuple[str, ...]) -> None:
    """A function of (x1, x2), or half of it, in bands that are darker where it is larger."""
    x, y, z = grid(surface)
    levels = np.linspace(np.nanmin(z), np.nanmax(z), _LEVELS)
    bands = axes.contourf(x, y, z, levels, cmap=colormap(colors))
    bands.set_edgecolor("face")  # or white seams show between bands


def draw_ascent(axes: Axes, x: Array, y: Array) -> None:
    """The way of an ascent, from a cross to a star."""
    axes.plot(x, y, color="white", lw=2.2, solid_capstyle="round", zorder=3)
    axes.plot(x, y, color=ASCENT, lw=1.2, solid_capstyle="round", zorder=4)
    axes.plot(x[0], y[0], "X", color=ASCENT, ms=6.5, mec="white", mew=0.7, zorder=5)
    draw_star(axes, x[-1], y[-1])


def finish_square(axes: Axes) -> None:
    """Equal axes over the unit square, and the diagonal across which surfaces are mirrored."""
    axes.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, lw=0.8)
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    axes.set_xlabel("$x_1$")
    axes.set_ylabel("$x_2$")
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)


def name_halves(axes: Axes, upper: str, lower: str) -> None:
    """Say along the diagonal what is above it and what is below it."""
    for name, offset, align in ((upper, (-2.0, 2.0), "bottom"), (lower, (2.0, -2.0), "top")):
        axes.annotate(
            name,
            (0.87, 0.87),
            xytext=offset,
            textcoords="offset points",
            rotation=45.0,
            rotation_mode="anchor",
            ha="center",
            va=align,
            fontsize=7.0,
        )


def name_marks(axes: Axes) -> None:
    """Entries for a legend: where ascents begin and where they end."""
    marks: dict[str, Any] = {"mec": "white", "mew": 0.7, "ls": "none"}
    axes.plot([], [], "X", color=ASCENT, ms=6.5, label="start", **marks)
    axes.plot([], [], "*", color=CHOICE, ms=11, label="end", **marks)
