"""Illustrations: tables against formulas written out here, figures that repeat byte for byte."""

import json
import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from scipy.stats import norm

import innerloop as il
from innerloop_paper.illustrations import belief, concrete, cost, parallel
from innerloop_paper.illustrations.ascent import ascend
from innerloop_paper.illustrations.belief import Belief
from innerloop_paper.illustrations.concrete import Concrete
from innerloop_paper.illustrations.cost import Cost, growth
from innerloop_paper.illustrations.parallel import Parallel
from innerloop_paper.illustrations.series import Series, grid, names, pick
from innerloop_paper.jobs import Job
from innerloop_paper.style import COLORS, DASHES, LABELS, MARKS, new_figure, save, styled
from innerloop_paper.table import from_csv, to_csv

SMALL_CONCRETE = Concrete(
    grid=41, temperatures=3, es_draws=8, cells=12, cell_draws=64, side=9, es_fresh=8, steps=40
)
SMALL_COST = Cost(4, evaluations=40, sizes=4, values=64, measured=16, draws=8, repetitions=1)


def kernel(job, a, b):
    """Matern-5/2, with nothing of the package in it."""
    r = np.sqrt(5.0) * np.abs(a[:, None] - b[None, :]) / job.lengthscale
    return job.variance * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def exact_gain(job, x):
    """k(x, X) (k(X, X) + noise)^-1: (N, n)."""
    at = np.array(job.at)
    return np.linalg.solve(kernel(job, at, at) + job.noise * np.eye(at.size), kernel(job, at, x)).T


def exact_belief(job, x):
    """Mean and standard deviation at each x (N,) by the textbook formula."""
    gain = exact_gain(job, x)
    explained = (gain * kernel(job, x, np.array(job.at))).sum(axis=1)
    return gain @ np.array(job.results), np.sqrt(np.maximum(job.variance - explained, 1e-18))


def exact_ei(job, x):
    mean, sd = exact_belief(job, x)
    u = (mean - max(job.results)) / sd
    return sd * (u * norm.cdf(u) + norm.pdf(u))


def exact_pi(job, x):
    mean, sd = exact_belief(job, x)
    return norm.cdf((mean - max(job.results) - job.margin) / sd)


def joint_ei(job, pair, draws=200_000):
    """q-EI of two queries by plain Monte Carlo."""
    x = np.array(pair)
    gain = exact_gain(job, x)
    cov = kernel(job, x, x) - gain @ kernel(job, np.array(job.at), x)
    mean = gain @ np.array(job.results)
    outcomes = np.random.default_rng(8).multivariate_normal(mean, cov, draws)
    return np.maximum(outcomes.max(axis=1) - max(job.results), 0.0).mean()


@pytest.fixture(scope="module")
def tables():
    return {
        "belief": Belief().compute(),
        "parallel": Parallel().compute(),
        "concrete": SMALL_CONCRETE.compute(),
        "cost": SMALL_COST.compute(),
    }


def drawn(name, table):
    """The figure of a table."""
    if name == "cost":
        return cost.draw([table, {**table, "q": [8] * len(table["q"])}])
    return {"belief": belief, "parallel": parallel, "concrete": concrete}[name].draw(table)


FIGURES = ["belief", "parallel", "concrete", "cost"]


@pytest.mark.parametrize("job", [Belief(), Parallel(), Concrete(), SMALL_COST])
def test_jobs_are_plain(job):
    assert isinstance(job, Job)
    assert job.settings()
    again = json.loads(json.dumps(job.settings()))
    assert set(again) == set(job.settings())
    assert hash(job) == hash(replace(job))


@pytest.mark.parametrize(
    ("name", "ending"), [*((name, "svg") for name in FIGURES), ("belief", "pdf"), ("belief", "png")]
)
def test_figures_are_made_from_tables_alone_and_repeat(tables, tmp_path, name, ending):
    """The same bytes from a table and from one that went through a file."""
    first, second = tmp_path / f"first.{ending}", tmp_path / f"second.{ending}"
    before = dict(matplotlib.rcParams)
    save(drawn(name, tables[name]), first)
    save(drawn(name, from_csv(to_csv(tables[name]))), second)
    assert first.read_bytes() == second.read_bytes()
    assert len(first.read_bytes()) > 5_000
    assert dict(matplotlib.rcParams) == before


def test_text_in_svg_needs_no_fonts(tables, tmp_path):
    save(drawn("belief", tables["belief"]), tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    assert "<text" not in text
    assert "<dc:date>" not in text
    assert "<image" not in text


def test_nothing_imports_matplotlib_before_it_draws():
    modules = "belief, concrete, cost, parallel"
    code = (
        f"import sys; from innerloop_paper.illustrations import {modules}; "
        "print('matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_the_belief_is_that_of_the_textbook(tables):
    table, job = tables["belief"], Belief()
    mean = pick(table, "mean")
    expected, sd = exact_belief(job, mean.x)
    margin = 2.0 * sd
    np.testing.assert_allclose(mean.y, expected, atol=1e-5)
    np.testing.assert_allclose(pick(table, "low").y, expected - margin, atol=1e-4)
    np.testing.assert_allclose(pick(table, "high").y, expected + margin, atol=1e-4)
    paths = names(table, "path")
    assert len(paths) == job.paths
    for path in paths:  # through the observations, but for noise of a thousandth
        x, y, _ = pick(table, path)
        np.testing.assert_allclose(np.interp(job.at, x, y), job.results, atol=0.02)


@settings(max_examples=10)
@given(
    results=st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4).map(tuple),
    lengthscale=st.floats(0.1, 0.4),
)
def test_the_star_is_where_expected_improvement_is_largest(results, lengthscale):
    job = Belief(results=results, lengthscale=lengthscale, paths=1, features=16)
    table = job.compute()
    fine = np.linspace(0.0, 1.0, 4001)
    best, values = pick(table, "best"), exact_ei(job, fine)
    assert best.y[0] == pytest.approx(values.max(), rel=1e-4, abs=1e-9)
    assert exact_ei(job, best.x)[0] == pytest.approx(values.max(), rel=1e-4, abs=1e-9)
    curve = pick(table, "EI")
    np.testing.assert_allclose(curve.y, exact_ei(job, curve.x), rtol=1e-3, atol=1e-5)


def test_greedy_rounds(tables):
    table, job = tables["parallel"], Parallel()
    first, second = pick(table, "gain"), pick(table, "gain 2")
    np.testing.assert_allclose(first.y, exact_ei(job, first.x), rtol=1e-3, atol=1e-5)
    # Diminishing returns: nothing gains more than before, and the same query again gains nothing.
    assert (second.y <= first.y + 2e-3).all()
    assert (second.y >= 0.0).all()
    chosen = pick(table, "best")
    assert np.interp(chosen.x[0], second.x, second.y) < 0.02 * chosen.y[0]
    for curve, best in ((first, chosen), (second, pick(table, "best 2"))):
        assert best.y[0] >= curve.y.max() * 0.999
    # What the second query adds is what q-EI of both has more than EI of the first.
    both = joint_ei(job, (chosen.x[0], pick(table, "best 2").x[0]))
    assert pick(table, "best 2").y[0] == pytest.approx(both - chosen.y[0], abs=3e-3)
    for name in names(table, "fantasy"):
        x, y, _ = pick(table, name)
        outcome = pick(table, name.replace("fantasy", "outcome"))
        assert np.interp(outcome.x[0], x, y) == pytest.approx(outcome.y[0], abs=2e-3)


def test_the_greedy_pair_is_near_the_best_pair(tables):
    table, job = tables["parallel"], Parallel()
    surface, pair = pick(table, "surface"), pick(table, "greedy pair")
    assert pair.z[0] >= (1.0 - 1.0 / np.e) * surface.z.max()
    assert pair.z[0] == pytest.approx(joint_ei(job, (pair.x[0], pair.y[0])), abs=3e-3)
    top = surface.z.argmax()
    best = joint_ei(job, (surface.x[top], surface.y[top]))
    assert surface.z[top] == pytest.approx(best, abs=3e-3)
    _, _, z = grid(surface)
    assert z.shape == (job.side, job.side)
    np.testing.assert_allclose(z, z.T, atol=0.01)  # but for Monte Carlo error


def test_joint_ascent_goes_up(tables):
    ascent, job = pick(tables["parallel"], "ascent"), Parallel()
    assert (ascent.x[0], ascent.y[0]) == job.start
    assert ascent.x.size == job.steps + 1
    start, end = (joint_ei(job, (ascent.x[i], ascent.y[i])) for i in (0, -1))
    assert end > start + 0.1
    assert end >= 0.95 * pick(tables["parallel"], "surface").z.max()


def test_concrete_pi_tends_to_phi(tables):
    table = tables["concrete"]
    curves = names(table, "PI at ")
    temperatures = [float(name.split()[-1]) for name in curves]
    np.testing.assert_allclose(temperatures, [1e-1, 1e-2, 1e-3], rtol=1e-3)
    x = pick(table, curves[0]).x
    expected = exact_pi(SMALL_CONCRETE, x)
    np.testing.assert_allclose(pick(table, "PI exact").y, expected, atol=1e-3)
    errors = [np.abs(pick(table, name).y - expected).max() for name in curves]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


@pytest.mark.parametrize("temperature", [1e-1, 1e-2])
def test_concrete_pi_is_the_expectation_of_a_sigmoid(tables, temperature):
    """By quadrature over the outcome."""
    curve = pick(tables["concrete"], f"PI at {temperature:.4g}")
    mean, sd = exact_belief(SMALL_CONCRETE, curve.x)
    nodes = np.linspace(-8.0, 8.0, 4001)
    Y = mean[:, None] + sd[:, None] * nodes
    threshold = max(SMALL_CONCRETE.results) + SMALL_CONCRETE.margin
    relaxed = 0.5 * (1.0 + np.tanh(0.5 * (Y - threshold) / temperature))
    expected = (relaxed * norm.pdf(nodes)).sum(axis=1) * (nodes[1] - nodes[0])
    np.testing.assert_allclose(curve.y, expected, atol=3e-3)


def test_concrete_es_tends_to_the_one_hot_event(tables):
    table = tables["concrete"]
    exact = pick(table, "ES exact").y
    errors = [np.abs(pick(table, name).y - exact).max() for name in names(table, "ES at ")]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
    # Entropies of where the best of the cells is.
    assert (exact <= 0.0).all()
    assert (exact >= -np.log(SMALL_CONCRETE.cells)).all()


@pytest.mark.parametrize("name", ["PI", "ES"])
def test_concrete_ascents_go_up(tables, name):
    table = tables["concrete"]
    surface = pick(table, f"{name} surface")
    assert (surface.x <= surface.y).all()  # the other half is its mirror image
    ascents = names(table, f"{name} ascent")
    starts = getattr(SMALL_CONCRETE, f"{name.lower()}_starts")
    assert len(ascents) == len(starts)
    for ascent, start in zip(ascents, starts, strict=True):
        x, y, z = pick(table, ascent)
        assert (x[0], y[0]) == start
        assert z[-1] > z[0] + 0.2 * (surface.z.max() - surface.z.min())
        assert ((x >= 0.0) & (x <= 1.0) & (y >= 0.0) & (y <= 1.0)).all()


class Bowl:
    """-|X - center|^2, with its gradient."""

    def __init__(self, center):
        self.center = center

    def value(self, X):
        return -((X - self.center) ** 2).sum(axis=(1, 2))

    def value_and_grad(self, X):
        return self.value(X), -2.0 * (X - self.center)


def test_ascents_leave_a_trail():
    starts = np.array([[[0.1], [0.9]], [[0.9], [0.9]], [[0.5], [0.0]]])
    trail = ascend(Bowl(0.4), starts, steps=300, learning_rate=0.02)
    assert trail.shape == (301, 3, 2, 1)
    np.testing.assert_array_equal(trail[0], starts)
    np.testing.assert_allclose(trail[-1], 0.4, atol=0.01)
    assert np.abs(np.diff(trail, axis=0)).max() < 0.05


@given(q=st.integers(1, 40), evaluations=st.integers(4, 1100), sizes=st.integers(1, 20))
def test_steps_of_a_run(q, evaluations, sizes):
    """n = 3, 3 + q, ..., and the last batch is what is left."""
    steps = Cost(q, evaluations=evaluations, sizes=sizes).steps()
    assert steps[0] == 3
    assert all((n - 3) % q == 0 for n in steps)
    assert steps == sorted(set(steps))
    assert 0 < evaluations - steps[-1] <= q
    if evaluations - 3 > q:
        assert steps[-2:] == [steps[-1] - q, steps[-1]]
    assert len(steps) <= sizes + 2


@pytest.mark.parametrize(("q", "left"), [(4, 1), (5, 2), (37, 37)])
def test_the_last_step_takes_what_is_left(q, left):
    table = replace(SMALL_COST, q=q).compute()
    n, step_q = np.array(table["n"]), np.array(table["step_q"])
    assert step_q[-1] == left == ((40 - 3) % q or q)
    assert n[-1] + step_q[-1] == 40
    assert (step_q[:-1] == q).all()
    assert set(table["q"]) == {q}
    assert all(second >= 0.0 for second in table["seconds"] + table["gradient_seconds"])
    assert len({len(column) for column in table.values()}) == 1


@given(
    in_n=st.floats(0.5, 3.0),
    in_q=st.floats(0.2, 2.0),
    qs=st.lists(st.integers(2, 50), min_size=2, max_size=5, unique=True),
)
def test_growth_finds_known_exponents(in_n, in_q, qs):
    tables = []
    for q in qs:
        job = Cost(q)
        n = np.array(job.steps())
        step_q = np.minimum(q, job.evaluations - n)
        # Small n cost a constant, which must not count.
        seconds = np.where(n < 100, 1e-3, n**in_n * step_q**in_q)
        table = {"q": [q] * n.size, "n": n.tolist(), "step_q": step_q.tolist()}
        tables.append({**table, "seconds": seconds.tolist()})
    found = growth(tables)
    assert set(found.in_n) == set(qs)
    for q in qs:
        assert found.in_n[q] == pytest.approx(in_n, abs=1e-6)
        left = (1024 - 3) % q or q
        ratio = (left / q) ** in_q * ((1024 - left) / (1024 - left - q)) ** in_n
        assert found.last_step[q] == pytest.approx(ratio, rel=1e-6)
    assert found.in_q == pytest.approx(in_q, abs=1e-6)


def test_growth_says_what_it_needs():
    table = SMALL_COST.compute()
    with pytest.raises(il.InputError, match="two or more q"):
        growth([table])
    with pytest.raises(il.InputError, match="two full steps of q = 37"):
        growth([table, replace(SMALL_COST, q=37).compute()])


@pytest.mark.parametrize("bad", [{"q": 0}, {"evaluations": 3}, {"measured": 0}, {"draws": -1}])
def test_cost_refuses_what_makes_no_sense(bad):
    with pytest.raises(il.InputError, match=next(iter(bad))):
        Cost(**{"q": 4, **bad})


def luminance(color):
    return np.array([0.2126, 0.7152, 0.0722]) @ np.array(to_rgb(color)) ** 2.2


def test_greedy_is_darker_than_joint_and_no_two_methods_look_alike():
    assert set(COLORS) == set(LABELS)
    searches = {maximizer for maximizer, _ in COLORS}
    assert searches == set(MARKS)
    assert set(DASHES) == {"greedy", "joint"}
    for maximizer in searches:
        greedy, joint = COLORS[maximizer, "greedy"], COLORS[maximizer, "joint"]
        assert luminance(greedy) < luminance(joint)
        assert 1.05 / (luminance(greedy) + 0.05) > 4.5  # legible on white
    assert len(set(COLORS.values())) == len(COLORS)
    assert len(set(LABELS.values())) == len(LABELS)


def test_settings_hold_while_drawing_only():
    @styled
    def size():
        return matplotlib.rcParams["font.size"]

    assert size() != matplotlib.rcParams["font.size"]
    np.testing.assert_array_equal(new_figure(3.0, 2.0).get_size_inches(), [3.0, 2.0])


def test_series_keep_their_points():
    series = Series()
    series.add("line", [0.0, 0.5], [1.0, 2.0])
    series.add("surface", [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    series.add("point", 0.25, 0.75)
    table = from_csv(to_csv(series.table))
    np.testing.assert_array_equal(pick(table, "line").y, [1.0, 2.0])
    assert np.isnan(pick(table, "line").z).all()
    np.testing.assert_array_equal(grid(pick(table, "surface"))[2], [[1.0, 2.0], [3.0, 4.0]])
    assert pick(table, "point").x.tolist() == [0.25]
    assert names(table, "") == ["line", "surface", "point"]
    assert pick(table, "nothing").x.size == 0
