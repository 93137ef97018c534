"""Hyperparameter fits against a general optimizer, and what they promise to users."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import innerloop as il
from innerloop.optimizer.learn import learn
from innerloop.optimizer.results import Results
from innerloop.surrogate.log_posterior import LogPosterior
from innerloop.surrogate.quasi_newton import Descents, Found, advance
from innerloop.surrogate.screening import Screening


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

    center, sd = priors.lengthscale[0] + 0.5 * np.log(X.shape[1]), priors.lengthscale[1]
    logs = np.broadcast_to(np.log(gp.kernel.lengthscales), X.shape[1])

    def together(shift):
        return log_normal(logs, center + shift, sd) + log_normal(shift, 0.0, priors.shorter)

    shifts = np.linspace(-12.0, 0.0, 12_001) if len(logs) > 10 else (0.0,)
    score += max(together(shift) for shift in shifts)
    score += log_normal(np.log(gp.kernel.variance / scale**2), *priors.variance)
    score += log_normal(np.log(gp.noise / scale**2), *priors.noise)
    return score + log_normal((gp.mean - y.mean()) / scale, 0.0, priors.mean)


@pytest.mark.parametrize("priors", [il.Priors(), None])
@pytest.mark.parametrize("kernel", [il.Matern52, il.Matern32, il.SquaredExponential])
@given(seed=st.integers(0, 2**16), d=st.sampled_from([1, 2, 3, 4, 12]))
def test_gradient_and_information(kernel, priors, seed, d):
    X, y = sample(12, d, seed, kernel=kernel)
    objective = LogPosterior(X - X.mean(0), (y - y.mean()) / y.std(), kernel, None, priors, 1e-8)
    rng = np.random.default_rng(seed)
    theta = objective.prior_center + 0.3 * rng.standard_normal((2, d + 2))
    grads = objective.evaluate(theta).grads
    for row, grad in zip(theta, grads, strict=True):
        numerical = approx_fprime(row, lambda t: objective.evaluate(t[None])[0][0], 1e-7)
        np.testing.assert_allclose(grad, numerical, rtol=1e-4, atol=1e-4 * np.abs(grad).max())
    assert np.linalg.eigvalsh(objective.information(theta)).min() > -1e-9


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("groups", [None, [0, 1, 1, 0]])
@pytest.mark.parametrize("kernel", [il.Matern52, il.Matern32, il.SquaredExponential])
def test_average_information_is_that_of_its_definition(kernel, groups, known):
    X, y = sample(70, 4, 3, kernel=kernel)
    shared = None if groups is None else np.array(groups)
    columns = np.arange(4) if shared is None else shared
    noise = np.linspace(0.01, 0.1, 70) if known else None
    objective = LogPosterior(X - X.mean(0), y, kernel, noise, il.Priors(), 1e-8, shared)
    rng = np.random.default_rng(0)
    theta = objective.prior_center + 0.3 * rng.standard_normal((2, len(objective.bounds)))
    found, G = objective.evaluate(theta, with_curvature=True), objective.scales
    plain = objective.evaluate(theta)
    assert plain.hessians is None
    for ours, same in zip(found[:3], plain[:3], strict=True):
        np.testing.assert_allclose(ours, same, rtol=1e-12)

    def covariance(row):
        parameters = np.exp(row)
        added = noise if known else parameters[-1]
        return kernel(parameters[:G][columns], parameters[G])(X, X) + added * np.eye(70)

    for row, mean, hessian in zip(theta, found.notes, found.hessians, strict=True):
        alpha = np.linalg.solve(covariance(row), y - mean)
        shifts = 1e-5 * np.eye(len(row))
        tangents = [(covariance(row + s) - covariance(row - s)) @ alpha / 2e-5 for s in shifts]
        T = np.array(tangents).T
        expected = 0.5 * T.T @ np.linalg.solve(covariance(row), T)
        expected += np.array([objective.prior((row + s)[None])[1][0] for s in shifts]) / 2e-5
        expected -= np.array([objective.prior((row - s)[None])[1][0] for s in shifts]) / 2e-5
        np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-6 * expected.max())


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
    """k values at a point say what their mean says with a k-th of the noise."""
    X, y = sample(10, 2, seed)
    k, rng = 3, np.random.default_rng(seed)
    for spread in (0.0, 0.1):
        values = y + spread * rng.standard_normal((k, 10))
        repeated, told = np.tile(X, (k, 1)), values.ravel()
        gp = il.fit(repeated, told)
        posterior = gp.condition(repeated, told)
        once = il.GaussianProcess(gp.kernel, gp.mean, gp.noise / k)
        once = once.condition(X, values.mean(axis=0))
        new = np.concatenate([X, rng.random((20, 2))])
        size = told.std()
        for ours, exact in zip(posterior.marginals(new), once.marginals(new), strict=True):
            np.testing.assert_allclose(ours / size, exact / size, atol=1e-6)
        # What the values say beyond their mean is how they spread around it.
        within = ((values - values.mean(axis=0)) ** 2).sum() / gp.noise
        apart = within + 10 * (k - 1) * np.log(2.0 * np.pi * gp.noise) + 10 * np.log(k)
        exact = once.log_likelihood - 0.5 * apart
        assert posterior.log_likelihood == pytest.approx(exact, rel=1e-6)
        if spread:
            # Twenty degrees of freedom: the estimate is within a factor of 3 of the truth.
            assert 1 / 3 < gp.noise / spread**2 < 3
        # The mode, as far as steps can tell: less noise there may not be where nothing spreads.
        here = log_posterior(gp, repeated, told, il.Priors())
        steps = 0.1 * np.concatenate([np.eye(4), -np.eye(4)])
        for step in steps if spread else steps[:-1]:
            factors = np.exp(step)
            kernel = il.Matern52(
                gp.kernel.lengthscales * factors[:2], gp.kernel.variance * factors[2]
            )
            other = il.GaussianProcess(kernel, gp.mean, gp.noise * factors[3])
            assert here >= log_posterior(other, repeated, told, il.Priors()) - 1e-3


def wave(n, d, seed):
    X = np.random.default_rng(seed).random((n, d))
    return X, np.sin(25.0 * X[:, 0]) + 0.01 * X.sum(axis=1)


def noise_only(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.standard_normal(n)


@pytest.mark.parametrize(
    ("data", "n", "d", "seed"), [(wave, 120, 5, 1), (wave, 60, 8, 0), (noise_only, 110, 4, 0)]
)
def test_cold_fits_find_the_mode(data, n, d, seed):
    X, y = data(n, d, seed)
    objective = LogPosterior(
        X - X.mean(0), (y - y.mean()) / y.std(), il.Matern52, None, il.Priors(), 1e-8
    )
    gp = il.fit(X, y)
    tail = [gp.kernel.variance / y.var(), gp.noise / y.var()]
    ours = objective.evaluate(np.log([[*gp.kernel.lengthscales, *tail]]))[0][0]
    rng = np.random.default_rng(1)
    for number in range(8):
        theta = objective.prior_center + rng.standard_normal(d + 2)
        if number % 2:
            theta[:d] = np.log(2.0 * np.sqrt(d))
            theta[[0, -3][: 1 + number // 4]] = np.log(0.2)
        end = minimize(
            lambda t: tuple(each[0] for each in objective.evaluate(t[None])[:2]),
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=objective.bounds,
        )
        assert ours <= end.fun + 0.1


def test_screening_gives_the_values_of_the_log_posterior():
    X, y = sample(20, 3, seed=4)
    objective = LogPosterior(
        X - X.mean(0), (y - y.mean()) / y.std(), il.Matern52, None, il.Priors(), 1e-8
    )
    rng = np.random.default_rng(0)
    values, theta = Screening(objective)(
        np.exp(objective.prior_center[:3] + 0.5 * rng.standard_normal((40, 3))),
        10.0 ** rng.uniform(-5, 0, 40),
    )
    np.testing.assert_allclose(values, objective.evaluate(theta)[0], rtol=0.01, atol=0.1)
    for shift in (-0.1, 0.1):  # no variance is much better
        other = theta + shift * np.array([0, 0, 0, 1, 1])
        assert (objective.evaluate(other)[0] > values - 0.5).all()


def quadratic(scale, A, center):
    def function(x):
        offset = x - center
        slopes = offset @ A
        return Found(0.5 * scale * np.vecdot(offset, slopes), scale * slopes, np.zeros(len(x)))

    return function


def search(function, x, curvatures, bounds, tolerance):
    values, grads, notes, _ = function(x)
    ended = np.zeros(len(x), dtype=bool)
    start = Descents(x, values, grads, notes, curvatures, ended)
    return advance(function, start, bounds, tolerance=tolerance)


@given(seed=st.integers(0, 2**16), p=st.integers(1, 5))
def test_searches_end_at_the_minimum_within_bounds(seed, p):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((p, p))
    A, center = root @ root.T + 0.1 * np.eye(p), 2.0 * rng.standard_normal(p)
    function, bounds = quadratic(1.0, A, center), np.array([[-1.0, 1.0]] * p)
    x = rng.uniform(-1.0, 1.0, (3, p))
    end = search(function, x, np.repeat(np.eye(p)[None], 3, axis=0), bounds, 1e-12)
    best = minimize(
        lambda t: function(t[None])[0][0],
        np.zeros(p),
        jac=lambda t: function(t[None])[1][0],
        bounds=bounds,
        method="L-BFGS-B",
        options={"ftol": 1e-14, "gtol": 1e-10},
    )
    np.testing.assert_allclose(end.values, best.fun, rtol=1e-5, atol=1e-6)


def test_known_curvature_is_used_in_place_of_what_is_given():
    A, center = np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([0.3, -0.2])
    learned, calls = quadratic(1.0, A, center), []

    def function(x):
        calls.append(x)
        return learned(x)._replace(hessians=np.repeat(A[None], len(x), axis=0))

    bounds = np.array([[-1.0, 1.0]] * 2)
    end = search(
        function, np.full((3, 2), 0.9), 50.0 * np.eye(2)[None].repeat(3, axis=0), bounds, 0
    )
    np.testing.assert_allclose(end.x, np.repeat(center[None], 3, axis=0), atol=1e-3)
    # The first step is that of the matrix given, the second one ends where the curvature says.
    np.testing.assert_allclose(calls[2], np.repeat(center[None], 3, axis=0), atol=3e-3)


@pytest.mark.parametrize("scale", [0.0, 1e-320, 1e-200, 1e-100, 1e100, 1e150])
@pytest.mark.parametrize("curvature", [0.0, 1e-200, 1.0, 1e100])
def test_searches_stay_finite_where_products_underflow_or_overflow(scale, curvature):
    function = quadratic(scale, np.eye(2), np.array([0.3, -0.2]))
    bounds = np.array([[-1.0, 1.0]] * 2)
    end = search(function, np.full((1, 2), 0.9), curvature * np.eye(2)[None], bounds, 1e-300)
    assert np.isfinite(end.x).all()
    assert np.isfinite(end.hessians).all()
    assert (end.values <= function(np.full((1, 2), 0.9))[0]).all()


@pytest.fixture
def evaluated(monkeypatch):
    """How many observations each evaluation was of."""
    sizes, evaluate = [], LogPosterior.evaluate

    def recorded(self, theta, **options):
        sizes.append(len(self.values))
        return evaluate(self, theta, **options)

    monkeypatch.setattr(LogPosterior, "evaluate", recorded)
    return sizes


def test_a_fit_without_time_is_made_on_few_observations_or_is_its_start(evaluated):
    X, y = sample(600, 2, seed=3)
    cold = il.fit(X, y, seconds=1e-3)
    assert max(evaluated) < 600
    assert np.isfinite(cold.condition(X, y).log_likelihood)
    warm = il.fit(X, y + 0.1, start=cold, seconds=1e-3)
    assert max(evaluated) < 600
    np.testing.assert_allclose(warm.kernel.lengthscales, cold.kernel.lengthscales)
    assert warm.mean == pytest.approx(cold.mean)


def test_time_that_is_never_short_changes_nothing():
    X, y = sample(60, 3, seed=5)
    free, limited = il.fit(X, y), il.fit(X, y, seconds=3600.0)
    np.testing.assert_array_equal(free.kernel.lengthscales, limited.kernel.lengthscales)
    with pytest.raises(il.InputError, match="seconds"):
        il.fit(X, y, seconds=0.0)


def test_asks_with_little_time_do_not_fit_all_results(evaluated):
    space = il.Space({"a": il.Real(0, 1), "b": il.Real(0, 1)})
    optimizer = il.Optimizer(space, seed=0, seconds=2e-3)
    X, y = sample(600, 2, seed=3)
    for (a, b), value in zip(X, y, strict=True):
        optimizer.add({"a": a, "b": b}, value)
    optimizer.ask()
    assert 0 < max(evaluated) < 600


# Columns that share a lengthscale.


def with_choice(n, seed=0, values=4):
    """Points with a choice of several values, one column for each, and values of a function."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, values, n)
    X = np.concatenate([rng.random((n, 2)), np.eye(values)[chosen]], axis=1)
    y = np.sin(5 * X[:, 0]) + np.array([0.0, 1.0, 0.3, -1.0])[chosen] * X[:, 1]
    return X, y, np.array([0, 1, *[2] * values])


@pytest.mark.parametrize("n", [30, 90])  # few enough to keep all differences, and not
def test_gradient_of_shared_lengthscales(n):
    X, y, groups = with_choice(n)
    objective = LogPosterior(
        X - X.mean(0), (y - y.mean()) / y.std(), il.Matern52, None, il.Priors(), 1e-8, groups
    )
    theta = objective.prior_center + 0.3 * np.random.default_rng(0).standard_normal((2, 5))
    grads = objective.evaluate(theta).grads
    for row, grad in zip(theta, grads, strict=True):
        numerical = approx_fprime(row, lambda t: objective.evaluate(t[None])[0][0], 1e-7)
        np.testing.assert_allclose(grad, numerical, rtol=1e-4, atol=1e-4 * np.abs(grad).max())
    # The same numbers as those of single columns, whose priors are left out.
    single = LogPosterior(X - X.mean(0), (y - y.mean()) / y.std(), il.Matern52, None, None, 1e-8)
    plain = LogPosterior(
        X - X.mean(0), (y - y.mean()) / y.std(), il.Matern52, None, None, 1e-8, groups
    )
    spread = np.concatenate([theta[:, groups], theta[:, 3:]], axis=1)
    np.testing.assert_allclose(plain.evaluate(theta)[0], single.evaluate(spread)[0], rtol=1e-10)


def test_shared_lengthscales_are_a_mode_and_know_no_order():
    X, y, groups = with_choice(40)
    gp = il.fit(X, y, groups=groups)
    scales = gp.kernel.lengthscales
    assert len(set(scales[2:])) == 1
    assert len(set(scales)) == 3
    turned = np.concatenate([X[:, :2], X[:, [4, 2, 5, 3]]], axis=1)
    again = il.fit(turned, y, groups=["a", "b", "c", "c", "c", "c"])
    np.testing.assert_allclose(again.kernel.lengthscales, scales, rtol=1e-3)
    warm = il.fit(X, y, groups=groups, start=gp)
    np.testing.assert_allclose(warm.kernel.lengthscales, scales, rtol=1e-2)
    for factor in (0.8, 1.25):
        other = scales.copy()
        other[2:] *= factor
        changed = il.GaussianProcess(il.Matern52(other, gp.kernel.variance), gp.mean, gp.noise)
        worse = changed.condition(X, y).log_likelihood
        worse += il.Priors().log_density(changed, 6, groups)
        best = gp.condition(X, y).log_likelihood + il.Priors().log_density(gp, 6, groups)
        assert worse < best


def test_labels_of_columns_are_checked():
    X, y, _ = with_choice(10)
    with pytest.raises(il.InputError, match=r"groups must have shape \(6,\)"):
        il.fit(X, y, groups=[0, 1])


def test_an_optimizer_has_one_lengthscale_for_a_choice():
    space = il.Space({"x": il.Real(0, 1), "kind": il.Choice(["a", "b", "c"])})
    optimizer = il.Optimizer(space, seed=0)
    for i, trial in enumerate(optimizer.ask(12)):
        optimizer.tell(trial, trial.params["x"] + "abc".index(trial.params["kind"]) + 0.01 * i)
    optimizer.ask()
    scales = optimizer._learned["value"].gp.kernel.lengthscales
    assert scales[1] == scales[2] == scales[3]
    assert il.Space({"x": il.Real(0, 1), "two": il.Choice([1, 2])}).groups is None


# Parameters whose values lie farther apart than those of numbers.


@pytest.mark.parametrize("count", [3, 5, 12])
def test_reach_is_the_distance_of_random_values(count):
    space = il.Space({"x": il.Real(-3, 7), "kind": il.Choice(list(range(count)))})
    X = space.domain().sample(40_000, np.random.default_rng(0))
    for name in ("x", "kind"):
        along = X[:, space.columns[name]]
        squares = ((along[::2] - along[1::2]) ** 2).sum(axis=1)
        np.testing.assert_allclose(
            space.reach[space.columns[name]], np.sqrt(6.0 * squares.mean()), rtol=0.02
        )
    assert (
        il.Space({"x": il.Real(0, 1), "on": il.Choice([1, 2]), "n": il.Integer(1, 3)}).reach is None
    )


@pytest.mark.parametrize("d", [3, 12])
def test_many_lengthscales_may_be_shorter_together(d):
    """Densities of surrogates that are too short, too long and as expected, by their definition."""
    rng, priors = np.random.default_rng(d), il.Priors()
    X, y = sample(5, d, 0)
    y = (y - y.mean()) / y.std()
    typical = 0.25 * np.sqrt(d) * np.exp(0.3 * rng.standard_normal(d))
    surrogates = [
        il.GaussianProcess(il.Matern52(factor * typical), noise=0.01) for factor in (0.1, 1.0, 8.0)
    ]
    ours = [priors.log_density(gp, d) for gp in surrogates]
    defined = [
        log_posterior(gp, X, y, priors) - gp.condition(X, y).log_likelihood for gp in surrogates
    ]
    np.testing.assert_allclose(np.diff(ours), np.diff(defined), rtol=1e-5)


def test_lengthscales_are_expected_in_proportion_to_reach():
    """A function of a column in other units has lengthscales in those units, prior and all."""
    rng = np.random.default_rng(0)
    X = rng.random((14, 3))
    y = np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2
    reach = np.array([1.0, 3.0, 0.5])
    plain, stretched = il.fit(X, y), il.fit(X * reach, y, reach=reach)
    np.testing.assert_allclose(
        stretched.kernel.lengthscales, plain.kernel.lengthscales * reach, rtol=1e-3
    )
    assert il.Priors().log_density(stretched, 3, reach=reach) == pytest.approx(
        il.Priors().log_density(plain, 3), abs=1e-3
    )
    with pytest.raises(il.InputError, match=r"reach must have shape \(3,\)"):
        il.fit(X, y, reach=[1.0])


# Noise that matters.


def small_noise(sd, *, told=False, n=60):
    """What is learned of a smooth function with some noise, and the results."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    values = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 + sd * rng.standard_normal(n)
    given = np.full(n, sd if told else np.nan)
    results = Results(X, values, given, np.zeros((0, 2)))
    return learn(results, 1.0, None), results


@pytest.mark.parametrize(
    ("sd", "noisy"), [(1e-6, False), (0.003, False), (0.04, True), (0.3, True)]
)
@pytest.mark.parametrize("told", [False, True])
def test_noise_matters_where_it_is_shown_or_told(sd, noisy, told):
    learned, results = small_noise(sd, told=told)
    assert learned.is_noisy(results) is noisy


def test_noise_that_is_only_expected_does_not_matter():
    """With six values of a smooth function, noise is what it was before there were any."""
    learned, results = small_noise(0.0, n=6)
    assert learned.gp.noise > 3e-4
    assert not learned.is_noisy(results)


@pytest.mark.parametrize("share", [0.01, 0.5])
@pytest.mark.parametrize("each", [False, True])
def test_evidence_of_noise_is_a_difference_of_likelihoods(share, each):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 3)), rng.standard_normal(30)
    noise = rng.uniform(0.001, 0.1, 30) if each else np.float64(0.02)
    more, less = (
        il.GaussianProcess(il.Matern52(0.7, 1.3), 0.2, factor * noise).condition(X, y)
        for factor in (1.0, share)
    )
    expected = more.log_likelihood - less.log_likelihood
    assert more.evidence_of_noise(share) == pytest.approx(expected, rel=1e-8)
