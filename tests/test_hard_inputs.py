"""Inputs that break careless numerics work; inputs that are wrong are refused with reasons."""

import numpy as np
import pytest

import innerloop as il
from problems import KERNELS, make_problem, utilities


def acquisitions(post, q=2):
    points = np.random.default_rng(1).random((5, post.d))
    z = il.sobol_normal(32, q + 2, seed=0)
    for utility in [*utilities(), il.KnowledgeGradient(points), il.EntropySearch(points, 0.2)]:
        yield il.Joint(utility, post, z), q
        yield il.Joint(utility, post, z, pending=points[:2]), q
    for utility in utilities():
        yield il.Incremental(utility, post, z), 1
        yield il.Incremental(utility, post, z).extend(points[:2]), 1
        if np.isfinite(utility.empty):
            yield il.Incremental(utility, post, z, log=True).extend(points[:2]), 1


def assert_all_finite(post, X):
    for acquisition, q in acquisitions(post):
        value, grad = acquisition.value_and_grad(X[:, :q])
        assert not np.isnan(value).any()
        assert np.isfinite(grad).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-4])
def test_duplicated_observations(kernel, noise):
    rng = np.random.default_rng(0)
    X, y = rng.random((5, 2)), rng.standard_normal(5)
    post = il.GaussianProcess(kernel(0.4), noise=noise).condition(
        np.repeat(X, 3, 0), np.repeat(y, 3)
    )
    # Three equal observations say what one says that is three times as precise.
    once = il.GaussianProcess(kernel(0.4), noise=noise / 3.0).condition(X, y)
    elsewhere = rng.random((4, 2))
    np.testing.assert_allclose(post.marginals(elsewhere), once.marginals(elsewhere), atol=1e-5)
    assert_all_finite(post, rng.random((3, 2, 2)))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-4])
def test_coinciding_queries(kernel, noise):
    rng = np.random.default_rng(0)
    post = make_problem(kernel, noise=noise).posterior
    x = rng.random(2)
    coinciding = np.array([[x, x], [post.X[0], post.X[0]], [post.X[0], x]])
    assert_all_finite(post, coinciding)
    # A query made twice is worth what it is worth once.
    z = il.sobol_normal(2**12, 2, seed=0)
    for utility in utilities():
        value = il.Joint(utility, post, z).value(coinciding[:1])[0]
        mean, var = post.marginals(x)
        once = il.expected_utility(utility, mean[None], var[None, None], z[:, :1])
        assert value == pytest.approx(once, abs=1e-3)
        gained = il.Incremental(utility, post, z).extend(x).value(x[None, None])[0]
        assert gained == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_next_to_no_noise(noise):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 3)), rng.standard_normal(30)
    post = il.GaussianProcess(il.Matern52(0.5), noise=noise).condition(X, y)
    mean, var = post.marginals(X)
    np.testing.assert_allclose(mean, y, atol=1e-5)
    assert (var < 1e-6).all()
    assert_all_finite(post, rng.random((3, 2, 3)))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (20, 1), (5, 100)])
def test_few_observations_and_extreme_dimensions(n, d):
    rng = np.random.default_rng(0)
    post = make_problem(n=n, d=d).posterior
    assert_all_finite(post, rng.random((3, 2, d)))


def test_constant_observations():
    rng = np.random.default_rng(0)
    post = il.GaussianProcess(il.Matern52(0.3)).condition(rng.random((6, 2)), np.ones(6))
    assert_all_finite(post, rng.random((3, 2, 2)))


def test_observations_of_size_1e8():
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 2)), 1e8 * (1.0 + 0.1 * rng.standard_normal(12))
    gp = il.fit(X, y)
    post = gp.condition(X, y)
    X_new = rng.random((4, 1, 2))
    acquisition = il.Incremental(il.ExpectedImprovement(y.max()), post, il.sobol_normal(64, 1, 0))
    value, grad = acquisition.value_and_grad(X_new)
    small = il.GaussianProcess(
        il.Matern52(gp.kernel.lengthscales, gp.kernel.variance / 1e16),
        gp.mean / 1e8,
        gp.noise / 1e16,
    ).condition(X, y / 1e8)
    scaled = il.Incremental(il.ExpectedImprovement(y.max() / 1e8), small, il.sobol_normal(64, 1, 0))
    np.testing.assert_allclose(value, 1e8 * scaled.value(X_new), rtol=1e-5)
    assert np.isfinite(grad).all()


@pytest.mark.parametrize("deviations", [5.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("make", [il.ExpectedImprovement, il.ProbabilityOfImprovement])
def test_far_below_the_threshold_in_log_space(make, deviations):
    rng = np.random.default_rng(0)
    post = make_problem(n=8, d=3).posterior
    X = rng.random((4, 1, 3))
    mean, var = post.marginals(X[:, 0])
    threshold = float((mean + deviations * np.sqrt(var)).max())
    fixed = rng.random((2, 3))
    for acquisition in (
        il.Incremental(make(threshold), post, il.sobol_normal(64, 2, 0), log=True),
        il.Incremental(make(threshold), post, il.sobol_normal(64, 2, 0), log=True).extend(fixed),
    ):
        value, grad = acquisition.value_and_grad(X)
        assert np.isfinite(value).all()
        assert np.isfinite(grad).all()
        assert (np.abs(grad).max(axis=(1, 2)) > 0.0).all()
    if deviations <= 30.0:
        # Up the gradient the value rises: it still points somewhere.
        step = 1e-7 * grad / np.abs(grad).max()
        assert (acquisition.value(X + step) > value).all()


def test_certain_beliefs_have_marginals():
    assert il.ExpectedImprovement(1.0).marginal(3.0, 0.0) == 2.0
    assert il.ExpectedImprovement(1.0).marginal(-3.0, 0.0) == 0.0
    assert il.ProbabilityOfImprovement(1.0).marginal([0.0, 2.0], 0.0).tolist() == [0.0, 1.0]
    assert il.SimpleRegret().marginal(1.5, 0.0) == 1.5
    assert il.UpperConfidenceBound(4.0).marginal(1.5, 0.0) == pytest.approx(1.5)
    z = il.iid_normal(8, 2, seed=0)
    value = il.expected_utility(il.SimpleRegret(), [1.0, 2.0], np.zeros((2, 2)), z)
    assert value == pytest.approx(2.0)


POST = make_problem(d=2).posterior
Z = il.iid_normal(8, 3, seed=0)
X2 = np.full((3, 2), 0.5)

REFUSED = {
    "no kernel": (lambda: il.GaussianProcess(0.3), "kernel must be a Kernel"),
    "kernel instance to fit": (lambda: il.fit(X2, np.zeros(3), kernel=il.Matern52(0.3)), "a class"),
    "utility class": (lambda: il.Joint(il.SimpleRegret, POST, Z), "utility must be a Utility"),
    "no posterior": (lambda: il.Joint(il.SimpleRegret(), POST.gp, Z), "posterior must be a"),
    "expected knowledge gradient": (
        lambda: il.expected_utility(il.KnowledgeGradient(X2), [0.0], [[1.0]], Z[:, :1]),
        "utility must be a myopic maximal Utility",
    ),
    "text as threshold": (lambda: il.ExpectedImprovement("much"), "threshold must be numeric"),
    "prior without spread": (lambda: il.Priors(mean=0.0), "sd of mean must be above 0"),
    "no query sets": (
        lambda: il.Joint(il.SimpleRegret(), POST, Z).value(np.zeros((0, 1, 2))),
        "with R >= 1",
    ),
    "several smallest noises": (
        lambda: il.fit(X2, np.zeros(3), smallest_noise=[1, 2]),
        "smallest_noise must be a single number",
    ),
    "empty data": (lambda: POST.gp.condition(np.empty((0, 2)), []), r"X must have shape \(n, d\)"),
    "X one-dimensional": (lambda: POST.gp.condition([1.0, 2.0], [1.0, 2.0]), r"got shape \(2,\)"),
    "y too short": (
        lambda: POST.gp.condition(X2, [1.0]),
        r"y must have shape \(3,\), got shape \(1,\)",
    ),
    "NaN in y": (
        lambda: POST.gp.condition(X2, [0, np.nan, 0]),
        r"y must be finite, got nan at index \(1,\)",
    ),
    "infinity in X": (lambda: POST.gp.condition([[np.inf, 0]], [0]), r"X must be finite, got inf"),
    "text in X": (lambda: POST.gp.condition([["a", "b"]], [0]), r"X must be numeric"),
    "negative noise": (
        lambda: il.GaussianProcess(il.Matern52(1.0), noise=-1.0),
        "noise must be 0 or above, got -1",
    ),
    "noise of wrong length": (
        lambda: il.GaussianProcess(il.Matern52(1.0), noise=np.ones(2)).condition(X2, np.zeros(3)),
        r"noise must be a number or have shape \(3,\)",
    ),
    "negative lengthscale": (
        lambda: il.Matern52([0.1, -0.2]),
        "lengthscales must be above 0, got -0.2",
    ),
    "zero variance": (lambda: il.Matern32(1.0, 0.0), "variance must be above 0, got 0"),
    "matrix of lengthscales": (
        lambda: il.Matern52(np.ones((2, 2))),
        "lengthscales must be a number or",
    ),
    "too many lengthscales": (
        lambda: il.GaussianProcess(il.Matern52([1.0, 1.0, 1.0])).condition(X2, np.zeros(3)),
        "kernel has 3 lengthscales, but the points have 2 dimensions",
    ),
    "infinite threshold": (
        lambda: il.ExpectedImprovement(np.inf),
        "threshold must be finite, got inf",
    ),
    "NaN threshold": (
        lambda: il.ProbabilityOfImprovement(np.nan),
        "threshold must be finite, got nan",
    ),
    "zero temperature": (
        lambda: il.ProbabilityOfImprovement(0.0, temperature=0.0),
        "temperature must be above 0",
    ),
    "negative beta": (lambda: il.UpperConfidenceBound(-1.0), "beta must be above 0, got -1"),
    "negative variance": (lambda: il.SimpleRegret().marginal(0.0, -1.0), "var must be 0 or above"),
    "query of wrong dimension": (
        lambda: POST.belief(np.zeros((2, 3))),
        r"Xq must have shape \(..., q, 2\)",
    ),
    "marginals of wrong dimension": (
        lambda: POST.marginals(np.zeros(3)),
        r"Xs must have shape \(..., 2\)",
    ),
    "query set of two axes": (
        lambda: il.Joint(il.SimpleRegret(), POST, Z).value(X2),
        r"X must have shape \(R, q, 2\) with R >= 1, got shape \(3, 2\)",
    ),
    "incremental with q=2": (
        lambda: il.Incremental(il.SimpleRegret(), POST, Z).value(np.zeros((1, 2, 2))),
        r"X must have shape \(R, 1, 2\) with R >= 1, got shape \(1, 2, 2\)",
    ),
    "too few draws for the queries": (
        lambda: il.Joint(il.SimpleRegret(), POST, Z, pending=X2).value(np.zeros((1, 1, 2))),
        "z has 3 columns, but 3 pending points and q=1 queries need 4",
    ),
    "too few draws to extend": (
        lambda: il.Incremental(il.SimpleRegret(), POST, Z[:, :2]).extend(X2),
        "z has 2 columns, but 3 points are to be fixed",
    ),
    "draws of one axis": (
        lambda: il.Joint(il.SimpleRegret(), POST, Z[0]),
        r"z must have shape \(m, q\)",
    ),
    "log space for UCB": (
        lambda: il.Incremental(il.UpperConfidenceBound(), POST, Z, log=True).value(
            np.zeros((1, 1, 2))
        ),
        "UpperConfidenceBound has no gain in log space",
    ),
    "incremental knowledge gradient": (
        lambda: il.Incremental(il.KnowledgeGradient(X2), POST, Z),
        "needs a myopic maximal utility, got KnowledgeGradient",
    ),
    "discretization of wrong dimension": (
        lambda: il.Joint(il.KnowledgeGradient(np.zeros((4, 3))), POST, Z),
        r"points must have shape \(n, 2\)",
    ),
    "entropy search draws": (
        lambda: il.EntropySearch(X2, z=np.zeros((4, 2))),
        r"z must have shape \(m_b, 3\)",
    ),
    "belief of wrong shape": (
        lambda: il.expected_utility(il.SimpleRegret(), [0.0], np.eye(2), Z),
        r"mean must have shape \(..., 3\)",
    ),
    "indefinite covariance": (
        lambda: il.expected_utility(il.SimpleRegret(), [0.0, 0.0], [[1, 2], [2, 1]], Z[:, :2]),
        "could not be factorized",
    ),
    "no draws": (lambda: il.sobol_normal(0, 2), "m must be an integer of 1 or more, got 0"),
    "odd features": (lambda: il.prior_draws(POST.gp, 2, features=3), "features must be even"),
    "UCB of outcomes alone": (lambda: il.UpperConfidenceBound().value(np.zeros(2)), "grade"),
    "appending with wrong dimension": (
        lambda: POST.condition(np.zeros((1, 3)), [0.0]),
        r"X_new must have shape",
    ),
    "fit with NaN": (lambda: il.fit(X2, [0.0, np.nan, 1.0]), "y must be finite"),
    "fit with wrong noise": (
        lambda: il.fit(X2, np.zeros(3), noise=np.ones(2)),
        "noise must be a number or",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_refused(case):
    call, message = REFUSED[case]
    with pytest.raises(il.InnerLoopError, match=message):
        call()


def test_what_was_told_does_not_change_behind_our_back():
    X, y, noise, scales = X2.copy(), np.zeros(3), np.ones(3), np.ones(2)
    X[1] = 0.1
    post = il.GaussianProcess(il.Matern52(scales), noise=noise).condition(X, y)
    acquisition = il.Incremental(il.SimpleRegret(), post, z := Z.copy())
    before = acquisition.value(X2[:1, None]), il.posterior_draws(post, seed=0)(X2)
    for array in (X, y, noise, scales, z):
        array += 7.0
    after = acquisition.value(X2[:1, None]), il.posterior_draws(post, seed=0)(X2)
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


def test_errors_are_value_errors():
    assert issubclass(il.InnerLoopError, ValueError)
