"""Fantasy states: one outcome or several, extended at once or by one more point at a time."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

import innerloop as il
from innerloop.acquisition.utility import Gain
from innerloop.batches.states import Incremental, States
from problems import KERNELS


@dataclass(frozen=True)
class FeasibleImprovement(il.Utility):
    """The improvement of outcome 0 over a threshold, where outcome 1 is not above 0."""

    threshold: float = 0.0

    outcomes = 2
    empty = 0.0

    def value(self, Y):
        return np.where(Y[..., 1] <= 0.0, np.maximum(Y[..., 0] - self.threshold, 0.0), 0.0)

    def gain(self, mean, shift, sd, floor):
        u = (mean[..., 0] + shift[..., 0] - self.threshold - floor) / sd[..., 0]
        v = -(mean[..., 1] + shift[..., 1]) / sd[..., 1]
        h, below, allowed = norm.pdf(u) + u * norm.cdf(u), norm.cdf(u), norm.cdf(v)
        improvement = sd[..., 0] * h
        d_first = below * allowed
        d_second = -improvement * norm.pdf(v) / sd[..., 1]
        d_mean = np.stack([d_first, d_second], axis=-1)
        d_sd = np.stack([norm.pdf(u) * allowed, v * d_second], axis=-1)
        return Gain(improvement * allowed, d_mean, d_mean, d_sd)


def posteriors(kernel=il.Matern52, d=2, n=7):
    """Two outcomes over the same inputs, each with its own hyperparameters."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    first = il.GaussianProcess(kernel(np.full(d, 0.5), 1.4), mean=0.3, noise=1e-3)
    second = il.GaussianProcess(kernel(np.full(d, 0.9), 0.6), mean=-0.2, noise=1e-2)
    return first.condition(X, np.sin(4.0 * X).sum(1)), second.condition(X, np.cos(3.0 * X[:, 0]))


def outcomes(both, points, count, rng):
    """Draws (count, p, 2) of both outcomes at points (p, d), independent of each other."""
    drawn = []
    for posterior in both:
        belief = posterior.belief(points)
        L = np.linalg.cholesky(belief.cov + 1e-10 * np.eye(len(points)))
        drawn.append(belief.mean + rng.standard_normal((count, len(points))) @ L.T)
    return np.stack(drawn, axis=-1)


UTILITY = FeasibleImprovement(0.5)


def test_gains_of_two_outcomes_are_those_of_brute_force():
    both, rng = posteriors(), np.random.default_rng(1)
    fixed, queries = rng.random((2, 2)), rng.random((4, 2))
    z = np.stack([il.sobol_normal(2048, 2, seed) for seed in (0, 1)], axis=-1)
    states = States.start(UTILITY, both, z).extend(fixed)
    gains = states.gains(states.beliefs(queries)).value
    assert gains.shape == (4, 2048)
    for x, gain in zip(queries, gains.mean(axis=1), strict=True):
        values = UTILITY.value(outcomes(both, np.vstack([fixed, x]), 200_000, rng))
        added = values.max(axis=1) - values[:, :2].max(axis=1)
        assert gain == pytest.approx(added.mean(), abs=4.0 * added.std() / np.sqrt(200_000) + 2e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_updates_of_two_outcomes_are_those_of_extended_posteriors(kernel):
    both, rng = posteriors(kernel), np.random.default_rng(2)
    queries = rng.random((9, 2))
    z = rng.standard_normal((16, 3, 2))
    states = States.start(UTILITY, both, z)
    updated, beliefs = states, states.beliefs(queries)
    for i in (4, 7, 0):
        updated, beliefs = updated.update(beliefs, i)
        states = states.extend(queries[i : i + 1])
    others = np.array([1, 2, 3, 5, 6, 8])
    again = states.beliefs(queries[others])
    np.testing.assert_allclose(updated.floor, states.floor, atol=1e-6)
    np.testing.assert_allclose(beliefs[others].variance, again.variance, atol=1e-6)
    np.testing.assert_allclose(
        updated.gains(beliefs[others]).value, states.gains(again).value, atol=1e-6
    )


def test_gradients_of_two_outcomes():
    both, rng = posteriors(), np.random.default_rng(3)
    z = rng.standard_normal((8, 2, 2))
    states = States.start(UTILITY, both, z).extend(rng.random((2, 2)))
    objective, X = Incremental.of(states, log=False), rng.random((5, 1, 2))
    value, grad = objective.value_and_grad(X)
    np.testing.assert_allclose(value, objective.value(X))
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1e-6
        slope = (objective.value(X + step) - objective.value(X - step)) / 2e-6
        np.testing.assert_allclose(grad[:, 0, k], slope, rtol=1e-5, atol=1e-8)


def test_one_outcome_costs_no_copies():
    """With one outcome, beliefs are views of what the posterior computed."""
    posterior = posteriors()[0]
    states = States.start(il.ExpectedImprovement(0.5), (posterior,), np.zeros((4, 2)))
    states = states.extend(np.array([[0.2, 0.4]]))
    beliefs = states.beliefs(np.random.default_rng(0).random((3, 2)))
    source = beliefs.sources[0]
    assert beliefs.mean.shape == beliefs.variance.shape == (3, 1)
    assert beliefs.loadings.shape == (3, 1, 1)
    for view, whole in (
        (beliefs.mean, source.mean),
        (beliefs.variance, source.cov),
        (beliefs.loadings, source.features),
    ):
        assert np.shares_memory(view, whole)
