"""Random-feature draws against the covariance and the posterior they stand for."""

import numpy as np
import pytest

import innerloop as il
from problems import KERNELS, make_problem


@pytest.mark.parametrize("kernel", KERNELS)
def test_prior_draws_have_the_covariance_of_the_kernel(kernel):
    gp = il.GaussianProcess(kernel([0.4, 0.9], 1.5), mean=0.7)
    X = np.random.default_rng(0).random((6, 2))
    S = 20_000
    f = il.prior_draws(gp, 2, draws=S, features=2**12, seed=1)(X)
    np.testing.assert_allclose(f.mean(axis=0), 0.7, atol=5 * np.sqrt(1.5 / S))
    sampled, exact = np.cov(f.T), gp.kernel(X, X)
    # Standard error of a sample covariance, plus that of 2^11 random frequencies.
    error = np.sqrt((exact**2 + 1.5**2) / S) + 1.5 / np.sqrt(2**12)
    assert (np.abs(sampled - exact) < 5 * error).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior_draws_have_the_belief_of_the_posterior(kernel):
    post = make_problem(kernel, n=8, d=2, noise=1e-2).posterior
    X = np.random.default_rng(3).random((5, 2))
    S = 20_000
    f = il.posterior_draws(post, draws=S, features=2**12, seed=2)(X)
    belief = post.belief(X)
    sd = np.sqrt(belief.cov.diagonal())
    assert (np.abs(f.mean(axis=0) - belief.mean) < 5 * sd / np.sqrt(S) + 0.02).all()
    np.testing.assert_allclose(np.cov(f.T), belief.cov, atol=0.1 * post.gp.kernel.variance)


def test_posterior_draws_pass_through_noise_free_data():
    problem = make_problem(n=6, noise=1e-10)
    f = il.posterior_draws(problem.posterior, draws=3, seed=0)
    values = f(problem.posterior.X)
    np.testing.assert_allclose(values, np.tile(problem.posterior.y, (3, 1)), atol=1e-3)


def test_draws_are_functions():
    """The same draw gives the same values, whatever the shape or number of points asked for."""
    gp = il.GaussianProcess(il.Matern52(0.3))
    f = il.prior_draws(gp, 3, draws=2, seed=5)
    X = np.random.default_rng(0).random((600, 3))
    values, grads = f.value_and_grad(X.reshape(20, 30, 3))
    assert (values.shape, grads.shape) == ((2, 20, 30), (2, 20, 30, 3))
    np.testing.assert_allclose(values.reshape(2, -1), f(X), atol=1e-10)
    np.testing.assert_allclose(f(X[17]), f(X)[:, 17], atol=1e-10)
    np.testing.assert_array_equal(f(X), il.prior_draws(gp, 3, draws=2, seed=5)(X))
    assert not np.allclose(f(X), il.prior_draws(gp, 3, draws=2, seed=6)(X))
