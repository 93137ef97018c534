"""Claims: intervals as SciPy finds them, verdicts from known effects, none without data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fake_runs import as_the_paper_says, everything, noisy, run, runs
from innerloop import InputError
from innerloop_paper import claims as module
from innerloop_paper.claims import claims
from innerloop_paper.comparisons import Contrast, Kind, compare, make_part
from innerloop_paper.curves import FLOOR, collect
from innerloop_paper.paired_differences import (
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    estimate,
    mean_weights,
    slope_weights,
)

ADAM_OVER_CMAES = Contrast("", Kind("adam"), Kind("cmaes"))
GRADIENTS, GREEDY, GROWTH, GREEDY_GROWTH, _, GREEDY_WITHHELD, UCB, LEVY, _, EVOLUTION, _ = range(11)


def part_named(claim, *words):
    """The only part whose name has all the words."""
    (part,) = [part for part in claim.parts if all(word in part.name for word in words)]
    return part


def test_one_panel_is_a_paired_t_test():
    adam, cmaes = noisy(0, -1.2, batches=7), noisy(1, -1.0, batches=7)
    results = runs(adam) + runs(cmaes, maximizer="cmaes")
    part = part_named(claims(results)[GRADIENTS], "CMA-ES, greedy", "synthetic, q-EI")
    # Evaluations 3, 7, ..., 31: the second half begins at 17, so at 19.
    for found, columns in ((part.late, slice(4, None)), (part.final, slice(7, None))):
        expected = stats.ttest_rel(cmaes[:, columns].mean(axis=1), adam[:, columns].mean(axis=1))
        ends = expected.confidence_interval(0.95)
        np.testing.assert_allclose(found.interval, (ends.low, ends.high), rtol=1e-12)
        assert (found.trials, found.pairs) == (8, 8)
    assert part.figures == ("3",)


def test_trials_that_one_method_lacks_are_not_used():
    adam, cmaes = noisy(0, -1.2), noisy(1, -1.0)
    results = runs(adam)[2:] + runs(cmaes, maximizer="cmaes")[:6]
    part = part_named(claims(results)[GRADIENTS], "CMA-ES, greedy", "synthetic, q-EI")
    late = [logs[2:6, 3:].mean(axis=1) for logs in (cmaes, adam)]
    ends = stats.ttest_rel(*late).confidence_interval(0.95)
    np.testing.assert_allclose(part.late.interval, (ends.low, ends.high), rtol=1e-12)
    assert part.late.trials == 4


def panels(*sizes, gain, seed=0, **options):
    """Adam ahead of CMA-ES by gain(d, q) in every panel; and what each trial's lead is there."""
    results, leads = [], []
    for k, (d, q) in enumerate(sizes):
        adam = noisy([seed, k, 0], -1.0 - gain(d, q), **options)
        cmaes = noisy([seed, k, 1], -1.0, **options)
        results += runs(adam, d=d, q=q) + runs(cmaes, maximizer="cmaes", d=d, q=q)
        leads.append((cmaes - adam)[:, 3:].mean(axis=1))
    return results, np.array(leads)


def test_pooled_panels_are_a_t_test_over_the_means_of_trials():
    results, leads = panels((4, 4), (4, 8), (8, 8), gain=lambda d, q: 0.2)
    part = part_named(claims(results)[GRADIENTS], "CMA-ES, greedy", "synthetic, q-EI")
    ends = stats.ttest_1samp(leads.mean(axis=0), 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(part.late.interval, (ends.low, ends.high), rtol=1e-12)
    assert (part.late.trials, part.late.pairs) == (8, 24)


def test_growth_is_a_t_test_over_the_slopes_of_trials():
    sizes = ((2, 4), (4, 4), (8, 8))
    results, leads = panels(*sizes, gain=lambda d, q: 0.1 * np.log2(d * q))
    part = part_named(claims(results)[GROWTH], "CMA-ES, greedy", "synthetic, q-EI")
    slopes = np.polyfit([np.log2(d * q) for d, q in sizes], leads, 1)[0]
    ends = stats.ttest_1samp(slopes, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(part.late.interval, (ends.low, ends.high), rtol=1e-10)
    assert part.verdict == REPRODUCED


def test_a_difference_between_budgets_is_no_slope():
    """The larger budget has the larger lead, and was run for the larger panels only."""
    flat = [(4, 4, 12, 0.1), (4, 8, 12, 0.1), (4, 8, 14, 0.9), (8, 8, 14, 0.9)]
    results = []
    for d, q, power, lead in flat:
        panel = {"d": d, "q": q, "budget": 2**power}
        results += runs(np.full((3, 4), -1.0 - lead), **panel)
        results += runs(np.full((3, 4), -1.0), maximizer="cmaes", **panel)
    part = part_named(claims(results)[GROWTH], "CMA-ES, greedy", "synthetic, q-EI")
    assert part.late.value == pytest.approx(0.0, abs=1e-12)
    assert slope_weights([3.0, 3.0], ["a", "b"]) is None


def test_intervals_hold_the_truth_as_often_as_they_say():
    """With panels of 12 and 5 trials that share what is special about a trial."""
    rng, inside, naive, n = np.random.default_rng(0), 0, 0, 1000
    weights = mean_weights(3)
    for _ in range(n):
        shared = rng.standard_normal(12)
        sets = [
            dict(enumerate(0.4 + shared[:size] + 0.5 * rng.standard_normal(size)))
            for size in (12, 12, 5)
        ]
        low, high = estimate(sets, weights).interval
        inside += low <= 0.4 <= high
        everything = np.concatenate([list(one.values()) for one in sets])
        ends = stats.ttest_1samp(everything, 0.0).confidence_interval(0.95)
        naive += ends.low <= 0.4 <= ends.high
    assert 0.93 <= inside / n <= 0.985
    assert naive / n < 0.85  # what comes of taking panels for independent


def test_all_is_reproduced_where_all_is_as_claimed():
    found = claims(everything(as_the_paper_says))
    assert [claim.verdict for claim in found] == [REPRODUCED] * 11
    assert [claim.figures for claim in found] == [
        *(["3", "4", "6", "7"], ["3", "4", "6", "7"], ["3", "6"], ["3", "6"]),
        *(["4", "7"], ["4", "7"], ["3", "4", "6", "7"], ["4", "7"]),
        *(["8"], ["8"], ["3", "4", "6", "7"]),
    ]
    assert [claim.paper for claim in found] == [True] * 10 + [False]


def test_nothing_is_reproduced_where_all_is_the_other_way_round():
    found = claims(everything(lambda *method: -as_the_paper_says(*method)))
    assert [claim.verdict for claim in found] == [NOT_REPRODUCED] * 11


def test_where_nothing_differs_little_is_decided():
    verdicts = [
        part.verdict
        for seed in range(3)
        for claim in claims(everything(lambda *method: 0.0, seed=seed))
        for part in claim.parts
        if part.late is not None
    ]
    assert len(verdicts) > 150
    assert verdicts.count(UNDECIDED) / len(verdicts) > 0.88


def test_a_part_with_the_opposite_verdict_leaves_a_claim_undecided():
    def effects(task, size, acquisition, maximizer, parallelism, form):
        sign = -1 if maximizer == "random_search" else 5
        return 0.2 * sign * (parallelism == "greedy")

    claim = claims(everything(effects))[GREEDY]
    assert claim.late.interval[0] > 0.0
    assert part_named(claim, "random search", "synthetic, q-EI").verdict == NOT_REPRODUCED
    assert claim.verdict == UNDECIDED


def test_on_levy_it_is_ei_that_is_to_be_better():
    def effects(task, size, acquisition, maximizer, parallelism, form):
        return 0.3 * (acquisition == "ucb")

    found = claims(everything(effects))
    verdicts = {part.name.split(": ")[1]: part.verdict for part in found[UCB].parts}
    assert "Levy" not in verdicts
    assert verdicts["synthetic"] == verdicts["Hartmann-6"] == REPRODUCED
    assert verdicts["Branin-Hoo"] == NOT_RUN
    assert found[UCB].verdict == REPRODUCED
    assert found[LEVY].verdict == NOT_REPRODUCED


def test_what_is_said_of_two_things_is_judged_twice():
    """Gradients gain more than greedy maximization loses."""

    def effects(task, size, acquisition, maximizer, parallelism, form):
        return (maximizer == "adam") * 0.05 * size - 0.01 * size * (parallelism == "greedy")

    found = claims(everything(effects))
    assert found[GROWTH].verdict == REPRODUCED
    assert found[GREEDY_GROWTH].verdict == NOT_REPRODUCED
    assert found[GREEDY_WITHHELD].verdict == NOT_REPRODUCED


def test_one_trial_decides_nothing():
    found = claims(everything(as_the_paper_says, trials=1))
    assert [claim.verdict for claim in found] == [UNDECIDED] * 11
    assert all(claim.late.interval is None and claim.late.value > 0.0 for claim in found)


def test_panels_of_one_trial_wait_until_there_are_more():
    ready, leads = panels((4, 4), gain=lambda d, q: 0.5)
    begun, _ = panels((8, 8), gain=lambda d, q: -50.0, trials=1)
    part = part_named(claims(ready + begun)[GRADIENTS], "CMA-ES, greedy", "synthetic, q-EI")
    assert part.late.value == pytest.approx(leads.mean())
    assert part.late.pairs == 8


def test_parts_of_one_trial_wait_too():
    """Random search has been begun: it has an estimate of its own, but none in the claim."""
    results, leads = panels((4, 4), gain=lambda d, q: 0.5)
    claim = claims([*results, *runs(noisy(3, 9.0, trials=1), maximizer="random_search")])[GRADIENTS]
    assert part_named(claim, "random search, greedy", "synthetic, q-EI").verdict == UNDECIDED
    assert claim.late.value == pytest.approx(leads.mean())
    assert claim.verdict == REPRODUCED


def test_without_runs_there_is_no_verdict():
    assert [claim.verdict for claim in claims([])] == [NOT_RUN] * 11
    one_size = claims(runs(noisy(0, -1.0)) + runs(noisy(1, -0.5), maximizer="cmaes"))
    verdicts = [claim.verdict for claim in one_size]
    assert verdicts == [REPRODUCED] + [NOT_RUN] * 10
    assert one_size[GREEDY].figures == ["3", "4", "6", "7"]


def test_regret_of_zero_counts_as_the_floor():
    results = runs(np.full((3, 5), -np.inf)) + runs(np.full((3, 5), -1.0), maximizer="cmaes")
    part = part_named(claims(results)[GRADIENTS], "CMA-ES, greedy", "synthetic, q-EI")
    assert part.late.value == pytest.approx(-1.0 - np.log10(FLOOR))
    assert part.late.interval == pytest.approx((part.late.value, part.late.value))
    assert part.verdict == REPRODUCED
    nothing = runs(np.full((3, 5), -np.inf)) + runs(np.full((3, 5), -9.0), maximizer="cmaes")
    assert claims(nothing)[GRADIENTS].verdict == UNDECIDED


@pytest.mark.parametrize("regret", [-0.1, float("nan")])
def test_regrets_that_are_none_are_refused(regret):
    result = run([-1.0, -2.0], trial=0)
    result.table["regret"][1] = regret
    with pytest.raises(InputError, match="0 or above"):
        claims([result])


def test_the_same_run_twice_is_refused():
    with pytest.raises(InputError, match="same run"):
        claims([run([-1.0, -2.0], trial=0), run([-1.0, -2.5], trial=0)])


LOGS = st.lists(
    st.lists(st.floats(-5.0, 1.0), min_size=4, max_size=4).map(tuple), min_size=2, max_size=5
)


@settings(max_examples=50, deadline=None)
@given(adam=LOGS, cmaes=LOGS)
def test_swapping_the_methods_negates_the_difference(adam, cmaes):
    (panel,) = collect(runs(adam) + runs(cmaes, maximizer="cmaes"))
    swapped = Contrast("", ADAM_OVER_CMAES.rival, ADAM_OVER_CMAES.favoured)
    here, there = (make_part("", (), compare(panel, one)) for one in (ADAM_OVER_CMAES, swapped))
    for one, other in ((here.late, there.late), (here.final, there.final)):
        assert one.value == pytest.approx(-other.value)
        assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]))
    opposite = {REPRODUCED: NOT_REPRODUCED, NOT_REPRODUCED: REPRODUCED, UNDECIDED: UNDECIDED}
    assert there.verdict == opposite[here.verdict]


def test_high_dimension_begins_where_it_is_said_to():
    low = [run for run in everything(as_the_paper_says) if run.job.d * run.job.q < module.HIGH]
    assert claims(low)[EVOLUTION].verdict == NOT_RUN
