"""Many results: parts of them, posteriors that grow, fits that are bounded."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innerloop as il
from innerloop.optimizer import learned as learned_module
from innerloop.optimizer.learn import learn
from innerloop.optimizer.learned import Learned
from innerloop.optimizer.results import Results
from innerloop.surrogate import part

SPACE = il.Space({name: il.Real(0.0, 1.0) for name in "abc"})


def surface(X):
    return -((X - 0.4) ** 2).sum(axis=1) + 0.2 * np.sin(7.0 * X[:, 0])


def results_of(n, *, seed=0, noise=0.0, ids=None):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    values = surface(X) + noise * rng.standard_normal(n)
    ids = np.arange(n) if ids is None else np.array(ids)
    return Results(X, values, np.full(n, np.nan), X[:0], ids=ids)


def told(n, *, seed=0, noise=0.01):
    optimizer = il.Optimizer(SPACE, direction="maximize", seed=seed)
    results = results_of(n, seed=seed, noise=noise)
    for x, value in zip(results.X, results.values, strict=True):
        optimizer.add(SPACE.decode(x), value)
    return optimizer


@pytest.mark.parametrize("noise", [1e-8, 1e-3, 3.0])
def test_variances_at_observations_are_the_marginals_there(noise):
    rng = np.random.default_rng(1)
    X, y = rng.random((40, 2)), rng.standard_normal(40)
    X[7] = X[8]
    gp = il.GaussianProcess(il.Matern52([0.3, 0.8], 1.3), 0.2, noise)
    posterior = gp.condition(X, y)
    expected = posterior.marginals(X)[1]
    np.testing.assert_allclose(posterior.fitted_variance, expected, rtol=1e-6, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.lists(st.integers(0, 199), min_size=1, max_size=9, unique=True))
def test_results_that_are_new_are_appended_wherever_they_stand(seed, new):
    """Whatever the order in which trials finish, beliefs are those given all results."""
    everything = results_of(200, seed=seed % 7, noise=0.05)
    is_new = np.isin(np.arange(200), new)
    before = learn(everything.rows(~is_new), 1.0, None)
    after = before.knowing(everything)
    assert after.basis is before.basis
    plain = il.GaussianProcess(before.gp.kernel, before.gp.mean, before.noise(everything))
    exact = plain.condition(everything.X, before.outputs.forward(everything.values))
    Xq = np.random.default_rng(seed).random((20, 3))
    for mine, its in zip(
        after.posterior(everything).marginals(Xq), exact.marginals(Xq), strict=True
    ):
        np.testing.assert_allclose(mine, its, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(after.fitted(everything), exact.fitted, rtol=1e-6, atol=1e-8)
    assert after.best(everything) == int(np.argmax(exact.fitted))


def test_a_posterior_at_hand_is_of_the_same_values():
    """Other trials under the same ids, as in copies, are not taken for those learned from."""
    first, second = results_of(60, seed=1), results_of(60, seed=2)
    found = learn(first, 1.0, None).posterior(second)
    np.testing.assert_array_equal(found.X, second.X)


def test_what_was_learned_goes_on_from_a_file_bit_for_bit(tmp_path):
    optimizer = told(170)
    for _ in range(2):  # the second ask has results that are appended
        for trial in optimizer.ask(3):
            optimizer.tell(trial, float(surface(SPACE.encode(trial.params)[None])[0]))
    optimizer.save(tmp_path / "study.json")
    again = il.Optimizer.load(tmp_path / "study.json")
    mine, its = optimizer.ask(3), again.ask(3)
    assert [trial.params for trial in mine] == [trial.params for trial in its]


def test_what_an_earlier_version_learned_is_read():
    data = json.loads(json.dumps(learn(results_of(30), 1.0, None).to_dict()))
    del data["ids"], data["evidence_of_noise"]
    old = Learned.from_dict(data)
    results = results_of(30)
    np.testing.assert_allclose(
        old.posterior(results).marginals(results.X[:5] + 0.01)[0],
        learn(results, 1.0, None).posterior(results).marginals(results.X[:5] + 0.01)[0],
        atol=1e-6,
    )


def test_a_fit_on_many_is_about_as_probable_as_a_full_one():
    """Against SciPy's search for the same mode, which goes on to the end."""
    from scipy.optimize import minimize

    from innerloop.surrogate.log_posterior import LogPosterior
    from innerloop.surrogate.priors import DEFAULT

    results = results_of(900, noise=0.05)
    y = (results.values - results.values.mean()) / results.values.std()
    gp = il.fit(results.X, y)
    centred = results.X - results.X.mean(axis=0)
    objective = LogPosterior(centred, y, il.Matern52, None, DEFAULT, 1e-8)

    def loss(theta):
        found = objective.evaluate(theta[None])
        return found.values[0], found.grads[0]

    theta = np.log([*gp.kernel.lengthscales, gp.kernel.variance, gp.noise])
    best = minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=objective.bounds)
    assert loss(theta)[0] <= best.fun + 0.5


@pytest.fixture
def few_at_once(monkeypatch):
    """The limits of many results, at a size that tests have time for."""
    monkeypatch.setattr(learned_module, "MOST_AT_ONCE", 400)
    monkeypatch.setattr(learned_module, "_PART", 200)
    monkeypatch.setattr(part, "_NEAREST", 150)
    monkeypatch.setattr(part, "_NEXT", 60)


def test_a_part_holds_the_best(few_at_once):
    y = np.random.default_rng(0).standard_normal(1000)
    rows = part.promising(y, 200)
    assert len(set(rows.tolist())) == 200
    assert set(np.argsort(-y)[:50].tolist()) <= set(rows.tolist())


@pytest.mark.parametrize("axes", [None, np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + 1)[0]])
def test_nearest_are_those_with_the_largest_covariance(axes):
    X = np.random.default_rng(0).random((300, 3))
    gp = il.GaussianProcess(il.Matern52([0.2, 1.0, 0.5], 1.0, axes))
    x = np.array([0.3, 0.4, 0.9])
    known = np.arange(0, 300, 7)
    found = part.nearest(gp, X, x, 25, but=known)
    covariance = gp.kernel(x[None], X)[0]
    covariance[known] = -1.0
    assert set(found.tolist()) == set(np.argsort(-covariance)[:25].tolist())
    assert len(part.nearest(gp, X, x, 400, but=known)) == 300 - len(known)


def test_beliefs_nearby_are_those_given_all():
    """With 300 of 1500 results and 400 next to each point, moments are nearly those of all."""
    results = results_of(1500, noise=0.02)
    gp = il.GaussianProcess(il.Matern52([0.6, 0.8, 0.8], 1.0), 0.0, 0.02**2)
    exact = gp.condition(results.X, results.values)
    rows = part.promising(results.values, 300)
    some = gp.condition(results.X[rows], results.values[rows])
    Xq = np.random.default_rng(5).random((30, 3))
    noise = np.full(1500, 0.02**2)
    mean, variance = part.marginals_nearby(some, rows, results.X, results.values, noise, Xq)
    expected, exact_variance = exact.marginals(Xq)
    sd = np.sqrt(exact_variance)
    assert (np.abs(mean - expected) < 0.2 * sd).all()
    np.testing.assert_allclose(np.sqrt(variance), sd, rtol=0.03)


def test_means_of_many_are_those_of_the_posterior():
    results = results_of(50)
    posterior = il.GaussianProcess(il.Matern52(0.5)).condition(results.X, results.values)
    Xq = np.random.default_rng(5).random((1000, 3))
    np.testing.assert_allclose(part.means(posterior, Xq), posterior.marginals(Xq)[0], atol=1e-10)


def test_a_belief_is_as_sure_where_it_was_sharpened_as_with_all_results(few_at_once):
    results = results_of(1200, noise=0.02)
    learned = learn(results, 1.0, None)
    Xq = np.random.default_rng(3).random((4, 3))
    assert learned.posterior(results).n == 200
    for _ in range(9):
        sharper = learned.sharper(results, Xq)
        if sharper is None:
            break
        learned = sharper
    assert sharper is None
    values = learned.outputs.forward(results.values)
    whole = il.GaussianProcess(learned.gp.kernel, learned.gp.mean, learned.noise(results))
    expected = np.sqrt(whole.condition(results.X, values).marginals(Xq)[1])
    found = np.sqrt(learned.posterior(results).marginals(Xq)[1])
    assert (found <= 1.15 * expected).all()


def test_many_results_are_asked_and_saved(few_at_once, tmp_path):
    optimizer = told(600)
    trials = optimizer.ask(4)
    assert len({tuple(trial.params.values()) for trial in trials}) == 4
    # They go where the best values are, which a random point seldom does.
    X = SPACE.encode_all([trial.params for trial in trials])
    assert surface(X).max() > np.quantile(surface(np.random.default_rng(0).random((999, 3))), 0.95)
    optimizer.save(tmp_path / "study.json")
    again = il.Optimizer.load(tmp_path / "study.json")
    for trial in trials:
        optimizer.tell(trial, 0.0)
        again.tell(trial.id, 0.0)
    assert [t.params for t in optimizer.ask(2)] == [t.params for t in again.ask(2)]
    assert again.best.id == optimizer.best.id


def test_several_outcomes_of_many_trials(few_at_once):
    rng = np.random.default_rng(0)
    optimizer = il.Optimizer(
        SPACE, objectives={"gain": "maximize"}, outcome_constraints=["cost <= 1"], seed=0
    )
    for x in rng.random((450, 3)):
        noisy = float(surface(x[None])[0] + 0.05 * rng.standard_normal())
        optimizer.add(SPACE.decode(x), {"gain": noisy, "cost": float(2.0 * x[1])})
    trials = optimizer.ask(2)
    assert all(trial.params["b"] <= 0.7 for trial in trials)
