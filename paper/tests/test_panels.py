"""Figures of regret: the right curves in the right panels, whatever part of the grid there is."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from fake_runs import PAPER, noisy, runs
from innerloop import InputError
from innerloop_paper.curves import FLOOR, collect, curves
from innerloop_paper.panels import draw
from innerloop_paper.style import COLORS, save


def compared(*, seed=0, trials=5, **panel):
    """Runs of the paper's methods and innerloop's default in one panel; and their regrets."""
    methods = {}
    for k, method in enumerate([*PAPER, ("innerloop", "greedy")]):
        methods[method] = noisy([seed, k], -1.0 - 0.1 * k, trials=trials)
    results = [
        result
        for (maximizer, parallelism), logs in methods.items()
        for result in runs(logs, maximizer=maximizer, parallelism=parallelism, **panel)
    ]
    return results, methods


def visible(figure):
    """Panels by row, then column."""
    return [axes for axes in figure.axes if axes.get_visible()]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_a_panel_shows_mean_and_standard_error():
    results, methods = compared()
    (axes,) = visible(draw(results, "3"))
    lines = {to_hex(line.get_color()): line for line in axes.lines}
    bands = {to_hex(band.get_facecolor()[0]): band for band in axes.collections}
    assert len(lines) == len(bands) == 7
    for method, logs in methods.items():
        line, band = lines[COLORS[method]], bands[COLORS[method]]
        mean, error = logs.mean(axis=0), logs.std(axis=0, ddof=1) / np.sqrt(len(logs))
        np.testing.assert_allclose(line.get_xdata(), 3 + 4 * np.arange(7))
        np.testing.assert_allclose(line.get_ydata(), mean)
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.max() == pytest.approx((mean + error).max())
        assert heights.min() == pytest.approx((mean - error).min())
    assert texts(axes) == ["$d = 4,\\ q = 4$", "5 trials"]
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert legend[0] == "Adam, greedy"
    assert len(legend) == 7


def test_only_trials_that_all_methods_have_are_shown():
    results, methods = compared()
    late = [result for result in results if result.job.maximizer == "innerloop"]
    begun = [result for result in results if result not in late[2:]]
    (axes,) = visible(draw(begun, "3"))
    assert "2 trials" in texts(axes)
    (line,) = [one for one in axes.lines if one.get_color() == COLORS["adam", "joint"]]
    np.testing.assert_allclose(line.get_ydata(), methods["adam", "joint"][:2].mean(axis=0))


def test_methods_without_a_common_trial_are_not_drawn():
    results = runs(noisy(0, -1.0))[:2] + runs(noisy(1, -1.0), maximizer="cmaes")[2:]
    (axes,) = visible(draw(results, "3"))
    assert not axes.lines
    assert "no trial of all methods" in texts(axes)


def test_one_trial_has_a_curve_without_an_error(tmp_path):
    results, _ = compared(trials=1)
    figure = draw(results, "3")
    (axes,) = visible(figure)
    assert "1 trial" in texts(axes)
    (panel,) = collect(results)
    found, trials = curves(panel, list(panel.logs))
    assert trials == 1
    assert all(np.isnan(curve.error).all() for curve in found)
    save(figure, tmp_path / "figure.svg")


def test_zero_regret_lies_on_the_floor():
    (axes,) = visible(draw(runs(np.full((3, 4), -np.inf)), "3"))
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.log10(FLOOR))


def grid(*, budgets, sizes, **panel):
    return [
        result
        for budget in budgets
        for d, q in sizes
        for result in compared(trials=2, budget=budget, d=d, q=q, **panel)[0]
    ]


def test_rows_are_dimensions_and_columns_are_budgets():
    results = grid(budgets=(2**14, 2**12), sizes=((8, 8), (8, 4), (4, 8), (4, 4)))
    axes = visible(draw(results, "3"))
    corners = [texts(one)[0] for one in axes]
    row = ["$d = {},\\ q = 4$", "$d = {},\\ q = 8$"] * 2
    assert corners == [text.format(d) for d in (4, 8) for text in row]
    titles = [one.get_title() for one in axes[:4]]
    assert titles == ["$N = 2^{12}$"] * 2 + ["$N = 2^{14}$"] * 2
    assert [one.get_title() for one in axes[4:]] == [""] * 4


def test_many_q_stand_below_each_other():
    results = grid(budgets=(2**12, 2**14, 2**16), sizes=((2, 2), (2, 4), (2, 8)))
    axes = visible(draw(results, "3"))
    assert [texts(one)[0] for one in axes[::3]] == [f"$d = 2,\\ q = {q}$" for q in (2, 4, 8)]
    assert [one.get_title() for one in axes[:3]] == [f"$N = 2^{{{k}}}$" for k in (12, 14, 16)]


def test_panels_that_were_not_run_stay_empty():
    results = grid(budgets=(2**12,), sizes=((4, 4), (8, 8)))
    results += grid(budgets=(2**14,), sizes=((8, 8),))
    figure = draw(results, "3")
    assert [axes.get_visible() for axes in figure.axes] == [True, False, True, True]
    assert figure.axes[3].get_title() == "$N = 2^{14}$"


def test_every_figure_takes_what_belongs_to_it():
    results = []
    for acquisition in ("ei", "ucb"):
        for task, d in (("synthetic", 4), ("withheld", 4), ("levy", 4), ("hartmann-6", 6)):
            results += compared(task=task, d=d, acquisition=acquisition, trials=2)[0]
    for figure, names in (
        ("3", ["synthetic"]),
        ("4", ["Hartmann-6", "Levy", "prior withheld"]),
        ("6", ["synthetic"]),
        ("7", ["Hartmann-6", "Levy", "prior withheld"]),
    ):
        assert [axes.get_ylabel() for axes in visible(draw(results, figure))] == names
    with pytest.raises(InputError, match="no results for figure 8"):
        draw(results, "8")


def forms(*states, **panel):
    results = []
    for k, maximizer in enumerate(("adam", "cmaes", "random_search")):
        results += runs(noisy([9, k], -1.0), maximizer=maximizer, **panel)
        for m in states:
            incremental = {"form": "incremental", "maximizer": maximizer, "draws": m}
            results += runs(noisy([9, k, m], -1.5), **incremental, **panel)
    return results


def test_figure_8_sets_one_form_against_the_other():
    axes = visible(draw(forms(16, 64) + forms(16, 64, d=8), "8"))
    assert [one.get_title() for one in axes] == ["$m = 16$", "$m = 64$", "", ""]
    for one in axes:
        ends = {True: [], False: []}
        for line in one.lines:
            ends[line.is_dashed()].append(line.get_ydata()[-1])
        assert len(ends[True]) == len(ends[False]) == 3
        assert max(ends[True]) < -1.25 < min(ends[False])  # the incremental form is the dashed one
    (axes,) = visible(draw(forms(16), "8"))
    assert axes.get_title() == "$N = 2^{12}$"


def test_figures_repeat_exactly(tmp_path):
    results, _ = compared()
    for k, order in enumerate((results, results[::-1])):
        save(draw(order, "3"), tmp_path / f"{k}.svg")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()


@pytest.mark.parametrize("figure", ["5", "", "3a"])
def test_other_figures_are_refused(figure):
    with pytest.raises(InputError, match="figure must be one of 3, 4, 6, 7, 8"):
        draw([], figure)


def test_runs_seen_at_other_times_are_refused():
    results, _ = compared(trials=2)
    results[0].table["evaluations"][1] += 1
    with pytest.raises(InputError, match="same numbers of evaluations"):
        draw(results, "3")


@pytest.mark.parametrize("columns", [1, 2])
def test_the_legend_lies_within_the_figure(columns):
    results = [
        result
        for k in range(columns)
        for result in compared(seed=k, trials=2, budget=2 ** (12 + 2 * k))[0]
    ]
    figure = draw(results, "3")
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= legend.x0 < legend.x1 <= figure.bbox.x1
    assert legend.y1 <= figure.bbox.y1
    assert all(axes.get_window_extent().y1 < legend.y0 for axes in visible(figure))
