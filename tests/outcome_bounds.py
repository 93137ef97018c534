"""Random problems of several outcomes, and what their batches are worth by brute force.

Batches are valued by other means than in the package: single queries by quadrature, others from
draws of the joint belief, volumes by sorting. No batch of a grid is worth more than the upper bound
that `suggest` gives, but for Monte Carlo error: that of the value by brute force, and that of the
bound L(X) + q Delta(x; X) itself, whose terms are averages over so many fantasies.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri_exp

import innerloop as il
from certificates import Estimate, random_posterior, root
from innerloop.types import Array

KINDS = ("improvement", "feasibility", "hypervolume", "constrained hypervolume", "3 objectives")
#: Points of a grid along each side, by dimension and size of the batch.
SIDES = {1: {1: 257, 2: 33, 3: 17}, 2: {1: 33, 2: 7, 3: 5}}
# Draws for all batches of a grid, how many of these are kept, draws for those, and for the best.
_SCREENING, _KEPT, _SELECTION, _FINAL = 64, 32, 2048, 2**15
# Fantasies that the package has for the value of a batch, and for what one more query adds to it.
_FANTASIES, _STATES = 4096, 128
# Outer and inner draws of what one more query adds: for all of a grid, and for the best of it.
_NESTED_GLANCE, _NESTED = (32, 8), (256, 64)
# Values below this or, of volumes, below this share of all, and those with a larger error than this
# share tell nothing of a bound.
SMALLEST, ROUNDING, LARGEST_ERROR = 1e-30, 1e-9, 0.05
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)


@dataclass(frozen=True, eq=False)
class Problem:
    """Outcomes of which M are objectives; threshold: of one objective; front: of several."""

    posteriors: list[il.Posterior]
    objectives: int
    threshold: float | None
    front: Array
    reference: Array

    @property
    def utility(self) -> il.Utility:
        constraints = len(self.posteriors) - self.objectives
        if self.objectives == 1:
            return il.FeasibleImprovement(self.threshold, constraints)
        return il.HypervolumeImprovement(self.front, self.reference, constraints)

    @property
    def d(self) -> int:
        return self.posteriors[0].d


def random_problem(kind: str, d: int, seed: int) -> Problem:
    """Draws from priors of any smoothness and scale, constraints that are met here and there."""
    rng = np.random.default_rng([seed, d, KINDS.index(kind)])
    M = {"improvement": 1, "feasibility": 1, "3 objectives": 3}.get(kind, 2)
    C = 0 if kind in ("hypervolume", "3 objectives") else int(rng.integers(1, 3))
    n = int(rng.integers(2, 13))
    posteriors = [random_posterior(rng, n, d) for _ in range(M)]
    scale = [np.sqrt(each.gp.kernel.variance) for each in posteriors]
    for _ in range(C):
        drawn = random_posterior(rng, n, d)
        sd = np.sqrt(drawn.gp.kernel.variance)
        y = drawn.y + sd * rng.uniform(-1.0, 1.0)
        if kind == "feasibility":  # nothing that is known is feasible
            y = y + max(0.0, 0.05 * sd - y.min())
        posteriors.append(drawn.gp.condition(drawn.X, y))
    values = np.stack([each.fitted for each in posteriors], axis=1)
    known = values[(values[:, M:] <= 0.0).all(axis=1), :M]
    threshold = None
    if kind == "improvement":
        best = known[:, 0].max() if len(known) else values[:, 0].min()
        threshold = float(best + scale[0] * max(0.0, rng.uniform(-1.0, 2.0)))
    reference = values[:, :M].min(axis=0) + scale * rng.uniform(-1.0, 0.5, M)
    return Problem(posteriors, M, threshold, known, reference)


# What batches are worth in given draws


def worth(problem: Problem, Y: Array) -> Array:
    """The utility of batches of outcomes (..., q, K): (...)."""
    M = problem.objectives
    feasible = (Y[..., M:] <= 0.0).all(axis=-1)
    if M == 1:
        gains = np.ones(feasible.shape)
        if problem.threshold is not None:
            gains = np.maximum(Y[..., 0] - problem.threshold, 0.0)
        best: Array = np.where(feasible, gains, 0.0).max(axis=-1)
        return best
    points = np.where(feasible[..., None], Y[..., :M], problem.reference)
    front = np.broadcast_to(problem.front, (*points.shape[:-2], *problem.front.shape))
    both = np.concatenate([front, points], axis=-2)
    return hypervolume(both, problem.reference) - hypervolume(problem.front, problem.reference)


def hypervolume(points: Array, reference: Array) -> Array:
    """The volume that points (..., P, M) cover above a reference: (...)."""
    if points.shape[-2] == 0:
        return np.zeros(points.shape[:-2])
    heights = np.maximum(points - reference, 0.0)
    heights = np.take_along_axis(heights, np.argsort(-heights[..., :1], axis=-2), axis=-2)
    steps = heights[..., 0] - np.append(heights[..., 1:, 0], 0.0 * heights[..., :1, 0], axis=-1)
    if points.shape[-1] == 2:
        covered: Array = (steps * np.maximum.accumulate(heights[..., 1], axis=-1)).sum(axis=-1)
        return covered
    # Slices: within one, all points count that reach at least as far along the first coordinate.
    slices = [
        hypervolume(heights[..., : i + 1, 1:], np.zeros(points.shape[-1] - 1))
        for i in range(points.shape[-2])
    ]
    return (steps * np.stack(slices, axis=-1)).sum(axis=-1)


class Draws(NamedTuple):
    """Outcomes (number, N, K) and the weight of each draw, (number,), on average 1."""

    outcomes: Array
    weights: Array


def drawn(problem: Problem, X: Array, number: int, rng: np.random.Generator) -> Draws:
    """Draws at points X (N, d) in which at least one of them may be worth something.

    Something is worth nothing unless it is feasible and above the threshold or reference. In every
    draw one point is, j with probability P_j / sum P, and the others follow. Relative to the belief
    that is a density of (how many points are) / sum P.
    """
    M, K = problem.objectives, len(problem.posteriors)
    beliefs = [each.belief(X) for each in problem.posteriors]
    mean = np.stack([each.mean for each in beliefs], axis=-1)
    smallest = np.array([each.gp.kernel.smallest_variance for each in problem.posteriors])
    sd = np.sqrt(np.maximum(np.stack([np.diag(each.cov) for each in beliefs], axis=-1), smallest))
    bars = np.zeros(K)
    bars[:M] = problem.reference if M > 1 else (problem.threshold or 0.0)
    signs = np.where(np.arange(K) < M, 1.0, -1.0)
    counts = np.ones(K, dtype=bool)
    counts[0] = M > 1 or problem.threshold is not None
    log_each = np.where(counts, log_ndtr(signs * (mean - bars) / sd), 0.0)  # (N, K)
    log_chance = log_each.sum(axis=1)
    log_total = np.logaddexp.reduce(log_chance)
    chosen = rng.choice(len(X), number, p=np.exp(log_chance - log_total))
    row, Y = np.arange(number), np.empty((number, len(X), K))
    for k, belief in enumerate(beliefs):
        correlation = np.clip(belief.cov / np.outer(sd[:, k], sd[:, k]), -1.0, 1.0)
        np.fill_diagonal(correlation, 1.0)
        paths = rng.standard_normal((number, len(X))) @ root(correlation).T
        above = -ndtri_exp(np.log1p(-rng.random(number)) + log_each[chosen, k])
        step = signs[k] * above - paths[row, chosen] if counts[k] else np.zeros(number)
        Y[..., k] = mean[:, k] + sd[:, k] * (paths + step[:, None] * correlation[chosen])
    good = (~counts | (signs * (Y - bars) >= 0.0)).all(axis=-1)
    good[row, chosen] = True
    return Draws(Y, np.exp(log_total) / good.sum(axis=1))


def average(weights: Array, values: Array) -> Estimate:
    """Of values (number,) with weights; what no draw has seen counts for less than one of them."""
    each = weights * values
    error = np.hypot(each.std() / np.sqrt(len(each)), each.max() / len(each))
    return Estimate(float(each.mean()), float(error))


def value_of(problem: Problem, X: Array, number: int, rng: np.random.Generator) -> Estimate:
    """What a batch X (q, d) is worth, with its standard error."""
    outcomes, weights = drawn(problem, X, number, rng)
    return average(weights, worth(problem, outcomes))


# Single queries, by quadrature


def expected_excess(mean: Array, sd: Array, bar: Array) -> Array:
    """E[max(y - bar, 0)], the integral of P(y > z) over z from the bar up."""
    low = mean - 10.0 * sd
    start = np.maximum(bar, low)
    half = 0.5 * (np.maximum(mean, start) + 10.0 * sd - start)
    z = (start + half)[..., None] + half[..., None] * _NODES
    above = ndtr((mean[..., None] - z) / sd[..., None])
    return np.maximum(low - bar, 0.0) + half * (above @ _WEIGHTS)


def values_of_singles(problem: Problem, X: Array) -> Array:
    """Values of single queries X (N, d): (N,)."""
    M = problem.objectives
    beliefs = [each.marginals(X) for each in problem.posteriors]
    mean = np.stack([mean for mean, _ in beliefs], axis=-1)
    sd = np.sqrt(np.stack([np.maximum(var, 0.0) for _, var in beliefs], axis=-1))
    smallest = [np.sqrt(each.gp.kernel.smallest_variance) for each in problem.posteriors]
    sd = np.maximum(sd, smallest)
    chance = ndtr(-mean[:, M:] / sd[:, M:]).prod(axis=1)
    if M == 1:
        gain = np.ones(len(X))
        if problem.threshold is not None:
            gain = expected_excess(mean[:, 0], sd[:, 0], np.full(len(X), problem.threshold))
        return np.asarray(chance * gain)
    front = np.maximum(problem.front, problem.reference)
    return np.asarray(chance * expected_volume(mean[:, :M], sd[:, :M], front, problem.reference))


def expected_volume(mean: Array, sd: Array, front: Array, reference: Array) -> Array:
    """What single outcomes (N, M) are expected to cover that a front (P, M) does not: (N,).

    Slice by slice along the first objective: in one, those of the front count that reach as far.
    """
    if len(reference) == 1:
        bar = np.full(len(mean), front.max(initial=reference[0]))
        return expected_excess(mean[:, 0], sd[:, 0], bar)
    front, total = front[np.argsort(front[:, 0])], np.zeros(len(mean))
    ends = np.concatenate([reference[:1], front[:, 0], [np.inf]])
    for i, (start, end) in enumerate(pairwise(ends)):
        if end > start:
            width = expected_excess(mean[:, 0], sd[:, 0], np.full(len(mean), start))
            if end < np.inf:
                width -= expected_excess(mean[:, 0], sd[:, 0], np.full(len(mean), end))
            rest = expected_volume(mean[:, 1:], sd[:, 1:], front[i:, 1:], reference[1:])
            total += width * rest
    return total


# The best batch of a grid


def grid(d: int, side: int) -> Array:
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, side)] * d, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, d)


def best_of_grid(problem: Problem, q: int, rng: np.random.Generator) -> Estimate:
    """The value of the best batch of a grid; chosen by some draws, valued by others."""
    points = grid(problem.d, SIDES[problem.d][q])
    if q == 1:
        return Estimate(float(values_of_singles(problem, points).max()), 0.0)
    batches = np.array(list(combinations(range(len(points)), q)))
    few = drawn(problem, points, _SCREENING, rng)
    parts = np.array_split(batches, 8)
    rough = [few.weights @ worth(problem, few.outcomes[:, part]) for part in parts]
    batches = batches[np.argsort(-np.concatenate(rough))[:_KEPT]]
    many = drawn(problem, points, _SELECTION, rng)
    best = batches[np.argmax(many.weights @ worth(problem, many.outcomes[:, batches]))]
    return value_of(problem, points[best], _FINAL, rng)


# What one more query adds


def added(
    problem: Problem, X: Array, x: Array, sizes: tuple[int, int], rng: np.random.Generator
) -> Array:
    """What points x (N, d) add beside X (q, d), in draws of X and of x given those.

    sizes: how many outer and inner draws there are. Returns (outer, N, inner).
    """
    outer, inner = sizes
    q, K = len(X), len(problem.posteriors)
    beside, fixed = np.empty((outer, len(x), inner, K)), np.empty((outer, q, K))
    for k, posterior in enumerate(problem.posteriors):
        belief = posterior.belief(np.concatenate([X, x]))
        factor = root(belief.cov[:q, :q])
        z = rng.standard_normal((outer, q))
        fixed[..., k] = belief.mean[:q] + z @ factor.T
        loadings = belief.cov[q:, :q] @ np.linalg.pinv(factor).T
        left = np.maximum(np.diag(belief.cov)[q:] - (loadings**2).sum(axis=1), 0.0)
        zeta = np.sqrt(left)[:, None] * rng.standard_normal((outer, len(x), inner))
        beside[..., k] = (belief.mean[q:] + z @ loadings.T)[..., None] + zeta
    held = np.broadcast_to(fixed[:, None, None], (outer, len(x), inner, q, K))
    together = np.concatenate([held, beside[..., None, :]], axis=-2)
    return worth(problem, together) - worth(problem, fixed)[:, None, None]


def deviation(problem: Problem, X: Array, x: Array, rng: np.random.Generator) -> float:
    """The standard deviation over fantasies of X (q, d) of what x (d,) is expected to add."""
    gains = added(problem, X, x[None], _NESTED, rng)[:, 0]
    noise = gains.var(axis=1).mean() / gains.shape[1]  # of averages over inner draws
    return float(np.sqrt(max(gains.mean(axis=1).var() - noise, 0.0)))


def error_of_value(problem: Problem, X: Array, rng: np.random.Generator) -> float:
    """The standard error of the package's value of X (q, d), of which the first query has none."""
    parts = [deviation(problem, X[:j], X[j], rng) for j in range(1, len(X))]
    return float(np.sum(parts)) / np.sqrt(_FANTASIES)


def error_of_gain(problem: Problem, X: Array, rng: np.random.Generator) -> float:
    """The standard error of the package's largest gain beside X (q, d)."""
    points = grid(problem.d, SIDES[problem.d][2])
    glance = added(problem, X, points, _NESTED_GLANCE, rng).mean(axis=(0, 2))
    return deviation(problem, X, points[np.argmax(glance)], rng) / np.sqrt(_STATES)


# Calls of `suggest`, compared with all that


class Comparison(NamedTuple):
    """What a call of `suggest` says, and what it should, each with the error of the difference.

    Args:
        bound: on the value of any batch, if there is one.
        best: the value of the best batch of a grid.
        value: of the batch.
        drawn: the same by brute force.
        is_resolved: whether brute force tells the best value, which may be next to nothing.
    """

    bound: float | None
    best: Estimate
    value: float
    drawn: Estimate
    is_resolved: bool


def compared(problem: Problem, q: int, seed: int) -> Comparison:
    """A call of `suggest`, and the best batch of a grid."""
    batch = il.suggest(problem.posteriors, q, problem.utility, seed=seed)
    rng = np.random.default_rng([seed, q])
    best = best_of_grid(problem, q, rng)
    whole = float(hypervolume(problem.front, problem.reference)) if problem.objectives > 1 else 0.0
    enough = best.value > max(SMALLEST, ROUNDING * whole)
    is_resolved = enough and best.error < LARGEST_ERROR * best.value
    if q == 1:
        alone = Estimate(float(values_of_singles(problem, batch.X)[0]), 0.0)
        return Comparison(batch.upper_bound, best, batch.value, alone, is_resolved)
    found = value_of(problem, batch.X, _FINAL, rng)
    value_error = error_of_value(problem, batch.X, rng)
    bound_error = np.hypot(value_error, q * error_of_gain(problem, batch.X, rng))
    return Comparison(
        batch.upper_bound,
        best._replace(error=float(np.hypot(best.error, bound_error))),
        batch.value,
        found._replace(error=float(np.hypot(found.error, value_error))),
        is_resolved,
    )
