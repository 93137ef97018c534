"""How a batch is chosen: the maximizers of the paper, and innerloop's own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from innerloop.acquisition.utilities import ExpectedImprovement, UpperConfidenceBound
from innerloop.acquisition.utility import Utility
from innerloop.batches.inner_budget import measured_seconds
from innerloop.batches.suggest import Batch, suggest
from innerloop.errors import InputError
from innerloop.maximizers.adam import Adam
from innerloop.maximizers.cma_es import CMAES
from innerloop.maximizers.objective import Maximizer
from innerloop.maximizers.random_search import RandomSearch
from innerloop.surrogate.gaussian_process import Posterior

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
    """A way to choose batches; fields as in `innerloop.experiments.cells.Cell`."""

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

    def seconds(self, posterior: Posterior, q: int) -> float | None:
        """CPU seconds that the inner budget amounts to under these conditions, if it is time."""
        if self.clock == "evaluations":
            return None
        none = np.zeros((0, posterior.d))
        utility = self.utility(posterior)
        return measured_seconds(self.budget, posterior, q, utility, none, BUDGET_DRAWS, "cpu")

    def propose(
        self,
        posterior: Posterior,
        q: int,
        *,
        seconds: float | None,
        generator: np.random.Generator,
    ) -> Batch:
        """The next q queries; seconds: what `seconds` says."""
        choice: dict[str, Any] = {"draws": self.draws, "seed": generator}
        if self.maximizer != "innerloop":
            choice |= {
                "form": self.form,
                "parallelism": self.parallelism,
                "maximizer": self._maximizer(),
            }
        if seconds is None:
            choice |= {"evaluations": self.budget}
        else:
            choice |= {"seconds": seconds, "clock": "cpu"}
        return suggest(posterior, q, self.utility(posterior), **choice)

    def _maximizer(self) -> Maximizer:
        if self.maximizer == "adam":
            return Adam(steps=_NO_END)
        if self.maximizer == "cmaes":
            return CMAES(steps=_NO_END)
        shard = 64 if self.parallelism == "greedy" else 256
        return RandomSearch(shard=shard, sets=_NO_END)
