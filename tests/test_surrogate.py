"""The Gaussian process against textbook formulas, and its rank updates against starting afresh."""

import numpy as np
import pytest
from hypothesis import given
from scipy import special

import innerloop as il
from problems import KERNELS, make_problem, problem_sizes

SMOOTHNESS = {il.Matern52: 2.5, il.Matern32: 1.5}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_against_the_general_formula(kernel):
    rng = np.random.default_rng(0)
    A, B, scales = rng.random((7, 3)), rng.random((5, 3)), np.array([0.2, 0.5, 1.5])
    r = np.sqrt((((A[:, None] - B) / scales) ** 2).sum(-1))
    if kernel is il.SquaredExponential:
        exact = np.exp(-0.5 * r**2)
    else:
        nu = SMOOTHNESS[kernel]
        a = np.sqrt(2.0 * nu) * r
        exact = 2.0 ** (1.0 - nu) / special.gamma(nu) * a**nu * special.kv(nu, a)
    np.testing.assert_allclose(kernel(scales, 1.7)(A, B), 1.7 * exact, rtol=1e-10)


def test_one_lengthscale_serves_all_dimensions():
    X = np.random.default_rng(0).random((4, 3))
    np.testing.assert_allclose(il.Matern52(0.3)(X, X), il.Matern52([0.3] * 3)(X, X))


@pytest.mark.parametrize("per_observation", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@given(sizes=problem_sizes())
def test_belief_against_the_textbook(kernel, per_observation, sizes):
    problem = make_problem(kernel, **sizes)
    gp, X, y = problem.posterior.gp, problem.posterior.X, problem.posterior.y
    noise = np.random.default_rng(1).uniform(1e-3, 1e-1, len(y)) if per_observation else 1e-2
    post = il.GaussianProcess(gp.kernel, gp.mean, noise).condition(X, y)
    K = gp.kernel(X, X) + np.diag(np.broadcast_to(noise, len(y)))
    belief = post.belief(problem.X)
    for Xq, mean, cov in zip(problem.X, belief.mean, belief.cov, strict=True):
        k = gp.kernel(Xq, X)
        np.testing.assert_allclose(mean, gp.mean + k @ np.linalg.solve(K, y - gp.mean), atol=1e-9)
        exact = gp.kernel(Xq, Xq) - k @ np.linalg.solve(K, k.T)
        np.testing.assert_allclose(cov, exact, atol=1e-9)
        means, variances = post.marginals(Xq)
        np.testing.assert_allclose(means, mean, atol=1e-12)
        np.testing.assert_allclose(variances, cov.diagonal(), atol=1e-12)
    _sign, log_determinant = np.linalg.slogdet(K)
    squares = (y - gp.mean) @ np.linalg.solve(K, y - gp.mean)
    exact = -0.5 * (squares + log_determinant + len(y) * np.log(2.0 * np.pi))
    assert post.log_likelihood == pytest.approx(exact, rel=1e-9)


def test_shapes_of_marginals_and_beliefs():
    post = make_problem(d=3).posterior
    rng = np.random.default_rng(0)
    assert [a.shape for a in post.marginals(rng.random(3))] == [(), ()]
    assert [a.shape for a in post.marginals(rng.random((4, 5, 3)))] == [(4, 5), (4, 5)]
    belief = post.belief(rng.random((4, 5, 2, 3)))
    assert (belief.mean.shape, belief.cov.shape) == ((4, 5, 2), (4, 5, 2, 2))
    assert belief.pullback(belief.mean, belief.cov).shape == (4, 5, 2, 3)


def far_apart(kernel, n, d, noise, seed):
    """Observations that are a lengthscale or more apart, in any order."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[:, 0] = rng.permutation(n) / (n - 1)
    scales = np.concatenate([[1.0 / (n - 1)], rng.uniform(0.2, 0.8, d - 1)])
    gp = il.GaussianProcess(kernel(scales, 1.3), mean=0.2, noise=noise)
    return gp.condition(X, rng.standard_normal(n))


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-4, 1e-1])
@pytest.mark.parametrize("kernel", KERNELS)
@given(sizes=problem_sizes())
def test_conditioning_in_pieces_equals_conditioning_at_once(kernel, noise, sizes):
    n = sizes["n"] + 3
    # With no noise at all, a smooth kernel and crowded points have no eight digits to compare.
    crowded = noise < 1e-10 and sizes["d"] == 1
    if kernel is il.SquaredExponential and noise < 1e-10:
        whole = far_apart(kernel, n, sizes["d"], noise, sizes["seed"])
    else:
        whole = make_problem(
            kernel, **sizes | {"n": min(n, 5) if crowded else n}, noise=noise
        ).posterior
    X, y = whole.X, whole.y
    pieces = whole.gp.condition(X[:1], y[:1]).condition(X[1:-1], y[1:-1]).condition(X[-1:], y[-1:])
    assert pieces.n == whole.n
    Xq = make_problem(kernel, **sizes).X
    np.testing.assert_allclose(pieces.belief(Xq).mean, whole.belief(Xq).mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(pieces.belief(Xq).cov, whole.belief(Xq).cov, rtol=1e-8, atol=1e-8)
    assert pieces.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-8, abs=1e-8)


def test_appended_observations_may_have_their_own_noise():
    post = make_problem(n=5).posterior
    X_new = np.array([[0.1, 0.9], [0.5, 0.5]])
    noise = np.array([0.3, 0.01])
    appended = post.condition(X_new, [1.0, -1.0], noise=noise)
    afresh = il.GaussianProcess(
        post.gp.kernel, post.gp.mean, np.concatenate([post.noise, noise])
    ).condition(np.vstack([post.X, X_new]), np.concatenate([post.y, [1.0, -1.0]]))
    np.testing.assert_allclose(appended.marginals(X_new), afresh.marginals(X_new), atol=1e-10)
    with pytest.raises(il.InputError, match="give `noise` for the new observations"):
        afresh.condition(X_new, [0.0, 0.0])


@given(sizes=problem_sizes())
def test_fantasies_leave_the_mean_and_load_on_draws(sizes):
    """Fantasies are conditioning on sampled outcomes, done for all samples at once."""
    problem = make_problem(**sizes)
    post, P, p = problem.posterior, problem.pending, sizes["p"]
    fantasized = post.fantasize(P)
    belief = fantasized.belief(problem.X)
    np.testing.assert_allclose(belief.mean, post.belief(problem.X).mean, atol=1e-8)
    z = il.iid_normal(3, p, seed=0)
    outcomes = (
        post.belief(P).mean + z @ np.linalg.cholesky(post.belief(P).cov + 1e-12 * np.eye(p)).T
    )
    for draw, outcome in zip(z, outcomes, strict=True):
        state = post.condition(P, outcome, noise=0.0).belief(problem.X)
        shifted = belief.mean + belief.features[..., -p:] @ draw
        np.testing.assert_allclose(shifted, state.mean, atol=1e-6)
        np.testing.assert_allclose(belief.cov, state.cov, atol=1e-8)


def test_a_belief_subtracted_from_a_constant_is_that_given_subtracted_values():
    rng = np.random.default_rng(4)
    X, y, queries = rng.random((9, 2)), rng.standard_normal(9), rng.random((3, 2, 2))
    gp = il.GaussianProcess(il.Matern52([0.3, 0.6], 1.3), mean=0.4, noise=0.02)
    turned = gp.condition(X, y).subtracted_from(2.5).belief(queries)
    anew = il.GaussianProcess(gp.kernel, mean=2.5 - 0.4, noise=0.02).condition(X, 2.5 - y)
    expected = anew.belief(queries)
    np.testing.assert_allclose(turned.mean, expected.mean, atol=1e-12)
    np.testing.assert_allclose(turned.cov, expected.cov, atol=1e-12)
