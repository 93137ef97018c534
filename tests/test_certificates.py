"""What a batch says of itself is right: its value, its upper bound, and its share of that."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

import innerloop as il
from certificates import STRONGER, Case, complaints, random_case, verdict
from innerloop.batches import certificate
from innerloop.batches.chance import Chance
from innerloop.batches.problem import Problem
from innerloop.batches.states import States
from innerloop.maximizers import MAXIMIZERS
from innerloop.maximizers.budget import Meter
from problems import KERNELS, make_problem

CASES, PARTS = 2000, 20


@pytest.mark.parametrize("part", range(PARTS))
def test_certificates_of_random_calls(part):
    """Single queries against a grid, every other batch against one of nine stronger searches.

    benchmarks/certificates.py has all searches for all calls.
    """
    wrong, bounded = [], []
    for number in range(part, CASES, PARTS):
        case = random_case(number)
        searches = [number // 2 % len(STRONGER)] if number // PARTS % 2 else []
        said, has_bound = verdict(case, searches)
        wrong += [f"{case}: {each}" for each in said]
        if not case.way.endswith("budget"):
            bounded.append(has_bound)
    assert not wrong
    assert np.mean(bounded) > 0.85  # without a limit nearly all calls have a bound


def improvement_of_two(u, sd, correlation):
    """E[max_j sd_j (u_j + Z_j), 0] of two queries: quadrature over one, a closed form for both."""
    spread = sd[1] * np.sqrt(1.0 - correlation**2)

    def given_first(z):
        best = max(sd[0] * (u[0] + z), 0.0)
        t = (sd[1] * (u[1] + correlation * z) - best) / spread
        more = spread * (np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi) + t * ndtr(t))
        return (best + more) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)

    ends = np.linspace(-38.0, 38.0, 77)
    return sum(quad(given_first, a, b, epsabs=0.0, epsrel=1e-7)[0] for a, b in pairwise(ends))


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("above", [0.0, 2.0, 5.0, 9.0, 20.0])
def test_the_value_of_two_queries_by_quadrature(above, pending):
    """From about 1 to about 1e-90; with one of the two pending, what the other one adds."""
    posterior = make_problem(n=6, d=2, seed=4).posterior
    utility = il.ExpectedImprovement(float(posterior.y.max()) + above)
    if pending:
        first = np.array([[0.3, 0.6]])
        batch = il.suggest(posterior, 1, utility, pending=first, seed=0)
        X = np.concatenate([first, batch.X])
    else:
        batch = il.suggest(posterior, 2, utility, seed=0)
        X = batch.X
    belief = posterior.belief(X)
    sd = np.sqrt(np.diag(belief.cov))
    u = (belief.mean - utility.threshold) / sd
    expected = improvement_of_two(u, sd, belief.cov[0, 1] / sd.prod())
    if pending:
        expected -= utility.marginal(belief.mean[0], belief.cov[0, 0])
    assert batch.value == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1.0, 1e100, 1e140])
def test_certificates_at_any_scale(scale):
    """In any units of the values, and for improvements that are likely or next to impossible."""
    X = np.random.default_rng(0).random((8, 2))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1]
    gp = il.GaussianProcess(il.Matern52(0.4, scale**2), noise=0.0)
    posterior = gp.condition(X, scale * y)
    for above in (0.0, 3.0, 12.0):
        utility = il.ExpectedImprovement(scale * (y.max() + above))
        for q in (1, 3):
            case = Case(0, "default", posterior, q, utility)
            assert complaints(case, [0]) == []
            assert 0.0 < il.suggest(posterior, q, utility, seed=0).fraction <= 1.0


def test_a_batch_is_not_worth_more_than_its_queries_alone():
    """Near the end of a run without noise, what is left to gain is next to rounding error."""
    space = il.Space({"x": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(space, seed=0)
    for _ in range(8):
        for trial in optimizer.ask(4):
            optimizer.tell(trial, (trial.params["x"] - 0.37) ** 2)
        posterior = optimizer.posterior
        best = float(posterior.fitted.max()) + 1e-6
        grid = np.linspace(0.0, 1.0, 20_001)[:, None]
        mean, variance = posterior.marginals(grid)
        variance = np.maximum(variance, posterior.gp.kernel.smallest_variance)
        single = il.ExpectedImprovement(best).marginal(mean, variance).max()
        batch = il.suggest(posterior, 4, il.ExpectedImprovement(best), seed=0)
        assert batch.value <= 4.0 * single * 1.05
        assert batch.value >= single * 0.95


def test_a_search_that_is_cut_short_shows_no_bound():
    posterior = make_problem(n=20, d=3, seed=1).posterior
    enough = il.Budget(evaluations=100_000, certify=True)
    for options in ({}, {"way": "greedy"}, {"maximizer": "random_search"}):
        cut = il.suggest(posterior, 3, budget=il.Budget(evaluations=100), seed=0, **options)
        assert cut.upper_bound is None
        assert cut.fraction is None
        whole = il.suggest(posterior, 3, budget=enough, seed=0, **options)
        assert whole.upper_bound >= whole.value


@pytest.mark.parametrize("left", [63, 64, 65, 68])
def test_a_search_for_the_bound_keeps_to_what_is_left(left):
    """64 points are valued to find starts: what is left for the search after that is all it has."""
    posterior = make_problem(n=8, d=2, seed=1).posterior
    rng, meter = np.random.default_rng(0), Meter(il.Budget(evaluations=left))
    problem = Problem((posterior,), 1, np.zeros((0, 2)), il.make_domain(2), meter, rng, 16)
    states = States.start(il.SimpleRegret(), (posterior,), np.zeros((1, 1)))
    points = rng.random((64, 2))
    effort, search = certificate.EFFORT, certificate.SEARCH
    view = certificate._View(0.0, states, points, problem, effort, search, raises=True)
    assert certificate._largest_gain(view) is None
    assert meter.evaluations == (left if left >= 64 else 0)


def test_no_budget_is_spent_on_imports():
    """In a new process, nothing slow is loaded after the clock has started."""
    code = f"""
import sys
import innerloop as il
from innerloop.batches import suggest as inner_loop
posterior = il.fit([[0.1], [0.7]], [0.0, 1.0]).condition([[0.1], [0.7]], [0.0, 1.0])
made, before = inner_loop.Meter, []

def started(budget):
    before.append(set(sys.modules))
    return made(budget)

inner_loop.Meter = started
for maximizer in {list(MAXIMIZERS)}:
    il.suggest(posterior, 2, maximizer=maximizer, budget=il.Budget(evaluations=300), seed=0)
    late = set(sys.modules) - before[-1]
    print(sorted(m for m in late if m.startswith(("scipy", "cmaes", "numpy"))))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]"] * len(MAXIMIZERS)


@pytest.mark.parametrize("utility", [il.SimpleRegret(), il.UpperConfidenceBound()])
def test_bounds_over_candidates_count_observed_ones_under_noise(utility):
    """Observed points come last, but other batches may hold them, and be the better for it."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        posterior = make_problem(n=8, d=2, noise=0.5, seed=seed).posterior
        poor = posterior.X[np.argmin(posterior.y)] + 0.05 * rng.standard_normal((6, 2))
        candidates = np.concatenate([posterior.X, poor])
        batch = il.suggest(posterior, 2, utility, candidates=candidates, seed=0)
        pairs = np.array([(i, j) for i in range(14) for j in range(i)])
        joint = il.Joint(utility, posterior, il.sobol_normal(2**12, 2, seed=0))
        best = joint.value(candidates[pairs]).max()
        assert best <= batch.upper_bound + 0.02 * np.sqrt(posterior.gp.kernel.variance)


def test_the_value_of_a_batch_whose_evaluations_may_fail():
    """Against draws of all outcomes and of which of them there will be."""
    posterior = make_problem(n=10, d=2, seed=2).posterior
    rng = np.random.default_rng(0)
    chance = Chance.of(posterior.X, rng.random((12, 2)))
    utility = il.ExpectedImprovement(float(posterior.y.max()))
    batch = il.suggest(posterior, 3, utility, chance=chance, seed=0)
    belief, draws = posterior.belief(batch.X), 200_000
    succeeds = rng.random((draws, 3)) < np.exp(chance.log(batch.X)[0])
    f = belief.mean + rng.standard_normal((draws, 3)) @ np.linalg.cholesky(belief.cov).T
    gained = (np.maximum(f - utility.threshold, 0.0) * succeeds).max(axis=1)
    error = gained.std() / np.sqrt(draws)
    assert batch.value == pytest.approx(gained.mean(), rel=0.03, abs=4.0 * error)
    assert batch.value <= batch.upper_bound
    assert 0.0 < batch.fraction <= 1.0


@pytest.mark.parametrize("kernel", [il.SquaredExponential, il.Matern52])
def test_beliefs_in_a_greedy_choice_do_not_drift(kernel):
    """Where next to no variance is left, rounding errors must not grow from query to query."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.random((24, 1))
        posterior = il.GaussianProcess(kernel(0.6), noise=0.0).condition(X, np.sin(5.0 * X[:, 0]))
        utility = il.ExpectedImprovement(float(posterior.y.max()))
        states = States.start(utility, (posterior,), il.sobol_normal(64, 16, seed))
        beliefs = states.beliefs(rng.random((60, 1)))
        first = float(beliefs.sd.max())
        for i in range(16):
            states, beliefs = states.update(beliefs, i)
            assert np.isfinite(states.gains(beliefs).value).all()
            assert (beliefs.variance <= first**2 * (1.0 + 1e-9)).all()
            # Draws reach 4 deviations or so, once for every query.
            assert np.abs(states.shift(beliefs)).max() <= 5.0 * 4.0 * first


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_beliefs_in_a_greedy_choice_are_those_given_its_outcomes(kernel, at_once):
    """Against observing, without noise, what each state has drawn for the queries so far."""
    rng = np.random.default_rng(0)
    X, candidates = rng.random((12, 2)), rng.random((40, 2))
    posterior = il.GaussianProcess(kernel(0.5), noise=1e-4).condition(X, np.sin(5.0 * X[:, 0]))
    utility = il.ExpectedImprovement(float(posterior.y.max()))
    z = il.sobol_normal(8, 6, seed=0)
    states = States.start(utility, (posterior,), z)
    beliefs = states.beliefs(candidates) if at_once else states.many_beliefs(candidates)
    for i in range(6):
        states, beliefs = states.update(beliefs, i)
    belief = posterior.belief(candidates[:6])
    outcomes = belief.mean + z @ np.linalg.cholesky(belief.cov).T
    held = np.maximum(outcomes.max(axis=1) - utility.threshold, 0.0)
    np.testing.assert_allclose(states.floor, held, atol=1e-6)
    moved = beliefs.mean[..., 0] + states.shift(beliefs)[..., 0].T
    for mean, outcome in zip(moved, outcomes, strict=True):
        state = posterior.condition(candidates[:6], outcome, noise=0.0)
        exact_mean, exact_variance = state.marginals(candidates)
        np.testing.assert_allclose(mean, exact_mean, atol=1e-5)
        np.testing.assert_allclose(beliefs.variance[:, 0], exact_variance, atol=1e-7)
    # Fixed one by one from their beliefs, or as points: the same gains.
    extended = States.start(utility, (posterior,), z).extend(candidates[:6])
    gains = extended.gains(extended.beliefs(candidates)).value
    np.testing.assert_allclose(states.gains(beliefs).value, gains, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2, 5, 7, 12])
def test_runs_with_the_probability_of_improvement_go_on(seed):
    """Where it is nearly 1, slopes of its logarithm are too small to be squared."""
    functions = (
        lambda a, b: a + 2.0 * b,
        lambda a, b: (a - 0.3) ** 2 + b,
        lambda a, b: -a,
    )
    space = il.Space({"a": il.Real(0.0, 1.0), "b": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(space, acquisition="pi", seed=seed)
    for _ in range(18):
        trial = optimizer.ask()
        optimizer.tell(trial, functions[seed % 3](**trial.params))
    assert all(np.isfinite(list(trial.params.values())).all() for trial in optimizer.trials)
