"""Reports of any study of Optuna's, of several at once, and while a study goes on."""

import ast
import itertools
import json
import math
import re
import signal
import subprocess
import warnings
from functools import cache

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

import innerloop as il
import test_report
from commands import INNERLOOP, call
from innerloop.report.report import html_of, write_report
from innerloop.studies.any_study import AnyStudy
from innerloop.studies.inferred import inferred_space
from test_report import NONE, data_of, given_values, marks, width_of

browser, opened = test_report.browser, test_report.opened
OBJECT = (1, 2)  # a choice that no file could hold
SPACE = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n\n[k]\ntype = "choice"\nvalues = ["a", "=b"]\n'


def studied(objective, n, sampler, **settings):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of choices that storages on disk could not hold
        study = optuna.create_study(sampler=sampler, **settings)
        study.optimize(objective, n_trials=n, catch=ArithmeticError)
    return study


def branching(trial):
    """Which parameters there are depends on the first; a range grows; some fail or are pruned."""
    kind = trial.suggest_categorical("kind", ["line", OBJECT, None])
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    if trial.number % 9 == 5:
        raise ArithmeticError(f"diverged at {rate}")
    value = (math.log10(rate) + 2.5) ** 2
    if kind == "line":
        value += (trial.suggest_int("depth", 1, 6 if trial.number < 12 else 9) - 3) ** 2
    elif kind == OBJECT:
        value += 0.1 + trial.suggest_float("slope", 0.0, 1.0, step=0.25)
    trial.report(value, 0)
    if trial.number % 9 == 7:
        raise optuna.TrialPruned
    return value + (5.0 if kind is None else 0.0)


def trade(trial):
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    trial.set_constraint("heat <= 1", x + 2.0 * y - 1.5)
    return (x - 0.2) ** 2 + (y - 0.3) ** 2, x + y


@cache
def conditional():
    return studied(branching, 36, optuna.samplers.TPESampler(seed=1), study_name="conditional")


@cache
def fronts():
    sampler = optuna.samplers.NSGAIISampler(seed=0, population_size=10)
    return studied(trade, 30, sampler, directions=["minimize", "maximize"], study_name="<b>two")


@cache
def evolved():
    sampler = optuna.samplers.CmaEsSampler(seed=0)
    return studied(lambda t: t.suggest_float("x", -1, 1) ** 2, 8, sampler, study_name="evolved")


def workers(n, at_a_time):
    """An optimizer whose trials were told in the order in which they were asked, some at a time."""
    optimizer = given_values([0.5, 0.25])
    times = [(10.0 * k, 10.0 * (k + at_a_time)) for k in range(n)]
    trials = [
        il.Trial(k, t.params, state="complete", value=1.0 + k, asked=begun, told=ended)
        for k, (t, (begun, ended)) in enumerate(zip(optimizer.ask(n), times, strict=True))
    ]
    return optimizer.with_trials(trials)


def tiny():
    """Values and params that are nothing beside their ranges."""
    space = il.Space({"x": il.Real(-1.0, 1.0), "y": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(space, seed=0)
    for x, value in ((2.3e-11, 4.0), (0.5, -1.7e-11), (-0.5, -3.0)):
        optimizer.add({"x": x, "y": 0.25}, value)
    return optimizer


REPORTS = {
    "conditional": conditional,
    "fronts": fronts,
    "nothing varies": lambda: studied(lambda trial: 1.0, 2, None),
    "nothing": lambda: studied(branching, 0, None),
    "tiny": tiny,
    "workers": lambda: workers(12, 3),
    "compared": lambda: [conditional(), evolved(), studied(branching, 0, None)],
    "compared fronts": lambda: {"<i>": fronts(), "again": fronts()},
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def path_of(name):
        return write_report(REPORTS[name](), folder / f"{name}.html")

    return path_of


def plainly(params):
    """Params with the text of what is no plain value."""
    return {name: str(value) if value == OBJECT else value for name, value in params.items()}


# The space of a study.


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9), st.booleans()), min_size=1))
def test_changed_ranges_are_the_widest(ranges):
    """Against the ends of all; whole numbers if all are, and every value is in the space."""
    trials = []
    for low, length, is_whole in [*ranges, (0, 1, False)]:
        made = (IntDistribution if is_whole else FloatDistribution)(low, low + length)
        value = low if is_whole else low + length / 2
        trials.append(
            optuna.create_trial(value=0.0, params={"x": value}, distributions={"x": made})
        )
    space = inferred_space(trials)
    assert space.parameters["x"].low == min([0, *(low for low, _, _ in ranges)])
    assert space.parameters["x"].high == max([1, *(low + length for low, length, _ in ranges)])
    for trial in trials:
        space.check(trial.params)


class Odd(BaseDistribution):
    """One of a user's own, of which nothing is known."""

    def to_internal_repr(self, value):
        return value

    def single(self):
        return False

    def _contains(self, value):
        return True


@pytest.mark.parametrize(
    ("distributions", "values", "expected"),
    [
        ([Odd()], [2.5, -1.0], il.Real(-1.0, 2.5)),
        ([Odd()], ["b", "a", "b"], il.Choice(["b", "a"])),
        ([IntDistribution(2, 10, step=4)], [2, 6], il.Integer(2, 10, step=4)),
        (
            [IntDistribution(2, 10, step=4), IntDistribution(3, 7, step=4)],
            [2, 7],
            il.Integer(2, 10),
        ),
        ([FloatDistribution(0, 1, step=0.25)], [0.25], il.Real(0, 1, step=0.25)),
        ([FloatDistribution(0, 1, step=0.25)], [0.3], il.Real(0, 1)),
        ([FloatDistribution(0.1, 1, log=True)], [0.5, 3.0], il.Real(0.1, 3, log=True)),
        ([FloatDistribution(0.1, 1, log=True), FloatDistribution(0, 2)], [0.5], il.Real(0, 2)),
        ([CategoricalDistribution([1, True, "x"])], [True], il.Choice([1, "x"])),
        ([CategoricalDistribution(["a"]), IntDistribution(0, 9)], ["a", 4], il.Choice(["a", 4])),
        ([IntDistribution(-(10**15), 10**15)], [3], None),
    ],
)
def test_parameters_of_any_distribution(distributions, values, expected):
    study = optuna.create_study()
    for k in range(max(len(distributions), len(values))):
        made = {"p": distributions[min(k, len(distributions) - 1)], "q": FloatDistribution(0, 1)}
        trial = optuna.create_trial(value=0.0, params={"q": 0.5}, distributions={"q": made["q"]})
        # A value that a user has enqueued need not be in its distribution.
        trial.params, trial.distributions = {"p": values[min(k, len(values) - 1)], "q": 0.5}, made
        study._storage.create_new_trial(study._study_id, trial)
    seen = AnyStudy(study)
    assert seen.space.parameters.get("p") == expected
    if expected is not None:
        for record in seen.records():
            expected.check("p", record.params["p"])


# What the report says.


def test_a_study_whose_trials_differ_in_their_parameters(written):
    """All of them are shown; the model is where trials have the parameters of the best one."""
    study, page = conditional(), written("conditional").read_text()
    data, best = data_of(page), study.best_trial
    assert data["best"] == best.number
    assert json.loads(data["copies"]["json"]) == plainly(best.params)
    assert ast.literal_eval(data["copies"]["python"]) == plainly(best.params)
    names = [parameter["name"] for parameter in data["parameters"]]
    assert set(names) == {"kind", "rate", "depth", "slope"}
    assert data["parameters"][names.index("depth")]["high"] == 9
    alike = [
        t.number
        for t in study.trials
        if t.value is not None and best.params.keys() <= t.params.keys()
    ]
    pruned = [t.number for t in study.trials if t.state == optuna.trial.TrialState.PRUNED]
    assert data["model"]["shown"] == [number for number in alike if number not in pruned]
    varied = {names[k] for k, _ in data["model"]["importance"]}
    assert varied == best.params.keys() - {"kind"}  # which is what sets these trials apart
    for trial, *values in zip(study.trials, *data["trials"]["params"], strict=True):
        had = {name for name, value in zip(names, values, strict=True) if value is not None}
        assert had == trial.params.keys()
    assert "Not all trials have the same parameters" in page
    assert f"<dt>pruned</dt><dd>{len(pruned)}</dd>" in page


def test_the_front_is_that_of_optuna(written):
    data = data_of(written("fronts").read_text())
    front = [trial.number for trial in fronts().best_trials]
    assert data["front"] == front
    assert [each["name"] for each in data["outcomes"]] == [
        "value 0",
        "value 1",
        "constraint heat <= 1",
    ]
    copied = json.loads(data["copies"]["json"])
    assert [each["trial"] for each in copied] == front
    assert copied[0]["params"] == fronts().best_trials[0].params


def test_everything_of_a_study_that_may_be_missing():
    study = optuna.create_study(study_name="missing")
    study.enqueue_trial({"x": 1.0})
    study.add_trial(optuna.create_trial(value=math.inf, params={}, distributions={}))
    study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.FAIL))
    data = data_of(html_of(study))
    assert data["trials"]["state"] == [7, 2, 2]  # waiting, and two that failed
    assert data["errors"] == [["the value was inf"], ["no reason given"]]
    assert data["best"] is None


def test_trials_outside_of_the_space_are_kept_apart():
    """They keep their numbers and are neither the best nor learned from."""
    space = il.Space({"x": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(space, seed=0)
    for x, value in ((0.2, 3.0), (5.0, -9.0), (0.6, 1.0), (0.9, 2.0)):
        optimizer.add({"x": x}, value)
    data = data_of(html_of(optimizer))
    assert data["trials"]["state"] == [1, 8, 1, 1]
    assert data["trials"]["value"] == [3.0, -9.0, 1.0, 2.0]
    assert (data["best"], data["model"]["shown"]) == (2, [0, 2, 3])


def test_what_is_no_study_is_refused():
    for wrong in ("study.db", [], [il.Space({"x": il.Real(0, 1)})]):
        with pytest.raises(il.InputError, match="subject must be an Optimizer or a study"):
            html_of(wrong)
    with pytest.raises(il.InputError, match="cannot be compared: objectives are"):
        html_of([conditional(), fronts()])


def test_several_studies_by_their_best_so_far(written):
    data = data_of(written("compared").read_text())
    for study, shown in zip((conditional(), evolved()), data["studies"], strict=False):
        complete = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
        best = list(itertools.accumulate((t.value for t in complete), min))
        steps = {
            t.number: value
            for t, value, before in zip(complete, best, [math.inf, *best], strict=False)
            if value < before
        }
        assert {number: value for number, _, value in shown["steps"]} == steps
        ends = [step[1] for step in shown["timed"]]
        assert ends == sorted(ends)
        assert shown["timed"][-1][2] == steps[study.best_trial.number]
        assert shown["trials"] == len(study.trials)
        assert shown["complete"] == len(complete)
        began = min(t.datetime_start for t in study.trials)
        ended = max(t.datetime_complete for t in study.trials)
        assert shown["seconds"] == pytest.approx((ended - began).total_seconds(), abs=2e-3)


# Opened in a browser.


def text_of(page, selector):
    return page.locator(selector).all_inner_texts()


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_drawn_and_fits_any_screen(opened, name):
    page = opened(name, width=390)
    assert width_of(page) <= 390
    page.set_viewport_size({"width": 1600, "height": 900})
    assert width_of(page) <= 1600
    bad = """[...document.querySelectorAll('svg *')].filter(e =>
        [...e.attributes].some(a => /NaN|Infinity|undefined/.test(a.value))).length"""
    assert page.evaluate(bad) == 0
    figure = page.locator("section .figure > svg").first
    if figure.count():
        assert figure.bounding_box()["width"] > 1400


def test_failures_are_marked_at_their_places(opened):
    page, study = opened("conditional"), conditional()
    failed = [t for t in study.trials if t.state == optuna.trial.TrialState.FAIL]
    names = text_of(page, "#effects h3")
    for k, name in enumerate(names, 1):
        having = [t for t in failed if name in t.params]
        # Each is a cross of two strokes.
        assert marks(page, f"#effects .card:nth-child({k}) .failed") == 2 * len(having)
    both = [t for t in failed if set(names[:2]) <= t.params.keys()]
    assert marks(page, "#map .card:first-child .failed:not(.halo)") == 2 * len(both)
    cells = text_of(page, "#trials tbody tr:nth-child(1) td")
    lacking = {"kind", "rate", "depth", "slope"} - study.trials[0].params.keys()
    assert cells.count(NONE) >= len(lacking) > 0


def test_lanes_are_as_many_as_trials_ran_at_a_time(opened):
    page = opened("workers")
    label = page.locator("#timeline svg[role]").get_attribute("aria-label")
    assert label == "When 12 trials ran, in 3 lanes"
    assert marks(page, "#timeline .span.done") == 12 + 1  # one of them in the legend
    assert "On average 2.57 trials ran at a time." in page.locator("#timeline").inner_text()


def test_numbers_that_are_nothing_beside_their_range_are_0(opened):
    page = opened("tiny")
    rows = [text_of(page, f"#trials tbody tr:nth-child({k}) td") for k in (1, 2, 3)]
    assert [(row[2], row[4]) for row in rows] == [("4", "0"), ("0", "0.5"), ("-3", "-0.5")]
    assert "e-11" not in page.locator("main").inner_text()


def test_parameters_are_copied_and_trials_downloaded(opened, tmp_path):
    page = opened("conditional")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for words, read in (("Copy as JSON", json.loads), ("Copy as Python", ast.literal_eval)):
        page.get_by_role("button", name=words).click()
        page.locator(f"button[data-text='{words}']", has_text="Copied").wait_for()
        pasted = page.evaluate("navigator.clipboard.readText()")
        assert read(pasted) == plainly(conditional().best_params)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("id,state,value,kind,rate,")
    assert len(lines) == 1 + len(conditional().trials)


def test_a_comparison_has_a_line_and_a_row_for_each(opened):
    page = opened("compared")
    assert page.locator("#comparison .area .study-line").count() == 2  # the third has no trials
    rows = text_of(page, "#studies tbody tr")
    assert [row.split("\t")[0].strip() for row in rows[:2]] == ["evolved", "conditional"]
    page.get_by_role("button", name="By time").click()
    titles = page.locator("#comparison .title").all_text_contents()
    assert "time since the start" in " ".join(titles)
    assert page.locator("#comparison .area .study-line").count() == 2


def test_a_page_that_is_loaded_anew_stays_where_it_was(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html_of(tiny(), title="before", reload=5))
    page = browser.new_page(viewport={"width": 900, "height": 600})
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.goto(path.as_uri())
    page.evaluate("scrollTo({ top: 1234, behavior: 'instant' })")
    path.write_text(html_of(tiny(), title="after"))
    page.clock.run_for(5000)
    # Functions to wait for are texts to evaluate, which the page forbids.
    page.get_by_role("heading", name="after").wait_for()
    page.wait_for_load_state()
    assert page.evaluate("scrollY") == 1234
    page.close()


# The command.


def test_the_command_reports_what_optuna_has_made(tmp_path):
    url = f"sqlite:///{tmp_path}/innerloop.db"
    for name in ("one", "two"):
        directions = ["minimize", "maximize"] if name == "two" else ["minimize"]
        study = optuna.create_study(study_name=name, storage=url, directions=directions)
        f = trade if name == "two" else lambda t: t.suggest_float("x", 0, 1)
        study.optimize(f, n_trials=5)
    _, err = call(tmp_path, "report", "two", "-o", "two.html")
    assert "report: two.html" in err
    assert data_of((tmp_path / "two.html").read_text())["objectives"] == 2
    call(tmp_path, "report", "one", "--storage", url)
    assert "<h1>Study one</h1>" in (tmp_path / "report.html").read_text()
    _, err = call(tmp_path, "report", "one", "two", status=1)
    assert "'one' and 'two' cannot be compared" in err


def test_the_file_in_the_page_is_what_trials_prints(tmp_path, browser):
    (tmp_path / "space.toml").write_text(SPACE)
    call(tmp_path, "ask", "-n", "4", "--space", "space.toml", "--seed", "0")
    (tmp_path / "rows.csv").write_text("id,value\n0,0.5\n1,1e-30\n")
    call(tmp_path, "tell", "rows.csv", "--failed", "2")
    call(tmp_path, "report")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    printed, _ = call(tmp_path, "trials", "-f", "csv")
    assert download.value.path().read_bytes().decode() == printed.replace("\r\n", "\n")
    page.close()


def test_watching_a_study(tmp_path):
    """A page is there at once, another one when a trial was told, and the last one is at rest."""
    (tmp_path / "space.toml").write_text(SPACE)
    call(tmp_path, "ask", "-n", "2", "--space", "space.toml", "--seed", "0")
    watching = subprocess.Popen(
        [*INNERLOOP, "report", "--watch"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        assert watching.stderr.readline() == "Ctrl-C ends it\n"
        assert watching.stderr.readline() == "report: report.html, 2 trials\n"
        first = (tmp_path / "report.html").read_text()
        assert ' data-reload="5"' in first
        call(tmp_path, "tell", "0", "0.5")
        call(tmp_path, "ask")
        while True:  # it may have looked in between
            line = watching.stderr.readline()
            assert re.fullmatch(r"report: report.html, [23] trials\n", line)
            if "3 trials" in line:
                break
        assert data_of((tmp_path / "report.html").read_text())["trials"]["value"] == [
            0.5,
            None,
            None,
        ]
    finally:
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=100)
    assert watching.returncode == 130
    assert err == "interrupted: report.html stays as it is\n"
    last = (tmp_path / "report.html").read_text()
    assert "data-reload" not in last.partition("<head>")[0]
    assert len(data_of(last)["trials"]["value"]) == 3
