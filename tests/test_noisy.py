"""Improvement on a best that is not known, and the chance that evaluations succeed."""

import numpy as np
import pytest

import innerloop as il
from innerloop.acquisition.likely_best import likely_best
from innerloop.batches.chance import Chance
from innerloop.batches.states import Incremental, States


def noisy_posterior(n=12, d=2, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + np.sqrt(noise) * rng.standard_normal(n)
    return il.GaussianProcess(il.Matern52(0.4), noise=noise).condition(X, y)


def improvement_by_brute_force(posterior, X, draws, seed=0):
    """E[max over X of f, less the best f at any observation]^+ from joint draws of all of them."""
    everything = np.concatenate([posterior.X, X])
    belief = posterior.belief(everything)
    factor = np.linalg.cholesky(belief.cov + 1e-10 * np.eye(len(everything)))
    f = belief.mean + np.random.default_rng(seed).standard_normal((draws, len(factor))) @ factor.T
    n = posterior.n
    gains = np.maximum(f[:, n:].max(axis=1) - f[:, :n].max(axis=1), 0.0)
    return gains.mean(), gains.std() / np.sqrt(draws)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_the_value_of_a_batch_against_brute_force(q):
    posterior = noisy_posterior()
    batch = il.suggest(posterior, q, il.NoisyExpectedImprovement(), draws=512, seed=0)
    expected, error = improvement_by_brute_force(posterior, batch.X, 200_000)
    # 512 states or 1024 draws have an error of their own, of a few percent.
    assert batch.value == pytest.approx(expected, rel=0.06, abs=4 * error)
    assert batch.fraction is not None
    assert batch.value <= batch.upper_bound * (1 + 1e-9)


def test_it_maximizes_what_it_says():
    posterior = noisy_posterior(n=8)
    batch = il.suggest(posterior, 1, il.NoisyExpectedImprovement(), draws=256, seed=0)
    found, _ = improvement_by_brute_force(posterior, batch.X, 50_000)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 12)] * 2), axis=-1).reshape(-1, 1, 2)
    values = [improvement_by_brute_force(posterior, x, 5_000)[0] for x in grid]
    assert found > 0.95 * np.max(values)


def test_without_noise_it_is_expected_improvement():
    posterior = noisy_posterior(noise=1e-8)
    plain = il.suggest(posterior, 1, seed=0)
    noisy = il.suggest(posterior, 1, il.NoisyExpectedImprovement(), seed=0)
    assert noisy.value == pytest.approx(plain.value, rel=1e-2)


def test_gradient_of_the_log_gain():
    posterior = noisy_posterior()
    z = il.sobol_normal(32, 8, seed=0)
    state = il.Incremental(il.NoisyExpectedImprovement(), posterior, z, log=True)
    state = state.extend(posterior.X[:6])
    X = np.random.default_rng(9).random((5, 1, 2))
    _, grad = state.value_and_grad(X)
    step = 1e-5
    for k in range(2):
        shift = step * np.eye(2)[k]
        slope = (state.value(X + shift) - state.value(X - shift)) / (2 * step)
        np.testing.assert_allclose(grad[:, 0, k], slope, rtol=1e-5, atol=1e-7)


def test_it_needs_something_to_improve_on():
    posterior = noisy_posterior()
    state = il.Incremental(il.NoisyExpectedImprovement(), posterior, np.zeros((4, 1)), log=True)
    with pytest.raises(il.InputError, match="needs observations to improve on"):
        state.value(np.zeros((1, 1, 2)))


def test_likely_best_are_those_that_win_in_draws():
    posterior = noisy_posterior(n=10)
    kept = likely_best((posterior,), il.NoisyExpectedImprovement(), np.random.default_rng(0))
    belief = posterior.belief(posterior.X)
    factor = np.linalg.cholesky(belief.cov + 1e-12 * np.eye(10))
    f = belief.mean + np.random.default_rng(1).standard_normal((20_000, 10)) @ factor.T
    share = np.bincount(np.argmax(f, axis=1), minlength=10) / 20_000
    for x in posterior.X[share > 0.03]:
        assert (np.abs(kept - x).max(axis=1) < 1e-12).any()
    assert len(kept) <= 16


def test_repeated_observations_do_no_harm():
    posterior = noisy_posterior(n=6)
    again = posterior.condition(posterior.X, posterior.y + 0.1)
    batch = il.suggest(again, 2, il.NoisyExpectedImprovement(), draws=512, seed=0)
    expected, error = improvement_by_brute_force(again, batch.X, 200_000)
    assert batch.value == pytest.approx(expected, rel=0.06, abs=4 * error)


# The chance of success.


def test_queries_keep_away_from_where_evaluations_fail():
    posterior = noisy_posterior(noise=1e-6)
    where = il.suggest(posterior, 1, seed=0).X
    beside = where + 0.02 * np.random.default_rng(0).standard_normal((6, 2))
    chance = Chance.of(posterior.X, beside)
    for options in ({}, {"candidates": np.random.default_rng(1).random((500, 2))}):
        plain = il.suggest(posterior, 3, seed=0, **options)
        careful = il.suggest(posterior, 3, chance=chance, seed=0, **options)
        assert np.abs(plain.X - where).max(axis=1).min() < 0.1
        assert chance.log(careful.X)[0].min() > chance.log(plain.X)[0].min() + 1.0


def test_lazy_candidates_weigh_the_same_as_plain_ones():
    posterior = noisy_posterior(noise=1e-6)
    chance = Chance.of(posterior.X, np.array([[0.2, 0.9], [0.3, 0.8]]))
    candidates = np.random.default_rng(1).random((200, 2))
    utility = il.ExpectedImprovement(float(posterior.fitted.max()))
    batch = il.suggest(posterior, 1, utility, candidates=candidates, chance=chance, seed=0)
    states = States.start(utility, (posterior,), np.zeros((1, 1)))
    value = Incremental.of(states, log=True, chance=chance).value(candidates[:, None])
    np.testing.assert_array_equal(batch.X[0], candidates[np.argmax(value)])


def test_a_chance_goes_with_gains_only():
    posterior = noisy_posterior()
    chance = Chance.of(posterior.X, posterior.X[:1])
    for options in ({"form": "joint"}, {"utility": il.SimpleRegret()}):
        with pytest.raises(il.InputError, match="incremental form of EI and PI"):
            il.suggest(posterior, 1, chance=chance, **options)


# Several outcomes.


def noisy_outcomes(n=8, seed=0):
    """Two objectives and a constraint, observed with noise at the same points: (n, 2)."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    a = np.sin(3.0 * X[:, 0]) + X[:, 1]
    b = np.cos(3.0 * X[:, 0]) - 0.5 * X[:, 1] ** 2
    c = X[:, 1] - 0.6
    gp = il.GaussianProcess(il.Matern52(np.array([0.5, 0.5]), 1.0), 0.0, 0.1)
    return [gp.condition(X, y + 0.3 * rng.standard_normal(n)) for y in (a, b, c)]


def drawn_together(posteriors, X, number, rng):
    """Draws of all outcomes at X (n, d): (number, n, K)."""
    paths = []
    for posterior in posteriors:
        belief = posterior.belief(X)
        factor = np.linalg.cholesky(belief.cov + 1e-10 * np.eye(len(X)))
        paths.append(belief.mean + rng.standard_normal((number, len(X))) @ factor.T)
    return np.stack(paths, axis=-1)


def area_above(Y, reference):
    """Areas (D,) that points Y (D, n, 2) cover, those with NaN not counted, by sweeping."""
    height = np.where(np.isnan(Y), 0.0, np.maximum(Y - reference, 0.0))
    order = np.argsort(-height[..., 0], axis=1)
    height = np.take_along_axis(height, order[..., None], axis=1)
    tops = np.maximum.accumulate(height[..., 1], axis=1)
    ends = np.concatenate([height[:, 1:, 0], np.zeros((len(Y), 1))], axis=1)
    return (tops * (height[..., 0] - ends)).sum(axis=1)


def worth_of(Y, reference):
    """What outcomes are worth in each draw: the feasible area, or the best feasible value."""
    objectives = Y.shape[-1] - 1
    feasible = Y[..., :objectives].copy()
    feasible[Y[..., objectives] > 0.0] = np.nan
    if objectives == 2:
        return area_above(feasible, reference)
    best = np.where(np.isnan(feasible[..., 0]), reference, feasible[..., 0]).max(axis=1)
    return np.maximum(best - reference, 0.0)


@pytest.mark.parametrize("way", ["default", "greedy", "joint"])
@pytest.mark.parametrize("objectives", [1, 2])
def test_batches_of_noisy_outcomes_are_worth_what_brute_force_says(objectives, way):
    posteriors = noisy_outcomes()
    if objectives == 1:
        posteriors = [posteriors[0], posteriors[2]]
        reference, utility = 0.2, il.FeasibleImprovement(0.2, 1, noisy=True)
    else:
        reference = np.array([-0.5, -1.0])
        utility = il.HypervolumeImprovement([], reference, 1, noisy=True)
    batch = il.suggest(posteriors, 2, utility, way=way, seed=0)
    observed = posteriors[0].X
    Y = drawn_together(
        posteriors, np.concatenate([observed, batch.X]), 100_000, np.random.default_rng(1)
    )
    added = worth_of(Y, reference) - worth_of(Y[:, : len(observed)], reference)
    error = added.std() / np.sqrt(len(added))
    assert batch.value == pytest.approx(added.mean(), rel=0.03, abs=4 * error)
    if batch.upper_bound is not None:
        assert batch.upper_bound > added.mean() - 4 * error


def test_observations_that_may_be_on_the_front_are_held():
    posteriors = noisy_outcomes(n=12)
    utility = il.HypervolumeImprovement([], [-0.5, -1.0], 1, noisy=True)
    kept = likely_best(tuple(posteriors), utility, np.random.default_rng(0))
    X = posteriors[0].X
    Y = drawn_together(posteriors, X, 20_000, np.random.default_rng(1))
    whole = worth_of(Y, utility.reference)
    for i, x in enumerate(X):
        on_front = (worth_of(np.delete(Y, i, axis=1), utility.reference) < whole - 1e-12).mean()
        if on_front > 0.03:
            assert (np.abs(kept - x).max(axis=1) < 1e-12).any()
        if on_front == 0.0:
            assert not (np.abs(kept - x).max(axis=1) < 1e-12).any()


@pytest.mark.parametrize("several", [False, True])
def test_an_optimizer_knows_that_outcomes_are_noisy(several):
    """The asks of noisy results hold observations, the others have thresholds that are known."""
    asked = []
    for sd in (0.0, 0.5):
        rng = np.random.default_rng(0)
        optimizer = il.Optimizer(
            il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)}),
            objectives={"a": "maximize", "b": "maximize"} if several else {"a": "maximize"},
            outcome_constraints=["c <= 0.6"],
            seed=0,
        )
        for x, y in rng.random((24, 2)):
            noise = sd * rng.standard_normal(3)
            told = {"a": np.sin(3 * x) + y + noise[0], "c": y + noise[2] / 2}
            if several:
                told["b"] = np.cos(3 * x) - y**2 / 2 + noise[1]
            optimizer.add({"x": x, "y": y}, told)
        optimizer.ask(2)
        generator = np.random.default_rng(0)
        domain = il.make_domain(2)
        _, utility = optimizer._several_outcomes().question(optimizer._settings, domain, generator)
        asked.append(utility.holds_best)
    assert asked == [False, True]
