"""How a batch is chosen: the maximizers of the paper, and innerloop's own way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from innerloop import (
    Batch,
    Budget,
    ExpectedImprovement,
    InputError,
    Posterior,
    UpperConfidenceBound,
    Utility,
    measured_budget,
    suggest,
)
from innerloop.maximizers import CMAES, Adam, Maximizer, RandomSearch

ACQUISITIONS = ("ei", "ucb")
FORMS = ("joint", "incremental")
PARALLELISMS = ("joint", "greedy")
#: The paper's own; innerloop's default besides.
PAPER = ("adam", "cmaes", "random_search")
MAXIMIZERS = (*PAPER, "innerloop")
CLOCKS = ("cpu", "evaluations")
#: Draws of each maximizer in the joint form (section 4): fresh ones at every step for Adam and
#: CMA-ES, fixed ones for random search. innerloop's default has so many fantasy states.
DRAWS = {"adam": 128, "cmaes": 128, "random_search": 1024, "innerloop": 64}
_BETA = 2.0
#: An inner budget of N is the time of N values with so many draws, whoever spends it.
BUDGET_DRAWS = 128
# The budget ends every search, not the number of its steps.
_NO_END = 10**9


def usual_form(maximizer: str) -> str:
    """The form in which methods are compared: innerloop's default has a form of its own."""
    return "incremental" if maximizer == "innerloop" else "joint"


@dataclass(frozen=True)
class Method:
    """A way to choose batches; fields as in `innerloop_paper.cells.Cell`."""

    acquisition: str
    form: str
    parallelism: str
    maximizer: str
    draws: int
    budget: int
    clock: str

    def __post_init__(self) -> None:
        for name, allowed in (
            ("acquisition", ACQUISITIONS),
            ("form", FORMS),
            ("parallelism", PARALLELISMS),
            ("maximizer", MAXIMIZERS),
            ("clock", CLOCKS),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                )

    def utility(self, posterior: Posterior) -> Utility:
        """q-EI over the best posterior mean at an observation, or q-UCB with beta = 2."""
        if self.acquisition == "ucb":
            return UpperConfidenceBound(_BETA)
        return ExpectedImprovement(float(posterior.fitted.max()))

    def limits(self, posterior: Posterior, q: int) -> Budget:
        """What the inner budget amounts to under these conditions: values, or their CPU time."""
        if self.clock == "evaluations":
            return Budget(evaluations=self.budget)
        utility = self.utility(posterior)
        return measured_budget(
            self.budget, posterior, q, utility, draws=BUDGET_DRAWS, clock=self.clock
        )

    def propose(
        self, posterior: Posterior, q: int, *, limits: Budget, generator: np.random.Generator
    ) -> Batch:
        """The next q queries; limits: what `limits` says."""
        own = self.maximizer == "innerloop"
        return suggest(
            posterior,
            q,
            self.utility(posterior),
            way="default" if own else self.parallelism,
            form=None if own else self.form,
            maximizer=self._maximizer(),
            budget=limits,
            draws=self.draws,
            seed=generator,
        )

    def _maximizer(self) -> Maximizer | None:
        """That of the paper, or none of its own."""
        if self.maximizer == "innerloop":
            return None
        if self.maximizer == "adam":
            return Adam(steps=_NO_END)
        if self.maximizer == "cmaes":
            return CMAES(steps=_NO_END)
        shard = 64 if self.parallelism == "greedy" else 256
        return RandomSearch(shard=shard, sets=_NO_END)
