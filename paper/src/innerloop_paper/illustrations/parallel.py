"""Figure 2b-d: two greedy rounds of q-EI, and joint ascent of two queries at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from innerloop import FreshDraws, Incremental, Joint, sobol_normal, suggest
from innerloop_paper.arrays import Array
from innerloop_paper.illustrations.ascent import ascend
from innerloop_paper.illustrations.observed import Observed
from innerloop_paper.illustrations.panels import (
    draw_acquisition,
    draw_ascent,
    draw_belief,
    draw_observations,
    draw_star,
    draw_surface,
    finish_square,
    name_halves,
)
from innerloop_paper.illustrations.series import Points, Series, names, pick
from innerloop_paper.style import (
    BELIEF,
    BLUES,
    CHOICE,
    MUTED,
    WIDTH,
    name_panel,
    new_figure,
    styled,
)
from innerloop_paper.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Parallel(Observed):
    """side: points along an edge of the surface; states: fantasies, of which `shown` are drawn.

    draws: fresh ones in each step of the ascent; start: where it begins, in (x1, x2).
    """

    side: int = 61
    states: int = 512
    shown: int = 5
    draws: int = 64
    steps: int = 120
    learning_rate: float = 1 / 40
    start: tuple[float, float] = (0.64, 0.06)
    seed: int = 0

    kind: ClassVar[str] = "parallel"

    def compute(self) -> Table:
        """Series of both rounds (those of the second end in " 2"), the surface and the ascent."""
        series = Series()
        greedy = suggest(
            self.posterior(), 2, self.improvement(), way="greedy", draws=self.states, seed=self.seed
        )
        first, second = greedy.X[:, 0]
        self._add_rounds(series, float(first), float(second))
        self._add_joint(series, np.array([[first, second]]))
        return series.table

    def _add_rounds(self, series: Series, first: float, second: float) -> None:
        """The belief and the gain of one more query, before and after the first is chosen."""
        posterior, x = self.posterior(), self.line()
        gain = Incremental(
            self.improvement(), posterior, sobol_normal(self.states, 2, seed=self.seed)
        )
        series.add("observations", self.at, self.results)
        for suffix, chosen in (("", first), (" 2", second)):
            mean, variance = posterior.marginals(x[:, None])
            margin = 2.0 * np.sqrt(variance)
            series.add("mean" + suffix, x, mean)
            series.add("low" + suffix, x, mean - margin)
            series.add("high" + suffix, x, mean + margin)
            series.add("gain" + suffix, x, gain.value(x[:, None, None]))
            series.add("best" + suffix, chosen, gain.value(np.array([[[chosen]]])))
            posterior = posterior.fantasize(np.array([[chosen]]))
            gain = gain.extend([chosen])
        self._add_fantasies(series, first)

    def _add_fantasies(self, series: Series, first: float) -> None:
        """A few of the outcomes that the first query may have, and the mean given each."""
        posterior, x = self.posterior(), self.line()
        mean, variance = (float(v[0]) for v in posterior.marginals([[first]]))
        for i, z in enumerate(np.linspace(-1.5, 1.5, self.shown)):
            outcome = mean + z * np.sqrt(variance)
            given = posterior.condition([[first]], [outcome], noise=0.0)
            series.add(f"fantasy {i}", x, given.marginals(x[:, None])[0])
            series.add(f"outcome {i}", first, outcome)

    def _add_joint(self, series: Series, greedy: Array) -> None:
        """Joint q-EI of all pairs, the greedy pair (1, 2), and stochastic ascent; z is q-EI."""
        exact = self._joint(sobol_normal(self.states, 2, seed=self.seed))
        axis = np.linspace(0.0, 1.0, self.side)
        pairs = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        trail = ascend(
            self._joint(FreshDraws(self.draws, 2, seed=self.seed)),
            np.reshape(self.start, (1, 2, 1)),
            steps=self.steps,
            learning_rate=self.learning_rate,
        )[:, 0, :, 0]
        for name, at in (("surface", pairs), ("greedy pair", greedy), ("ascent", trail)):
            series.add(name, at[:, 0], at[:, 1], exact.value(at[:, :, None]))

    def _joint(self, z: Array | FreshDraws) -> Joint:
        return Joint(self.improvement(), self.posterior(), z)


@styled
def draw(table: Table) -> Figure:
    """Both greedy rounds on the left, the surface with both ways to maximize it on the right."""
    figure = new_figure(WIDTH, 2.75)
    layout = figure.add_gridspec(2, 3, width_ratios=[1.0, 1.0, 1.25], height_ratios=[1.7, 1.0])
    for column, suffix in enumerate(("", " 2")):
        above = figure.add_subplot(layout[0, column])
        below = figure.add_subplot(layout[1, column], sharex=above)
        _draw_round(above, below, table, suffix)
    name_panel(figure.axes[0], "b", "greedy, first query")
    name_panel(figure.axes[2], "c", "greedy, second query")
    for left, right in ((0, 2), (1, 3)):
        figure.axes[right].sharey(figure.axes[left])
        figure.axes[right].tick_params(labelleft=False)
    figure.axes[0].set_ylabel("$f(x)$")
    figure.axes[1].set_ylabel("expected gain")
    square = figure.add_subplot(layout[:, 2])
    _draw_square(square, table)
    name_panel(square, "d", "q-EI of both queries")
    return figure


def _draw_round(above: Axes, below: Axes, table: Table, suffix: str) -> None:
    """A belief, and below it what one more query is expected to gain."""
    draw_belief(above, *(pick(table, name + suffix) for name in ("mean", "low", "high")))
    draw_observations(above, pick(table, "observations"))
    best = pick(table, "best" + suffix)
    if suffix:
        for name in names(table, "fantasy"):
            above.plot(*pick(table, name)[:2], color=BELIEF, lw=0.6, alpha=0.7)
        for name in names(table, "outcome"):
            above.plot(*pick(table, name)[:2], "o", ms=3.2, mfc="white", mec=CHOICE, mew=0.8)
        before = pick(table, "gain")
        below.plot(before.x, before.y, color=MUTED, lw=0.8, ls=(0, (3, 2)))
    draw_acquisition(below, pick(table, "gain" + suffix), best)
    above.axvline(best.x[0], color=CHOICE, lw=0.8, ls=(0, (1, 2)), zorder=1)
    above.tick_params(labelbottom=False)
    below.set_xlabel("$x$")


def _draw_square(axes: Axes, table: Table) -> None:
    """The surface; above the diagonal the greedy pair, below it the joint ascent."""
    draw_surface(axes, pick(table, "surface"), BLUES)
    finish_square(axes)
    greedy = pick(table, "greedy pair")
    _draw_greedy(axes, greedy)
    ascent = pick(table, "ascent")
    draw_ascent(axes, np.maximum(ascent.x, ascent.y), np.minimum(ascent.x, ascent.y))
    name_halves(axes, "greedy", "joint")


def _draw_greedy(axes: Axes, pair: Points) -> None:
    """The line on which the first query leaves the second, and a star at both."""
    first, second = pair.x[0], pair.y[0]
    if second > first:
        axes.plot([first, first], [first, 1.0], color=CHOICE, lw=0.9, ls=(0, (2, 2)))
        draw_star(axes, first, second)
    else:
        axes.plot([0.0, first], [first, first], color=CHOICE, lw=0.9, ls=(0, (2, 2)))
        draw_star(axes, second, first)
