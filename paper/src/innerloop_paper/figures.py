"""The paper's figures: what each takes, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from innerloop_paper import panels
from innerloop_paper.errors import NothingToDrawError
from innerloop_paper.grid import Scale, compared, joint_and_incremental
from innerloop_paper.illustrations import belief, concrete, cost, parallel
from innerloop_paper.jobs import Job
from innerloop_paper.store import Result
from innerloop_paper.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Figure:
    """title: what it shows; jobs: what it takes at a scale; draw: the picture of their results."""

    title: str
    jobs: Callable[[Scale], Sequence[Job]]
    draw: Callable[[Sequence[Result]], Drawing]

    def drawn(self, results: Sequence[Result]) -> Drawing:
        """The picture of results, of which there must be some."""
        if not results:
            raise NothingToDrawError(f"there are no results for the figure of {self.title}")
        return self.draw(results)


def _illustration(title: str, job: Job, draw: Callable[[Table], Drawing]) -> Figure:
    return Figure(title, lambda scale: [job], lambda results: draw(results[0].table))


def _regrets(number: str, title: str, jobs: Callable[[Scale], Sequence[Job]]) -> Figure:
    return Figure(title, jobs, partial(panels.draw, figure=number))


_TIMED = (2, 4, 8, 16, 32)
FIGURES = {
    "1bc": _illustration("a belief and its expected improvement", belief.Belief(), belief.draw),
    "1d": Figure(
        "time of 2^14 values of q-EI, by observations and parallelism",
        lambda scale: [cost.Cost(q, sizes=scale.steps, measured=scale.timed) for q in _TIMED],
        lambda results: cost.draw([result.table for result in results]),
    ),
    "2": _illustration("greedy rounds and joint ascent", parallel.Parallel(), parallel.draw),
    "3": _regrets(
        "3",
        "q-EI on draws from a known prior",
        lambda scale: compared(scale, scale.known, "ei"),
    ),
    "4": _regrets("4", "q-EI on black boxes", lambda scale: compared(scale, scale.unknown, "ei")),
    "5": _illustration("concrete approximations of PI and ES", concrete.Concrete(), concrete.draw),
    "6": _regrets(
        "6",
        "q-UCB on draws from a known prior",
        lambda scale: compared(scale, scale.known, "ucb"),
    ),
    "7": _regrets("7", "q-UCB on black boxes", lambda scale: compared(scale, scale.unknown, "ucb")),
    "8": _regrets("8", "joint against incremental q-EI", joint_and_incremental),
}
