"""Lengthscales along other axes than those of the coordinates."""

import numpy as np
import pytest
from scipy.stats import ortho_group

import innerloop as il
from innerloop.optimizer.learn import Kinds, learn
from innerloop.optimizer.learned import Learned
from innerloop.optimizer.results import Results
from innerloop.surrogate.fit import fit
from innerloop.surrogate.fourier import posterior_draws
from innerloop.surrogate.gaussian_process import GaussianProcess
from innerloop.surrogate.kernels import Matern32, Matern52, SquaredExponential

KERNELS = [Matern52, Matern32, SquaredExponential]
LENGTHSCALES = [0.2, 0.5, 1.5]


def turned_axes(d=3, seed=0):
    return ortho_group.rvs(d, random_state=seed)


def ellipsoid(X, axes, condition=1e3):
    """A quadratic function whose Hessian has these axes, with its minimum at 0.4 in all."""
    weights = condition ** np.linspace(0.0, 1.0, len(axes))
    return ((X - 0.4) @ axes) ** 2 @ weights


def results_of(function, n=60, d=3, seed=0):
    X = np.random.default_rng(seed).random((n, d))
    return Results(X, function(X), np.full(n, np.nan), X[:0])


@pytest.mark.parametrize("kind", KERNELS)
def test_a_kernel_along_axes_is_the_kernel_of_turned_points(kind):
    rng, axes = np.random.default_rng(0), turned_axes()
    X1, X2 = rng.random((7, 3)), rng.random((5, 3))
    found = kind(LENGTHSCALES, 2.0, axes)(X1, X2)
    np.testing.assert_allclose(found, kind(LENGTHSCALES, 2.0)(X1 @ axes, X2 @ axes), rtol=1e-12)


@pytest.mark.parametrize("kind", KERNELS)
def test_beliefs_along_axes(kind):
    rng, axes = np.random.default_rng(1), turned_axes()
    X, Xq = rng.random((9, 3)), rng.random((4, 2, 3))
    y = np.sin(X @ [1.0, 3.0, -2.0])
    belief = GaussianProcess(kind(LENGTHSCALES, 2.0, axes)).condition(X, y).belief(Xq)
    turned = GaussianProcess(kind(LENGTHSCALES, 2.0)).condition(X @ axes, y).belief(Xq @ axes)
    np.testing.assert_allclose(belief.mean, turned.mean, rtol=1e-9)
    np.testing.assert_allclose(belief.cov, turned.cov, atol=1e-10)
    d_mean, d_cov = rng.standard_normal((4, 2)), rng.standard_normal((4, 2, 2))
    expected = turned.pullback(d_mean, d_cov) @ axes.T
    np.testing.assert_allclose(belief.pullback(d_mean, d_cov), expected, rtol=1e-7, atol=1e-9)


def test_slopes_are_those_of_the_mean():
    rng = np.random.default_rng(2)
    X = rng.random((8, 3))
    gp = GaussianProcess(Matern52(LENGTHSCALES, 1.5, turned_axes()), noise=1e-3)
    posterior = gp.condition(X, rng.standard_normal(8))
    for k in range(3):
        step = 1e-5 * np.eye(3)[k]
        above, below = posterior.marginals(X + step)[0], posterior.marginals(X - step)[0]
        np.testing.assert_allclose(posterior.slopes[:, k], (above - below) / 2e-5, atol=1e-5)


def test_function_draws_along_axes():
    """Their covariance, over many draws, is that of the belief, and slopes are differences."""
    rng = np.random.default_rng(3)
    X, x = rng.random((6, 3)), rng.random((4, 3))
    gp = GaussianProcess(Matern52(LENGTHSCALES, 1.5, turned_axes()), noise=1e-4)
    posterior = gp.condition(X, rng.standard_normal(6))
    draws = posterior_draws(posterior, draws=4000, features=2**11, seed=0)
    values = draws(x)
    belief = posterior.belief(x)
    np.testing.assert_allclose(np.cov(values.T), belief.cov, atol=0.1)
    found = draws.value_and_grad(x)[1]
    step = 1e-5 * np.eye(3)[1]
    slopes = (draws(x + step) - draws(x - step)) / 2e-5
    np.testing.assert_allclose(found[..., 1], slopes, atol=1e-3)


def test_rates_are_distances_along_coordinates():
    kernel = Matern52(LENGTHSCALES, 1.0, turned_axes())
    plain = SquaredExponential(LENGTHSCALES, 1.0, turned_axes())
    for k in range(3):
        far = 1e-3 * np.eye(3)[k]
        distance = np.sqrt(-2.0 * np.log(plain(far[None], np.zeros((1, 3)))[0, 0]))
        assert kernel.rates(3)[k] == pytest.approx(distance / 1e-3, rel=1e-5)


def test_fits_along_axes_are_fits_of_turned_points():
    axes, results = turned_axes(), results_of(lambda X: np.sin(3.0 * X @ [1.0, 2.0, -1.0]))
    found = fit(results.X, results.values, axes=axes)
    turned = fit(results.X @ axes, results.values)
    np.testing.assert_allclose(found.kernel.lengthscales, turned.kernel.lengthscales, rtol=1e-6)
    np.testing.assert_array_equal(found.kernel.axes, axes)


def test_axes_that_are_none():
    with pytest.raises(il.InputError, match=r"axes must have shape \(d, d\)"):
        Matern52(LENGTHSCALES, 1.0, np.ones((2, 3)))
    with pytest.raises(il.InputError, match="perpendicular"):
        Matern52(LENGTHSCALES, 1.0, np.ones((3, 3)))


TURNING = Kinds.of(None, plain=True)


@pytest.mark.parametrize("seed", range(3))
def test_axes_of_an_ellipsoid_are_found(seed):
    """Along its axes, its values at other points are foretold better."""
    axes = turned_axes(d=5, seed=seed)
    results = results_of(lambda X: ellipsoid(X, axes), n=80, d=5, seed=seed)
    turned = learn(results, -1.0, None, TURNING)
    assert turned.kind.turned
    # The steepest direction has the shortest lengthscale.
    steepest = turned.gp.kernel.axes[:, np.argmin(turned.gp.kernel.lengthscales)]
    assert abs(steepest @ axes[:, -1]) > 0.99
    straight = learn(results, -1.0, None)
    X = np.random.default_rng(99).random((500, 5))
    errors = []
    for learned in (turned, straight):
        posterior = learned.posterior(results)
        seen = learned.outputs.forward(ellipsoid(X, axes))
        errors.append(np.sqrt(np.mean((posterior.marginals(X)[0] - seen) ** 2)))
    assert errors[0] < 0.8 * errors[1]


def test_axes_stay_those_of_coordinates_where_these_explain_as_well():
    results = results_of(lambda X: ellipsoid(X, np.eye(3)))
    assert not learn(results, -1.0, None, TURNING).kind.turned
    noise = results_of(lambda X: np.random.default_rng(0).standard_normal(len(X)))
    assert not learn(noise, -1.0, None, TURNING).kind.turned


def test_learned_axes_are_saved_and_gone_on_from(tmp_path):
    axes = turned_axes(d=2, seed=4)
    optimizer = il.Optimizer(il.Space({"a": il.Real(0, 1), "b": il.Real(0, 1)}), seed=0)
    while len(optimizer.trials) < 24:
        for trial in optimizer.ask(4):
            x = np.array([[trial.params["a"], trial.params["b"]]])
            optimizer.tell(trial, float(ellipsoid(x, axes, 1e4)[0]))
    optimizer.ask(4)
    assert optimizer.learned.kind.turned
    again = Learned.from_dict(optimizer.learned.to_dict())
    assert again.kind == optimizer.learned.kind
    np.testing.assert_allclose(again.gp.kernel.axes, optimizer.learned.gp.kernel.axes, atol=1e-15)
    path = tmp_path / "study.json"
    optimizer.save(path)
    loaded = il.Optimizer.load(path)
    assert [t.params for t in loaded.ask(4)] == [t.params for t in optimizer.ask(4)]
