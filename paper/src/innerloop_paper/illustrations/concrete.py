"""Figure 5: concrete approximations of PI and ES by temperature, and ascent of both for q = 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from innerloop import EntropySearch, FreshDraws, Joint, ProbabilityOfImprovement, sobol_normal
from innerloop_paper.arrays import Array
from innerloop_paper.illustrations.ascent import ascend
from innerloop_paper.illustrations.observed import Observed
from innerloop_paper.illustrations.panels import (
    draw_ascent,
    draw_surface,
    finish_square,
    name_halves,
    name_marks,
)
from innerloop_paper.illustrations.series import Points, Series, names, pick
from innerloop_paper.style import (
    GREENS,
    INK,
    PURPLES,
    WIDTH,
    colormap,
    new_figure,
    styled,
)
from innerloop_paper.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pairs = tuple[tuple[float, float], ...]

# So low that every softmax is one-hot to the last digit: entropy search without the relaxation.
_FROZEN = 1e-9


@dataclass(frozen=True)
class Concrete(Observed):
    """hottest, coldest, temperatures: of the curves, spaced evenly in their logarithm.

    margin: by how much PI is to improve on the best result. temperature: of surfaces and ascents.
    pi_draws, es_draws: of outcomes, for curves and surfaces; pi_fresh, es_fresh: in every step of
    an ascent. cells, cell_draws: the discretization of ES, and draws of f over it. side: points
    along an edge of the surfaces. Ascents of PI start above the diagonal, those of ES below it.
    """

    results: tuple[float, ...] = (0.0, 0.09, -0.06, 0.03)
    variance: float = 0.06
    noise: float = 1e-4
    grid: int = 121
    margin: float = 0.03
    hottest: float = 1e-1
    coldest: float = 1e-3
    temperatures: int = 5
    temperature: float = 1e-2
    pi_draws: int = 1024
    es_draws: int = 16
    cells: int = 30
    cell_draws: int = 512
    side: int = 33
    pi_fresh: int = 64
    es_fresh: int = 16
    steps: int = 120
    learning_rate: float = 1 / 40
    pi_starts: Pairs = ((0.06, 0.6), (0.58, 0.96), (0.05, 0.8))
    es_starts: Pairs = ((0.6, 0.06), (0.96, 0.58), (0.97, 0.04))
    seed: int = 0

    kind: ClassVar[str] = "concrete"

    def compute(self) -> Table:
        """Series: NAME exact, NAME at T, NAME surface, NAME ascent i; NAME is PI or ES."""
        series, x = Series(), self.line()
        pi_z = sobol_normal(self.pi_draws, 2, seed=self.seed)
        es_z = sobol_normal(self.es_draws, 2, seed=self.seed)
        belief = self.posterior().marginals(x[:, None])
        series.add("PI exact", x, self._pi(self.temperature).marginal(*belief))
        series.add("ES exact", x, self._joint(self._es(_FROZEN), es_z).value(x[:, None, None]))
        for t in np.geomspace(self.hottest, self.coldest, self.temperatures):
            for name, utility, z in (("PI", self._pi(t), pi_z), ("ES", self._es(t), es_z)):
                values = self._joint(utility, z).value(x[:, None, None])
                series.add(f"{name} at {t:.4g}", x, values)
        pi, es = self._pi(self.temperature), self._es(self.temperature)
        self._add_ascents(series, "PI", pi, pi_z, self.pi_fresh, self.pi_starts)
        self._add_ascents(series, "ES", es, es_z, self.es_fresh, self.es_starts)
        return series.table

    def _add_ascents(
        self,
        series: Series,
        name: str,
        utility: ProbabilityOfImprovement | EntropySearch,
        z: Array,
        fresh: int,
        starts: Pairs,
    ) -> None:
        """The surface over pairs x1 <= x2, mirrored, and ascents on it with their values z."""
        fixed = self._joint(utility, z)
        axis = np.linspace(0.0, 1.0, self.side)
        i, j = np.triu_indices(self.side)
        values = fixed.value(np.stack([axis[i], axis[j]], axis=1)[:, :, None])
        series.add(f"{name} surface", axis[i], axis[j], values)
        trails = ascend(
            self._joint(utility, FreshDraws(fresh, 2, seed=self.seed)),
            np.array(starts)[:, :, None],
            steps=self.steps,
            learning_rate=self.learning_rate,
        )
        for k in range(len(starts)):
            trail = trails[:, k]
            series.add(f"{name} ascent {k}", trail[:, 0, 0], trail[:, 1, 0], fixed.value(trail))

    def _pi(self, temperature: float) -> ProbabilityOfImprovement:
        return ProbabilityOfImprovement(max(self.results) + self.margin, temperature)

    def _es(self, temperature: float) -> EntropySearch:
        points = (np.arange(self.cells)[:, None] + 0.5) / self.cells
        z = sobol_normal(self.cell_draws, self.cells, seed=self.seed)
        return EntropySearch(points, temperature, z)

    def _joint(
        self, utility: ProbabilityOfImprovement | EntropySearch, z: Array | FreshDraws
    ) -> Joint:
        return Joint(utility, self.posterior(), z)


@styled
def draw(table: Table) -> Figure:
    """Curves by temperature on the left and in the middle, ascents on the right."""
    figure = new_figure(WIDTH, 2.7)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 1.12])
    _draw_curves(left, table, "PI", PURPLES)
    _draw_curves(middle, table, "ES", GREENS)
    left.set_title("PI, by temperature")
    middle.set_title("ES, by temperature")
    right.set_title("ascent of two queries")
    left.set(ylim=(0.0, None), ylabel="PI$(x)$")
    middle.set_ylabel("ES$(x)$, in nats")
    _draw_square(right, table)
    return figure


def _draw_curves(axes: Axes, table: Table, name: str, colors: tuple[str, ...]) -> None:
    """A curve for every temperature, darker the lower it is, and the function itself dashed."""
    curves, scale = names(table, f"{name} at "), colormap(colors)
    for shade, curve in zip(np.linspace(0.32, 0.85, len(curves)), curves, strict=True):
        x, y, _ = pick(table, curve)
        exponent = np.log10(float(curve.split()[-1]))
        axes.plot(x, y, color=scale(shade), lw=1.2, label=rf"$\tau = 10^{{{exponent:.3g}}}$")
    x, y, _ = pick(table, f"{name} exact")
    axes.plot(x, y, color=INK, lw=0.9, ls=(0, (1.2, 1.2)), label="exact")
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("$x$")
    _legend_below(axes, columns=3)


def _draw_square(axes: Axes, table: Table) -> None:
    """PI above the diagonal and ES below it; ascents are mirrored to their side of it."""
    pi, es = pick(table, "PI surface"), pick(table, "ES surface")
    draw_surface(axes, pi, PURPLES)
    draw_surface(axes, Points(es.y, es.x, es.z), GREENS)
    finish_square(axes)
    for name in [*names(table, "PI ascent"), *names(table, "ES ascent")]:
        x, y, _ = pick(table, name)
        sides = np.minimum(x, y), np.maximum(x, y)
        draw_ascent(axes, *(sides if name.startswith("PI") else sides[::-1]))
    name_halves(axes, "PI", "ES")
    name_marks(axes)
    _legend_below(axes, columns=1)


def _legend_below(axes: Axes, *, columns: int) -> None:
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.19),
        ncols=columns,
        handlelength=1.3,
        columnspacing=1.0,
        labelspacing=0.3,
    )
