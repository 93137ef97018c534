"""Pictures show what the optimizer says, on the axes given, in the colours of any style."""

from __future__ import annotations

import sys
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest

import innerloop as il
from innerloop.studies.create import create_study

mpl.use("Agg")
from matplotlib import colors
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.text import Text

LONG = "the $rate$ of the very first_layer \ud800 & of all <b>others</b> as well\n\tand so on"
SPACE = il.Space(
    {
        LONG: il.Real(1e-5, 1e-1, log=True),
        "layers": il.Integer(1, 4),
        "kind": il.Choice(["relu", "a name that is $long", None, 3]),
        "epochs": 30,
    }
)
EVERY = [
    il.plot.convergence,
    il.plot.slices,
    il.plot.contour,
    il.plot.importances,
    il.plot.parallel_coordinates,
    il.plot.predicted_against_observed,
    il.plot.calibration,
]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@cache
def mixed() -> il.Optimizer:
    optimizer = il.Optimizer(SPACE, seed=0)
    for x in SPACE.spread(24, 0):
        p = SPACE.decode(x)
        if p[LONG] > 0.05:
            optimizer.add(p, state="failed")
        else:
            value = (np.log10(p[LONG]) + 3) ** 2 + 0.1 * p["layers"] + (p["kind"] == 3)
            optimizer.add(p, float(value))
    return optimizer


@cache
def plain(n: int = 12) -> il.Optimizer:
    space = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(space, seed=0)
    for x, y in space.spread(max(n, 1), 0)[:n]:
        optimizer.add({"x": x, "y": y}, float(np.sin(4.0 * x) + y**2))
    return optimizer


@cache
def several() -> il.Optimizer:
    space = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(
        space,
        objectives={"cost": "minimize", "yield": "maximize"},
        outcome_constraints=["heat <= 0.8"],
        seed=0,
    )
    for x, y in space.spread(20, 0):
        heat = x * y + 0.3 * x
        optimizer.add({"x": x, "y": y}, {"cost": x**2 + 0.3 * y, "yield": x + y, "heat": heat})
    return optimizer


def drawn(result) -> list[plt.Axes]:
    """The axes of a picture, which can be drawn."""
    found = result if isinstance(result, list) else [result]
    found[0].figure.canvas.draw()
    return found


def line(ax: plt.Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = [each for each in ax.get_lines() if each.get_label() == label]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def test_every_picture_is_seen_on_black():
    with plt.style.context("dark_background"):
        for draw in EVERY:
            for ax in drawn(draw(mixed())):
                assert colors.to_rgb(ax.get_facecolor()) == (0.0, 0.0, 0.0)
                for artist in ax.findobj(lambda a: isinstance(a, Line2D | Text)):
                    assert colors.to_rgb(artist.get_color()) != (0.0, 0.0, 0.0), (draw, artist)
            plt.close("all")


def test_every_picture_is_drawn_of_one_of_several_outcomes():
    for draw in EVERY:
        (first, *_) = drawn(draw(several(), outcome="heat"))
        labels = [each.get_text() for each in first.figure.findobj(Text)]
        assert any("heat" in label for label in labels), draw
        plt.close("all")


def test_the_best_so_far_is_that_of_trials_that_count():
    optimizer = il.Optimizer(
        il.Space({"x": il.Real(0.0, 1.0)}),
        objectives={"cost": "maximize"},
        outcome_constraints=["heat <= 1"],
        seed=0,
    )
    for cost, heat in [(1.0, 0.0), (5.0, 2.0), (3.0, 0.5), (2.0, 0.0)]:
        optimizer.add({"x": cost / 5.0}, {"cost": cost, "heat": heat})
    optimizer.add({"x": 0.9}, state="failed")
    optimizer.add({"x": 1.4}, {"cost": 9.0, "heat": 0.0})  # outside the space
    ax = il.plot.convergence(optimizer)
    assert line(ax, "best so far")[1].tolist() == [1.0, 1.0, 3.0, 3.0, 3.0, 3.0]
    assert line(ax, "failed")[0].tolist() == [4.0]
    assert line(ax, "not within all limits")[1].tolist() == [5.0, 9.0]
    heat = il.plot.convergence(optimizer, outcome="heat")
    assert line(heat, "limit")[1].tolist() == [1.0, 1.0]


def test_the_hypervolume_ends_where_the_optimizer_says():
    optimizer = several().with_trials(several().trials)
    beyond = {"cost": -9.0, "yield": 9.0, "heat": 0.0}
    optimizer.add({"x": 2.0, "y": 0.0}, beyond)  # not in the space: it does not count
    volumes = line(il.plot.convergence(optimizer), "hypervolume")[1]
    assert (np.diff(volumes) >= 0.0).all()
    assert volumes[-1] == pytest.approx(optimizer.hypervolume())


def test_slices_are_predictions():
    optimizer = plain()
    ax = il.plot.slices(optimizer, "x")
    x, mean = line(ax, "expected")
    best = optimizer.best.params
    for k in (0, len(x) // 2, -1):
        expected = optimizer.predict({**best, "x": float(x[k])})
        assert mean[k] == pytest.approx(expected.mean)
    first, second = il.plot.slices(optimizer)
    assert first.get_ylim() == second.get_ylim()
    assert [first.get_xlabel(), second.get_xlabel()] == list(optimizer.importances())
    _, axes = plt.subplots(1, 2)
    assert il.plot.slices(optimizer, ["y", "x"], ax=axes) == list(axes)
    assert axes[0].get_xlabel() == "y"


def test_contours_are_predictions():
    optimizer = mixed()
    ax = il.plot.contour(optimizer, "layers", "kind")
    (mesh,) = ax.collections
    shown = np.asarray(mesh.get_array()).reshape(4, 4)
    for column, layers in enumerate(range(1, 5)):
        for row, kind in enumerate(SPACE.parameters["kind"].values):
            params = {**optimizer.best.params, "layers": layers, "kind": kind}
            assert shown[row, column] == pytest.approx(optimizer.predict(params).mean)
    assert ax.get_xlim() == (0.5, 4.5)


def test_nothing_is_drawn_where_constraints_forbid_it():
    space = il.Space({"n": il.Integer(0, 4), "m": il.Integer(0, 4)}, constraints=["n + m <= 5"])
    optimizer = il.Optimizer(space, seed=0)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, trial.params["n"] + 0.1 * trial.params["m"])
    (mesh,) = il.plot.contour(optimizer, "n", "m").collections
    n, m = np.meshgrid(range(5), range(5))
    assert np.ma.getmaskarray(mesh.get_array()).reshape(5, 5).tolist() == (n + m > 5).tolist()


def test_the_front_is_a_staircase():
    optimizer = several()
    ax = il.plot.front(optimizer)
    x, y = line(ax, "front")
    assert sorted(zip(x, y, strict=True)) == sorted(
        (trial.outcomes["cost"], trial.outcomes["yield"]) for trial in optimizer.front
    )
    total = sum(
        len(line(ax, each)[0])
        for each in ("front", "beaten", "not within all limits")
        if each in ax.get_legend_handles_labels()[1]
    )
    assert total == 20
    swapped = il.plot.front(optimizer, y="cost")
    assert swapped.get_xlabel() == "yield (maximize)"


def test_left_out_predictions_are_those_of_the_other_results():
    optimizer = plain()
    learned, posterior = optimizer.learned, optimizer.posterior
    ax = il.plot.predicted_against_observed(optimizer)
    dots = [each.lines[0] for each in ax.containers]
    found = {x: y for each in dots for x, y in zip(*each.get_data(), strict=True)}
    assert len(found) == 12
    for k in (0, 7):
        others = np.arange(12) != k
        rest = learned.gp.condition(posterior.X[others], posterior.y[others])
        mean, variance = rest.marginals(posterior.X[k : k + 1])
        expected = learned.outputs.moments(mean, variance + posterior.noise[k])[0][0]
        value = optimizer.trials[k].value
        near = min(found, key=lambda x: abs(x - value))
        assert found[near] == pytest.approx(expected, abs=1e-6)


def test_calibration_counts_results_in_intervals():
    optimizer = plain(25)
    posterior = optimizer.posterior
    inverse = posterior.whitener.T @ posterior.whitener
    residuals = inverse @ (posterior.y - posterior.gp.mean) / np.diag(inverse)
    scores = np.sort(np.abs(residuals) * np.sqrt(np.diag(inverse)))
    nominal, held = line(il.plot.calibration(optimizer), "25 results")
    middle = int(np.argmin(np.abs(nominal - 0.5)))
    assert nominal[middle] == pytest.approx(0.5)
    assert held[middle] == pytest.approx((scores <= 0.674489750196).mean())
    assert (np.diff(held) >= 0.0).all()


def test_sources_and_axes(tmp_path):
    space = il.Space({"x": il.Real(-1, 1)})
    result = il.minimize(lambda p: p["x"] ** 2, space, n_trials=4, seed=0)
    _, ax = plt.subplots()
    assert il.plot.convergence(result, ax=ax) is ax
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(url, "s", space=space, direction="minimize", seed=0)
    study.tell(study.ask().id, 1.5)
    assert line(il.plot.convergence(study), "best so far")[1].tolist() == [1.5]
    with pytest.raises(il.InputError, match="an Optimizer, a Result or a study"):
        il.plot.convergence([1.0, 2.0])
    with pytest.raises(il.InputError, match="ax must be matplotlib axes"):
        il.plot.convergence(result, ax="here")
    with pytest.raises(il.InputError, match="outcome must be one of"):
        il.plot.convergence(result, outcome="cost")
    with pytest.raises(il.InputError, match="needs two parameters"):
        il.plot.contour(result)
    with pytest.raises(il.InputError, match="the parameter must be one of"):
        il.plot.slices(result, "z")
    with pytest.raises(il.InputError, match="needs several objectives"):
        il.plot.front(result)


@pytest.mark.parametrize("draw", EVERY)
def test_little_or_nothing_to_draw(draw):
    with pytest.raises(il.InputError, match="nothing to draw"):
        draw(plain(0))
    failed = plain(0).with_trials(())
    failed.add({"x": 0.5, "y": 0.5}, state="failed", error="no")
    if draw is il.plot.convergence:
        draw(failed)
    else:
        with pytest.raises(il.InputError, match="no trial has been told a value"):
            draw(failed)
    needs_more = EVERY.index(draw) in (3, 5, 6)
    if needs_more:
        with pytest.raises(il.InputError, match=r"cannot tell|two results or more"):
            draw(plain(1))
    else:
        drawn(draw(plain(1)))
    # No empty figure is left behind where there is nothing to draw.
    assert len(plt.get_fignums()) == (draw is il.plot.convergence) + (not needs_more)


def test_matplotlib_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(il.MissingPackageError, match=r"pip install 'innerloop\[plot\]'"):
        il.plot.convergence(plain(2))
