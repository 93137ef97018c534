"""The runner of outside suites: how scores are made and compared, and runs over pipes."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks" / "suites"))
sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import catalogue
import comparison
import page
import paired
import report
import run as one_run
import scores
from problem import Problem, Task
from task_parameters import Options, Range, Whole

SPHERE, SLOPE = "bbob-5-f01", "bbob-5-f05"
SOURCE = str(Path(__file__).parent.parent / "src")


def cell(values, **others):
    usual = {"error": None, "starts": 1, "recommended": None, "seconds": 1.0, "cpu_seconds": 0.5}
    return {"scores": values, "versions": {"numpy": "2"}, **usual, **others}


def test_ties_share_their_ranks():
    found = paired.ranks(np.array([[1.0, 2.0], [1.0, 0.0], [3.0, 1.0]]))
    np.testing.assert_array_equal(found, [[1.5, 3.0], [1.5, 1.0], [3.0, 2.0]])


def test_intervals_are_those_of_normal_theory():
    """Of many tasks and seeds, the mean plus and minus 1.96 standard errors."""
    rng = np.random.default_rng(1)
    differences = [rng.normal(rng.normal(0.0, 2.0), 1.0, 6) for _ in range(400)]
    means = np.array([each.mean() for each in differences])
    over_seeds = math.sqrt(sum(each.var(ddof=1) / 6 for each in differences)) / 400
    over_tasks = means.std(ddof=1) / math.sqrt(400)
    for found, error in (
        (paired.for_these_tasks(differences), over_seeds),
        (paired.for_tasks_like_these(differences), over_tasks),
    ):
        assert found.value == pytest.approx(means.mean())
        half = 1.96 * error
        expected = [means.mean() - half, means.mean() + half]
        np.testing.assert_allclose([found.low, found.high], expected, atol=0.08 * half)


def test_parts_have_no_instance_in_common():
    parts = {
        part: {catalogue.instance(first + k) for k in range(12)}
        for part, first in catalogue.PARTS.items()
    }
    assert parts == {"development": {1, 2, 3, 4, 5}, "page": {6, 7, 8, 9, 10}}


def test_regrets_are_the_best_of_the_first_evaluations():
    cells = {
        (SPHERE, "a", 0): cell([10.0, 100.0, 0.1]),
        (SPHERE, "a", 3): cell([1.0, 1e-12], recommended=1.0),
        (SPHERE, "b", 0): cell([5.0]),
    }
    found = scores.Scores(catalogue.SUITES["bbob-5"], cells)
    assert found.of(SPHERE, "a", 2) == pytest.approx({0: 1.0, 3: -8.0})
    assert found.of(SPHERE, "a", 3, recommended=True) == pytest.approx({0: -1.0, 3: 0.0})
    assert found.of(SLOPE, "a", 3) == {}


def test_tuning_is_scored_between_random_search_and_the_best():
    task = "tuning-knn-iris"
    cells = {
        (task, "random", 0): cell([9.0, 1.0, 3.0, 2.0]),
        (task, "a", 0): cell([5.0, 0.5]),
        (task, "b", 0): cell([0.0]),
    }
    found = scores.Scores(catalogue.SUITES["tuning"], cells)
    assert found.of(task, "a", 1) == {0: 1.0}
    assert found.of(task, "a", 2) == {0: 0.25}
    assert found.shown(0.25) == "75.00"
    without = scores.Scores(catalogue.SUITES["tuning"], {(task, "a", 0): cell([1.0])})
    with pytest.raises(scores.MissingError, match="random"):
        without.of(task, "a", 1)


def test_a_report_counts_tasks_and_shows_failures():
    cells = {}
    for seed in range(3):
        cells[SPHERE, "innerloop", seed] = cell([1.0, 0.01])
        cells[SPHERE, "rival", seed] = cell([1.0, 0.1])
        cells[SLOPE, "innerloop", seed] = cell([1.0, 1.0])
        cells[SLOPE, "rival", seed] = cell([1.0, 0.1], error="Error: none left")
    made = scores.Scores(catalogue.SUITES["bbob-5"], cells)
    text = "\n".join(report.report(made, "innerloop", ["rival"], "page", 2))
    row = next(line for line in text.splitlines() if line.startswith("| rival"))
    entries = [entry.strip() for entry in row.strip("|").split("|")]
    assert entries[:2] == ["rival", "2"]
    # Second on one task, first on the other: means of two tasks drawn anew are 1, 1.5 or 2, and
    # these are spread by a factor of the square root of 2.
    assert entries[2] == "1.50 (0.79 to 2.21)"
    assert "1 of 2" in entries
    assert entries[-1] == "3"
    assert text.count("failed after 2 evaluations") == 3
    assert "| f1 sphere | 3 | **-2.00** | -1.00 |" in text


def test_a_comparison_says_which_one_is_better():
    rng = np.random.default_rng(0)
    cells = {}
    for task in list(catalogue.SUITES["bbob-5"].tasks):
        for seed in range(4):
            value = 10.0 ** rng.normal()
            cells[task, "new", seed] = cell([value / 10.0 ** rng.normal(0.5, 0.2)])
            cells[task, "old", seed] = cell([value])
            cells[task, "same", seed] = cell([value])
    made = scores.Scores(catalogue.SUITES["bbob-5"], cells)
    text = "\n".join(comparison.compare(made, "new", "old", 80))
    assert "**new is better than old** by 0.5" in text
    assert "24 tasks, 96 paired runs" in text
    text = "\n".join(comparison.compare(made, "old", "same", 80))
    assert "no difference in any run" in text
    assert "no run in common" in comparison.compare(made, "old", "unknown", 80)[0]


def test_figures_replace_those_of_their_suite_alone(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("a\n<!-- figures of x -->\nold\n<!-- end of x -->\nb\n")
    page.put(path, "x", ["new", ""])
    page.put(path, "x", page.table(["h"], [[1]]))
    wanted = "a\n<!-- figures of x -->\n\n| h |\n|---|\n| 1 |\n\n<!-- end of x -->\nb\n"
    assert path.read_text() == wanted
    with pytest.raises(SystemExit, match="needs the lines"):
        page.put(path, "y", [])


def test_problems_survive_json():
    parameters = {"a": Range(1.0, 10.0, log=True), "b": Whole(0, 3), "c": Options(("u", "v"))}
    problem = Problem(parameters, noise=True)
    assert Problem.from_plain(problem.to_plain()) == problem
    assert problem.has_choices


def optimized(method, function):
    parameters = {"x": Range(-1.0, 2.0), "k": Whole(0, 5)}
    optimizer = one_run.Optimizer(sys.executable, SOURCE)
    first = {"method": method, "seed": 3, "settings": {}}
    try:
        return one_run.run(Task(Problem(parameters), function), optimizer, first, 2, 16)
    finally:
        optimizer.close()


def test_runs_begin_with_the_same_points_in_processes_of_their_own():
    def function(point):
        value = point["x"] ** 2 + (point["k"] - 2) ** 2
        return value + 7.0, value

    ours, drawn = optimized("innerloop", function), optimized("random", function)
    for record in (ours, drawn):
        assert record["error"] is None
        assert len(record["scores"]) == 16
        assert record["starts"] == 4
        assert record["cpu_seconds"] >= 0.0
    assert ours["scores"][:4] == drawn["scores"][:4]
    assert min(ours["scores"]) < 1e-2


def test_a_failure_ends_a_run_and_is_told():
    calls = []

    def function(point):
        calls.append(point)
        if len(calls) > 8:
            raise ValueError("broken")
        return 1.0, 1.0

    record = optimized("random", function)
    assert record["error"] == "ValueError: broken"
    assert len(record["scores"]) == 8
