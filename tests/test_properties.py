"""What the mathematics promises: submodularity, symmetry, limits, and forms that agree exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import innerloop as il
from problems import make_problem, problem_sizes, utilities


@pytest.mark.parametrize("utility", utilities(temperature=0.1), ids=lambda u: type(u).__name__)
@given(seed=st.integers(0, 2**20), data=st.data())
def test_monotone_and_submodular_on_shared_paths(utility, seed, data):
    """Eq. 8 for A in B and a new element, on the same sample paths."""
    N = 7
    problem = make_problem(n=5, d=2, q=N, R=1, seed=seed)
    belief = problem.posterior.belief(problem.X[0])
    residual = np.linalg.cholesky(belief.cov + 1e-9 * np.eye(N)) @ il.iid_normal(64, N, seed).T
    grades = utility.grade(belief.mean[:, None], residual)
    smallest = grades.min() if np.isinf(utility.empty) else utility.empty

    def value(members):
        held = grades[sorted(members)].max(axis=0) if members else np.full(64, smallest)
        return np.maximum(held, smallest).mean()

    B = data.draw(st.sets(st.integers(0, N - 2), min_size=1))
    A = data.draw(st.sets(st.sampled_from(sorted(B))))
    x = {N - 1}
    assert value(A) <= value(B) + 1e-12
    assert value(A | x) - value(A) >= value(B | x) - value(B) - 1e-12


@pytest.mark.parametrize("utility", utilities(), ids=lambda u: type(u).__name__)
@given(sizes=problem_sizes(), data=st.data())
def test_gains_fall_as_points_are_fixed(utility, sizes, data):
    """Averaged over the same states, the gain of x never grows when another point is fixed."""
    problem = make_problem(**sizes)
    z = il.sobol_normal(256, sizes["p"] + 1, seed=0)
    acquisition = il.Incremental(utility, problem.posterior, z).extend(problem.pending[:1])
    X = problem.X[:, :1]
    before = acquisition.value(X)
    sd = np.sqrt(problem.posterior.gp.kernel.variance) * getattr(utility, "spread", 1.0)
    for x in problem.pending[1:]:
        acquisition = acquisition.extend(x)
        after = acquisition.value(X)
        assert (after >= 0.0).all()
        assert (after <= before + 4.0 * sd / np.sqrt(256)).all()
        before = after


@pytest.mark.parametrize("utility", utilities(), ids=lambda u: type(u).__name__)
@given(sizes=problem_sizes(max_q=4))
def test_the_order_of_queries_does_not_matter(utility, sizes):
    problem = make_problem(**sizes)
    q, m = sizes["q"], 2**12
    joint = il.Joint(utility, problem.posterior, il.sobol_normal(m, q, seed=1))
    sd = np.sqrt(problem.posterior.gp.kernel.variance) * getattr(utility, "spread", 1.0)
    forwards, backwards = joint.value(problem.X), joint.value(problem.X[:, ::-1])
    np.testing.assert_allclose(forwards, backwards, atol=2.0 * sd / np.sqrt(m))


@given(sizes=problem_sizes())
def test_pending_points_are_queries_already_made(sizes):
    """With the same draws, pending P and queries X are worth exactly what P and X are together."""
    problem = make_problem(**sizes)
    R, p = sizes["R"], sizes["p"]
    z = il.iid_normal(32, p + sizes["q"], seed=2)
    together = np.concatenate([np.tile(problem.pending, (R, 1, 1)), problem.X], axis=1)
    points = np.random.default_rng(0).random((5, sizes["d"]))
    for utility in [*utilities(), il.KnowledgeGradient(points), il.EntropySearch(points, 0.3)]:
        pending = il.Joint(utility, problem.posterior, z, pending=problem.pending)
        whole = il.Joint(utility, problem.posterior, z)
        np.testing.assert_allclose(pending.value(problem.X), whole.value(together), atol=1e-8)


@given(sizes=problem_sizes())
def test_query_sets_do_not_see_each_other(sizes):
    problem = make_problem(**sizes)
    z = il.iid_normal(16, sizes["q"], seed=3)
    for utility in utilities():
        joint = il.Joint(utility, problem.posterior, z)
        value, grad = joint.value_and_grad(problem.X)
        for r, X in enumerate(problem.X):
            one_value, one_grad = joint.value_and_grad(X[None])
            assert value[r] == pytest.approx(one_value[0], rel=1e-10, abs=1e-12)
            np.testing.assert_allclose(grad[r], one_grad[0], rtol=1e-7, atol=1e-10)


def test_many_query_sets_are_evaluated_in_shards(monkeypatch):
    problem = make_problem(n=10, q=3, R=40)
    joint = il.Joint(il.SimpleRegret(), problem.posterior, il.iid_normal(16, 3, seed=0))
    whole = joint.value_and_grad(problem.X)
    monkeypatch.setattr("innerloop.acquisition.shards._WORKSPACE", 600)
    for a, b in zip(whole, joint.value_and_grad(problem.X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    one_more = il.Incremental(il.SimpleRegret(), problem.posterior, il.iid_normal(16, 3, seed=0))
    in_shards = one_more.value_and_grad(problem.X[:, :1])
    monkeypatch.undo()
    for a, b in zip(one_more.value_and_grad(problem.X[:, :1]), in_shards, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@given(sizes=problem_sizes())
def test_concrete_improvement_becomes_exact_as_the_temperature_falls(sizes):
    problem = make_problem(**sizes)
    z = il.iid_normal(512, sizes["q"], seed=4)
    belief = problem.posterior.belief(problem.X)
    L = np.linalg.cholesky(belief.cov)
    Y = belief.mean[..., None] + L @ z.T
    exact = (Y > 0.3).any(axis=1).mean(axis=1)
    errors = []
    for temperature in (1.0, 1e-1, 1e-2, 1e-3, 1e-7):
        utility = il.ProbabilityOfImprovement(0.3, temperature=temperature)
        errors.append(
            np.abs(il.Joint(utility, problem.posterior, z).value(problem.X) - exact).max()
        )
    assert errors[-1] < 1e-3
    assert errors[-1] <= errors[0]


@given(sizes=problem_sizes())
def test_concrete_entropy_search_becomes_exact_as_the_temperature_falls(sizes):
    problem = make_problem(**sizes)
    post, X = problem.posterior, problem.X[:1]
    points = np.random.default_rng(1).random((4, sizes["d"]))
    z, z_b = il.iid_normal(4, sizes["q"], 5), il.iid_normal(64, 4, 6)
    belief = post.belief(X[0])
    L = np.linalg.cholesky(belief.cov + post.query_noise * np.eye(sizes["q"]))
    exact = 0.0
    for y in belief.mean + z @ L.T:
        after = post.condition(X[0], y).belief(points)
        winners = (after.mean + z_b @ np.linalg.cholesky(after.cov).T).argmax(axis=1)
        exact -= stats.entropy(np.bincount(winners, minlength=4) / 64) / 4
    errors = [
        abs(il.Joint(il.EntropySearch(points, t, z_b), post, z).value(X)[0] - exact)
        for t in (1.0, 1e-1, 1e-3, 1e-6)
    ]
    assert errors[-1] < 1e-2
    assert errors[-1] <= errors[0]


def test_fresh_draws_change_and_repeat():
    problem = make_problem(q=2, R=3)
    utility = il.SimpleRegret()

    def run():
        joint = il.Joint(utility, problem.posterior, il.FreshDraws(32, 2, seed=7))
        return [joint.value_and_grad(problem.X) for _ in range(2)]

    (first, _), (second, _) = run()
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(first, run()[0][0])
    average = np.mean(
        [
            il.Joint(utility, problem.posterior, il.FreshDraws(256, 2, seed=s)).value(problem.X)
            for s in range(100)
        ],
        axis=0,
    )
    exact = il.Joint(utility, problem.posterior, il.sobol_normal(2**14, 2, seed=0)).value(problem.X)
    np.testing.assert_allclose(average, exact, atol=0.03)


@pytest.mark.parametrize("m", [1, 2, 100, 128])
def test_sobol_draws_are_standard_normal(m):
    z = il.sobol_normal(m, 3, seed=0)
    assert z.shape == (m, 3)
    assert np.isfinite(z).all()
    np.testing.assert_array_equal(z, il.sobol_normal(m, 3, seed=0))
    if m >= 100:
        np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=0.06)
        np.testing.assert_allclose(np.cov(z.T), np.eye(3), atol=0.15)


class SquashedImprovement(il.Utility):
    """A user's own utility: improvement that saturates."""

    empty = 0.0

    def value(self, Y):
        return np.tanh(np.maximum(Y - 0.3, 0.0))


class SquashedImprovementWithSlope(SquashedImprovement):
    def slope(self, Y):
        return np.where(Y > 0.3, 1.0 / np.cosh(np.minimum(Y - 0.3, 300.0)) ** 2, 0.0)


@given(sizes=problem_sizes())
def test_own_utility_works_in_every_form(sizes):
    problem = make_problem(**sizes)
    q, z = sizes["q"], il.sobol_normal(1024, sizes["q"], seed=8)
    without, given_slope = SquashedImprovement(), SquashedImprovementWithSlope()
    value, grad = il.Joint(without, problem.posterior, z).value_and_grad(problem.X)
    exact_value, exact_grad = il.Joint(given_slope, problem.posterior, z).value_and_grad(problem.X)
    np.testing.assert_allclose(value, exact_value, rtol=1e-12)
    # A path may end so close to the kink at 0.3 that the numerical slope straddles it.
    np.testing.assert_allclose(grad, exact_grad, atol=5e-3)
    acquisition = il.Incremental(without, problem.posterior, z)
    total = 0.0
    for x in problem.X[0]:
        total += acquisition.value(x[None, None])[0]
        acquisition = acquisition.extend(x)
    assert total == pytest.approx(value[0], abs=0.02)
    if q == 1:
        mean, var = problem.posterior.marginals(problem.X[0, 0])
        assert without.marginal(mean, var) == pytest.approx(total, rel=1e-9)
