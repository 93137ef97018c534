"""Domains with discrete coordinates, and the search over them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import innerloop as il
from innerloop.domain.discrete import OneHot, Ordinal
from innerloop.domain.domain import make_domain
from innerloop.maximizers.adam import Adam
from innerloop.maximizers.bfgs import BFGS
from innerloop.maximizers.budget import Allowance, Budget, Meter
from innerloop.maximizers.exchange import Exchange

LEVELS = Ordinal(1, 4)
LOGARITHMIC = Ordinal(2, 50, ratio=50.0)
KINDS = OneHot(3, 3)
DOMAIN = make_domain(6, discrete=(LEVELS, LOGARITHMIC, KINDS))
CUT = make_domain(
    6,
    inequalities=([[1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [-1.0, 0.5, 0, 0, 0, 0]], [1.2, 0.1]),
    discrete=(LEVELS, LOGARITHMIC, KINDS),
)


def is_valid(domain, X):
    snapped = X.copy()
    for block in domain.discrete:
        snapped[..., block.columns] = block.snap(X[..., block.columns])
    return bool(np.array_equal(snapped, X) and domain.contains(X).all())


@given(st.integers(2, 10**9), st.sampled_from([1.0, 1.5, 10.0, 1e6]), st.integers(0, 2**32))
def test_levels_and_positions_are_inverse(count, ratio, seed):
    block = Ordinal(0, count, ratio)
    level = np.random.default_rng(seed).integers(count, size=50)
    level[:2] = 0, count - 1
    u = block.position(level)
    assert np.all((u >= 0) & (u <= 1))
    np.testing.assert_allclose(u[:2], [0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(block.level(u), level, rtol=1e-9, atol=0)


def test_snapping_goes_to_the_nearest_level():
    for block in (LEVELS, LOGARITHMIC):
        places = block.position(np.arange(block.count))
        u = np.random.default_rng(0).random(300)
        nearest = places[np.abs(u[:, None] - places).argmin(axis=1)]
        np.testing.assert_allclose(block.snap(u[:, None])[:, 0], nearest)


@pytest.mark.parametrize("domain", [DOMAIN, CUT], ids=["box", "cut"])
def test_samples_projections_and_neighbours_are_valid(domain):
    rng = np.random.default_rng(0)
    X = domain.sample(400, rng)
    assert is_valid(domain, X)
    # Every level and category that is possible does occur; the cut leaves out the last level.
    assert len(np.unique(X[:, 1])) == (4 if domain is DOMAIN else 3)
    assert len(np.unique(X[:, 3:], axis=0)) == 3
    projected = domain.project(rng.uniform(-0.5, 1.5, (300, 6)))
    assert is_valid(domain, projected)
    np.testing.assert_allclose(domain.project(projected), projected, atol=1e-9)
    sets = X[:6].reshape(3, 2, 6)
    neighbours, owner, slot = domain.neighbours(sets, rng)
    assert is_valid(domain, neighbours)
    assert set(owner) == {0, 1, 2}
    changed = (neighbours != sets[owner]).any(axis=-1)
    assert (changed.sum(axis=1) == 1).all()  # one query each
    for moved, before, where in zip(neighbours, sets[owner], slot, strict=True):
        query, block = divmod(where, 3)
        columns = domain.discrete[block].columns
        assert (moved[query, columns] != before[query, columns]).any()
        # Under inequalities other values may have to follow.
        for other in {0, 1, 2} - {block} if domain is DOMAIN else ():
            columns = domain.discrete[other].columns
            np.testing.assert_array_equal(moved[:, columns], before[:, columns])


def test_projection_keeps_discrete_values_and_is_the_nearest():
    rng = np.random.default_rng(1)
    X = CUT.project(rng.random((30, 6)))
    start = CUT.sample(30, rng)
    start[:, 0] = rng.random(30)
    projected = CUT.project(start)
    for x, p in zip(start, projected, strict=True):
        limits = [1.2 - x[1], 0.5 * x[1] - 0.1]  # from above and from below
        assert limits[1] <= limits[0]  # as for all levels that the domain has
        np.testing.assert_array_equal(p[1:], x[1:])
        expected = np.clip(x[0], max(limits[1], 0.0), min(limits[0], 1.0))
        assert p[0] == pytest.approx(expected, abs=1e-8)
    assert (np.abs(projected[:, 0] - start[:, 0]) > 1e-3).any()
    assert is_valid(CUT, X)


def test_inequalities_over_levels_need_a_level_that_meets_them():
    levels = (Ordinal(0, 3), Ordinal(1, 3))
    with pytest.raises(il.InputError, match="no point of the unit cube meets"):
        make_domain(2, inequalities=([[1.0, 0], [-1.0, 0]], [0.4, -0.1]), discrete=levels)
    narrow = make_domain(2, inequalities=([[1.0, 1], [-1.0, -1]], [1.1, -0.9]), discrete=levels)
    assert narrow.interior.sum() == pytest.approx(1.0)


def test_rejected_samples_are_replaced_by_wandering():
    """Few of the samples of the cube are inside; the others come from the inside all the same."""
    domain = make_domain(
        3,
        inequalities=([[1.0, 1.0, 0.0]], [0.3]),
        discrete=(Ordinal(1, 11), Ordinal(2, 3)),
    )
    X = domain.sample(3000, np.random.default_rng(0))
    assert is_valid(domain, X)
    # Uniform over x <= 0.3 - level / 10: 3, 2 and 1 parts of 6.
    shares = [np.mean(np.isclose(X[:, 1], k / 10)) for k in range(4)]
    np.testing.assert_allclose(shares[:3], [3 / 6, 2 / 6, 1 / 6], atol=0.04)


class Hills:
    """A different hill for every combination of discrete values, known in closed form."""

    def __init__(self, domain, seed):
        rng = np.random.default_rng(seed)
        self.height = rng.random((4, 3))
        self.top = rng.random((4, 3))

    def parts(self, X):
        level = LEVELS.level(X[..., 1])
        kind = np.argmax(X[..., 3:], axis=-1)
        return self.height[level, kind], self.top[level, kind]

    def value_and_grad(self, X):
        height, top = self.parts(X)
        away = X[..., 0] - top
        value = (height - away**2 - (X[..., 2] - 0.3) ** 2).sum(axis=1)
        grad = np.ones_like(X)  # discrete coordinates are given a slope that leads nowhere
        grad[..., 0] = -2 * away
        return value, grad

    def value(self, X):
        return self.value_and_grad(X)[0]


@pytest.mark.parametrize("maximizer", [BFGS(), Adam()], ids=["bfgs", "adam"])
@pytest.mark.parametrize("seed", range(6))
def test_exchange_finds_the_best_combination(maximizer, seed):
    hills = Hills(DOMAIN, seed)
    rng = np.random.default_rng(seed)
    starts = DOMAIN.sample(24, rng)[:, None]
    allowance = Allowance(hills, Meter(Budget()))
    solution = Exchange(maximizer)(allowance, starts, DOMAIN, rng)
    assert is_valid(DOMAIN, solution.X)
    places = LOGARITHMIC.position(np.arange(50))
    best = hills.height.max() - np.min((places - 0.3) ** 2)
    # A combination next to the best one may hide it from the few searches that go on.
    assert best - (1e-4 if isinstance(maximizer, BFGS) else 0.05) < solution.value[0] < best + 1e-9


class Watched:
    """An objective of levels and categories alone, which is only ever asked about valid points."""

    def __init__(self, domain, grade):
        self.domain, self.grade = domain, grade

    def value(self, X):
        assert is_valid(self.domain, X)
        level, kind = LEVELS.level(X[..., 1]), np.argmax(X[..., 3:], axis=-1)
        return self.grade(level, LOGARITHMIC.level(X[..., 2]), kind)

    def value_and_grad(self, X):
        return self.value(X), np.zeros_like(X)


@pytest.mark.parametrize("q", [1, 3])
def test_moves_that_do_not_hinder_one_another_are_made_at_once(q):
    """Every query has its own favourite values: one round finds all of them."""
    rng = np.random.default_rng(q)
    of_level, of_kind = rng.random((q, 4)), rng.random((q, 3))
    queries = np.arange(q)

    def grade(level, _, kind):
        return (of_level[queries, level] + of_kind[queries, kind]).sum(axis=-1)

    allowance = Allowance(Watched(DOMAIN, grade), Meter(Budget()))
    starts = DOMAIN.sample(5 * q, rng).reshape(5, q, 6)
    solution = Exchange(BFGS(), rounds=1)(allowance, starts, DOMAIN, rng)
    best = (of_level.max(axis=1) + of_kind.max(axis=1)).sum()
    assert solution.value[0] == pytest.approx(best)


@pytest.mark.parametrize("domain", [DOMAIN, CUT], ids=["box", "cut"])
@pytest.mark.parametrize("seed", range(4))
def test_moves_that_hinder_one_another_are_not_made_together(domain, seed):
    """With any table of values, a round ends at least as high as the best single move."""
    table = np.random.default_rng(seed).random((2, 4, 50, 3))

    def grade(level, fine, kind):
        return table[np.arange(2), level, fine, kind].prod(axis=-1)

    objective = Watched(domain, grade)
    start = domain.sample(2, np.random.default_rng(seed)).reshape(1, 2, 6)
    neighbours = domain.neighbours(start, np.random.default_rng(9)).sets
    allowance = Allowance(objective, Meter(Budget()))
    search = Exchange(BFGS(), rounds=1)
    solution = search(allowance, start, domain, np.random.default_rng(9))
    assert solution.value[0] >= objective.value(neighbours).max()
    assert solution.value[0] == objective.value(solution.X[:1])[0]


def test_exchange_keeps_to_its_budget():
    hills = Hills(DOMAIN, 0)
    for evaluations in (1, 24, 30, 100, 300):
        meter = Meter(Budget(evaluations=evaluations))
        rng = np.random.default_rng(0)
        starts = DOMAIN.sample(24, rng)[:, None]
        Exchange(BFGS())(Allowance(hills, meter), starts, DOMAIN, rng)
        assert meter.evaluations <= evaluations


def test_moves_that_seemed_to_help_and_do_not_end_a_search():
    """On new draws at every evaluation, what was better at first may be worse together."""
    rng = np.random.default_rng(1)

    class Noise:
        def value(self, X):
            return rng.standard_normal(len(X))

        def value_and_grad(self, X):
            return self.value(X), np.zeros_like(X)

    for seed in range(40):
        starts = DOMAIN.sample(2, np.random.default_rng(seed))[:, None]
        found = Exchange(BFGS(steps=1))(Allowance(Noise()), starts, DOMAIN, rng)
        assert DOMAIN.contains(found.X.reshape(-1, DOMAIN.d)).all()


def posterior_over(domain, n, seed):
    rng = np.random.default_rng(seed)
    X = domain.sample(n, rng)
    y = np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 3] - X[:, 2] ** 2 + 0.5 * X[:, 4]
    gp = il.GaussianProcess(il.Matern52(np.full(6, 0.6)), noise=1e-6)
    return gp.condition(X, y)


@pytest.mark.parametrize("domain", [DOMAIN, CUT], ids=["box", "cut"])
@pytest.mark.parametrize("seed", range(3))
def test_suggest_finds_what_enumeration_finds(domain, seed):
    """For every combination of discrete values, the best of the continuous one by itself."""
    posterior = posterior_over(domain, 12, seed)
    utility = il.ExpectedImprovement(float(posterior.fitted.max()))
    acquisition = il.Incremental(utility, posterior, np.zeros((1, 1)), log=True)
    best = -np.inf
    grid = np.linspace(0, 1, 41)
    for level, fine, kind in product(range(4), range(50), range(3)):
        X = np.zeros((41, 1, 6))
        X[:, 0, 0] = grid
        X[:, 0, 1], X[:, 0, 2] = LEVELS.position(level), LOGARITHMIC.position(fine)
        X[:, 0, 3 + kind] = 1.0
        X = X[domain.contains(X[:, 0])]
        if len(X):
            best = max(best, acquisition.value(X).max())
    batch = il.suggest(posterior, 1, utility, domain=domain, seed=0)
    assert is_valid(domain, batch.X)
    assert np.log(batch.value) >= best - 1e-3


@pytest.mark.parametrize("q", [2, 4])
def test_batches_over_mixed_domains(q):
    posterior = posterior_over(CUT, 15, 0)
    batch = il.suggest(posterior, q, domain=CUT, seed=0)
    assert is_valid(CUT, batch.X)
    assert len(np.unique(batch.X, axis=0)) == q
    random = [
        il.Joint(
            il.ExpectedImprovement(float(posterior.fitted.max())),
            posterior,
            il.sobol_normal(256, q, seed=1),
        ).value(CUT.sample(300 * q, np.random.default_rng(s)).reshape(300, q, 6))
        for s in range(3)
    ]
    assert batch.value > np.max(random)
    assert batch.value <= batch.upper_bound * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_categories_are_as_good_as_exact_greedy_ones(seed):
    """Ten yes-or-no values have few enough combinations to go through all of them."""
    rng = np.random.default_rng(seed)
    domain = make_domain(10, discrete=tuple(Ordinal(i, 2) for i in range(10)))
    everything = np.array(list(product([0.0, 1.0], repeat=10)))
    gp = il.GaussianProcess(il.Matern52(np.full(10, 1.5)), noise=1e-6)
    X = everything[rng.choice(1024, 30, replace=False)]
    posterior = gp.condition(X, il.prior_draws(gp, 10, seed=seed)(X)[0])
    utility = il.ExpectedImprovement(float(posterior.fitted.max()))
    exact = il.suggest(posterior, 4, utility, candidates=everything, seed=0)
    found = il.suggest(posterior, 4, utility, domain=domain, seed=0)
    joint = il.Joint(utility, posterior, il.sobol_normal(2048, 4, seed=1))
    assert joint.value(found.X[None])[0] >= 0.98 * joint.value(exact.X[None])[0]


def test_domains_that_do_not_suit_the_posterior_are_refused():
    posterior = posterior_over(DOMAIN, 8, 0)
    with pytest.raises(il.InputError, match="domain has 2 dimensions, but the posterior has 6"):
        il.suggest(posterior, 1, domain=make_domain(2))
    with pytest.raises(il.InputError, match="domain must be a Domain"):
        il.suggest(posterior, 1, domain="everywhere")
