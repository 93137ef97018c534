"""Which cells make up each figure, at three scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from innerloop_paper.cells import Cell
from innerloop_paper.jobs import Job
from innerloop_paper.methods import DRAWS, PAPER, usual_form

#: (maximizer, parallelism) of the methods compared in figures 3, 4, 6 and 7.
METHODS = (
    ("adam", "greedy"),
    ("adam", "joint"),
    ("cmaes", "greedy"),
    ("cmaes", "joint"),
    ("random_search", "greedy"),
    ("random_search", "joint"),
    ("innerloop", "greedy"),
)

Panel = tuple[str, int, int]  # task, d, q


@dataclass(frozen=True)
class Scale:
    """How much is run.

    known: panels of figures 3 and 6; unknown: of 4 and 7; incremental: of 8, with so many states.
    evaluations: T, the 3 initial ones included; budgets: N. Figure 1d has so many steps, at each
    of which so many values are timed.
    """

    trials: int
    budgets: tuple[int, ...]
    clock: str
    evaluations: int
    known: tuple[Panel, ...]
    unknown: tuple[Panel, ...]
    incremental: tuple[Panel, ...]
    states: tuple[int, ...] = (16, 32, 64, 128)
    steps: int = 24
    timed: int = 2**9


def _synthetic(task: str, *sizes: tuple[int, int]) -> tuple[Panel, ...]:
    return tuple((task, d, q) for d, q in sizes)


SCALES = {
    "small": Scale(
        trials=4,
        budgets=(2**12,),
        clock="evaluations",
        evaluations=3 + 32,
        known=_synthetic("synthetic", (2, 2), (4, 4)),
        unknown=(("hartmann-6", 6, 4), ("levy", 4, 4), ("withheld", 4, 4)),
        incremental=_synthetic("synthetic", (4, 4)),
        states=(16, 64),
        steps=6,
        timed=2**6,
    ),
    "laptop": Scale(
        trials=16,
        budgets=(2**12, 2**14),
        clock="cpu",
        evaluations=3 + 128,
        known=_synthetic("synthetic", (2, 2), (4, 4), (4, 8), (8, 4), (8, 8)),
        unknown=(
            ("hartmann-6", 6, 4),
            ("hartmann-6", 6, 8),
            ("levy", 4, 4),
            ("levy", 4, 8),
            *_synthetic("withheld", (4, 4), (8, 8)),
        ),
        incremental=_synthetic("synthetic", (2, 2), (4, 4), (8, 8)),
    ),
    "paper": Scale(
        trials=32,
        budgets=(2**12, 2**14, 2**16),
        clock="cpu",
        evaluations=256,
        known=_synthetic("synthetic", *product((2, 4, 8), (2, 4, 8))),
        unknown=(
            *(("hartmann-6", 6, q) for q in (2, 4, 8)),
            *(("levy", 4, q) for q in (2, 4, 8)),
            ("branin", 2, 4),
            ("hartmann-3", 3, 4),
            *_synthetic("withheld", (2, 2), (4, 4), (8, 8)),
        ),
        incremental=_synthetic("synthetic", (2, 2), (4, 4), (8, 8)),
    ),
}


def compared(scale: Scale, panels: tuple[Panel, ...], acquisition: str) -> list[Cell]:
    """Cells of all methods; what is cheap and what comes first in every panel is run first."""
    return [
        _cell(scale, panel, acquisition, budget, trial, maximizer, parallelism)
        for budget, trial, panel, (maximizer, parallelism) in product(
            scale.budgets, range(scale.trials), panels, METHODS
        )
    ]


def joint_and_incremental(scale: Scale) -> list[Cell]:
    """Cells of figure 8: greedy, in the joint form and in the incremental one."""
    ways: list[tuple[str, int | None]] = [(each, None) for each, way in METHODS if way == "greedy"]
    ways += product(PAPER, scale.states)
    return [
        _cell(scale, panel, "ei", budget, trial, maximizer, "greedy", states)
        for budget, trial, panel, (maximizer, states) in product(
            scale.budgets, range(scale.trials), scale.incremental, ways
        )
    ]


def in_turn(figures: Iterable[Sequence[Job]]) -> list[Job]:
    """Jobs of several figures, each once, those with small budgets first."""
    once = dict.fromkeys(job for jobs in figures for job in jobs)
    return sorted(once, key=lambda job: job.budget if isinstance(job, Cell) else 0)


def _cell(
    scale: Scale,
    panel: Panel,
    acquisition: str,
    budget: int,
    trial: int,
    maximizer: str,
    parallelism: str,
    states: int | None = None,
) -> Cell:
    task, d, q = panel
    return Cell(
        task=task,
        d=d,
        q=q,
        acquisition=acquisition,
        form=usual_form(maximizer) if states is None else "incremental",
        parallelism=parallelism,
        maximizer=maximizer,
        draws=states or DRAWS[maximizer],
        budget=budget,
        clock=scale.clock,
        evaluations=scale.evaluations,
        trial=trial,
    )
