"""Random batches whose certificates are checked against searches that are stronger than theirs.

Values of batches are estimated here by other means than in the package: tails by sampling each
query's improvement in turn, everything else from plain draws of the joint belief.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri_exp, log_ndtr
from scipy.stats import norm

import innerloop as il
from innerloop.checks import Array

GRID = {1: 1025, 2: 41, 3: 15}
DRAWS = 2**13


@dataclass(frozen=True)
class Case:
    """A call of `suggest`, and what it is called here."""

    way: str
    posterior: il.Posterior
    q: int
    utility: il.Utility
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __str__(self) -> str:
        sizes = f"n={self.posterior.n}, d={self.posterior.d}, q={self.q}"
        return f"case {self.seed}: {type(self.utility).__name__}, {self.way}, {sizes}"

    def suggest(self, **other: Any) -> il.Batch:
        options = {"seed": self.seed, **self.options, **other}
        return il.suggest(self.posterior, self.q, self.utility, **options)


WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "greedy": {"refine": False},
    "greedy, certified": {"refine": False, "certify": True},
    "joint form": {"form": "joint"},
    "joint": {"parallelism": "joint"},
    "adam": {"maximizer": "adam"},
    "cmaes": {"maximizer": "cmaes"},
    "random search": {"maximizer": "random_search"},
    "successive halving": {"maximizer": "successive_halving"},
    "direct": {"maximizer": "direct"},
    "default, budget": {"evaluations": 1},
    "greedy, budget": {"refine": False, "evaluations": 1},
    "candidates": {"candidates": None},
    "pending": {"pending": None},
}
# The default is what nearly everybody uses.
SHARES = np.array([6, 3, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 2], dtype=float)


def random_case(seed: int) -> Case:
    rng = np.random.default_rng([seed, 20])
    d, q = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    n = int(rng.integers(1, 25))
    posterior = random_posterior(rng, n, d)
    utility = random_utility(rng, posterior)
    way = str(rng.choice(list(WAYS), p=SHARES / SHARES.sum()))
    options = dict(WAYS[way])
    if "evaluations" in options:
        options["evaluations"] = int(10 ** rng.uniform(1.0, 3.5))
    if "candidates" in options:
        fresh = rng.random((int(rng.integers(q, 200)), d))
        options["candidates"] = np.concatenate([fresh, posterior.X])
    if "pending" in options:
        options["pending"] = rng.random((int(rng.integers(1, 4)), d))
    return Case(way, posterior, q, utility, options, seed)


def random_posterior(rng: np.random.Generator, n: int, d: int) -> il.Posterior:
    kernel = [il.Matern52, il.Matern32, il.SquaredExponential][rng.integers(3)]
    variance = 10.0 ** rng.uniform(-6.0, 6.0)
    lengthscales = np.exp(rng.uniform(np.log(0.08), np.log(1.5), d))
    noise = 0.0 if rng.random() < 0.5 else variance * 10.0 ** rng.uniform(-6.0, -0.5)
    gp = il.GaussianProcess(kernel(lengthscales, variance), mean=0.0, noise=noise)
    X = rng.random((n, d))
    K = gp.kernel(X, X) + (noise + 1e-9 * variance) * np.eye(n)
    y = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return gp.condition(X, y)


def random_utility(rng: np.random.Generator, posterior: il.Posterior) -> il.Utility:
    sd = np.sqrt(posterior.gp.kernel.variance)
    above = max(0.0, rng.uniform(-1.0, 6.0))
    threshold = float(posterior.fitted.max()) + sd * above
    return [
        il.ExpectedImprovement(threshold),
        il.ProbabilityOfImprovement(threshold, temperature=1e-3 * sd),
        il.SimpleRegret(),
        il.UpperConfidenceBound(beta=float(rng.uniform(0.5, 4.0))),
    ][rng.integers(4)]


class Estimate(NamedTuple):
    value: float
    error: float


def value_of(case: Case, X: Array, draws: int = DRAWS) -> Estimate:
    """What a batch X (q, d) adds to the pending points, with its standard error."""
    pending = case.options.get("pending")
    points = X if pending is None else np.concatenate([pending, X])
    p = 0 if pending is None else len(pending)
    belief = case.posterior.belief(points)
    mean, cov = belief.mean, belief.cov
    smallest = case.posterior.gp.kernel.smallest_variance
    sd = np.sqrt(np.maximum(np.diag(cov), smallest))
    correlation = np.clip(cov / np.outer(sd, sd), -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    rng = np.random.default_rng(0)
    if hasattr(case.utility, "threshold"):
        return _tail_value(case.utility, mean, sd, correlation, p, rng, draws)
    Y = mean[:, None] + sd[:, None] * (
        _root(correlation) @ rng.standard_normal((len(points), draws))
    )
    grades = (
        Y
        if isinstance(case.utility, il.SimpleRegret)
        else (mean[:, None] + np.sqrt(0.5 * case.utility.beta * np.pi) * np.abs(Y - mean[:, None]))
    )
    total = grades.max(axis=0) - (grades[:p].max(axis=0) if p else 0.0)
    return Estimate(float(total.mean()), float(total.std() / np.sqrt(draws)))


def _tail_value(utility, mean, sd, correlation, p, rng, draws) -> Estimate:
    """E max over the batch, query by query: choose one, draw its improvement, then the others.

    E[max_j v_j - max_{j < p} v_j], v_j >= 0, is sum_j E[v_j] E_j[(max - max of pending) / sum_k v_k]
    where E_j draws with density v_j / E[v_j].
    """
    u = (mean - utility.threshold) / sd
    improving = isinstance(utility, il.ExpectedImprovement)
    k = len(u)
    log_scale = log_ndtr(u)
    largest = log_scale.max()
    value, square = 0.0, 0.0
    for j in range(k):
        others = [i for i in range(k) if i != j]
        # A standard normal above -u_j, precise far out in its tail.
        e = -ndtri_exp(np.log1p(-rng.random(draws)) + log_ndtr(u[j]))
        Z = np.empty((k, draws))
        Z[j] = e
        if others:
            r = correlation[others, j]
            rest = correlation[np.ix_(others, others)] - np.outer(r, r)
            Z[others] = r[:, None] * e + _root(rest) @ rng.standard_normal((k - 1, draws))
        excess = sd[:, None] * np.maximum(u[:, None] + Z, 0.0)
        if not improving:
            excess = (u[:, None] + Z > 0.0).astype(float)
            excess[j] = 1.0
        count = (u[:, None] + Z > 0.0).sum(axis=0)
        gained = excess.max(axis=0) - (excess[:p].max(axis=0) if p else 0.0)
        part = gained / np.maximum(count, 1)
        share = np.exp(log_scale[j] - largest)
        value += share * part.mean()
        square += (share * part.std()) ** 2 / draws
    unit = np.exp(largest)
    return Estimate(float(unit * value), float(unit * np.sqrt(square)))


def _root(correlation: Array) -> Array:
    """A matrix whose square is the correlation, singular or not."""
    values, vectors = np.linalg.eigh(correlation)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def best_single(case: Case) -> float:
    """The largest value of one query, from a grid and steps that get shorter around its best."""
    if case.options.get("candidates") is not None:
        return float(_singles(case, case.options["candidates"]).max())
    d = case.posterior.d
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, GRID[d])] * d, indexing="ij")
    grid = np.stack(axes, axis=-1).reshape(-1, d)
    centers = np.concatenate([grid, case.posterior.X])
    value = _singles(case, centers)
    rng = np.random.default_rng(1)
    top = centers[np.argsort(-value)[:16]]
    best = float(value.max())
    step = 1.0 / GRID[d]
    for _ in range(25):
        moves = (
            rng.standard_normal((12, *top.shape))
            * step
            * 10.0 ** rng.uniform(-1.5, 0.0, (12, 1, 1))
        )
        tried = np.clip(np.concatenate([top[None], top + moves]), 0.0, 1.0)
        grades = _singles(case, tried.reshape(-1, d)).reshape(13, len(top))
        top = tried[np.argmax(grades, axis=0), np.arange(len(top))]
        best = max(best, float(grades.max()))
        step *= 0.7
    return best


def _singles(case: Case, X: Array) -> Array:
    mean, variance = case.posterior.marginals(X)
    variance = np.maximum(variance, case.posterior.gp.kernel.smallest_variance)
    sd, utility = np.sqrt(variance), case.utility
    if isinstance(utility, il.SimpleRegret):
        return mean
    if isinstance(utility, il.UpperConfidenceBound):
        return mean + np.sqrt(utility.beta) * sd
    u = (mean - utility.threshold) / sd
    if isinstance(utility, il.ProbabilityOfImprovement):
        return ndtr(u)
    return np.array(il.ExpectedImprovement(utility.threshold).marginal(mean, variance))


STRONGER: list[dict[str, Any]] = [
    {},
    {"draws": 256},
    {"refine": False},
    {"refine": False, "draws": 256},
    {"maximizer": "adam"},
    {"maximizer": "cmaes"},
    {"maximizer": "random_search"},
    {"parallelism": "joint"},
    {"form": "joint", "draws": 512},
]


def stronger_batches(case: Case, number: int = len(STRONGER)) -> list[Array]:
    """Batches from other searches of the same problem."""
    kept = {k: v for k, v in case.options.items() if k in ("pending", "candidates")}
    if "candidates" in kept:
        return [
            il.suggest(case.posterior, case.q, case.utility, seed=99 + i, draws=64 * 4**i, **kept).X
            for i in range(min(number, 2))
        ]
    found = []
    for i, options in enumerate(STRONGER[:number]):
        found.append(
            il.suggest(case.posterior, case.q, case.utility, seed=100 + i, **kept, **options).X
        )
    return found


def complaints(case: Case, number: int = len(STRONGER)) -> list[str]:
    """What is wrong with the certificate of a case."""
    batch = case.suggest()
    said: list[str] = []
    value, bound, fraction = batch.value, batch.upper_bound, batch.fraction
    own = value_of(case, batch.X)
    size = abs(own.value) + (0.0 if fraction is not None else float(np.abs(case.posterior.y).max()))
    slack = 4.0 * own.error + 0.03 * size
    relaxed = isinstance(case.utility, il.ProbabilityOfImprovement) and (
        case.options.get("form") == "joint" or case.options.get("parallelism") == "joint"
    )
    if abs(value - own.value) > slack and not relaxed:
        said.append(f"value {value:.6g} is {own.value:.6g} +- {own.error:.2g}")
    if isinstance(case.utility, il.ProbabilityOfImprovement) and value > 1.0:
        said.append(f"a probability of {value}")
    if bound is None:
        if fraction is not None:
            said.append(f"fraction {fraction} without a bound")
        return said
    if bound < value:
        said.append(f"bound {bound:.12g} below value {value:.12g}")
    if fraction is not None and bound > 0.0 and not np.isclose(fraction, value / bound):
        said.append(f"fraction {fraction} of {value} / {bound}")
    if case.q == 1 and "pending" not in case.options:
        best = best_single(case)
        unit = max(abs(best), 1e-3 * np.abs(case.posterior.y).max() if fraction is None else 0.0)
        if best > bound + 1e-5 * unit:
            said.append(f"bound {bound:.8g} beaten by one query of {best:.8g}")
        return said
    for i, X in enumerate(stronger_batches(case, number)):
        other = value_of(case, X)
        if other.value > bound + 4.0 * other.error + 0.02 * size:
            said.append(
                f"bound {bound:.6g} (value {value:.6g}) beaten by search {i}: {other.value:.6g} +- {other.error:.2g}"
            )
            break
    return said
