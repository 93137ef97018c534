"""Every gradient agrees with central differences: kernel x utility x form, with pending points."""

import numpy as np
import pytest
from hypothesis import given

import innerloop as il
from innerloop import linalg
from problems import KERNELS, assert_gradient, make_problem, problem_sizes, utilities

M = 16


@pytest.mark.parametrize("kernel", KERNELS)
@given(sizes=problem_sizes())
def test_belief_pullback(kernel, sizes):
    problem = make_problem(kernel, **sizes)
    rng = np.random.default_rng(problem.seed)
    q = problem.X.shape[1]
    d_mean, d_cov = rng.standard_normal(q), rng.standard_normal((q, q))
    features = rng.standard_normal((q, 1))

    def value(X):
        b = problem.posterior.belief(X)
        return (
            b.mean @ d_mean
            + (b.cov * d_cov).sum((1, 2))
            + (b.features[..., -1:] * features).sum((1, 2))
        )

    def value_and_grad(X):
        R = len(X)
        b = problem.posterior.belief(X)
        spread = np.broadcast_to
        return value(X), b.pullback(
            spread(d_mean, (R, q)), spread(d_cov, (R, q, q)), spread(features, (R, q, 1))
        )

    assert_gradient(value_and_grad, value, problem.X)


@pytest.mark.parametrize("with_pending", [False, True])
@pytest.mark.parametrize("utility", utilities(), ids=lambda u: type(u).__name__)
@pytest.mark.parametrize("kernel", KERNELS)
@given(sizes=problem_sizes())
def test_joint(kernel, utility, with_pending, sizes):
    problem = make_problem(kernel, **sizes)
    z = il.iid_normal(M, sizes["p"] + sizes["q"], problem.seed)
    pending = problem.pending if with_pending else None
    acquisition = il.Joint(utility, problem.posterior, z, pending=pending)
    assert_gradient(acquisition.value_and_grad, acquisition.value, problem.X)


@pytest.mark.parametrize("with_pending", [False, True])
@pytest.mark.parametrize("name", ["entropy search", "knowledge gradient"])
@pytest.mark.parametrize("kernel", KERNELS)
@given(sizes=problem_sizes())
def test_lookahead(kernel, name, with_pending, sizes):
    problem = make_problem(kernel, **sizes)
    points = np.random.default_rng(problem.seed + 1).random((5, sizes["d"]))
    utility = (
        il.EntropySearch(points, temperature=0.3, z=il.iid_normal(8, 5, problem.seed))
        if name == "entropy search"
        else il.KnowledgeGradient(points)
    )
    z = il.iid_normal(8, sizes["p"] + sizes["q"], problem.seed)
    pending = problem.pending if with_pending else None
    acquisition = il.Joint(utility, problem.posterior, z, pending=pending)
    assert_gradient(acquisition.value_and_grad, acquisition.value, problem.X)


# Gains of SR and UCB may be negative: they have no logarithm.
IN_LOG_SPACE = [(u, True) for u in utilities() if np.isfinite(u.empty)]


@pytest.mark.parametrize(
    ("utility", "log"),
    [*((u, False) for u in utilities()), *IN_LOG_SPACE],
    ids=lambda v: type(v).__name__ if isinstance(v, il.Utility) else ("log" if v else "plain"),
)
@pytest.mark.parametrize("kernel", KERNELS)
@given(sizes=problem_sizes())
def test_incremental(kernel, utility, log, sizes):
    problem = make_problem(kernel, **sizes)
    z = il.iid_normal(M, sizes["p"], problem.seed)
    acquisition = il.Incremental(utility, problem.posterior, z, log=log)
    X = problem.X[:, :1]
    assert_gradient(acquisition.value_and_grad, acquisition.value, X)
    for x in problem.pending:
        acquisition = acquisition.extend(x)
        if np.isfinite(acquisition.value(X)).all():
            assert_gradient(acquisition.value_and_grad, acquisition.value, X)
        else:  # nothing is left to be gained: all states hold a success
            assert log
            assert isinstance(utility, il.ProbabilityOfImprovement)
            np.testing.assert_array_equal(acquisition.states.floor, 1.0)


@given(sizes=problem_sizes(max_q=5))
def test_cholesky_pullback(sizes):
    rng = np.random.default_rng(sizes["seed"])
    q, R = sizes["q"], sizes["R"]
    root = rng.standard_normal((R, q, q))
    A = root @ root.swapaxes(1, 2) + 0.5 * np.eye(q)
    weights = rng.standard_normal((q, q))

    def value(B):
        symmetric = 0.5 * (B + B.swapaxes(1, 2))
        return (linalg.cholesky(symmetric, 1.0) * np.tril(weights)).sum((1, 2))

    def value_and_grad(B):
        L = linalg.cholesky(B, 1.0)
        return value(B), linalg.cholesky_pullback(L, np.broadcast_to(weights, L.shape))

    assert_gradient(value_and_grad, value, A)


@pytest.mark.parametrize("kernel", KERNELS)
@given(sizes=problem_sizes())
def test_function_draws(kernel, sizes):
    problem = make_problem(kernel, **sizes)
    post, X = problem.posterior, problem.X
    for draws in (
        il.prior_draws(post.gp, post.d, draws=2, features=64, seed=problem.seed),
        il.posterior_draws(post, draws=2, features=64, seed=problem.seed),
    ):
        for s in range(2):
            points = X.reshape(-1, 1, post.d)

            def value(Z, draws=draws, s=s):
                return draws(Z[:, 0])[s]

            def value_and_grad(Z, draws=draws, s=s):
                values, grads = draws.value_and_grad(Z[:, 0])
                return values[s], grads[s][:, None]

            assert_gradient(value_and_grad, value, points)
