"""Random calls of `suggest`, whose certificates are checked against stronger searches.

Values of batches are estimated by other means than in the package: improvements out in the tails
query by query in a plain loop, everything else from plain draws of the joint belief.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri_exp

import innerloop as il
from innerloop.maximizers.adam import Adam
from innerloop.maximizers.cma_es import CMAES
from innerloop.maximizers.direct import Direct
from innerloop.maximizers.random_search import RandomSearch
from innerloop.types import Array

GRID = {1: 1025, 2: 41, 3: 15}
DRAWS = 2**13

#: Ways to fill a batch, with how often they are tried: the default is what nearly all use.
WAYS: dict[str, tuple[int, dict[str, Any]]] = {
    "default": (6, {}),
    "greedy": (3, {"way": "greedy"}),
    "greedy, certified": (2, {"way": "greedy", "budget": il.Budget(certify=True)}),
    "joint form": (1, {"form": "joint"}),
    "joint": (1, {"way": "joint"}),
    "adam": (1, {"maximizer": Adam(steps=30)}),
    "cmaes": (1, {"maximizer": CMAES(population=16, steps=20)}),
    "random search": (1, {"maximizer": RandomSearch(sets=512)}),
    "successive halving": (1, {"maximizer": "successive_halving"}),
    "direct": (1, {"maximizer": Direct(sets=100)}),
    "default, budget": (2, {"budget": None}),
    "greedy, budget": (2, {"way": "greedy", "budget": None}),
    "candidates": (3, {"candidates": None}),
    "pending": (2, {"pending": None}),
}

#: Nine other searches of the same problem; the first ones are the cheapest.
STRONGER: tuple[dict[str, Any], ...] = (
    {},
    {"way": "joint"},
    {"draws": 256},
    {"way": "greedy"},
    {"way": "greedy", "draws": 256},
    {"form": "joint", "draws": 512},
    {"maximizer": RandomSearch(sets=1024)},
    {"maximizer": Adam(steps=30)},
    {"maximizer": CMAES(population=32, steps=30)},
)


@dataclass(frozen=True)
class Case:
    """A call of `suggest`."""

    number: int
    way: str
    posterior: il.Posterior
    q: int
    utility: il.Utility
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        sizes = f"n={self.posterior.n}, d={self.posterior.d}, q={self.q}"
        return f"case {self.number}: {type(self.utility).__name__}, {self.way}, {sizes}"

    @property
    def pending(self) -> Array:
        return self.options.get("pending", np.zeros((0, self.posterior.d)))

    @property
    def candidates(self) -> Array | None:
        return self.options.get("candidates")


def random_case(number: int) -> Case:
    rng = np.random.default_rng([number, 20])
    d, q, n = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(1, 25))
    posterior = random_posterior(rng, n, d)
    utility = random_utility(rng, posterior)
    shares = np.array([share for share, _ in WAYS.values()])
    way = str(rng.choice(list(WAYS), p=shares / shares.sum()))
    options = dict(WAYS[way][1])
    if way in ("default, budget", "greedy, budget"):
        options["budget"] = il.Budget(evaluations=int(10 ** rng.uniform(1.0, 4.0)))
    if "candidates" in options:
        fresh = rng.random((int(rng.integers(q, 200)), d))
        options["candidates"] = np.concatenate([fresh, posterior.X])
    if "pending" in options:
        options["pending"] = rng.random((int(rng.integers(1, 4)), d))
    return Case(number, way, posterior, q, utility, options)


def random_posterior(rng: np.random.Generator, n: int, d: int) -> il.Posterior:
    """Values of a draw from a prior of any smoothness and scale, with noise or without."""
    kernel = (il.Matern52, il.Matern32, il.SquaredExponential)[rng.integers(3)]
    variance = 10.0 ** rng.uniform(-6.0, 6.0)
    lengthscales = np.exp(rng.uniform(np.log(0.08), np.log(1.5), d))
    noise = 0.0 if rng.random() < 0.5 else variance * 10.0 ** rng.uniform(-6.0, -0.5)
    gp = il.GaussianProcess(kernel(lengthscales, variance), mean=0.0, noise=noise)
    X = rng.random((n, d))
    K = gp.kernel(X, X) + (noise + 1e-9 * variance) * np.eye(n)
    return gp.condition(X, np.linalg.cholesky(K) @ rng.standard_normal(n))


def random_utility(rng: np.random.Generator, posterior: il.Posterior) -> il.Utility:
    """Thresholds are from the best value to far above what can be hoped for."""
    sd = float(np.sqrt(posterior.gp.kernel.variance))
    threshold = float(posterior.fitted.max()) + sd * max(0.0, rng.uniform(-1.0, 6.0))
    return (
        il.ExpectedImprovement(threshold),
        il.ProbabilityOfImprovement(threshold, temperature=1e-3 * sd),
        il.SimpleRegret(),
        il.UpperConfidenceBound(beta=float(rng.uniform(0.5, 4.0))),
    )[rng.integers(4)]


class Estimate(NamedTuple):
    value: float
    error: float


def value_of(case: Case, X: Array, draws: int = DRAWS) -> Estimate:
    """What a batch X (q, d) adds to the pending points, with its standard error."""
    p, rng = len(case.pending), np.random.default_rng(0)
    belief = case.posterior.belief(np.concatenate([case.pending, X]))
    smallest = case.posterior.gp.kernel.smallest_variance
    sd = np.sqrt(np.maximum(np.diag(belief.cov), smallest))
    correlation = np.clip(belief.cov / np.outer(sd, sd), -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    if isinstance(case.utility, il.ExpectedImprovement | il.ProbabilityOfImprovement):
        return improvement(case.utility, belief.mean, sd, correlation, p, rng, draws)
    residual = sd[:, None] * (root(correlation) @ rng.standard_normal((len(sd), draws)))
    if isinstance(case.utility, il.UpperConfidenceBound):
        residual = np.sqrt(0.5 * case.utility.beta * np.pi) * np.abs(residual)
    grades = belief.mean[:, None] + residual
    gained = grades.max(axis=0) - (grades[:p].max(axis=0) if p else 0.0)
    return Estimate(float(gained.mean()), float(gained.std() / np.sqrt(draws)))


def improvement(
    utility: il.ExpectedImprovement | il.ProbabilityOfImprovement,
    mean: Array,
    sd: Array,
    correlation: Array,
    p: int,
    rng: np.random.Generator,
    draws: int,
) -> Estimate:
    """By how much outcomes improve on those of the first p of them, however rare that is.

    E[g] = sum_j P(Y_j above) E[g / how many are above | Y_j above] for any g that is 0 if none is.
    """
    u = (mean - utility.threshold) / sd
    log_chance = log_ndtr(u)
    top, value, square = log_chance.max(), 0.0, 0.0
    for j in range(len(u)):
        # A standard normal above -u_j, and the others given that one.
        above = -ndtri_exp(np.log1p(-rng.random(draws)) + log_chance[j])
        rest = correlation - np.outer(correlation[j], correlation[j])
        Z = np.outer(correlation[j], above) + root(rest) @ rng.standard_normal((len(u), draws))
        Z[j] = above
        excess = sd[:, None] * np.maximum(u[:, None] + Z, 0.0)
        if isinstance(utility, il.ProbabilityOfImprovement):
            excess = (u[:, None] + Z > 0.0).astype(float)
            excess[j] = 1.0
        gained = excess.max(axis=0) - (excess[:p].max(axis=0) if p else 0.0)
        part = gained / np.maximum((u[:, None] + Z > 0.0).sum(axis=0), 1)
        share = np.exp(log_chance[j] - top)
        value += share * part.mean()
        square += (share * part.std()) ** 2 / draws
    return Estimate(float(np.exp(top) * value), float(np.exp(top) * np.sqrt(square)))


def root(A: Array) -> Array:
    """R with R R^T = A, singular or not."""
    values, vectors = np.linalg.eigh(A)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def best_single(case: Case) -> float:
    """The largest value of one query, from a grid and ever shorter steps around its best points."""
    if case.candidates is not None:
        return float(singles(case, case.candidates).max())
    d, rng = case.posterior.d, np.random.default_rng(1)
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, GRID[d])] * d, indexing="ij")
    points = np.concatenate([np.stack(axes, axis=-1).reshape(-1, d), case.posterior.X])
    value = singles(case, points)
    top, best = points[np.argsort(-value)[:16]], float(value.max())
    for k in range(25):
        size = 0.7**k / GRID[d] * 10.0 ** rng.uniform(-1.5, 0.0, (12, 1, 1))
        tried = top + np.concatenate(
            [np.zeros((1, *top.shape)), size * rng.normal(size=(12, *top.shape))]
        )
        tried = np.clip(tried, 0.0, 1.0)
        grades = singles(case, tried.reshape(-1, d)).reshape(13, len(top))
        top = tried[np.argmax(grades, axis=0), np.arange(len(top))]
        best = max(best, float(grades.max()))
    return best


def singles(case: Case, X: Array) -> Array:
    """Values of single queries X (N, d), by their textbook formulas: (N,)."""
    mean, variance = case.posterior.marginals(X)
    variance = np.maximum(variance, case.posterior.gp.kernel.smallest_variance)
    sd, utility = np.sqrt(variance), case.utility
    if isinstance(utility, il.SimpleRegret):
        return mean
    if isinstance(utility, il.UpperConfidenceBound):
        return mean + np.sqrt(utility.beta) * sd
    if isinstance(utility, il.ProbabilityOfImprovement):
        return ndtr((mean - utility.threshold) / sd)
    return utility.marginal(mean, variance)


def stronger_batches(case: Case, searches: Iterable[int]) -> list[Array]:
    """Batches from other searches of the same problem."""
    kept = {k: v for k, v in case.options.items() if k in ("pending", "candidates")}
    if case.candidates is not None:
        ways: Iterable[dict[str, Any]] = ({"draws": 512}, {"draws": 2048})
    else:
        ways = (STRONGER[i] for i in searches)
    return [
        il.suggest(case.posterior, case.q, case.utility, seed=100 + i, **kept, **options).X
        for i, options in enumerate(ways)
    ]


class Verdict(NamedTuple):
    """What is wrong with the certificate of a case, and whether it had a bound to be checked."""

    said: list[str]
    has_bound: bool


def complaints(case: Case, searches: Iterable[int] = range(len(STRONGER))) -> list[str]:
    """What is wrong with the certificate of a case, given some of the stronger searches."""
    return verdict(case, searches).said


def verdict(case: Case, searches: Iterable[int]) -> Verdict:
    """The same, with whether there was a bound."""
    options = {"seed": case.number, **case.options}
    batch = il.suggest(case.posterior, case.q, case.utility, **options)
    value, bound, fraction = batch.value, batch.upper_bound, batch.fraction
    own, said = value_of(case, batch.X), []
    # Where the zero of values is arbitrary, errors are measured against the size of outcomes.
    size = abs(own.value) + (0.0 if fraction is not None else float(np.abs(case.posterior.y).max()))
    if abs(value - own.value) > 4.0 * own.error + 0.03 * size:
        said.append(f"value {value:.6g} is {own.value:.6g} +- {own.error:.2g}")
    if not np.isclose(batch.gains.sum(), value, rtol=1e-12, atol=0.0):
        said.append(f"value {value} is not the sum of {batch.gains}")
    if isinstance(case.utility, il.ProbabilityOfImprovement) and value > 1.0:
        said.append(f"a probability of {value}")
    if bound is None:
        extra = [f"fraction {fraction} without a bound"] if fraction is not None else []
        return Verdict(said + extra, has_bound=False)
    if bound < value:
        said.append(f"bound {bound:.12g} below value {value:.12g}")
    if fraction is not None and not np.isclose(fraction, value / bound, rtol=1e-12):
        said.append(f"fraction {fraction} of {value} / {bound}")
    if case.q == 1 and not len(case.pending):
        best = best_single(case)
        unit = abs(best) if fraction is not None else 1e-3 * np.abs(case.posterior.y).max()
        if best > bound + 1e-5 * unit:
            said.append(f"bound {bound:.8g} beaten by one query of {best:.8g}")
        return Verdict(said, has_bound=True)
    for i, X in enumerate(stronger_batches(case, searches)):
        other = value_of(case, X)
        if other.value > bound + 4.0 * other.error + 0.02 * size:
            said.append(f"bound {bound:.6g} beaten by batch {i}: {other.value:.6g}")
            break
    return Verdict(said, has_bound=True)
