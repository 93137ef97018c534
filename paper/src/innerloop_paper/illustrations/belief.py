"""Figure 1b-c: a belief about f given four observations, and expected improvement under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from innerloop import posterior_draws, suggest
from innerloop_paper.illustrations.observed import Observed
from innerloop_paper.illustrations.panels import (
    draw_acquisition,
    draw_belief,
    draw_observations,
)
from innerloop_paper.illustrations.series import Series, names, pick
from innerloop_paper.style import BELIEF, CHOICE, HALF, name_panel, new_figure, styled
from innerloop_paper.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Belief(Observed):
    """paths: functions drawn from the belief."""

    paths: int = 3
    features: int = 2**11
    seed: int = 4

    kind: ClassVar[str] = "belief"

    def compute(self) -> Table:
        """Series: observations, mean, low and high (two standard deviations), path i, EI, best."""
        posterior, x, series = self.posterior(), self.line(), Series()
        mean, variance = posterior.marginals(x[:, None])
        margin = 2.0 * np.sqrt(variance)
        series.add("observations", self.at, self.results)
        series.add("mean", x, mean)
        series.add("low", x, mean - margin)
        series.add("high", x, mean + margin)
        paths = posterior_draws(posterior, draws=self.paths, features=self.features, seed=self.seed)
        for i, path in enumerate(paths(x[:, None])):
            series.add(f"path {i}", x, path)
        improvement = self.improvement()
        series.add("EI", x, improvement.marginal(mean, variance))
        best = suggest(posterior, 1, improvement, seed=self.seed)
        series.add("best", best.X[0, 0], best.value)
        return series.table


@styled
def draw(table: Table) -> Figure:
    """The belief above, expected improvement below, and a star where it is largest."""
    figure = new_figure(HALF, 3.1)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.9, 1.0])
    for i, path in enumerate(names(table, "path")):
        label = None if i else "draws"
        above.plot(*pick(table, path)[:2], color=BELIEF, lw=0.6, alpha=0.6, label=label)
    draw_belief(above, pick(table, "mean"), pick(table, "low"), pick(table, "high"))
    draw_observations(above, pick(table, "observations"))
    best = pick(table, "best")
    draw_acquisition(below, pick(table, "EI"), best)
    above.axvline(best.x[0], color=CHOICE, lw=0.8, ls=(0, (1, 2)), zorder=1, ymax=0.82)
    above.set_ylabel("$f(x)$")
    below.set_ylabel("EI$(x)$")
    below.set_xlabel("$x$")
    name_panel(above, "b", "belief, given four observations")
    name_panel(below, "c", "expected improvement")
    order = ["mean", "two standard deviations", "draws"]
    handles = dict(zip(*above.get_legend_handles_labels()[::-1], strict=True))
    bottom, top = above.get_ylim()
    above.set_ylim(bottom, top + 0.2 * (top - bottom))  # room for the legend
    above.legend(
        [handles[name] for name in order],
        order,
        loc="upper left",
        ncols=3,
        columnspacing=1.0,
        handlelength=1.3,
        borderaxespad=0.2,
    )
    return figure
