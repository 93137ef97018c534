"""Upper bounds with several outcomes are never below the best batch of a grid, by brute force."""

import numpy as np
import pytest
from scipy.special import ndtri

import innerloop as il
from innerloop.types import Array
from outcome_bounds import (
    KINDS,
    Problem,
    compared,
    drawn,
    grid,
    random_problem,
    value_of,
    values_of_singles,
    worth,
)

SEEDS = range(3)
# One false alarm in a thousand runs of all.
ALLOWED = -float(ndtri(1e-3 / (len(KINDS) * 6 * len(SEEDS))))


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_not_below_the_best_of_a_grid(kind, d, q):
    """benchmarks/outcome_bounds.py has 100 seeds."""
    seeds = SEEDS if kind != "3 objectives" else range(1)
    resolved = 0
    for seed in seeds:
        bound, best, _, _, is_resolved = compared(random_problem(kind, d, seed), q, seed)
        if is_resolved:
            resolved += 1
            assert bound is not None
            assert bound >= best.value * (1.0 - 1e-6) - ALLOWED * best.error
    assert resolved >= len(seeds) / 3


# Problems that bounds were once false for.
@pytest.mark.parametrize(
    ("kind", "q", "seed"),
    [
        # The hill of the largest gain is low down where nothing is held yet.
        ("constrained hypervolume", 3, 19),
        # Improvements are so rare that plain draws see none.
        ("improvement", 2, 14),
        ("improvement", 3, 14),
        ("improvement", 3, 18),
    ],
)
def test_hills_and_states_that_are_easily_missed(kind, q, seed):
    bound, best, _, _, is_resolved = compared(random_problem(kind, 1, seed), q, seed)
    assert is_resolved
    assert bound >= best.value


@pytest.mark.parametrize("seed", [18, 38, 99])
def test_values_that_are_rare(seed):
    """Of which plain draws miss a part, though not by much."""
    problem = random_problem("improvement", 1, seed)
    batch = il.suggest(problem.posteriors, 3, problem.utility, seed=seed)
    found = value_of(problem, batch.X, 2**15, np.random.default_rng(0))
    assert found.value < 1e-5
    assert batch.value == pytest.approx(found.value, rel=0.01, abs=5.0 * found.error)


@pytest.mark.parametrize("kind", KINDS)
def test_brute_force_agrees_with_itself(kind):
    """Draws with weights, plain draws, and quadrature."""
    problem, points = random_problem(kind, 2, 3), grid(2, 5)
    X = points[np.argsort(-values_of_singles(problem, points))[:3]]
    one, rng = X[:1], np.random.default_rng(0)
    alone = value_of(problem, one, 2**15, rng)
    assert alone.value == pytest.approx(values_of_singles(problem, one)[0], abs=5.0 * alone.error)
    together = value_of(problem, X, 2**15, rng)
    plain = worth(problem, plain_draws(problem, X, 2**15, rng))
    error = np.hypot(together.error, plain.std() / np.sqrt(len(plain)))
    assert together.value == pytest.approx(plain.mean(), abs=5.0 * error)
    assert drawn(problem, X, 2**15, rng).weights.max() <= 3.0


def plain_draws(problem: Problem, X: Array, number: int, rng: np.random.Generator) -> Array:
    paths = []
    for posterior in problem.posteriors:
        belief = posterior.belief(X)
        L = np.linalg.cholesky(belief.cov + 1e-12 * np.trace(belief.cov) * np.eye(len(X)))
        paths.append(belief.mean + rng.standard_normal((number, len(X))) @ L.T)
    return np.stack(paths, axis=-1)


def test_the_verge_is_where_gains_begin():
    rng = np.random.default_rng(0)
    mean, sd = rng.standard_normal((200, 3)) - [0.5, 0.5, -0.5], 0.1 + rng.random((200, 3))
    for utility in (
        il.FeasibleImprovement(0.3, 2),
        il.FeasibleImprovement(None, 2),
        il.HypervolumeImprovement(rng.random((4, 2)), [0.0, -0.1], constraints=1),
        il.HypervolumeImprovement(rng.random((4, 3)), np.zeros(3)),
    ):
        M = utility.objectives
        up = np.where(np.arange(3) < M, 1e-9, -1e-9)
        verge = utility.verge(mean, sd)
        away = (((verge - mean) / sd) ** 2).sum(axis=1)
        assert (utility.value(verge + up) > 0.0).all()
        np.testing.assert_array_equal(away == 0.0, utility.value(mean + up) > 0.0)
        # Nothing that is nearer by a tenth gains anything.
        steps = rng.standard_normal((500, 200, 3))
        steps *= 0.9 * np.sqrt(away)[:, None] / np.linalg.norm(steps, axis=2, keepdims=True)
        nearer = utility.value(mean + sd * steps) > 0.0
        assert not nearer[:, away > 0.0].any()
