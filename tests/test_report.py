"""The report: it changes nothing, says what the model says, keeps text as text, and is drawn."""

import html
import json
import math
import os
import re
import shutil
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import innerloop as il
from innerloop.insight.model import FittedModel
from innerloop.insight.slices import maps, slices
from innerloop.optimizer.trials import STATES
from innerloop.report import subject as subjects
from innerloop.report.case import SHOWN_STATES, case_of_optimizer
from innerloop.report.document import text
from innerloop.report.numbers import compact, duration, moment, number, percent
from innerloop.report.outlook import outlook
from innerloop.report.report import html_of, write_report
from innerloop.report.thinned_copy import copy_of

MIXED = il.Space(
    {
        "rate": il.Real(1e-5, 1e-1, log=True),
        "share": il.Real(0.0, 0.6),
        "layers": il.Integer(1, 8),
        "kind": il.Choice(["relu", "tanh", "gelu"]),
        "nesterov": il.Choice([True, False]),
        "epochs": 30,
    }
)
PLANE = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})
NONE = "\u2013"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;<b>$x${y}\u202e"


def loss(params):
    return (
        (math.log10(params["rate"]) + 2.7) ** 2 * 0.1
        + (params["share"] - 0.2) ** 2
        + 0.01 * (params["layers"] - 4) ** 2
        + {"relu": 0.1, "tanh": 0.2, "gelu": 0.0}[params["kind"]]
    )


def subject_of(optimizer, next_points):
    return subjects.subject_of(case_of_optimizer(optimizer), next_points)


def tried(space, f, rounds, *, batch=1, direction="minimize", **settings):
    """An optimizer after some rounds of asking and telling; f may raise to fail a trial."""
    optimizer = il.Optimizer(space, direction=direction, seed=0, **settings)
    for _ in range(rounds):
        for trial in optimizer.ask(batch):
            try:
                optimizer.tell(trial, f(trial.params))
            except ArithmeticError as error:
                optimizer.tell(trial, state="failed", error=f"Traceback:\n  {error}\n{error!r}")
    return optimizer


def given_values(values, space=PLANE, direction="minimize", seed=0):
    """An optimizer that was told values at random points."""
    optimizer = il.Optimizer(space, direction=direction, seed=0)
    for x, value in zip(
        space.sample(len(values), np.random.default_rng(seed)), values, strict=True
    ):
        optimizer.add(space.decode(x), float(value))
    return optimizer


def mixed_study():
    def f(params):
        if params["rate"] > 0.03:
            raise ArithmeticError("it diverged")
        return loss(params)

    optimizer = tried(MIXED, f, 6, batch=4, initial=8)
    optimizer.ask(2)
    return optimizer


@cache
def long_study(n=5000, d=5):
    space = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(d)})
    optimizer, rng = il.Optimizer(space, seed=0), np.random.default_rng(0)
    for i, x in enumerate(rng.random((n, d))):
        params = dict(zip(space.names, x.tolist(), strict=True))
        if i % 40 == 7:
            optimizer.add(params, state="failed", error=f"ValueError: {i}")
        else:
            optimizer.add(params, float(np.sin(3 * x).sum() + (x**2).sum()))
    return optimizer


def constrained_study():
    space = il.Space(
        {"a": il.Real(0.0, 1.0), "b": il.Real(0.0, 1.0), "n": il.Integer(0, 6)},
        constraints=["a + b <= 1.2", "n - 4*a <= 2"],
    )
    return given_values(np.random.default_rng(1).random(12), space, "maximize")


def hostile_study():
    values = [HOSTILE, "<b>bold</b>", "\ud800 half of a pair"]
    space = il.Space(
        {HOSTILE: il.Choice(values), "<i>n</i>" * 40: il.Integer(1, 9), "fixed": HOSTILE}
    )
    optimizer = il.Optimizer(space, seed=0)
    for k, trial in enumerate(optimizer.ask(12)):
        if k % 3:
            optimizer.tell(trial, float(k))
        else:
            error = f"Traceback\n{HOSTILE}\n\0 {HOSTILE} \ud800 {k}\n<script>alert(3)</script>"
            optimizer.tell(trial, state="failed", error=error)
    return optimizer


def extreme_values(low, high):
    return np.random.default_rng(0).choice([-1.0, 1.0], 20) * 10.0 ** np.linspace(low, high, 20)


def asked(n):
    optimizer = il.Optimizer(PLANE, seed=0)
    optimizer.ask(n)
    return optimizer


def cut_off_study(*, values=True):
    """One trial of every state there is."""
    optimizer = given_values(np.random.default_rng(0).random(9)) if values else asked(1)
    for state in ("failed", "cancelled"):
        optimizer.tell(optimizer.ask(), state=state, error=f"why it is {state}")
    optimizer.ask()
    late = {**optimizer.ask().to_dict(), "state": "expired"}
    return optimizer.with_trials([*optimizer.trials[:-1], il.Trial.from_dict(late)])


STUDIES = {
    "mixed": mixed_study,
    "long": long_study,
    "hostile": hostile_study,
    "constrained": constrained_study,
    "nothing": lambda: il.Optimizer(PLANE, seed=0),
    "one result": lambda: given_values([1.5]),
    "only asked": lambda: asked(5),
    "all failed": lambda: tried(PLANE, lambda _: math.nan, 6),
    "all equal": lambda: given_values(np.full(15, 2.0)),
    "huge": lambda: given_values(extreme_values(290, 308)),
    "tiny": lambda: given_values(np.abs(extreme_values(-320, -300))),
    "nearly equal": lambda: given_values(1e6 + 1e-5 * np.random.default_rng(0).random(20)),
    "one parameter": lambda: given_values(
        np.random.default_rng(0).random(9), il.Space({"x": il.Real(-5.0, 5.0)})
    ),
    "one choice": lambda: given_values([1.0, 2.0, 3.0], il.Space({"k": il.Choice(["a", "b"])})),
    "categories": lambda: given_values(
        np.random.default_rng(0).random(14),
        il.Space({"c": il.Choice(list("pqrs")), "s": il.Choice([1, 2.5, None]), "g": 7}),
    ),
    "many parameters": lambda: given_values(
        np.random.default_rng(0).random(40),
        il.Space({f"a long name of parameter {i}": il.Real(0.0, 10.0) for i in range(30)}),
    ),
    "cut off": lambda: cut_off_study(),
    "nothing but cut off": lambda: cut_off_study(values=False),
    "exhausted": lambda: tried(
        il.Space({"k": il.Choice([True, False])}), lambda p: p["k"] + 1.0, 2
    ),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Paths of reports by the name of the study, written once."""
    folder, paths = tmp_path_factory.mktemp("reports"), {}

    def path_of(name):
        if name not in paths:
            title = HOSTILE if name == "hostile" else None
            path = folder / f"{name.replace(' ', '_')}.html"
            paths[name] = write_report(STUDIES[name](), path, title=title)
        return paths[name]

    return path_of


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


# What the report says.


def test_the_optimizer_stays_as_it_is(tmp_path):
    optimizer, twin = (mixed_study() for _ in range(2))
    for each in (optimizer, twin):
        each._trials = [  # without times, which differ between the two
            il.Trial(**{**vars(trial), "asked": None, "told": None, "certificate": None})
            for trial in each.trials
        ]
    before = optimizer.trials
    shown = data_of(html_of(optimizer, next_points=3))["next"]
    assert optimizer.trials == before
    optimizer.save(tmp_path / "reported.json")
    twin.save(tmp_path / "twin.json")
    assert (tmp_path / "reported.json").read_bytes() == (tmp_path / "twin.json").read_bytes()
    # What is shown as next is what is asked next.
    asked = [trial.params for trial in optimizer.ask(3)]
    assert asked == [trial.params for trial in twin.ask(3)]
    assert [row["params"][0] for row in shown] == pytest.approx([p["rate"] for p in asked])
    assert [row["params"][2] for row in shown] == [p["layers"] for p in asked]


@given(
    seed=st.integers(0, 99),
    direction=st.sampled_from(["minimize", "maximize"]),
    stretch=st.sampled_from([0.0, 3.0]),
)
def test_expectations_are_those_of_the_optimizer(seed, direction, stretch):
    """Means as `predict` gives them; bands two standard deviations wide in units of the model."""
    rng = np.random.default_rng(seed)
    optimizer = given_values(np.exp(stretch * rng.standard_normal(12)), MIXED, direction, seed)
    model = FittedModel.of(optimizer)
    X = MIXED.sample(6, rng)
    expected = model.expected(X)
    predicted = [optimizer.predict(MIXED.decode(x)) for x in X]
    decoded = model.expected(MIXED.encode_all([MIXED.decode(x) for x in X]))
    np.testing.assert_allclose(decoded.mean, [p.mean for p in predicted], rtol=1e-9)
    t, variance = optimizer.posterior.marginals(X)
    ends = np.sort(
        [model.outputs.forward(expected.low), model.outputs.forward(expected.high)], axis=0
    )
    np.testing.assert_allclose(ends[0], t - 2.0 * np.sqrt(variance), atol=1e-6)
    np.testing.assert_allclose(ends[1], t + 2.0 * np.sqrt(variance), atol=1e-6)


@pytest.mark.parametrize("stretch", [0.0, 4.0])
def test_expected_improvement_against_draws(stretch):
    """In the units of the values, whether the model sees their logarithm or not."""
    rng = np.random.default_rng(3)
    optimizer = given_values(np.exp(stretch * rng.random(12)) + np.arange(12) % 3)
    model = FittedModel.of(optimizer)
    X = rng.random((5, 2))
    mean, variance = optimizer.posterior.marginals(X)
    draws = mean + np.sqrt(variance) * rng.standard_normal((200_000, 1))
    best = model.outputs.backward(np.array(model.threshold))
    gains = np.maximum(best - model.outputs.backward(draws), 0.0)
    error = 5.0 * gains.std(axis=0) / np.sqrt(len(draws)) + 1e-3 * gains.mean(axis=0)
    assert (np.abs(model.improvement(X) - gains.mean(axis=0)) <= error + 1e-8).all()
    better = (draws > model.threshold).mean(axis=0)
    np.testing.assert_allclose(model.chance(X), better, atol=5e-3)


def test_pending_trials_leave_less_to_gain():
    optimizer = given_values(np.random.default_rng(0).random(8))
    x = np.array([[0.9, 0.1]])
    alone = FittedModel.of(optimizer).improvement(x)
    waiting = optimizer.ask(fixed={"x": 0.9, "y": 0.1})
    assert waiting.params == {"x": 0.9, "y": 0.1}
    assert FittedModel.of(optimizer).improvement(x)[0] < 0.2 * alone[0]


def test_what_is_likely_to_fail_is_not_expected_to_improve():
    """Improvement and chances are those of a model without failures, times that of success."""
    optimizer = given_values(np.random.default_rng(0).random(9))
    plain = FittedModel.of(optimizer)
    for y in (0.2, 0.3, 0.4):
        optimizer.add({"x": 0.9, "y": y}, state="failed")
    model, X = FittedModel.of(optimizer), np.random.default_rng(1).random((50, 2))
    success = np.exp(optimizer.chance.log(X)[0])
    assert success.min() < 0.7
    np.testing.assert_allclose(model.improvement(X), plain.improvement(X) * success)
    np.testing.assert_allclose(model.chance(X), plain.chance(X) * success)
    study = subject_of(optimizer, 2)
    X = PLANE.encode_all([trial.params for trial in study.next_trials])
    rows = data_of(html_of(optimizer, next_points=2))["next"]
    assert [row["chance"] for row in rows] == pytest.approx(model.chance(X).tolist(), rel=1e-2)


def test_every_state_has_its_name():
    """The script knows states by their number; cancelled trials are not among the failures."""
    script = (files("innerloop.report") / "assets" / "values.js").read_text(encoding="utf-8")
    names = re.findall(r'"(.*?)"', re.search(r"STATE_NAMES = \[(.*?)\];", script, re.DOTALL)[1])
    shown = ["running", "complete", "failed", "given up", "cancelled", "forgotten"]
    assert names == [*shown, "pruned", "waiting", "outside the space"]
    states, numbers = re.search(r"const \[(PENDING.*?)\] = (\[.*?\]);", script).groups()
    known = [SHOWN_STATES[k] for k in json.loads(numbers)]
    assert known == [name.strip().lower() for name in states.split(",")]
    optimizer = cut_off_study()
    page = html_of(optimizer)
    shown = data_of(page)["trials"]
    assert [STATES[k] for k in shown["state"]] == [trial.state for trial in optimizer.trials]
    without = [t.state in ("failed", "expired") for t in optimizer.trials]
    assert [error is not None for error in shown["error"]] == without
    assert "<dt>cancelled</dt><dd>1</dd>" in page


def test_cancelled_trials_change_nothing_of_what_is_next():
    optimizer = cut_off_study()
    copied = [trial.params for trial in subject_of(optimizer, 3).next_trials]
    assert copied == [trial.params for trial in optimizer.ask(3)]


def test_trials_that_are_taken_up_again_stay_in_their_batch():
    optimizer = given_values(np.random.default_rng(0).random(9))
    batch = optimizer.ask(3)
    optimizer.tell(batch[1], state="cancelled")
    optimizer.resume(batch[1])
    assert [each.size for each in subject_of(optimizer, 0).batches()] == [3]


def test_importances_are_those_of_the_optimizer():
    optimizer = mixed_study()
    model = subject_of(optimizer, 0).model
    assert model.importance == dict(optimizer.importances())
    assert model.ordered == list(model.importance)


def test_values_without_a_pattern_have_no_importances():
    optimizer = given_values(np.random.default_rng(2).random(20), MIXED)
    model = subject_of(optimizer, 0).model
    assert model.importance == {}
    assert model.ordered == list(MIXED.varying)
    with pytest.raises(il.InputError, match="the model cannot tell"):
        optimizer.importances()


def _meets(space, params):
    return all(constraint.is_met(params) for constraint in space.inequalities)


def test_slices_and_maps_go_as_far_as_constraints_allow():
    optimizer = constrained_study()
    space, model = optimizer.space, FittedModel.of(optimizer)
    best = model.best.params
    found = {each.name: each for each in slices(model)}
    assert set(found) == {"a", "b", "n"}
    for name, each in found.items():
        assert best[name] in each.values
        for value in each.values:
            space.check({**best, name: value})
    ends = max(found["a"].values), max(found["b"].values), max(found["n"].values)
    assert ends[0] == pytest.approx(min(1.0, 1.2 - best["b"]), abs=1e-6)
    assert ends[1] == pytest.approx(min(1.0, 1.2 - best["a"]), abs=1e-6)
    assert ends[2] == min(6, math.floor(2 + 4 * best["a"]))
    for each in maps(model):
        assert each.mean.shape == each.improvement.shape == (40, 40)
        if {each.x, each.y} == {"a", "b"}:
            corners = np.array([[0.6, 0.5, -1.0], [0.9, 0.2, -1.0], [0.65, 0.6, -1.0]])
            inside = (corners @ each.sides.T <= 0.0).all(axis=1)
            allowed = [_meets(space, {**best, "a": a, "b": b}) for a, b, _ in corners]
            assert inside.tolist() == allowed == [*allowed[:2], False]
        else:
            assert np.isnan(each.mean).any()


def test_a_long_study_is_modelled_by_a_part_of_it():
    optimizer = long_study()
    copied = copy_of(optimizer)
    values = [t.value for t in optimizer.trials if t.value is not None]
    kept = [t.value for t in copied.optimizer.trials if t.value is not None]
    assert len(kept) == copied.used == 600
    assert copied.results == len(values)
    assert set(np.sort(values)[:150]) <= set(kept)
    for trial, original in zip(copied.optimizer.trials, copied.kept, strict=True):
        assert trial.params == optimizer.trials[original].params
    assert subject_of(optimizer, 0).best == min(
        (t for t in optimizer.trials if t.value is not None), key=lambda t: t.value
    )


def test_the_page_says_so_where_a_part_is_modelled(written):
    page = written("long").read_text()
    assert "learned from 600 of the 4875 results" in page
    assert "learned from" not in written("mixed").read_text()


@pytest.mark.parametrize(("n", "there"), [(60, True), (5001, False)])
def test_trials_are_in_the_page_as_csv_unless_they_are_many(n, there):
    shown = data_of(html_of(long_study(n, d=1), next_points=0))
    assert (shown["csv"] is not None) is there


def test_what_is_left_to_gain():
    assert outlook(subject_of(il.Optimizer(PLANE, seed=0), 4)) == ["Nothing has been tried yet."]
    assert (
        "no trial has given a value" in outlook(subject_of(STUDIES["all failed"](), 4))[0].lower()
    )
    assert "With 1 result it is too early" in outlook(subject_of(given_values([1.0]), 4))[0]
    assert "Every combination" in outlook(subject_of(STUDIES["exhausted"](), 4))[0]
    # A parabola is known after a few trials; a function that jumps about is not.
    done = tried(PLANE, lambda p: (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2, 25)
    said = outlook(subject_of(done, 4))
    assert said[0] == "Almost nothing seems left to gain."
    distance = re.search(r"the best value is within (\S+) of", " ".join(said))
    assert done.best.value <= float(distance[1]) < 0.1
    wild = tried(PLANE, lambda p: math.sin(40 * p["x"]) * math.sin(37 * p["y"]), 10)
    assert outlook(subject_of(wild, 4))[0] == "Much seems left to gain."
    sentences = " ".join(outlook(subject_of(wild, 4)))
    assert "the next 4 points together" in sentences
    assert "up to Monte Carlo error and the inner search having found" in sentences


@pytest.mark.parametrize("acquisition", ["pi", "ucb", "kg"])
def test_every_acquisition_function_can_be_reported(acquisition):
    optimizer = tried(PLANE, lambda p: p["x"] + p["y"], 7, acquisition=acquisition)
    shown = data_of(html_of(optimizer, next_points=2))
    assert len(shown["next"]) == 2
    assert shown["model"]["promise"] >= 0.0


def test_noise_can_make_another_trial_the_best():
    optimizer = il.Optimizer(il.Space({"x": il.Real(0.0, 1.0)}), seed=0)
    for x in np.linspace(0.0, 1.0, 21):
        optimizer.add({"x": float(x)}, (x - 0.5) ** 2 + (-0.5 if x == 0.1 else 0.0), noise_sd=0.3)
    page = html_of(optimizer)
    assert data_of(page)["best"] == optimizer.best.id != 2
    assert "sees noise in the results" in page


def test_wrong_arguments_are_refused(tmp_path):
    optimizer = il.Optimizer(PLANE, seed=0)
    for arguments, message in [
        ({"next_points": -1}, "next_points must be an integer of 0 or more, got -1"),
        ({"next_points": 1.5}, "next_points must be an integer"),
        ({"title": 3}, "title must be text, got 3"),
    ]:
        with pytest.raises(il.InputError, match=message):
            html_of(optimizer, **arguments)
    with pytest.raises(il.InputError, match="subject must be an Optimizer or a study"):
        html_of("study.json")
    assert data_of(html_of(optimizer, next_points=0))["next"] == []


def test_a_report_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "report.html"
    optimizer = il.Optimizer(PLANE, seed=0)
    assert write_report(optimizer, str(path), title="one") == path
    write_report(optimizer, path, title="two")
    assert "<h1>two</h1>" in path.read_text()
    path.unlink()
    path.mkdir()  # which no file can replace
    with pytest.raises(OSError, match=re.escape(str(path))):
        write_report(optimizer, path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


# Text stays text.


@given(st.text())
def test_escaped_text_is_the_text_again(value):
    escaped = text(value)
    assert not set('<>"') & set(escaped)
    escaped.encode("utf-8")
    assert html.unescape(escaped) == html.unescape(text(html.unescape(escaped)))
    if "\0" not in value and not re.search("[\ud800-\udfff\r]", value):
        assert html.unescape(escaped) == value


class Elements(HTMLParser):
    """Names of all elements, and of their attributes."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = Counter(), Counter()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes.update(name for name, _ in attrs)


def test_nothing_in_a_study_is_markup(written):
    page = written("hostile").read_text(encoding="utf-8")
    elements = Elements()
    elements.feed(page)
    assert elements.tags["script"] == 3  # two of its own, one with data
    assert not {"img", "b", "i"} & set(elements.tags)
    assert not [name for name in elements.attributes if name.startswith("on")]
    assert "<" not in re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert data_of(page)["parameters"][0]["name"] == HOSTILE


def test_errors_are_kept_once_and_not_at_any_length():
    optimizer = il.Optimizer(PLANE, seed=0)
    for k in range(300):
        message = "the same" if k % 2 else f"first line\n{'x' * 10_000} {k}\nlast of {k}"
        optimizer.tell(optimizer.ask(), state="failed", error=message)
    errors = data_of(html_of(optimizer))["errors"]
    assert len(errors) == 151
    assert ["the same"] in errors
    assert errors[0][0] == "last of 0"
    assert all(len(part) < 7000 for entry in errors for part in entry)


def test_numbers_as_people_read_them():
    assert [number(v) for v in (0.0, 1.0, 5200.0, 0.0123, 1.3e-7, -2.5e300)] == [
        "0", "1", "5200", "0.0123", "1.3e-7", "-2.5e300",
    ]  # fmt: skip
    assert number(123456.7) == "123457"
    assert [percent(v) for v in (0.0, 1e-5, 0.004, 0.3, 1.0)] == [
        "less than 0.1 %", "less than 0.1 %", "0.4 %", "30 %", "100 %",
    ]  # fmt: skip
    assert [duration(v) for v in (0.02, 3.0, 600.0, 9000.0, 1e6)] == [
        "20 ms", "3 s", "10 min", "2.5 h", "11.6 d",
    ]  # fmt: skip
    assert moment(0.0) == "1970-01-01 00:00 UTC"
    assert moment(1e300) == "an unknown time"


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20),
    st.sampled_from([0.0, 1.0, 1e6]),
)
def test_compact_numbers_differ_by_less_than_can_be_seen(values, offset):
    array = np.array(values) + offset
    short = np.array(compact(array))
    half, largest = 0.5 * array.max() - 0.5 * array.min(), np.abs(array).max()
    # With a single value there is no range to see it in.
    visible = max(1e-3 * half, 1e-13 * largest) if half > 0.0 else 1e-4 * largest
    assert (np.abs(short - array) <= visible).all()
    assert compact(np.array([np.nan, 2.0])) == [None, 2.0]


# Opened in a browser.


@pytest.fixture(scope="module")
def browser():
    how = "pip install playwright, and a Chromium on the path (Debian: apt install chromium)"
    sync_api = pytest.importorskip("playwright.sync_api", reason=f"to open reports: {how}")
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        assert "CI" not in os.environ, how  # there it is installed, and must not be left out
        pytest.skip(f"to open reports: {how}")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, written):
    """Opens the report of a study; at the end there must not have been any complaint."""
    contexts, complaints = [], []

    def open_report(name, *, width=1100, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
        page.on(
            "request",
            lambda request: request.url.startswith("file:") or complaints.append(request.url),
        )
        page.goto(written(name).as_uri())
        assert page.evaluate("document.documentElement.dataset.drawn") == "yes"
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert complaints == []


def marks(page, selector):
    """How many marks the paths at a selector have: each begins with a move."""
    return page.eval_on_selector_all(
        selector,
        "paths => paths.reduce((n, p) => n + (p.getAttribute('d').match(/M/g) || []).length, 0)",
    )


def colours(page, selector):
    """How many different colours a canvas has."""
    return page.eval_on_selector(
        selector,
        """canvas => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return new Set(new Uint32Array(data.buffer)).size;
        }""",
    )


def width_of(page):
    return page.evaluate("document.scrollingElement.scrollWidth")


def test_every_figure_is_drawn(opened):
    optimizer, page = mixed_study(), opened("mixed")
    states = Counter(trial.state for trial in optimizer.trials)
    assert states["failed"] > 0
    assert marks(page, "#convergence .area .dot") == states["complete"]
    assert marks(page, "#convergence svg[role] > .failed") == 2 * states["failed"]  # two strokes
    assert marks(page, "#convergence svg[role] > .running") == states["pending"]
    assert page.locator("#importance li:not(.head)").count() == 5
    assert page.locator("#effects .card svg").count() == 5
    assert marks(page, "#effects .card:first-child .dot") == states["complete"]
    assert marks(page, "#effects .mean-line") >= 5
    for panel in (1, 2):
        card = f"#map .card:nth-child({panel})"
        assert colours(page, f"{card} canvas") > 5
        assert marks(page, f"{card} .dot:not(.halo)") == states["complete"]
        assert marks(page, f"{card} .next:not(.halo)") == 4
        assert marks(page, f"{card} .best:not(.halo)") == 1
        assert marks(page, f"{card} .running:not(.halo)") == states["pending"]
    assert page.locator("#next tbody tr").count() == 4
    assert colours(page, "#parallel canvas") > 20
    batches = len(subject_of(optimizer, 0).batches())
    assert marks(page, "#certificates .dot") == batches
    assert marks(page, "#timings .card:nth-child(2) .dot") == batches
    assert marks(page, "#timings .card:nth-child(1) .dot") == states["complete"] + states["failed"]
    assert page.locator("#failures tbody tr").count() == states["failed"]
    assert page.locator("#trials tbody tr").count() == len(optimizer.trials)
    best = optimizer.best
    assert page.locator(".best .value").get_attribute("title") == repr(best.value)
    assert page.locator("#space").inner_text().count("fixed at 30") == 1


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in ("mixed", "long")])
def test_every_study_is_drawn_and_fits_a_phone(opened, name):
    page = opened(name, width=375)
    assert width_of(page) <= 375
    sections = page.locator("section").count()
    assert sections == page.locator("section:has(svg, table, li, dl, .note)").count()
    bad = page.evaluate(
        """[...document.querySelectorAll('svg *')].filter(e =>
            [...e.attributes].some(a => /NaN|Infinity|undefined/.test(a.value))).length"""
    )
    assert bad == 0


@pytest.mark.parametrize("width", [375, 1100])
def test_a_long_study_stays_usable(opened, width):
    page = opened("long", width=width)
    assert width_of(page) <= width
    assert marks(page, "#convergence .area .dot") == 4875
    assert marks(page, "#effects .card:first-child .dot") == 600
    assert page.locator("#trials tbody tr").count() == 200
    page.locator("#trials .more").click()
    assert page.locator("#trials tbody tr").count() == 1200
    assert page.evaluate("document.querySelectorAll('*').length") < 20_000


def test_tables_are_sorted_by_their_headings(opened):
    page = opened("mixed")

    def column():
        return page.eval_on_selector_all(
            "#trials tbody td:nth-child(3)", "cells => cells.map(c => c.textContent)"
        )

    heading = page.locator("#trials th button", has_text="value")
    for reverse in (False, True):
        heading.click()
        known = [float(cell) for cell in column() if cell != NONE]
        assert known == sorted(known, reverse=reverse)
        assert column()[-1] == NONE  # trials without a value come last


def test_axes_can_be_chosen(opened):
    page = opened("mixed")
    titles = "#map .card:first-child .title"
    before = page.locator(titles).all_text_contents()
    picture = "document.querySelector('#map canvas').toDataURL()"
    first = page.evaluate(picture)
    page.locator("#map select").first.select_option(label=before[1])  # the same one: they swap
    assert page.locator(titles).all_text_contents() == before[::-1]
    assert page.evaluate(picture) != first
    assert "trial" in page.locator("#convergence .title").first.text_content()
    for button in page.locator("#convergence .choice button").all():
        button.click()
        assert page.locator("#convergence path[d*=NaN]").count() == 0
    titles = " ".join(page.locator("#convergence .title").all_text_contents())
    assert "time since the start" in titles


def test_the_pointer_tells_about_a_trial(opened):
    page = opened("mixed")
    page.locator("#convergence svg[role]").scroll_into_view_if_needed()
    ring = page.locator("#convergence .area .best").bounding_box()
    page.mouse.move(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    tip = page.locator("#tip").inner_text()
    assert tip.startswith(f"Trial {mixed_study().best.id}: ")
    assert "layers: " in tip


def reloaded(page, look, times):
    """What a page looks like, reloaded up to so many times."""
    for _ in range(times):
        page.reload()
        yield page.evaluate(look)


def test_both_themes(opened):
    """As the system has it, then as the button says; canvases follow."""
    look = """[getComputedStyle(document.body).backgroundColor,
               ...[...document.querySelectorAll('canvas')].map(c => c.toDataURL())]"""
    pages = {scheme: opened("mixed", scheme=scheme) for scheme in ("light", "dark")}
    looks = {scheme: page.evaluate(look) for scheme, page in pages.items()}
    assert looks["light"][0] == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", looks["dark"][0]))) < 50
    assert len(looks["light"]) == len(looks["dark"]) == 4  # two maps and parallel coordinates
    for one, other in zip(*looks.values(), strict=True):
        assert one != other
    for scheme, page in pages.items():
        page.locator("#theme").click()
        assert page.evaluate(look) == looks["dark" if scheme == "light" else "light"]
        # The choice is kept; a browser that is busy writes it down a little later.
        assert looks["dark" if scheme == "light" else "light"] in reloaded(page, look, 20)
        page.locator("#theme").click()
        assert page.evaluate(look) == looks[scheme]


def test_paper_is_light(opened):
    page = opened("mixed", scheme="dark")
    assert len(page.pdf(format="A4")) > 10_000
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_hostile_text_is_inert(opened):
    page = opened("hostile")
    assert page.locator("h1").inner_text().startswith("</script><script>alert(1)")
    assert page.title().startswith("</script><script>alert(1)")
    page.locator("#failures summary").first.click()
    assert "<script>alert(3)</script>" in page.locator("#failures pre").first.text_content()
    for place in ("#convergence svg[role]", "#parallel svg", "#map svg"):
        page.locator(place).first.hover()
    assert page.locator("img, i, iframe, object").count() == 0
    assert page.locator("b:not(.best-mark)").count() == 0
    assert page.locator("script").count() == 3


def test_the_page_forbids_scripts_that_are_not_its_own(browser, written):
    """Even if something had become markup, it would not run, and nothing could be sent."""
    page = browser.new_page()
    page.goto(written("mixed").as_uri())
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const image = "<img src=x onerror='window.ran = true'>";
            document.body.insertAdjacentHTML("beforeend", image);
            return fetch("https://example.com").catch(error => { window.refused = String(error); });
        }"""
    )
    assert page.evaluate("window.ran") is None
    assert "TypeError" in page.evaluate("window.refused")
    page.close()
