"""Batches: every combination works, greedy keeps its promises, hard cases end sensibly."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innerloop as il
from innerloop.maximizers import MAXIMIZERS
from innerloop.maximizers.budget import CLOCKS
from problems import TickingClock, make_problem, utilities

POINTS = np.random.default_rng(5).random((8, 2))
ACQUISITIONS = {
    "EI": il.ExpectedImprovement(0.3),
    "PI": il.ProbabilityOfImprovement(0.3, temperature=0.1),
    "SR": il.SimpleRegret(),
    "UCB": il.UpperConfidenceBound(),
    "ES": il.EntropySearch(POINTS, 0.2, il.sobol_normal(8, 8, seed=0)),
    "KG": il.KnowledgeGradient(POINTS),
}
POSTERIOR = make_problem(n=8, d=2, seed=3).posterior


@pytest.mark.parametrize("parallelism", ["greedy", "joint"])
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("maximizer", MAXIMIZERS)
def test_every_maximizer_on_every_acquisition_function(maximizer, acquisition, parallelism):
    """Beats its starts, stays in bounds, repeats under a seed, respects budgets."""
    utility = ACQUISITIONS[acquisition]
    options = {
        "utility": utility,
        "maximizer": maximizer,
        "parallelism": parallelism,
        "draws": 32,
        "evaluations": 600,
    }
    batch = il.suggest(POSTERIOR, 2, seed=0, **options)
    assert batch.X.shape == (2, 2)
    assert ((batch.X >= 0.0) & (batch.X <= 1.0)).all()
    assert np.isfinite(batch.value)
    assert batch.evaluations <= 600 + 40  # at least one step a round, and a last valuation
    again = il.suggest(POSTERIOR, 2, seed=0, **options)
    np.testing.assert_array_equal(batch.X, again.X)
    # Random batches are what starts are made of: the batch is better than most of them.
    z = il.sobol_normal(256, 2, seed=1)
    if acquisition == "PI" and parallelism == "greedy":  # its incremental form is exact
        utility = il.ProbabilityOfImprovement(0.3, temperature=1e-6)
    joint = il.Joint(utility, POSTERIOR, z)
    random = joint.value(np.random.default_rng(2).random((64, 2, 2)))
    assert joint.value(batch.X[None])[0] >= np.quantile(random, 0.75)


@pytest.mark.parametrize("form", ["incremental", "joint"])
@pytest.mark.parametrize("clock", ["wall", "cpu"])
@pytest.mark.parametrize("maximizer", MAXIMIZERS)
def test_time_budgets_hold(maximizer, clock, form, monkeypatch):
    """The time spent is within a tenth of the budget, or one step: here, a few dozen readings."""
    monkeypatch.setitem(CLOCKS, clock, TickingClock())
    options = {"utility": ACQUISITIONS["EI"], "maximizer": maximizer, "form": form}
    batch = il.suggest(POSTERIOR, 2, seed=0, seconds=0.25, clock=clock, **options)
    assert batch.seconds <= 0.25 * 1.1 + 0.03
    assert np.isfinite(batch.value)


def test_the_inner_budget_grows_with_the_number_of_values(monkeypatch):
    monkeypatch.setitem(CLOCKS, "wall", TickingClock())
    options = {"maximizer": "random_search", "form": "joint", "seed": 0, "draws": 32}
    few, many = (
        il.suggest(POSTERIOR, 2, ACQUISITIONS["EI"], inner_budget=N, **options).evaluations
        for N in (2**13, 2**18)
    )
    assert many > few
    with pytest.raises(il.InputError, match="seconds or inner_budget, not both"):
        il.suggest(POSTERIOR, 2, seconds=1.0, inner_budget=10)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**16), q=st.sampled_from([2, 3]))
def test_greedy_on_finite_sets_against_brute_force(seed, q):
    """Never below 1 - 1/e of the best subset, which is never above the upper bound."""
    problem = make_problem(n=6, d=2, seed=seed)
    candidates = np.random.default_rng(seed + 1).random((30, 2))
    threshold = float(problem.posterior.y.max())
    z = il.sobol_normal(256, q, seed=0)
    subsets = np.array(list(combinations(range(30), q)))
    for utility in (
        il.ExpectedImprovement(threshold),
        il.ProbabilityOfImprovement(threshold, 1e-6),
    ):
        batch = il.suggest(
            problem.posterior, q, utility, candidates=candidates, draws=256, seed=0, certify=True
        )
        joint = il.Joint(utility, problem.posterior, z)
        best = joint.value(candidates[subsets]).max()
        achieved = joint.value(batch.X[None])[0]
        noise = 4.0 * np.sqrt(problem.posterior.gp.kernel.variance) / np.sqrt(256)
        assert achieved >= (1.0 - 1.0 / np.e) * best - 0.1 * noise
        assert best <= batch.upper_bound + noise


@settings(max_examples=15)
@given(seed=st.integers(0, 2**16), pending=st.booleans())
def test_lazy_selection_equals_plain_selection(seed, pending):
    problem = make_problem(n=6, d=2, p=2, seed=seed)
    candidates = np.random.default_rng(seed + 1).random((200, 2))
    options = {"candidates": candidates, "draws": 32, "seed": 1}
    if pending:
        options["pending"] = problem.pending
    # Above all outcomes seen, so that no probability rounds to 1 and makes ties.
    for utility in utilities(threshold=float(problem.posterior.y.max()) + 0.5):
        lazy = il.suggest(problem.posterior, 4, utility, **options)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("innerloop.batches.candidates._MONOTONE", ())
            plain = il.suggest(problem.posterior, 4, utility, **options)
        np.testing.assert_allclose(lazy.gains, plain.gains, rtol=1e-5, atol=1e-7)
        different = np.abs(lazy.X - plain.X).max(axis=1) > 0.0
        # Equal gains may be broken differently by rounding; unequal ones may not.
        assert (plain.gains[different] < 1e-6).all()
        assert lazy.evaluations <= plain.evaluations


def test_refinement_never_makes_a_batch_worse():
    for seed in range(5):
        problem = make_problem(n=20, d=3, seed=seed)
        utility = il.ExpectedImprovement(float(problem.posterior.y.max()))
        z = il.sobol_normal(2**14, 4, seed=0)
        joint = il.Joint(utility, problem.posterior, z)
        greedy, refined = (
            joint.value(il.suggest(problem.posterior, 4, utility, seed=0, refine=r).X[None])[0]
            for r in (False, True)
        )
        assert refined >= greedy * 0.995


@pytest.mark.parametrize("options", [{}, {"form": "joint"}, {"parallelism": "joint"}])
def test_pending_points_are_avoided(options):
    """What is pending counts: the best single query is not worth repeating."""
    utility = il.ExpectedImprovement(float(POSTERIOR.y.max()))
    first = il.suggest(POSTERIOR, 1, utility, seed=0).X
    batch = il.suggest(POSTERIOR, 2, utility, seed=0, pending=first, **options)
    assert np.abs(batch.X - first).max(axis=1).min() > 1e-3
    assert batch.value < 2.0 * utility.marginal(*POSTERIOR.marginals(first))[0]


@pytest.mark.parametrize("parallelism", ["greedy", "joint"])
@pytest.mark.parametrize("maximizer", MAXIMIZERS)
def test_constraints_hold(maximizer, parallelism):
    post = make_problem(n=10, d=3, seed=1).posterior
    A, b = np.array([[1.0, 1.0, 1.0], [-1.0, 2.0, 0.0]]), np.array([1.2, 0.5])
    batch = il.suggest(
        post,
        2,
        il.ExpectedImprovement(0.2),
        maximizer=maximizer,
        parallelism=parallelism,
        inequalities=(A, b),
        fixed={2: 0.25},
        evaluations=300,
        seed=0,
    )
    assert (batch.X @ A.T <= b + 1e-9).all()
    np.testing.assert_array_equal(batch.X[:, 2], 0.25)
    assert ((batch.X >= 0.0) & (batch.X <= 1.0)).all()


def test_nothing_is_feasible():
    with pytest.raises(il.InputError, match="no point of the unit cube meets the 1 linear"):
        il.suggest(POSTERIOR, 1, inequalities=([[1.0, 1.0]], [-1.0]))


def test_flat_acquisitions():
    """Far below a threshold everything underflows; the batch is still spread and finite."""
    for utility in (il.ExpectedImprovement(1e9), il.ProbabilityOfImprovement(1e9)):
        for options in ({}, {"form": "joint"}, {"parallelism": "joint"}):
            batch = il.suggest(POSTERIOR, 3, utility, seed=0, **options)
            assert np.isfinite(batch.X).all()
            assert np.isfinite(batch.value)
            assert len(np.unique(batch.X.round(6), axis=0)) == 3


def test_almost_no_variance_left():
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    post = il.GaussianProcess(il.SquaredExponential(2.0), noise=1e-10).condition(X, np.sin(X[:, 0]))
    batch = il.suggest(post, 4, seed=0)
    assert np.isfinite(batch.X).all()
    assert np.isfinite(batch.value)


def test_space_that_holds_one_point():
    batch = il.suggest(POSTERIOR, 2, fixed={0: 0.5, 1: 0.5}, seed=0)
    np.testing.assert_array_equal(batch.X, 0.5)


def test_more_queries_than_candidates():
    with pytest.raises(il.InputError, match="q=4 queries were asked of 3 candidates"):
        il.suggest(POSTERIOR, 4, candidates=POINTS[:3])
    batch = il.suggest(POSTERIOR, 3, candidates=POINTS[:3], seed=0)
    assert {tuple(x) for x in batch.X} == {tuple(x) for x in POINTS[:3]}


def test_candidates_already_observed_come_last():
    candidates = np.vstack([POSTERIOR.X, POINTS[:2]])
    batch = il.suggest(POSTERIOR, 2, il.SimpleRegret(), candidates=candidates, seed=0)
    assert {tuple(x) for x in batch.X} == {tuple(x) for x in POINTS[:2]}


@pytest.mark.parametrize("maximizer", MAXIMIZERS)
@pytest.mark.parametrize("budget", [{"evaluations": 1}, {"seconds": 1e-3}, {"seconds": 1e-9}])
def test_tiny_budgets(maximizer, budget):
    for parallelism in ("greedy", "joint"):
        batch = il.suggest(
            POSTERIOR, 2, maximizer=maximizer, parallelism=parallelism, seed=0, **budget
        )
        assert np.isfinite(batch.X).all()
        assert np.isfinite(batch.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evaluations": 0}, "evaluations must be an integer of 1 or more, got 0"),
        ({"seconds": 0.0}, "seconds must be above 0"),
        ({"seconds": 1.0, "clock": "moon"}, "clock must be one of"),
        ({"maximizer": "gradient"}, "maximizer must be one of"),
        ({"form": "other"}, "form must be"),
        ({"parallelism": "other"}, "parallelism must be"),
        ({"form": "incremental", "parallelism": "joint"}, "the incremental form needs"),
        ({"form": "incremental", "utility": il.KnowledgeGradient(POINTS)}, "the incremental form"),
        ({"pending": [[0.1]]}, "pending must have shape"),
        ({"candidates": np.zeros((3, 1))}, "candidates must have shape"),
        ({"candidates": POINTS, "fixed": {0: 0.1}}, "leave out the constraints"),
        ({"fixed": {5: 0.1}}, "fixed maps coordinates 0 to 1"),
        ({"draws": 0}, "draws must be an integer"),
        ({"utility": "EI"}, "utility must be"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(il.InputError, match=message):
        il.suggest(POSTERIOR, 2, **options)


def test_settings_of_a_maximizer_are_heeded():
    from innerloop.maximizers.lbfgs import LBFGS

    lazy = il.suggest(POSTERIOR, 2, ACQUISITIONS["EI"], maximizer=LBFGS(steps=1), seed=0)
    default = il.suggest(POSTERIOR, 2, ACQUISITIONS["EI"], seed=0)
    assert not np.array_equal(lazy.X, default.X)


@pytest.mark.parametrize(
    "options",
    [
        {"maximizer": "adam"},
        {"form": "joint"},
        {"parallelism": "joint"},
        {"utility": il.ProbabilityOfImprovement(0.3)},
    ],
)
def test_refinement_is_refused_where_there_is_none(options):
    with pytest.raises(il.InputError, match="refine=True goes with"):
        il.suggest(POSTERIOR, 2, refine=True, **options)


def test_probability_of_improvement_is_exact_whatever_its_temperature():
    batches = [
        il.suggest(POSTERIOR, 2, il.ProbabilityOfImprovement(0.9, temperature=t), seed=0)
        for t in (1e-3, 10.0)
    ]
    np.testing.assert_array_equal(batches[0].X, batches[1].X)
    assert batches[0].value == batches[1].value <= batches[0].upper_bound


def test_certificates():
    batch = il.suggest(POSTERIOR, 3, il.ExpectedImprovement(0.3), seed=0)
    tighter = il.suggest(POSTERIOR, 3, il.ExpectedImprovement(0.3), seed=0, certify=True)
    assert batch.value <= batch.upper_bound
    assert tighter.upper_bound <= batch.upper_bound * 1.02
    assert 0.6 < batch.fraction <= 1.0
    # One query is its own bound, but for what the search may have left to climb.
    assert 0.999 < il.suggest(POSTERIOR, 1, il.ExpectedImprovement(0.3), seed=0).fraction <= 1.0
    assert il.suggest(POSTERIOR, 2, il.SimpleRegret(), seed=0).fraction is None
    assert il.suggest(POSTERIOR, 2, il.KnowledgeGradient(POINTS), seed=0).upper_bound is None
