"""The page of results: made from results alone, whatever their order, and true to the claims."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from fake_runs import as_the_paper_says, everything, noisy, runs
from innerloop_paper.cells import Cell
from innerloop_paper.claims import claims
from innerloop_paper.first_batches import first_batches
from innerloop_paper.results_page import page
from innerloop_paper.store import Result

GRID = everything(as_the_paper_says, trials=2)
PAGE = page(GRID, command="innerloop-paper plot 3", figures={"3": "a.svg"})


@settings(max_examples=5, deadline=None)
@given(order=st.permutations(range(len(GRID))))
def test_the_order_of_results_does_not_matter(order):
    shuffled = [GRID[k] for k in order]
    assert page(shuffled, command="innerloop-paper plot 3", figures={"3": "a.svg"}) == PAGE


def test_the_page_says_what_was_found():
    results = everything(as_the_paper_says)
    figures = {name: f"images/{name}.svg" for name in ("3", "4", "1d", "6", "7", "8")}
    text = page(results, command="innerloop-paper run", figures=figures)
    lines = text.splitlines()
    for k, claim in enumerate(claims(results), 1):
        (row,) = [line for line in lines if line.startswith(f"| {k} | {claim.text} |")]
        assert f"{claim.late.value:+.3f}" in row
        assert row.endswith("| reproduced |" if claim.paper else "| better |")
        assert all(f"[{name}](#figure-{name})" in row for name in claim.figures)
    headings = [line for line in lines if line.startswith("### Figure")]
    assert headings == [f"### Figure {name}" for name in ("1d", "3", "4", "6", "7", "8")]
    assert all(f"({path})" in text for path in figures.values())
    assert "```sh\ninnerloop-paper run\n```" in text
    assert "left out" not in text.split("## Make it again")[1]


def test_a_page_of_nothing_has_no_verdicts():
    text = page([], command="innerloop-paper run", figures={})
    assert "reproduced |" not in text
    assert text.count("| not run |") == 11


def test_the_page_says_what_was_left_out():
    here = runs(noisy(0, -1.0, trials=2))
    full = [
        result.job
        for budget in (2**12, 2**16)
        for maximizer in ("adam", "cmaes")
        for result in runs(noisy(0, -1.0, trials=4), maximizer=maximizer, budget=budget)
    ]
    text = page(here, command="x", figures={}, grid=full).split("## What was left out")[1]
    assert "Of 16 cells of the full grid, 2 were run" in text
    assert "4 trials, here there are up to 2" in text
    rows = {line.split(" | ")[0]: line for line in text.splitlines()}
    assert rows["| inner budget N"] == "| inner budget N | 2 | 2^16 | - |"
    assert rows["| method"] == "| method | 2 | CMA-ES, greedy | - |"
    assert rows["| evaluations T"] == "| evaluations T | 1 | - | - |"


def test_first_batches_are_shares_of_the_best():
    """Two trials with values known beforehand, and one that a method is missing from."""
    methods = ["innerloop", "adam", "cmaes", "random_search"]
    results = []
    for trial, maximizer in itertools.product(range(3), methods):
        for parallelism in ("greedy",) if maximizer == "innerloop" else ("greedy", "joint"):
            cell = Cell(
                task="branin", d=2, q=2, acquisition="ei", parallelism=parallelism,
                form="incremental" if maximizer == "innerloop" else "joint", maximizer=maximizer,
                draws=8, budget=2**12, clock="evaluations", evaluations=5, trial=trial,
            )  # fmt: skip
            worth = {"innerloop": 2.0, "adam": 1.0 + 2.0 * trial}.get(maximizer, 0.5)
            worth *= 0.5 if parallelism == "joint" else 1.0
            if trial < 2 or maximizer != "cmaes":
                results.append(Result(cell, {"acquisition": [float("nan"), worth]}))
    lines = first_batches(results).splitlines()
    assert "2^12, 2 batches" in lines[0]
    shares = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in lines[2:]}
    assert shares["innerloop's default"] == "83.3 %, best in 1"  # 2 of 2, and 2 of 3
    assert shares["Adam, greedy"] == "75.0 %, best in 1"  # 1 of 2, and 3 of 3
    assert shares["Adam, joint"] == "37.5 %, best in 0"
    assert first_batches(results[:3]) == ""
