"""From results to curves: log10 regret by panel, method and trial, and its mean over trials.

A panel is everything but the method and the trial: runs in one panel can be compared. Its entrants
are the methods; all of them start a trial from the same points on the same function, so trials
are paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from innerloop import InputError
from innerloop_paper.arrays import Array
from innerloop_paper.cells import Cell
from innerloop_paper.store import Result

#: Regrets below are taken for this one: 0 has no logarithm, and without a floor a single run that
#: happens upon the very maximum, such as a corner of the cube, would outweigh all others.
FLOOR = 1e-6

#: What tasks are called, in the order of their rows: the prior withheld last as in the paper.
TASKS = {
    "synthetic": "synthetic",
    "branin": "Branin-Hoo",
    "hartmann-3": "Hartmann-3",
    "hartmann-6": "Hartmann-6",
    "levy": "Levy",
    "withheld": "prior withheld",
}
#: What inner budgets are counted in.
CLOCKS = {"cpu": "CPU time", "evaluations": "evaluations"}


@dataclass(frozen=True)
class Panel:
    """What runs have in common that can be compared with each other."""

    task: str
    d: int
    q: int
    acquisition: str
    budget: int
    clock: str
    evaluations: int

    @property
    def size(self) -> int:
        """The dimension q d of the acquisition function."""
        return self.q * self.d

    def order(self) -> tuple[int | str, ...]:
        """By which panels are sorted: tasks as in `TASKS`, numbers ascending."""
        row = list(TASKS).index(self.task)
        return (
            *(row, self.d, self.q, self.acquisition, self.budget),
            *(self.clock, self.evaluations),
        )


@dataclass(frozen=True, order=True)
class Entrant:
    """A way to find batches that takes part in a panel.

    draws: of Monte Carlo, or fantasy states of the incremental form.
    """

    maximizer: str
    parallelism: str
    form: str
    draws: int


#: log10 regret after each batch, by trial.
Trials = Mapping[int, Array]


@dataclass(frozen=True, eq=False)
class Runs:
    """All runs of a panel. evaluations: (k,), of the black box, 3 or so up to the last.

    logs: for each entrant and trial the log10 regret (k,) after as many evaluations.
    """

    panel: Panel
    evaluations: Array
    logs: Mapping[Entrant, Trials]

    def entrant(
        self, maximizer: str, parallelism: str, form: str, draws: int | None = None
    ) -> Entrant | None:
        """The entrant of this kind; without `draws`, the one with most trials, then most draws."""
        kind = (maximizer, parallelism, form)
        found = [
            entrant
            for entrant in self.logs
            if (entrant.maximizer, entrant.parallelism, entrant.form) == kind
            and draws in (None, entrant.draws)
        ]
        return max(found, key=lambda one: (len(self.logs[one]), one.draws), default=None)


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean (k,) of log10 regret over trials, and its standard error (k,), nan for one trial."""

    entrant: Entrant
    mean: Array
    error: Array


def collect(results: Iterable[Result]) -> list[Runs]:
    """The runs among the results, sorted by panel; illustrations are passed over."""
    tables: dict[Panel, dict[Entrant, dict[int, tuple[Array, Array]]]] = {}
    for result in results:
        if not isinstance(result.job, Cell):
            continue
        panel, entrant, trial = place(result.job)
        trials = tables.setdefault(panel, {}).setdefault(entrant, {})
        if trial in trials:
            raise InputError(f"there are two results of the same run, {result.job}")
        steps = np.asarray(result.table["evaluations"], dtype=np.float64)
        trials[trial] = steps, log_regret(result.table["regret"])
    return [_runs(panel, tables[panel]) for panel in sorted(tables, key=Panel.order)]


def log_regret(regret: Sequence[float]) -> Array:
    """log10 of regrets, those below the floor raised to it."""
    values = np.asarray(regret, dtype=np.float64)
    if not (values >= 0.0).all():
        raise InputError(f"regrets must be 0 or above, got {regret}")
    return np.log10(np.maximum(values, FLOOR))


def common_trials(runs: Runs, entrants: Iterable[Entrant]) -> list[int]:
    """Trials that all the entrants have, ascending."""
    sets = [set(runs.logs[entrant]) for entrant in entrants]
    return sorted(set.intersection(*sets)) if sets else []


def curves(runs: Runs, entrants: Sequence[Entrant]) -> tuple[list[Curve], int]:
    """The curve of each entrant over the trials that all of them have, and how many these are."""
    trials = common_trials(runs, entrants)
    if not trials:
        return [], 0
    found = []
    for entrant in entrants:
        logs = np.array([runs.logs[entrant][trial] for trial in trials])
        found.append(Curve(entrant, logs.mean(axis=0), _standard_error(logs)))
    return found, len(trials)


def _standard_error(values: Array) -> Array:
    """Of the mean over the first axis; nan where one value says nothing of its error."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    error: Array = values.std(axis=0, ddof=1) / np.sqrt(n)
    return error


def place(cell: Cell) -> tuple[Panel, Entrant, int]:
    """The panel, entrant and trial of a cell."""
    panel = Panel(
        task=cell.task,
        d=cell.d,
        q=cell.q,
        acquisition=cell.acquisition,
        budget=cell.budget,
        clock=cell.clock,
        evaluations=cell.evaluations,
    )
    return panel, Entrant(cell.maximizer, cell.parallelism, cell.form, cell.draws), cell.trial


def _runs(panel: Panel, tables: dict[Entrant, dict[int, tuple[Array, Array]]]) -> Runs:
    """Runs of a panel, all seen after the same numbers of evaluations."""
    grids = [steps for trials in tables.values() for steps, _ in trials.values()]
    if any(not np.array_equal(steps, grids[0]) for steps in grids):
        raise InputError(f"runs of {panel} must be told after the same numbers of evaluations")
    logs = {
        entrant: {trial: tables[entrant][trial][1] for trial in sorted(tables[entrant])}
        for entrant in sorted(tables)
    }
    return Runs(panel, grids[0], logs)
