"""A cell of the grid: one method on one task, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from innerloop import InputError
from innerloop_paper.counts import check_count
from innerloop_paper.jobs import Settings
from innerloop_paper.methods import Method
from innerloop_paper.synthetic import Maximum
from innerloop_paper.table import Table
from innerloop_paper.tasks import DRAWN, check_dimension, make_task
from innerloop_paper.trial import run_trial


@dataclass(frozen=True)
class Cell(Settings):
    """One run of Bayesian optimization, and all that its result depends on.

    task: see `innerloop_paper.tasks`; d, q: dimension and parallelism; acquisition: "ei" or
    "ucb"; form: "joint" or "incremental"; parallelism: "joint" or "greedy"; maximizer: "adam",
    "cmaes", "random_search" or "innerloop", which is `suggest` as it is; draws: of Monte Carlo, or
    fantasy states; budget: N, the inner budget; clock: "cpu" if N stands for the CPU time of as
    many values, as in the paper, "evaluations" if it is their number; evaluations: T, of the task,
    the initial ones included; trial: methods of a trial share the task and its initial points.
    """

    kind: ClassVar[str] = "cell"

    task: str
    d: int
    q: int
    acquisition: str
    form: str
    parallelism: str
    maximizer: str
    draws: int
    budget: int
    clock: str
    evaluations: int
    trial: int

    def __post_init__(self) -> None:
        check_dimension(self.task, self.d)
        for name in ("d", "q", "draws", "budget", "evaluations"):
            check_count(name, getattr(self, name))
        if self.trial < 0:
            raise InputError(f"trial must be 0 or more, got {self.trial}")
        _ = self.method

    @property
    def method(self) -> Method:
        """How batches are chosen."""
        return Method(
            self.acquisition,
            self.form,
            self.parallelism,
            self.maximizer,
            self.draws,
            self.budget,
            self.clock,
        )

    @property
    def maximum(self) -> Maximum | None:
        """The job that finds the maximum of the task, where it is not known."""
        return Maximum(self.d, self.trial) if self.task in DRAWN else None

    def compute(self, maximum: Table | None = None) -> Table:
        """Run it; maximum: the result of the job of that name, if it is at hand."""
        if self.maximum is not None and maximum is None:
            maximum = self.maximum.compute()
        largest = None if maximum is None else float(maximum["value"][0])
        task = make_task(self.task, self.d, self.trial, largest)
        return run_trial(
            task, self.method, q=self.q, evaluations=self.evaluations, trial=self.trial
        )
