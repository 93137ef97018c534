"""The chance that evaluations succeed, and the expectation propagation that it is learned by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln, ndtr
from scipy.stats import multivariate_normal, norm

from innerloop.batches.chance import Chance
from innerloop.optimizer.trials import Trial, failed_for_a_while
from innerloop.surrogate.expectation_propagation import Sites, evidence
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.surrogate.kernels import SquaredExponential

VARIANCES = [1.0, 30.0, 1e3]


def few_signs(variance, seed=0, n=5):
    """Random points (n, 2), signs (n,), and the kernel of a latent function."""
    rng = np.random.default_rng(seed)
    X, signs = rng.random((n, 2)), np.where(np.arange(n) % 3 == 1, -1.0, 1.0)
    return X, signs, SquaredExponential(np.array([0.5, 1.5]), variance)


def success(chance, X):
    return np.exp(chance.log(X)[0])


# Expectation propagation.


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("variance", VARIANCES)
def test_the_evidence_against_the_probability_of_an_orthant(variance, seed):
    """s_i (f_i + a standard normal) are all positive."""
    X, signs, kernel = few_signs(variance, seed)
    covariance = np.multiply.outer(signs, signs) * (kernel(X, X) + np.eye(5))
    normal = multivariate_normal(-0.7 * signs, covariance, maxpts=10**6, abseps=1e-9, seed=0)
    found = evidence(kernel(X, X)[None], np.array([0.7]), signs)
    assert found.log[0] == pytest.approx(np.log(normal.cdf(np.zeros(5))), abs=0.05)


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_gradient_of_the_evidence_against_differences(variance):
    X, signs, kernel = few_signs(variance)
    K, mean, step = kernel(X, X)[None], np.array([0.7]), 1e-4
    found = evidence(K, mean, signs, tolerance=1e-11)

    def log(K, mean):
        return evidence(K, mean, signs, tolerance=1e-11).log[0]

    slope = (log(K, mean + step) - log(K, mean - step)) / (2 * step)
    assert found.d_mean[0] == pytest.approx(slope, rel=1e-4, abs=1e-8)
    direction = np.random.default_rng(1).standard_normal((5, 5))
    direction = direction @ direction.T
    slope = (log(K + step * direction, mean) - log(K - step * direction, mean)) / (2 * step)
    expected = (found.d_covariance[0] * direction).sum()
    assert expected == pytest.approx(slope, rel=1e-3, abs=1e-8)


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_belief_against_draws_of_the_latent_function(variance):
    """Draws of f by the prior, weighed by how probable they make the signs.

    Beliefs are normal, which where f varies much the truth is not: 0.97 may stand for 0.997.
    """
    X, signs, kernel = few_signs(variance)
    new = np.random.default_rng(5).random((6, 2))
    precision, shift = evidence(kernel(X, X)[None], np.array([0.7]), signs).sites
    gp = GaussianProcess(kernel, mean=0.7, noise=1.0 / precision[0])
    mean, var = gp.condition(X, 0.7 + shift[0] / precision[0]).marginals(new)
    both = np.concatenate([X, new])
    rng, draws = np.random.default_rng(6), 400_000
    f = rng.multivariate_normal(np.full(11, 0.7), kernel(both, both), draws, method="eigh")
    weights = ndtr(signs * f[:, :5]).prod(axis=1)
    expected = weights @ ndtr(f[:, 5:]) / weights.sum()
    np.testing.assert_allclose(
        ndtr(mean / np.sqrt(1.0 + var)), expected, atol=0.01 if variance == 1.0 else 0.04
    )


def test_one_sign_in_closed_form():
    """One site is exact: the evidence is Phi(mean / sqrt(1 + variance))."""
    for sign in (1.0, -1.0):
        found = evidence(np.full((1, 1, 1), 3.0), np.array([0.4]), np.array([sign]))
        assert found.log[0] == pytest.approx(norm.logcdf(sign * 0.4 / 2.0), abs=1e-9)


@pytest.mark.parametrize("variance", [1e-2, 1e2, 1e4, 1e6])
def test_sites_agree_however_the_points_lie(variance):
    """Among them a point thrice, with both signs; and a flat prior beside a rough one."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    X[1] = X[2] = X[0]
    signs = np.where(X[:, 0] > 0.8, -1.0, 1.0)
    signs[2] = -signs[0]
    K = np.stack([SquaredExponential(ls, variance)(X, X) for ls in (0.1, 1.0, 30.0)])
    found = evidence(K, np.ones(3), signs, tolerance=1e-9)
    start = Sites(np.full((3, 40), 0.5), 0.5 * rng.standard_normal((3, 40)))
    again = evidence(K, np.ones(3), signs, start=start, tolerance=1e-9)
    np.testing.assert_allclose(again.log, found.log, atol=1e-3)
    assert (found.log < 0.0).all()


def test_priors_that_are_treated_together_do_not_touch():
    X, signs, _ = few_signs(1.0)
    K = np.stack([SquaredExponential(0.5, variance)(X, X) for variance in VARIANCES])
    together = evidence(K, np.ones(3), signs)
    alone = [evidence(K[i : i + 1], np.ones(1), signs).log[0] for i in range(3)]
    np.testing.assert_allclose(together.log, alone, atol=1e-6)


# The chance.


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("times", [1.0, 4.0])
def test_the_gradient_of_the_chance_against_differences(seed, times):
    rng = np.random.default_rng(seed)
    X = rng.random((24, 3))
    fails = X[:, 0] + 0.5 * X[:, 1] > 0.9
    chance = Chance.of(X[~fails], X[fails]).in_a_row(times)
    new = rng.random((9, 3))
    _, grad = chance.log(new)
    for k in range(3):
        step = 1e-5 * np.eye(3)[k]  # less, and rounding errors of a large variance would show
        slope = (chance.log(new + step)[0] - chance.log(new - step)[0]) / 2e-5
        np.testing.assert_allclose(grad[:, k], slope, rtol=1e-4, atol=1e-5)


def test_the_chance_of_several_in_a_row():
    rng = np.random.default_rng(0)
    chance, new = Chance.of(rng.random((9, 2)), rng.random((4, 2))), rng.random((20, 2))
    np.testing.assert_allclose(success(chance.in_a_row(3.0), new), success(chance, new) ** 3)


def test_the_chance_is_an_average_of_reasons_and_accidents():
    rng = np.random.default_rng(0)
    X, new = rng.random((20, 2)), rng.random((50, 2))
    fails = X[:, 0] > 0.75
    chance = Chance.of(X[~fails], X[fails])
    mean, variance = chance.latent.marginals(new)
    a = 1.0 / (1.0 + np.exp(chance.log_odds))
    s, f = (~fails).sum(), fails.sum()
    expected = a * (s + 9) / (s + f + 10) + (1 - a) * ndtr(mean / np.sqrt(1 + variance))
    np.testing.assert_allclose(success(chance, new), expected, rtol=1e-6)


def test_failures_that_one_coordinate_explains_are_its_own():
    """Beyond 0.8 of one of six all fail: known where nothing is near, and only there."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 6))
    beyond = X[:, 2] > 0.8
    chance = Chance.of(X[~beyond], X[beyond])
    rates = 1.0 / chance.latent.gp.kernel.lengthscales
    assert rates[2] > 5.0 * np.delete(rates, 2).max()
    assert chance.log_odds > 5.0
    new = rng.random((200, 6))
    away = np.abs(new[:, 2] - 0.8) > 0.05
    np.testing.assert_array_equal(success(chance, new)[away] > 0.5, new[away, 2] < 0.8)


def test_failures_that_a_combination_of_two_choices_explains():
    """Where two one-hot coordinates are 1 all fail; where one of them is, none does."""
    rng = np.random.default_rng(0)
    kinds, modes, reals = rng.integers(0, 3, 40), rng.integers(0, 3, 40), rng.random((40, 2))
    X = np.column_stack([np.eye(3)[kinds], np.eye(3)[modes], reals])
    fails = (kinds == 0) & (modes == 0)
    assert 2 <= fails.sum() <= 8
    chance = Chance.of(X[~fails], X[fails])
    every = np.array([[*np.eye(3)[k], *np.eye(3)[m], 0.5, 0.5] for k in range(3) for m in range(3)])
    likely = success(chance, every)
    assert likely[0] < 0.2
    assert likely[1:].min() > 0.6


def test_failures_by_accident_are_nobodys():
    """The chance hardly differs from place to place, in most of the cases."""
    ratios = []
    for seed in range(11):
        rng = np.random.default_rng(seed)
        chance = Chance.of(rng.random((32, 6)), rng.random((6, 6)))
        likely = success(chance, rng.random((200, 6)))
        ratios.append(np.quantile(likely, 0.05) / np.quantile(likely, 0.95))
    assert np.median(ratios) > 0.9


def test_a_single_failure_among_successes_bars_nothing():
    rng = np.random.default_rng(0)
    around = 0.5 + 0.05 * rng.standard_normal((20, 4))
    chance = Chance.of(np.concatenate([rng.random((20, 4)), around]), np.full((1, 4), 0.5))
    likely = success(chance, np.concatenate([np.full((1, 4), 0.5), around]))
    assert likely.min() > 0.9 * success(chance, rng.random((100, 4))).max()


def test_one_failure_warns_and_more_of_them_forbid():
    """At one end of a coordinate, beyond all successes: between them there may be an edge."""
    rng = np.random.default_rng(0)
    good = np.column_stack([0.8 * rng.random(20), rng.random((20, 3))])
    bad = np.column_stack([np.ones(5), rng.random((5, 3))])
    end, inside = np.array([[1.0, 0.5, 0.5, 0.5]]), np.array([[0.4, 0.5, 0.5, 0.5]])
    likely = [success(Chance.of(good, bad[:k]), end)[0] for k in (1, 2, 3, 5)]
    assert 0.3 < likely[0] < 0.9
    assert likely[2] < 0.2
    assert likely[3] < 0.06
    assert sorted(likely, reverse=True) == likely
    assert success(Chance.of(good, bad), inside)[0] > 0.95


def test_the_odds_of_reasons_against_accidents():
    """If all failures are accidents, by the evidence of a Beta prior: more at one end, less so."""
    rng = np.random.default_rng(0)
    good = np.column_stack([0.8 * rng.random(20), rng.random((20, 3))])
    bad = np.column_stack([np.ones(6), rng.random((6, 3))])
    odds = [Chance.of(good, bad[:k]).log_odds for k in (1, 2, 4, 6)]
    by_accident = [betaln(29, k + 1) - betaln(9, 1) for k in (1, 2, 4, 6)]
    assert odds == sorted(odds)
    # What is explained is about as probable however often it is seen.
    np.testing.assert_allclose(np.diff(odds), -np.diff(by_accident), rtol=0.2)


def test_failures_for_a_while_may_be_over():
    """Thirty failures all over the place and thirty successes elsewhere: something was broken."""
    rng = np.random.default_rng(0)
    good = np.column_stack([0.4 + 0.2 * rng.random(30), rng.random(30)])
    bad, new = rng.random((30, 2)), rng.random((100, 2))
    bad = bad[np.abs(bad[:, 0] - 0.5) > 0.1]
    scattered, stretch = Chance.of(good, bad), Chance.of(good, bad, for_a_while=True)
    assert scattered.log_odds > 5.0
    assert stretch.log_odds < -3.0
    assert np.quantile(success(scattered, new), 0.2) < 0.1
    assert np.ptp(success(stretch, new)) < 0.05
    # A few failures at one end are still learned from, should they have come in a row.
    good = np.column_stack([0.8 * rng.random(20), rng.random((20, 3))])
    bad = np.column_stack([np.ones(4), rng.random((4, 3))])
    assert success(Chance.of(good, bad, for_a_while=True), bad).max() < 0.3


@pytest.mark.parametrize(
    ("all_of_them", "expected"),
    [("fc ffc cpfxfpcp cffcc", True), ("c f cff fcf cfcfc ffcpf ffcfc", False)],
)
def test_whether_trials_have_failed_for_a_while(all_of_them, expected):
    names = {"c": "complete", "f": "failed", "p": "pending", "x": "cancelled"}
    for states in all_of_them.split():
        trials = [Trial(i, {}, state=names[each]) for i, each in enumerate(states)]
        assert failed_for_a_while(trials) is expected


def test_the_order_of_evaluations_does_not_matter():
    rng = np.random.default_rng(0)
    X, new = rng.random((50, 4)), rng.random((30, 4))
    fails = X[:, 1] > 0.75
    good, bad = X[~fails], X[fails]
    chance = Chance.of(good, bad)
    shuffled = Chance.of(rng.permutation(good), rng.permutation(bad))
    np.testing.assert_allclose(shuffled.log(new)[0], chance.log(new)[0], atol=1e-6)
    np.testing.assert_array_equal(chance.failed, bad)


def test_of_many_evaluations_those_near_the_edge_are_kept():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    fails = X[:, 1] > 0.75
    chance = Chance.of(X[~fails], X[fails])
    assert chance.latent.n <= 256
    assert len(chance.failed) == fails.sum()
    new = rng.random((200, 3))
    away = np.abs(new[:, 1] - 0.75) > 0.05
    np.testing.assert_array_equal(success(chance, new)[away] > 0.5, new[away, 1] < 0.75)


@pytest.mark.parametrize(("succeeded", "failed"), [(0, 1), (0, 5), (1, 1), (1, 12)])
@pytest.mark.parametrize("d", [1, 3])
def test_few_evaluations_and_none_that_succeeded(succeeded, failed, d):
    rng = np.random.default_rng(0)
    chance = Chance.of(rng.random((succeeded, d)), rng.random((failed, d)))
    value, grad = chance.log(rng.random((5, d)))
    assert np.isfinite(value).all()
    assert np.isfinite(grad).all()
    assert (value < 0.0).all()


def test_the_same_point_with_both_outcomes():
    x = np.full((1, 2), 0.5)
    chance = Chance.of(np.repeat(x, 3, axis=0), np.repeat(x, 3, axis=0))
    assert 0.3 < success(chance, x)[0] < 0.8


def test_nowhere_to_evaluate():
    chance = Chance.of(np.zeros((1, 2)), np.ones((1, 2)))
    value, grad = chance.log(np.zeros((0, 2)))
    assert value.shape == (0,)
    assert grad.shape == (0, 2)
