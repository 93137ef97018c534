"""The inner loop: from a posterior to the next q queries.

Chooses a form of the acquisition function, a way to fill the batch, a maximizer and a budget, and
says how good the batch is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.acquisition.draws import load_sobol
from innerloop.acquisition.joint import Lookahead
from innerloop.acquisition.noisy import likely_best
from innerloop.acquisition.utilities import (
    ExpectedImprovement,
    NoisyExpectedImprovement,
    SimpleRegret,
)
from innerloop.acquisition.utility import Utility
from innerloop.batches.candidates import choose_from
from innerloop.batches.chance import Chance
from innerloop.batches.greedy import fill_greedily
from innerloop.batches.inner_budget import measured_seconds
from innerloop.batches.joint import fill_jointly
from innerloop.batches.problem import Problem, Settings
from innerloop.batches.thorough import fill_thoroughly
from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.maximizers import named
from innerloop.maximizers.budget import Budget, Meter
from innerloop.maximizers.domain import Domain, make_domain
from innerloop.maximizers.objective import Maximizer
from innerloop.surrogate.gaussian_process import Posterior


@dataclass(frozen=True, eq=False)
class Batch:
    """The next queries X (q, d), and what is known of them.

    value: the acquisition value of the batch, beyond pending points. gains: (q,), what each query
    adds to those before it. upper_bound: no batch of q is worth more, up to Monte Carlo error and
    to a search having found the largest gain of a further query; None where the theory gives none,
    and where a budget cut that search short. evaluations, seconds: what was spent.
    """

    X: Array
    value: float
    gains: Array
    upper_bound: float | None
    evaluations: int
    seconds: float
    normalized: bool

    @property
    def fraction(self) -> float | None:
        """Guaranteed share of the best possible value, where values are gains over something."""
        if not self.normalized or self.upper_bound is None:
            return None
        return self.value / self.upper_bound if self.upper_bound > 0.0 else None


def suggest(
    posterior: Posterior,
    q: int,
    utility: Utility | Lookahead | None = None,
    *,
    form: str | None = None,
    parallelism: str = "greedy",
    maximizer: str | Maximizer = "lbfgs",
    pending: ArrayLike | None = None,
    candidates: ArrayLike | None = None,
    inequalities: tuple[ArrayLike, ArrayLike] | None = None,
    fixed: Mapping[int, float] | None = None,
    domain: Domain | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    inner_budget: int | None = None,
    clock: str = "wall",
    draws: int | None = None,
    refine: bool | None = None,
    certify: bool = False,
    chance: Chance | None = None,
    seed: int | np.random.Generator | None = None,
) -> Batch:
    """Choose the next q queries in the unit cube.

    utility: by default expected improvement over the best posterior mean at an observation.
    form: "incremental" (closed-form gains over fantasy states) or "joint" (Monte Carlo over the
    whole batch); by default incremental where there is one. parallelism: "greedy", one query after
    the other, or "joint", all q d coordinates at once. maximizer: a name from
    `innerloop.maximizers`, or an instance with other settings.

    pending: (p, d) queries that are being evaluated. candidates: (N, d), to choose from these
    only, by exact greedy selection. inequalities: (A, b) for A x <= b. fixed: values of
    coordinates by index. domain: from `innerloop.maximizers.domain.make_domain`, instead of
    inequalities and fixed, for coordinates that take some values only; these move from value to
    value, never in between.

    evaluations, seconds: what may be spent on the whole call, starts included (at least one
    evaluation per round); by default the maximizer runs until it converges. inner_budget: as
    many seconds as this number of simultaneous acquisition values is measured to take, as in
    the paper. Greedy rounds share a budget evenly. clock: "wall" or "cpu".
    draws: number of Monte Carlo draws or fantasy states. refine: improve a greedy batch by joint
    ascent, with a certificate; by default where there is one, with the incremental form and
    "lbfgs" as it is (not for PI, whose joint form is relaxed). certify: hold back one greedy
    round's share of a budget for the upper bound; without a budget it is always searched for.
    chance: with the incremental form of EI and PI, what is gained counts as often as evaluations
    there are likely to succeed.
    """
    checks.instance("posterior", posterior, Posterior, "a Posterior")
    q = checks.count("q", q)
    d = posterior.d
    if utility is None:
        utility = ExpectedImprovement(float(posterior.fitted.max()))
    checks.instance(
        "utility", utility, Utility | Lookahead, "a Utility, EntropySearch or KnowledgeGradient"
    )
    generator = np.random.default_rng(seed)
    waiting = np.zeros((0, d)) if pending is None else checks.points("pending", pending, d)
    if isinstance(utility, NoisyExpectedImprovement):
        waiting = np.concatenate([likely_best(posterior, generator), waiting])
    elif type(utility) is SimpleRegret and len(waiting):
        # What is gained over pending points is the same, and known in log space.
        utility = NoisyExpectedImprovement()
    chosen = named(maximizer)
    settings = Settings.resolve(utility, form, parallelism, chosen, draws, refine)
    if chance is not None:
        settings = _with_chance(settings, utility)
    if inner_budget is not None:
        if seconds is not None:
            raise InputError("give seconds or inner_budget, not both")
        values = checks.count("inner_budget", inner_budget)
        with linalg.one_blas_thread():
            seconds = measured_seconds(
                values, posterior, q, utility, waiting, settings.draws, Budget(clock=clock).clock
            )
    constrained = any(each is not None for each in (inequalities, fixed, domain))
    if candidates is not None and constrained:
        raise InputError("candidates are taken as they are: leave out the constraints")
    limits = Budget(evaluations, seconds, clock)
    where = _domain(d, domain, inequalities, fixed)
    with linalg.one_blas_thread():
        load_sobol()  # a budget is for the search, not for imports
        meter = Meter(limits)
        problem = Problem(
            posterior=posterior,
            utility=utility,
            q=q,
            pending=waiting,
            settings=settings,
            maximizer=chosen,
            domain=where,
            meter=meter,
            generator=generator,
            certify=certify,
            chance=chance,
        )
        if candidates is not None:
            filled = choose_from(checks.points("candidates", candidates, d), problem)
        elif parallelism == "joint":
            filled = fill_jointly(problem)
        elif settings.thorough(q):
            filled = fill_thoroughly(problem)
        else:
            filled = fill_greedily(problem)
    return Batch(
        X=filled.X,
        value=filled.value,
        gains=filled.gains,
        upper_bound=filled.upper_bound,
        evaluations=meter.evaluations,
        seconds=meter.seconds,
        normalized=problem.starts_from_a_value,
    )


def _with_chance(settings: Settings, utility: Utility | Lookahead) -> Settings:
    """Settings under which every query's gain can be weighed: no joint ascent."""
    if settings.form == "joint" or not (isinstance(utility, Utility) and utility.has_log_gain):
        raise InputError("a chance of success goes with the incremental form of EI and PI")
    return replace(settings, refine=False)


def _domain(
    d: int,
    domain: Domain | None,
    inequalities: tuple[ArrayLike, ArrayLike] | None,
    fixed: Mapping[int, float] | None,
) -> Domain:
    """Where queries may lie."""
    if domain is None:
        return make_domain(d, inequalities=inequalities, fixed=fixed)
    checks.instance("domain", domain, Domain, "a Domain, as make_domain gives it")
    if inequalities is not None or fixed is not None:
        raise InputError("inequalities and fixed coordinates are part of the domain: give one")
    if domain.d != d:
        raise InputError(f"the domain has {domain.d} dimensions, but the posterior has {d}")
    return domain
