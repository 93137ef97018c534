"""Batches: every combination works, greedy keeps its promises, hard cases end sensibly."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innerloop as il
from innerloop.batches import default
from innerloop.maximizers import MAXIMIZERS, Maximizer, named
from innerloop.maximizers.bfgs import BFGS
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


every_combination = (
    pytest.mark.parametrize("way", ["greedy", "joint"]),
    pytest.mark.parametrize("acquisition", ACQUISITIONS),
    pytest.mark.parametrize("maximizer", MAXIMIZERS),
)


def in_every_combination(test):
    for mark in every_combination:
        test = mark(test)
    return test


@in_every_combination
def test_every_maximizer_on_every_acquisition_function(maximizer, acquisition, way):
    """Stays in bounds, repeats under a seed, keeps to its budget, beats most random batches."""
    utility, budget = ACQUISITIONS[acquisition], il.Budget(evaluations=600)
    options = {"maximizer": maximizer, "way": way, "draws": 32, "budget": budget}
    batch = il.suggest(POSTERIOR, 2, utility, seed=0, **options)
    assert batch.X.shape == (2, 2)
    assert ((batch.X >= 0.0) & (batch.X <= 1.0)).all()
    assert np.isfinite(batch.value)
    assert batch.evaluations <= 600
    again = il.suggest(POSTERIOR, 2, utility, seed=0, **options)
    np.testing.assert_array_equal(batch.X, again.X)
    z = il.sobol_normal(256, 2, seed=1)
    if acquisition == "PI" and way == "greedy":  # its incremental form is exact
        utility = il.ProbabilityOfImprovement(0.3, temperature=1e-6)
    joint = il.Joint(utility, POSTERIOR, z)
    random = joint.value(np.random.default_rng(2).random((64, 2, 2)))
    assert joint.value(batch.X[None])[0] >= np.quantile(random, 0.75)


def recorded(name, searches):
    """A maximizer that notes what it began with and where it ended, on draws that stay."""
    inner = named(name)

    class Recorded(Maximizer):
        starts, draws, fresh_draws = inner.starts, inner.draws, False
        moves_discrete = inner.moves_discrete

        def __call__(self, allowance, starts, domain, generator):
            solution = inner(allowance, starts, domain, generator)
            searches.append(SimpleNamespace(f=allowance.objective, starts=starts, end=solution))
            return solution

    return Recorded()


@in_every_combination
def test_every_maximizer_beats_its_starts(maximizer, acquisition, way):
    """Where it ends is never below the best of what it began with.

    That is the batch, but for queries that it has already.
    """
    searches, utility = [], ACQUISITIONS[acquisition]
    budget = il.Budget(evaluations=1500)
    options = {"maximizer": recorded(maximizer, searches), "way": way, "draws": 32}
    batch = il.suggest(POSTERIOR, 2, utility, budget=budget, seed=0, **options)
    assert len(searches) == (2 if way == "greedy" else 1)
    for search in searches:
        best = search.f.value(search.starts).max()
        assert search.end.value[0] >= best - 1e-12 * abs(best)
        np.testing.assert_allclose(search.f.value(search.end.X), search.end.value, rtol=1e-9)
    ends = np.vstack([each.end.X[0] for each in searches])
    repeated = way == "greedy" and np.abs(ends[1] - ends[0]).max() < 1e-6
    np.testing.assert_array_equal(ends[:1] if repeated else ends, batch.X[: 1 if repeated else 2])


@pytest.fixture
def valued(monkeypatch):
    """How many query sets were valued, as the objectives see it: a list of numbers to add up."""
    numbers, nested = [], []

    def counting(method):
        def counted(self, X):
            if not nested:
                numbers.append(len(X))
            nested.append(method)
            try:
                return method(self, X)
            finally:
                nested.pop()

        return counted

    for form in (il.Joint, il.Incremental):
        for name in ("value", "value_and_grad", "prepare"):
            monkeypatch.setattr(form, name, counting(getattr(form, name)))
    return numbers


@pytest.mark.parametrize("evaluations", [1, 2, 5, 9, 14, 15, 23, 40, 101, 600, 3000])
@pytest.mark.parametrize("pending", [0, 2])
@pytest.mark.parametrize("maximizer", [None, *MAXIMIZERS])
def test_budgets_of_evaluations_are_kept(maximizer, pending, evaluations, valued):
    """None is left uncounted, and none is spent beyond the budget, or the least that is taken."""
    mixed = il.make_domain(2, discrete=(il.Ordinal(0, 5),))
    far = il.ExpectedImprovement(float(POSTERIOR.y.max()) + 8.0)
    options = {"pending": POINTS[:pending]} if pending else {}
    ways = ["default"] if maximizer is None else ["greedy", "joint"]
    if maximizer is not None:
        options |= {"maximizer": maximizer, "draws": 32}
    for way in ways:
        # Improvements far out are not resolved by draws: then the default way has rounds too.
        for utility in ("EI", "PI", "SR", "KG") if maximizer else ("EI", "far EI", "PI", "SR"):
            for q, domain, certify in ((1, None, True), (3, mixed, False), (4, None, True)):
                valued.clear()
                batch = il.suggest(
                    POSTERIOR,
                    q,
                    far if utility == "far EI" else ACQUISITIONS[utility],
                    way=way,
                    domain=domain,
                    budget=il.Budget(evaluations=evaluations, certify=certify),
                    seed=q,
                    **options,
                )
                appraisals = 0 if utility == "KG" else batch.evaluations - sum(valued)
                assert appraisals in ((0,) if utility == "KG" else (1, 2))
                assert batch.evaluations == sum(valued) + appraisals
                assert batch.evaluations <= max(evaluations, 4 * q + 2)


@pytest.mark.parametrize("form", ["incremental", "joint"])
@pytest.mark.parametrize("clock", ["wall", "cpu"])
@pytest.mark.parametrize("maximizer", MAXIMIZERS)
def test_time_budgets_hold(maximizer, clock, form, monkeypatch):
    """The time spent is within a tenth of the budget, or one step: here, a few dozen readings."""
    monkeypatch.setitem(CLOCKS, clock, TickingClock())
    options = {"utility": ACQUISITIONS["EI"], "maximizer": maximizer, "form": form}
    budget = il.Budget(seconds=0.25, clock=clock)
    batch = il.suggest(POSTERIOR, 2, seed=0, budget=budget, **options)
    assert batch.seconds <= 0.25 * 1.1 + 0.03
    assert np.isfinite(batch.value)


def test_a_measured_budget_grows_with_the_number_of_values(monkeypatch):
    monkeypatch.setitem(CLOCKS, "wall", TickingClock())
    utility = ACQUISITIONS["EI"]
    options = {"maximizer": "random_search", "form": "joint", "seed": 0, "draws": 32}
    few, many = (il.measured_budget(N, POSTERIOR, 2, utility, draws=32) for N in (2**13, 2**18))
    # The clock moves on by a thousandth while 2^10 values are measured.
    assert few.seconds == pytest.approx(2**3 * 1e-3)
    assert many.seconds == pytest.approx(2**8 * 1e-3)
    spent = [
        il.suggest(POSTERIOR, 2, utility, budget=budget, **options).evaluations
        for budget in (few, many)
    ]
    assert spent[1] > spent[0]
    with pytest.raises(il.InputError, match="values must be an integer of 1 or more, got 0"):
        il.measured_budget(0, POSTERIOR, 2, utility)


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
        budget = il.Budget(certify=True)
        batch = il.suggest(
            problem.posterior, q, utility, candidates=candidates, draws=256, budget=budget, seed=0
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
            patch.setattr(type(utility), "monotone", False)
            plain = il.suggest(problem.posterior, 4, utility, **options)
        np.testing.assert_allclose(lazy.gains, plain.gains, rtol=1e-5, atol=1e-7)
        different = np.abs(lazy.X - plain.X).max(axis=1) > 0.0
        # Equal gains may be broken differently by rounding; unequal ones may not.
        assert (plain.gains[different] < 1e-6).all()
        assert lazy.evaluations <= plain.evaluations


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("seed", range(10))
def test_joint_ascent_never_makes_a_batch_worse(seed, q, monkeypatch):
    """Than the choice that it began with, and than a greedy batch, by the same draws."""
    posterior = make_problem(n=20, d=3, seed=seed).posterior
    utility = il.ExpectedImprovement(float(posterior.y.max()))
    real, appraised = default.gains_of, []

    def noting(X, *rest, **options):
        gains = real(X, *rest, **options)
        appraised.append((X, float(gains.sum())))
        return gains

    monkeypatch.setattr(default, "gains_of", noting)
    batch = il.suggest(posterior, q, utility, seed=0)
    (first, _), (ascended, _) = appraised
    assert batch.value == max(value for _, value in appraised)
    assert any(np.array_equal(batch.X, X) for X in (first, ascended))
    greedy = il.suggest(posterior, q, utility, way="greedy", seed=0).X
    joint = il.Joint(utility, posterior, il.sobol_normal(2**14, q, seed=0))
    value, before, by_rounds = joint.value(np.array([batch.X, first, greedy]))
    assert value >= before
    assert value >= by_rounds


@pytest.mark.parametrize("options", [{}, {"form": "joint"}, {"way": "joint"}])
def test_pending_points_are_avoided(options):
    """What is pending counts: the best single query is not worth repeating."""
    utility = il.ExpectedImprovement(float(POSTERIOR.y.max()))
    first = il.suggest(POSTERIOR, 1, utility, seed=0).X
    batch = il.suggest(POSTERIOR, 2, utility, seed=0, pending=first, **options)
    assert np.abs(batch.X - first).max(axis=1).min() > 1e-3
    assert batch.value < 2.0 * utility.marginal(*POSTERIOR.marginals(first))[0]


@pytest.mark.parametrize("way", ["greedy", "joint"])
@pytest.mark.parametrize("maximizer", MAXIMIZERS)
def test_constraints_hold(maximizer, way):
    post = make_problem(n=10, d=3, seed=1).posterior
    A, b = np.array([[1.0, 1.0, 1.0], [-1.0, 2.0, 0.0]]), np.array([1.2, 0.5])
    batch = il.suggest(
        post,
        2,
        il.ExpectedImprovement(0.2),
        maximizer=maximizer,
        way=way,
        domain=il.make_domain(3, inequalities=(A, b), fixed={2: 0.25}),
        budget=il.Budget(evaluations=300),
        seed=0,
    )
    assert (batch.X @ A.T <= b + 1e-9).all()
    np.testing.assert_array_equal(batch.X[:, 2], 0.25)
    assert ((batch.X >= 0.0) & (batch.X <= 1.0)).all()


def test_nothing_is_feasible():
    with pytest.raises(il.InputError, match="no point of the unit cube meets the 1 linear"):
        il.make_domain(2, inequalities=([[1.0, 1.0]], [-1.0]))


def test_flat_acquisitions():
    """Far below a threshold everything underflows; the batch is still spread and finite."""
    for utility in (il.ExpectedImprovement(1e9), il.ProbabilityOfImprovement(1e9)):
        for options in ({}, {"form": "joint"}, {"way": "joint"}):
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
    domain = il.make_domain(2, fixed={0: 0.5, 1: 0.5})
    for way in ("default", "greedy", "joint"):
        batch = il.suggest(POSTERIOR, 2, way=way, domain=domain, seed=0)
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
@pytest.mark.parametrize("limits", [{"evaluations": 1}, {"seconds": 1e-3}, {"seconds": 1e-9}])
def test_tiny_budgets(maximizer, limits):
    budget = il.Budget(**limits)
    for way in ("greedy", "joint"):
        batch = il.suggest(POSTERIOR, 2, maximizer=maximizer, way=way, budget=budget, seed=0)
        assert np.isfinite(batch.X).all()
        assert np.isfinite(batch.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 600}, "budget must be a Budget"),
        ({"maximizer": "gradient"}, "maximizer must be one of"),
        ({"maximizer": BFGS}, "or an instance of a subclass of innerloop.maximizers.Maximizer"),
        ({"form": "other"}, "form must be"),
        ({"way": "other"}, "way must be"),
        ({"form": "incremental", "way": "joint"}, "the incremental form goes with"),
        ({"form": "incremental", "utility": il.KnowledgeGradient(POINTS)}, "the incremental form"),
        ({"pending": [[0.1]]}, "pending must have shape"),
        ({"candidates": np.zeros((3, 1))}, "candidates must have shape"),
        ({"candidates": POINTS, "domain": il.make_domain(2)}, "leave out the domain"),
        ({"domain": il.make_domain(3)}, "the domain has 3 dimensions, but the posterior has 2"),
        ({"draws": 0}, "draws must be an integer"),
        ({"utility": "EI"}, "utility must be"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(il.InputError, match=message):
        il.suggest(POSTERIOR, 2, **options)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"evaluations": 0}, "evaluations must be an integer of 1 or more, got 0"),
        ({"seconds": 0.0}, "seconds must be above 0"),
        ({"seconds": 1.0, "clock": "moon"}, "clock must be one of"),
        ({"certify": 1}, "certify must be True or False"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(limits, message):
    with pytest.raises(il.InputError, match=message):
        il.Budget(**limits)


def test_settings_of_a_maximizer_are_heeded():
    lazy, usual, by_name, by_other_name = (
        il.suggest(POSTERIOR, 2, ACQUISITIONS["EI"], maximizer=maximizer, seed=0).X
        for maximizer in (BFGS(steps=1), BFGS(), "bfgs", "lbfgs")
    )
    assert not np.array_equal(lazy, usual)
    np.testing.assert_array_equal(by_name, usual)
    np.testing.assert_array_equal(by_other_name, usual)


@pytest.mark.parametrize("options", [{"maximizer": "adam"}, {"form": "joint"}])
def test_the_default_way_has_a_search_and_a_form_of_its_own(options):
    with pytest.raises(il.InputError, match="way='default' has searches and a form of its own"):
        il.suggest(POSTERIOR, 2, way="default", **options)


def test_ways_that_follow_from_what_is_asked_for():
    """Without a way, "default"; with a maximizer or the joint form, "greedy"."""
    for way, options in (
        ("default", {}),
        ("default", {"form": "incremental"}),
        ("greedy", {"maximizer": "bfgs"}),
        ("greedy", {"form": "joint"}),
    ):
        asked, implied = (
            il.suggest(POSTERIOR, 2, ACQUISITIONS["EI"], seed=0, **options, **given).X
            for given in ({"way": way}, {})
        )
        np.testing.assert_array_equal(asked, implied)


def test_probability_of_improvement_is_exact_whatever_its_temperature():
    batches = [
        il.suggest(POSTERIOR, 2, il.ProbabilityOfImprovement(0.9, temperature=t), seed=0)
        for t in (1e-3, 10.0)
    ]
    np.testing.assert_array_equal(batches[0].X, batches[1].X)
    assert batches[0].value == batches[1].value <= batches[0].upper_bound


def test_certificates():
    batch = il.suggest(POSTERIOR, 3, il.ExpectedImprovement(0.3), seed=0)
    certain = il.Budget(certify=True)
    tighter = il.suggest(POSTERIOR, 3, il.ExpectedImprovement(0.3), budget=certain, seed=0)
    assert batch.value <= batch.upper_bound
    assert tighter.upper_bound <= batch.upper_bound * 1.02
    assert 0.6 < batch.fraction <= 1.0
    # One query is its own bound, but for what the search may have left to climb.
    assert 0.999 < il.suggest(POSTERIOR, 1, il.ExpectedImprovement(0.3), seed=0).fraction <= 1.0
    assert il.suggest(POSTERIOR, 2, il.SimpleRegret(), seed=0).fraction is None
    assert il.suggest(POSTERIOR, 2, il.KnowledgeGradient(POINTS), seed=0).upper_bound is None
