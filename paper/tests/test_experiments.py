"""Tasks, cells and the store of the paper's experiments."""

import math
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import innerloop as il
from innerloop.maximizers import CMAES, Adam, RandomSearch
from innerloop_paper import functions, grid, runner, synthetic, tasks
from innerloop_paper.cells import Cell
from innerloop_paper.cli.scope import chosen_scale, jobs_of
from innerloop_paper.jobs import key
from innerloop_paper.methods import DRAWS, MAXIMIZERS
from innerloop_paper.store import Store
from innerloop_paper.table import from_csv, to_csv

CELL = Cell(
    task="branin",
    d=2,
    q=3,
    acquisition="ei",
    form="joint",
    parallelism="greedy",
    maximizer="adam",
    draws=16,
    budget=96,
    clock="evaluations",
    evaluations=10,
    trial=0,
)
# Where textbooks have the maxima, on the unit cube.
WHERE = {
    "branin": [[(math.pi + 5) / 15, 2.275 / 15], [(5 - math.pi) / 15, 12.275 / 15]],
    "hartmann-3": [[0.114614, 0.555649, 0.852547]],
    "hartmann-6": [[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]],
    "levy": [[0.55] * 5],
}


@pytest.mark.parametrize("name", WHERE)
def test_functions_have_their_maxima_where_textbooks_say(name):
    points = np.array(WHERE[name])
    task = tasks.make_task(name, points.shape[1], trial=0)
    np.testing.assert_allclose(task.function(points), task.maximum, atol=1e-6)
    assert task.maximum == functions.MAXIMA[name]
    around = np.random.default_rng(0).random((2**16, points.shape[1]))
    near = np.clip(points[0] + 1e-3 * (around - 0.5), 0, 1)
    assert task.function(np.concatenate([around, near])).max() <= task.maximum + 1e-12


def test_functions_take_points_of_any_shape():
    X = np.random.default_rng(0).random((4, 5, 3))
    for function in (functions.branin, functions.hartmann, functions.levy):
        one_by_one = [[function(x) for x in row] for row in X]
        np.testing.assert_allclose(function(X), one_by_one)


@pytest.mark.parametrize("d", [2, 8])
def test_draws_have_the_covariance_of_the_prior(d):
    X = np.random.default_rng(5).random((6, d)) * 0.7
    trials = 600
    values = np.array([synthetic.draw(d, trial)(X)[0] for trial in range(trials)])
    scaled = np.linalg.norm(X[:, None] - X, axis=-1) / (math.sqrt(d) / 4)
    root = math.sqrt(5) * scaled
    exact = (1 + root + root**2 / 3) * np.exp(-root)
    sampled = values.T @ values / trials
    # The variance of a product of two normal variables.
    error = np.sqrt((exact**2 + 1.0) / trials)
    assert np.abs((sampled - exact) / error).max() < 4.0
    assert np.abs(values.mean(axis=0)).max() < 4.0 / math.sqrt(trials)


@pytest.mark.parametrize("d", [2, 6])
def test_maxima_are_not_below_many_random_points(d):
    features = 2**8
    table = synthetic.Maximum(d, 1, features=features, points=2**12, searches=128).compute()
    function = synthetic.draw(d, 1, features)
    points = np.random.default_rng(0).random((2**18, d))
    found = np.array([table[f"x{k}"][0] for k in range(d)])
    assert table["value"][0] == pytest.approx(function(found)[0], abs=1e-12)
    assert table["value"][0] >= function(points)[0].max()
    assert ((found >= 0) & (found <= 1)).all()


def test_the_maximum_is_a_local_one():
    table = synthetic.Maximum(3, 0, features=2**8, points=2**10, searches=64).compute()
    x = np.array([table[f"x{k}"][0] for k in range(3)])
    _, slope = synthetic.draw(3, 0, 2**8).value_and_grad(x)
    inward = (x > 0) & (x < 1)
    assert np.abs(slope[0][inward]).max(initial=0.0) < 1e-4
    assert (slope[0][x == 1] >= 0).all()
    assert (slope[0][x == 0] <= 0).all()


def test_methods_of_a_trial_start_alike():
    first = [
        replace(CELL, maximizer=maximizer, draws=DRAWS[maximizer], evaluations=4).compute()
        for maximizer in MAXIMIZERS
    ]
    assert len({table["regret"][0] for table in first}) == 1
    other = replace(CELL, trial=1, evaluations=3).compute()
    assert other["regret"][0] != first[0]["regret"][0]


def test_prior_withheld_is_the_same_function():
    known, withheld = (tasks.make_task(name, 4, 2, 1.5) for name in tasks.DRAWN)
    X = np.random.default_rng(0).random((5, 4))
    np.testing.assert_array_equal(known.function(X), withheld.function(X))
    assert known.prior is not None
    assert withheld.prior is None


@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
@pytest.mark.parametrize("maximizer", MAXIMIZERS)
def test_cells_repeat_themselves(maximizer, acquisition):
    cell = replace(
        CELL, maximizer=maximizer, draws=DRAWS[maximizer], acquisition=acquisition, evaluations=8
    )
    assert without_seconds(cell.compute()) == without_seconds(cell.compute())


def test_rows_of_a_cell():
    table = CELL.compute()
    assert table["evaluations"] == [3, 6, 9, 10]  # the last batch is what is left
    assert {len(column) for column in table.values()} == {4}
    assert np.isnan(table["acquisition"][0])
    assert all(value > 0 for value in table["acquisition"][1:])
    assert all(value <= CELL.budget + 16 * 3 for value in table["inner_evaluations"])
    # The first row by hand: three points, their noise, and the best of what was observed.
    X, errors = tasks.initial_points(2, 0), tasks.noise(2, 0, 10)[:3]
    x = X[np.argmax(functions.branin(X) + errors)]
    assert table["regret"][0] == pytest.approx(functions.MAXIMA["branin"] - functions.branin(x))


def test_noise_has_the_stated_variance():
    errors = np.concatenate([tasks.noise(4, trial, 100) for trial in range(100)])
    assert errors.var() == pytest.approx(1e-3, rel=4 * math.sqrt(2 / len(errors)))


def test_budgets_amount_to_what_they_say():
    posterior = il.fit(*_observations()).condition(*_observations())
    assert CELL.method.limits(posterior, 3) == il.Budget(evaluations=CELL.budget)
    small, large = (
        replace(CELL, clock="cpu", budget=n).method.limits(posterior, 3) for n in (2**11, 2**31)
    )
    assert small.clock == large.clock == "cpu"
    assert small.evaluations is large.evaluations is None
    # 2^20 times as many values: a measurement may be off, but not by a factor of a thousand.
    assert large.seconds > 2**10 * small.seconds > 0.0
    assert replace(CELL, clock="cpu", evaluations=4).compute()["inner_evaluations"][1] > 0


@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"maximizer": "innerloop", "form": "incremental"}, {}),
        ({"maximizer": "adam"}, {"way": "greedy", "form": "joint", "maximizer": Adam(steps=1000)}),
        (
            {"maximizer": "adam", "parallelism": "joint"},
            {"way": "joint", "form": "joint", "maximizer": Adam(steps=1000)},
        ),
        (
            {"maximizer": "cmaes", "form": "incremental"},
            {"way": "greedy", "form": "incremental", "maximizer": CMAES(steps=100)},
        ),
        (
            {"maximizer": "random_search", "parallelism": "joint"},
            {"way": "joint", "form": "joint", "maximizer": RandomSearch(shard=256)},
        ),
    ],
)
def test_methods_are_what_their_names_say(settings, asked, acquisition):
    """The same batch as from `suggest`, asked in its own words."""
    posterior = il.fit(*_observations()).condition(*_observations())
    method = replace(CELL, acquisition=acquisition, **settings).method
    best = float(posterior.fitted.max())
    utility = {"ei": il.ExpectedImprovement(best), "ucb": il.UpperConfidenceBound(2.0)}[acquisition]
    limits = il.Budget(evaluations=CELL.budget)
    expected = il.suggest(
        posterior, 3, utility, **asked, draws=16, budget=limits, seed=np.random.default_rng(3)
    )
    found = method.propose(posterior, 3, limits=limits, generator=np.random.default_rng(3))
    np.testing.assert_array_equal(found.X, expected.X)


def test_the_committed_results_are_found():
    """Every file in the archive is under the address of a job of the largest of its scales."""
    archive = Path(__file__).parents[1] / "results" / "results.tar.xz"
    jobs = runner.needed(jobs_of(["all"], chosen_scale("laptop", 32, None, None)))
    with tarfile.open(archive, "r:xz") as packed:
        names = {entry.name for entry in packed}
    assert names <= {f"{job.kind}/{key(job)}.csv" for job in jobs}
    found = Store(archive).results(jobs)
    assert len(found) == len(names)
    assert sum(isinstance(result.job, Cell) for result in found) == 7211


def _observations():
    X = np.random.default_rng(0).random((8, 2))
    return X, functions.branin(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "nonsense"}, "task must be one of synthetic"),
        ({"d": 3}, "branin has 2 dimensions, got d = 3"),
        ({"maximizer": "bfgs"}, "maximizer must be one of adam"),
        ({"acquisition": "pi"}, "acquisition must be one of ei, ucb"),
        ({"clock": "sun"}, "clock must be one of cpu, evaluations"),
        ({"q": 0}, "q must be"),
        ({"trial": -1}, "trial must be 0 or more"),
    ],
)
def test_cells_that_make_no_sense(change, message):
    with pytest.raises(il.InnerLoopError, match=message):
        replace(CELL, **change)


def test_addresses_tell_all_settings_apart():
    changed = [
        replace(CELL, **{name: value})
        for name, value in {
            "task": "levy",
            "q": 4,
            "acquisition": "ucb",
            "form": "incremental",
            "parallelism": "joint",
            "maximizer": "cmaes",
            "draws": 32,
            "budget": 64,
            "clock": "cpu",
            "evaluations": 11,
            "trial": 1,
        }.items()
    ]
    assert len({key(cell) for cell in [CELL, *changed]}) == 1 + len(changed)
    # Results on disk are found by this: it must not change by accident.
    assert key(CELL) == "4f817a40d4fb6f52da96"


@given(
    st.dictionaries(
        st.text("abc_", min_size=1, max_size=4),
        st.sampled_from([int, float, str]),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_tables_survive_csv(kinds, data):
    rows = data.draw(st.integers(0, 5))
    whole, real = st.integers(-(2**70), 2**70), st.floats()
    word = st.text(st.characters(codec="utf-8", exclude_characters="\r\0")).map("w{}".format)
    columns = {int: whole, float: real, str: word}
    table = {
        name: data.draw(st.lists(columns[kind], min_size=rows, max_size=rows))
        for name, kind in kinds.items()
    }
    np.testing.assert_equal(from_csv(to_csv(table)), table)


def test_a_store_keeps_what_it_is_given(tmp_path):
    store = Store(tmp_path / "results")
    assert not store.has(CELL)
    assert store.results([CELL]) == []
    table = CELL.compute()
    store.write(CELL, table)
    assert store.has(CELL)
    np.testing.assert_equal(Store(tmp_path / "results").read(CELL), table)
    assert not store.has(replace(CELL, trial=1))


def test_a_packed_store_is_read_like_a_folder(tmp_path):
    store, cells = Store(tmp_path / "results"), [replace(CELL, trial=k) for k in range(3)]
    for k, cell in enumerate(cells[:2]):
        store.write(cell, {"regret": [0.1 + k]})
    for name in ("one.tar.xz", "two.tar.xz"):
        assert store.pack(cells, tmp_path / name) == 2
    assert (tmp_path / "one.tar.xz").read_bytes() == (tmp_path / "two.tar.xz").read_bytes()
    packed = Store(tmp_path / "one.tar.xz")
    assert [each.table for each in packed.results(cells)] == [{"regret": [0.1]}, {"regret": [1.1]}]
    with pytest.raises(il.InnerLoopError, match="only read"):
        packed.write(cells[2], {})
    with pytest.raises(il.InnerLoopError, match=r"packed into a \.tar\.xz file"):
        store.pack(cells, tmp_path / "one.zip")


def test_files_that_are_not_results_are_named(tmp_path):
    store = Store(tmp_path)
    store.write(CELL, {"regret": [1.0]})
    (path,) = tmp_path.rglob("*.csv")
    path.write_text("# {}\nregret\n1.0\n")
    with pytest.raises(il.InnerLoopError, match=f"{path.name} is not the result of"):
        store.read(CELL)
    for content in (b"nonsense", b""):
        (tmp_path / "broken.tar.xz").write_bytes(content)
        with pytest.raises(il.InnerLoopError, match="cannot read the results"):
            Store(tmp_path / "broken.tar.xz")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(il.InnerLoopError, match="cannot write results"):
        Store(tmp_path / "file").write(CELL, {})


@pytest.mark.parametrize("name", grid.SCALES)
def test_every_scale_compares_all_methods_under_the_same_conditions(name):
    scale = grid.SCALES[name]
    cells = grid.compared(scale, scale.known, "ei")
    assert len(cells) == len(set(cells))
    assert len(cells) == (len(grid.METHODS) * len(scale.known) * len(scale.budgets) * scale.trials)
    in_figure_3 = set(cells)
    incremental = grid.joint_and_incremental(scale)
    assert {cell.parallelism for cell in incremental} == {"greedy"}
    # What figure 3 has computed, figure 8 does not compute again.
    assert in_figure_3 & set(incremental)
    turn = grid.in_turn([cells, incremental])
    assert len(turn) == len(set(turn)) == len(in_figure_3 | set(incremental))
    budgets = [cell.budget for cell in turn]
    assert budgets == sorted(budgets)


def without_seconds(table):
    """What must repeat itself."""
    return to_csv({k: v for k, v in table.items() if not k.endswith("_seconds")})
