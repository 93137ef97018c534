"""Figure 1d: what 2^14 values of Monte Carlo q-EI cost as a run goes on, by parallelism."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from innerloop import ExpectedImprovement, InputError, Joint, iid_normal
from innerloop_paper.arrays import Array
from innerloop_paper.counts import check_count
from innerloop_paper.jobs import Settings
from innerloop_paper.style import (
    GREENS,
    WIDTH,
    colormap,
    name_panel,
    new_figure,
    power,
    styled,
)
from innerloop_paper.synthetic import prior
from innerloop_paper.table import Table
from innerloop_paper.tasks import INITIAL
from innerloop_paper.threads import one_blas_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("q", "n", "step_q", "seconds", "gradient_seconds", "values")


@dataclass(frozen=True)
class Cost(Settings):
    """A run of batches of q up to a number of evaluations, the three initial points included.

    sizes: steps of the run that are measured, spread evenly in log n, and the last two besides.
    values: whose time is reported; measured: how many are computed for it, as time is in
    proportion to their number; draws: m of q-EI; repetitions: of which the fastest counts, as all
    else that a machine does only adds to it.
    """

    q: int
    evaluations: int = 1024
    d: int = 4
    sizes: int = 24
    values: int = 2**14
    measured: int = 2**10
    draws: int = 128
    repetitions: int = 5
    seed: int = 0

    kind: ClassVar[str] = "cost"

    def __post_init__(self) -> None:
        for name, value in self.settings().items():
            if name != "seed":
                check_count(name, value)
        if self.evaluations <= INITIAL:
            raise InputError(f"evaluations must be more than {INITIAL}, got {self.evaluations}")

    def compute(self) -> Table:
        """A row for every step measured: step_q is the batch of that step, seconds are of CPU."""
        table: Table = {name: [] for name in COLUMNS}
        with one_blas_thread():
            for n in self.steps():
                step_q = min(self.q, self.evaluations - n)
                seconds, gradient_seconds = self._seconds(n, step_q)
                row = (self.q, n, step_q, seconds, gradient_seconds, self.values)
                for column, value in zip(table.values(), row, strict=True):
                    column.append(value)
        return table

    def steps(self) -> list[int]:
        """Numbers of observations at the steps that are measured, in order."""
        every = np.arange(INITIAL, self.evaluations, self.q)
        spread = np.geomspace(every[0], every[-1], self.sizes)
        nearest = [int(every[np.abs(every - n).argmin()]) for n in spread]
        return sorted({*nearest, *every[-2:].tolist()})

    def _seconds(self, n: int, q: int) -> tuple[float, float]:
        """CPU seconds of values alone and of values with gradients."""
        generator = np.random.default_rng([self.seed, n, q])
        y = generator.standard_normal(n)
        posterior = prior(self.d).condition(generator.random((n, self.d)), y)
        joint = Joint(ExpectedImprovement(y.max()), posterior, iid_normal(self.draws, q, generator))
        sets = generator.random((min(self.measured, self.values), q, self.d))
        scale = self.values / len(sets)
        seconds = [self._fastest(call, sets) for call in (joint.value, joint.value_and_grad)]
        return scale * seconds[0], scale * seconds[1]

    def _fastest(self, evaluate: Callable[[Array], object], sets: Array) -> float:
        """CPU seconds of one call; imports and caches are not part of it."""
        evaluate(sets[:8])
        times = []
        for _ in range(self.repetitions):
            started = time.process_time()
            evaluate(sets)
            times.append(time.process_time() - started)
        return min(times)


@dataclass(frozen=True)
class Growth:
    """How the cost grows.

    in_n: for each q, the exponent of n from half the largest n on; in_q: the exponent of q at the
    largest n that all q have; last_step: for each q, the cost of the last step as a share of that
    of the step before.
    """

    in_n: dict[int, float]
    in_q: float
    last_step: dict[int, float]


def growth(tables: Sequence[Table], column: str = "seconds") -> Growth:
    """Exponents of n and q from the tables of several q; column: also "gradient_seconds"."""
    in_n, last_step, full = {}, {}, {}
    for table in tables:
        q, n, step_q, seconds = (np.array(table[k]) for k in ("q", "n", "step_q", column))
        whole = step_q == q
        if whole.sum() < 2:
            raise InputError(f"growth needs two full steps of q = {q[0]}, got n = {table['n']}")
        log_n, log_seconds = np.log(n[whole]), np.log(seconds[whole])
        # Two points at the least, where steps are few.
        larger = min(int(np.searchsorted(log_n, log_n[-1] - np.log(2.0))), len(log_n) - 2)
        key = int(q[0])
        in_n[key] = _slope(log_n[larger:], log_seconds[larger:])
        last_step[key] = float(seconds[-1] / seconds[-2])
        full[key] = log_n, log_seconds
    if len(full) < 2:
        raise InputError(f"the growth in q needs tables of two or more q, got q = {sorted(full)}")
    common = min(log_n[-1] for log_n, _ in full.values())
    at_common = [np.interp(common, log_n, log_seconds) for log_n, log_seconds in full.values()]
    return Growth(in_n, _slope(np.log(list(full)), np.array(at_common)), last_step)


def _slope(x: Array, y: Array) -> float:
    return float(np.polyfit(x, y, 1)[0])


@styled
def draw(tables: Sequence[Table]) -> Figure:
    """Seconds against n, a line for every q: values on the left, with gradients on the right."""
    figure = new_figure(WIDTH, 2.5)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, column in ((left, "seconds"), (right, "gradient_seconds")):
        _draw_lines(axes, tables, column)
    left.set_ylabel("CPU seconds")
    name_panel(left, "d", f"${power(tables[0]['values'][0])}$ values of q-EI")
    right.set_title("with gradients")
    right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    return figure


def _draw_lines(axes: Axes, tables: Sequence[Table], column: str) -> None:
    """Full steps as a line; the last step, with what is left of q, as a hollow point."""
    shades = np.linspace(0.35, 0.9, len(tables))
    for shade, table in zip(shades, sorted(tables, key=lambda t: t["q"][0]), strict=True):
        color = colormap(GREENS)(shade)
        n, seconds = np.array(table["n"]), np.array(table[column])
        axes.plot(n[:-1], seconds[:-1], "o-", color=color, ms=2.4, label=f"q = {table['q'][0]}")
        axes.plot(n[-2:], seconds[-2:], color=color, lw=0.9, ls=(0, (1.5, 1.2)))
        axes.plot(n[-1:], seconds[-1:], "o", ms=4, mfc="white", mec=color, mew=1.1)
    axes.set(xscale="log", yscale="log", xlabel="observations $n$")
    axes.grid(which="major")
