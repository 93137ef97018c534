"""The inner loop: from a posterior to the next q queries, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks, linalg
from innerloop.acquisition.joint import one_for_each_outcome
from innerloop.acquisition.likely_best import likely_best
from innerloop.acquisition.lookahead import Lookahead
from innerloop.acquisition.utilities import ExpectedImprovement
from innerloop.acquisition.utility import Utility
from innerloop.batches.appraisal import gains_of
from innerloop.batches.certificate import starts_from_a_value, upper_bound
from innerloop.batches.chance import Chance
from innerloop.batches.default import fill_by_default
from innerloop.batches.greedy import IncrementalRounds, JointRounds, Rounds, fill_greedily
from innerloop.batches.joint import fill_jointly
from innerloop.batches.lazy import LazyGains, PlainGains, choose_from
from innerloop.batches.problem import Filled, Problem
from innerloop.domain.domain import Domain, make_domain
from innerloop.errors import InputError
from innerloop.maximizers import named
from innerloop.maximizers.bfgs import BFGS
from innerloop.maximizers.budget import Budget, Meter
from innerloop.maximizers.maximizer import Maximizer
from innerloop.surrogate.model import Model
from innerloop.types import Array, Seed

WAYS = ("default", "greedy", "joint")
FORMS = ("incremental", "joint")
# Fantasy states of the incremental form.
_STATES = 64
# How often a batch may be valued in the end: before and after it was improved.
_APPRAISALS = 2


@dataclass(frozen=True, eq=False)
class Batch:
    """The next queries, and what is known of them.

    Args:
        X: (q, d), the queries.
        value: the acquisition value of the batch, beyond pending points.
        gains: (q,), what each query adds to those before it.
        upper_bound: no batch of q is worth more, up to Monte Carlo error and to a search having
            found the largest gain of a further query (eq. 8-11); None where the theory gives none,
            and where a budget cut that search short.
        evaluations: query sets that were valued.
        seconds: what it took, by the clock of the budget.
        normalized: whether values are gains over something, so that shares of them mean something.
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
    posterior: Model | Sequence[Model],
    q: int,
    utility: Utility | Lookahead | None = None,
    *,
    way: str | None = None,
    form: str | None = None,
    maximizer: str | Maximizer | None = None,
    pending: ArrayLike | None = None,
    candidates: ArrayLike | None = None,
    domain: Domain | None = None,
    budget: Budget | None = None,
    draws: int | None = None,
    chance: Chance | None = None,
    seed: Seed = None,
) -> Batch:
    """Choose the next q queries in the unit cube.

    Args:
        posterior: the belief given the data, a `Posterior` or a `Model` of your own; one for each
            outcome, objectives first, if the utility is of several.
        q: how many queries.
        utility: by default expected improvement over the best posterior mean at an observation.
        way: "default", local maxima of the gain, a choice among them and joint ascent; "greedy",
            one query after the other; or "joint", all q d coordinates at once. By default "greedy"
            if a maximizer or the joint form is asked for, else "default".
        form: "incremental", closed-form gains over fantasy states, or "joint", Monte Carlo over the
            whole batch; by default incremental where there is one.
        maximizer: a name, such as "adam", or an instance, from `innerloop.maximizers`, for the ways
            "greedy" and "joint"; by default "bfgs". The default way has searches of its own.
        pending: (p, d), queries that are being evaluated.
        candidates: (N, d), to choose from these only, by exact greedy selection.
        domain: where queries may lie, from `make_domain`; by default the unit cube.
        budget: what may be spent on all of it; by default searches go on until they converge.
            Greedy rounds share it evenly, and each has one evaluation at least.
        draws: number of fantasy states, or of Monte Carlo draws.
        chance: with the incremental form of EI and PI, what is gained counts as often as
            evaluations there are likely to succeed.
        seed: an integer, a generator, or None for a random one.

    Returns:
        The queries, with their value, what each adds, and a bound on what any batch is worth.
    """
    if utility is None:
        (alone,) = one_for_each_outcome(posterior, ExpectedImprovement(0.0))
        utility = ExpectedImprovement(float(alone.fitted.max()))
    checks.instance(
        "utility", utility, Utility | Lookahead, "a Utility, EntropySearch or KnowledgeGradient"
    )
    posteriors = one_for_each_outcome(posterior, utility)
    q, d = checks.count("q", q), posteriors[0].d
    generator = checks.generator(seed)
    waiting = np.zeros((0, d)) if pending is None else checks.points("pending", pending, d)
    if isinstance(utility, Utility):
        if utility.holds_best:
            waiting = np.concatenate([likely_best(posteriors, utility, generator), waiting])
        elif len(waiting):
            utility = utility.with_pending()
    plan = _Plan.of(utility, way, form, maximizer, draws)
    weighable = isinstance(utility, Utility) and utility.has_log_gain and plan.incremental
    if chance is not None and not weighable:
        raise InputError("a chance of success goes with the incremental form of EI and PI")
    choice = None if candidates is None else checks.points("candidates", candidates, d)
    if choice is not None and domain is not None:
        raise InputError("candidates are taken as they are: leave out the domain")
    limits = Budget() if budget is None else budget
    checks.instance("budget", limits, Budget, "a Budget")
    where = _domain(domain, d)
    with linalg.one_blas_thread():
        meter = Meter(limits)
        problem = Problem(
            posteriors,
            q,
            waiting,
            where,
            meter,
            generator,
            plan.draws,
            chance,
            utility.objectives if isinstance(utility, Utility) else 1,
        )
        with meter.holding_back(_APPRAISALS if isinstance(utility, Utility) else 0):
            filled = _filler(utility, plan, choice, problem)()
        gains, bound = filled.estimates, None
        if isinstance(utility, Utility):  # ES and KG are not submodular
            gains = gains_of(filled.X, utility, problem) if filled.gains is None else filled.gains
            checks.numbers(utility, gains)
            bound = upper_bound(filled, gains, utility, problem)
    return Batch(
        X=filled.X,
        value=float(gains.sum()),
        gains=gains,
        upper_bound=bound,
        evaluations=meter.evaluations,
        seconds=meter.seconds,
        normalized=isinstance(utility, Utility) and starts_from_a_value(utility, problem),
    )


@dataclass(frozen=True)
class _Plan:
    """What was settled on: way, form, maximizer and number of draws."""

    way: str
    incremental: bool
    maximizer: Maximizer
    draws: int

    @staticmethod
    def of(
        utility: Utility | Lookahead,
        way: str | None,
        form: str | None,
        maximizer: str | Maximizer | None,
        draws: int | None,
    ) -> _Plan:
        """The plan for a combination, or an error that says why it makes no sense."""
        checks.one_of("way", way, (None, *WAYS))
        checks.one_of("form", form, (None, *FORMS))
        if way == "default" and (maximizer is not None or form == "joint"):
            raise InputError(
                "way='default' has searches and a form of its own: leave out maximizer and form, "
                "or give way='greedy'"
            )
        if way is None:
            way = "default" if maximizer is None and form != "joint" else "greedy"
        closed = isinstance(utility, Utility) and way != "joint"
        if form == "incremental" and not closed:
            raise InputError(
                "the incremental form goes with the ways 'default' and 'greedy' and a myopic "
                "maximal utility"
            )
        search = BFGS() if maximizer is None else named(maximizer)
        incremental = closed and form != "joint"
        usual = utility.draws if isinstance(utility, Lookahead) else search.draws
        number = (_STATES if incremental else usual) if draws is None else draws
        return _Plan(way, incremental, search, checks.count("draws", number))


def _filler(
    utility: Utility | Lookahead, plan: _Plan, candidates: Array | None, problem: Problem
) -> Callable[[], Filled]:
    """What fills a batch in the way that was settled on."""
    if isinstance(utility, Utility) and plan.incremental:
        if candidates is not None and utility.monotone:
            return partial(
                choose_from, candidates, LazyGains(candidates, utility, problem), problem
            )
        if candidates is None and plan.way == "default":
            return partial(fill_by_default, utility, problem)
        rounds: Rounds = IncrementalRounds(utility, problem)
    else:
        rounds = joint_rounds = JointRounds(utility, plan.maximizer, problem)
        if candidates is None and plan.way == "joint":
            return partial(fill_jointly, joint_rounds, plan.maximizer, problem)
    if candidates is not None:
        return partial(choose_from, candidates, PlainGains(candidates, rounds, problem), problem)
    return partial(fill_greedily, rounds, plan.maximizer, problem)


def _domain(domain: Domain | None, d: int) -> Domain:
    """Where queries may lie."""
    if domain is None:
        return make_domain(d)
    checks.instance("domain", domain, Domain, "a Domain, as make_domain gives it")
    if domain.d != d:
        raise InputError(f"the domain has {domain.d} dimensions, but the posterior has {d}")
    return domain
