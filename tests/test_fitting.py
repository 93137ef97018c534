"""Hyperparameter fits against a general optimizer, and what they promise to users."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import innerloop as il
from innerloop.surrogate.log_posterior import LogPosterior


def sample(n, d, seed, noise=1e-3, kernel=il.Matern52):
    rng = np.random.default_rng(seed)
    scales = np.sqrt(d) / 4.0 * np.exp(0.5 * rng.standard_normal(d))
    truth = il.GaussianProcess(kernel(scales), noise=noise)
    X = rng.random((n, d))
    y = il.prior_draws(truth, d, features=2**10, seed=seed)(X)[0]
    return X, y + np.sqrt(noise) * rng.standard_normal(n)


def log_posterior(gp, X, y, priors):
    """Written out from the definition, in standardized units."""
    scale = y.std()
    score = gp.condition(X, y).log_likelihood + len(y) * np.log(scale)
    if priors is None:
        return score

    def log_normal(value, center, sd):
        return -0.5 * float(np.sum(((value - center) / sd) ** 2))

    lengthscale_center = priors.lengthscale[0] + 0.5 * np.log(X.shape[1])
    score += log_normal(np.log(gp.kernel.lengthscales), lengthscale_center, priors.lengthscale[1])
    score += log_normal(np.log(gp.kernel.variance / scale**2), *priors.variance)
    score += log_normal(np.log(gp.noise / scale**2), *priors.noise)
    return score + log_normal((gp.mean - y.mean()) / scale, 0.0, priors.mean)


@pytest.mark.parametrize("priors", [il.Priors(), None])
@pytest.mark.parametrize("kernel", [il.Matern52, il.Matern32, il.SquaredExponential])
@given(seed=st.integers(0, 2**16), d=st.integers(1, 4))
def test_gradient_and_information(kernel, priors, seed, d):
    X, y = sample(12, d, seed, kernel=kernel)
    objective = LogPosterior(X - X.mean(0), (y - y.mean()) / y.std(), kernel, None, priors, 1e-8)
    rng = np.random.default_rng(seed)
    theta = objective.prior_center + 0.3 * rng.standard_normal((2, d + 2))
    _, grads, _ = objective.evaluate(theta)
    for row, grad in zip(theta, grads, strict=True):
        numerical = approx_fprime(row, lambda t: objective.evaluate(t[None])[0][0], 1e-7)
        np.testing.assert_allclose(grad, numerical, rtol=1e-4, atol=1e-4 * np.abs(grad).max())
    assert np.linalg.eigvalsh(objective.information(theta)).min() > -1e-9


@pytest.mark.parametrize("priors", [il.Priors(), None])
@pytest.mark.parametrize(("n", "d"), [(15, 1), (40, 3), (120, 5)])
def test_fit_reaches_what_many_runs_of_a_general_optimizer_reach(n, d, priors):
    X, y = sample(n, d, seed=n)
    ours = log_posterior(il.fit(X, y, priors=priors, smallest_noise=1e-5), X, y, priors)
    best = -np.inf
    rng = np.random.default_rng(0)
    for _ in range(6):

        def loss(t):
            gp = il.GaussianProcess(
                il.Matern52(np.exp(t[:d]), np.exp(t[d])), mean=t[d + 2], noise=np.exp(t[d + 1])
            )
            return -log_posterior(gp, X, y, priors)

        start = np.concatenate([np.log(np.sqrt(d) / 4) + 0.5 * rng.standard_normal(d), [0, -6, 0]])
        bounds = [(-6.9, 6.9)] * (d + 1) + [(np.log(1e-5 * y.var()), 2)] + [(None, None)]
        best = max(best, -minimize(loss, start, method="L-BFGS-B", bounds=bounds).fun)
    assert ours >= best - 1e-3


def test_fit_means_the_same_in_any_units():
    X, y = sample(30, 2, seed=0)
    gp = il.fit(X, y)
    for scale, offset in ((1e8, 0.0), (1e-6, 3.0), (2.0, 1e5)):
        other = il.fit(X, scale * y + offset)
        np.testing.assert_allclose(other.kernel.lengthscales, gp.kernel.lengthscales, rtol=1e-3)
        assert other.kernel.variance == pytest.approx(scale**2 * gp.kernel.variance, rel=1e-3)
        assert other.noise == pytest.approx(scale**2 * gp.noise, rel=1e-2)
        assert other.mean == pytest.approx(scale * gp.mean + offset, rel=1e-3)


@pytest.mark.parametrize("d", [1, 10, 100])
def test_lengthscales_grow_with_the_dimension_where_data_say_nothing(d):
    X = np.random.default_rng(0).random((3, d))
    gp = il.fit(X, [0.0, 1.0, 0.5])
    ratio = np.exp(np.log(gp.kernel.lengthscales).mean()) / np.sqrt(d)
    assert 0.1 < ratio < 1.5


def test_warm_start_is_where_the_cold_fit_ends():
    X, y = sample(40, 3, seed=1)
    cold = il.fit(X, y)
    warm = il.fit(X, y, start=cold)
    np.testing.assert_allclose(warm.kernel.lengthscales, cold.kernel.lengthscales, rtol=1e-2)
    far = il.GaussianProcess(il.Matern52(5.0, 1e3), noise=0.0)
    again = il.fit(X, y, start=far)
    assert log_posterior(again, X, y, il.Priors()) >= log_posterior(cold, X, y, il.Priors()) - 1e-2


def test_known_noise_is_kept_and_used():
    X, y = sample(30, 2, seed=2, noise=1e-4)
    noise = np.full(30, 1e-4)
    noise[7], y[7] = 1e4, 50.0
    gp = il.fit(X, y, noise=noise)
    np.testing.assert_array_equal(gp.noise, noise)
    assert abs(gp.condition(X, y).marginals(X[7])[0]) < 10.0
    assert il.fit(X, y, noise=0.25).noise == 0.25


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("value", [0.0, -3.0, 1e8])
def test_constant_observations(n, value):
    X = np.random.default_rng(0).random((n, 2))
    gp = il.fit(X, np.full(n, value))
    mean, var = gp.condition(X, np.full(n, value)).marginals(X)
    np.testing.assert_allclose(mean, value, rtol=1e-6, atol=1e-6)
    assert np.isfinite(var).all()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**16))
def test_duplicated_observations(seed):
    X, y = sample(10, 2, seed)
    gp = il.fit(np.vstack([X, X, X]), np.concatenate([y, y, y]))
    mean, _ = gp.condition(np.vstack([X, X, X]), np.concatenate([y, y, y])).marginals(X)
    assert np.isfinite(mean).all()
