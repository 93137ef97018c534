"""Reports of several outcomes: the numbers are the optimizer's, and every figure is drawn."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import innerloop as il
import test_report
from innerloop.insight.outcomes import OutcomesModel, growth
from innerloop.optimizer.trials import STATES
from innerloop.report.outlook import outlook
from innerloop.report.report import html_of, write_report
from innerloop.report.thinned_copy import copy_of
from test_report import (
    HOSTILE,
    NONE,
    PLANE,
    Elements,
    colours,
    data_of,
    marks,
    subject_of,
    width_of,
)

browser, opened = test_report.browser, test_report.opened
ODD = "a<b>&c"
MIXED = il.Space(
    {
        "x": il.Real(0.0, 1.0),
        "y": il.Real(0.0, 1.0),
        "n": il.Integer(1, 5),
        "kind": il.Choice(["plain", "<i>odd</i>"]),
    }
)
TWO = {"yield": "maximize", "cost": "minimize"}


def measured(params):
    extra = 0.3 * (params.get("n", 3) - 3) ** 2 + (params.get("kind") == "plain")
    x, y = params["x"], params["y"]
    return {
        "yield": 70.0 - 40.0 * (x - 0.3) ** 2 - extra,
        "cost": 3.0 + 4.0 * (x - 0.8) ** 2 + y**2 + extra,
        ODD: 1.0 + 3.0 * abs(y - 0.6) + x,
    }


def asked(rounds, space=MIXED, *, initial=8, f=measured, **goals):
    """An optimizer after some rounds of three trials, of which some failed and two still run."""
    optimizer = il.Optimizer(space, seed=0, initial=initial, **goals)
    for _ in range(rounds):
        for trial in optimizer.ask(3):
            if trial.id % 9 == 5:
                optimizer.tell(trial, state="failed", error=f"no {HOSTILE}")
            else:
                told = f(trial.params)
                optimizer.tell(trial, {name: told[name] for name in optimizer.goals.names})
    optimizer.ask(2)
    return optimizer


def added(n, space=PLANE, *, f=measured, **goals):
    """An optimizer that was told outcomes at random points."""
    optimizer = il.Optimizer(space, seed=0, **goals)
    for x in space.sample(n, np.random.default_rng(0)):
        params = space.decode(x)
        optimizer.add(params, {name: f(params)[name] for name in optimizer.goals.names})
    return optimizer


def huge(params):
    return {"yield": 1e300 * params["x"], "cost": -1e300 * params["y"]}


def in_parts():
    """Trials that know some of their outcomes."""
    optimizer = added(6, objectives=TWO, outcome_constraints=[f"{ODD} <= 2.5"])
    for trial, name in zip(optimizer.ask(3), (*TWO, ODD), strict=True):
        optimizer.tell(trial, {name: measured(trial.params)[name]})
    return optimizer


def exhausted():
    """Both points of a space were tried."""
    optimizer = il.Optimizer(il.Space({"k": il.Choice([True, False])}), objectives=TWO, seed=0)
    for k in (True, False):
        optimizer.add({"k": k}, {"yield": float(k), "cost": 1.0 + k})
    return optimizer


def relative_to_the_last():
    """A limit that is relative to a trial that has no value yet."""
    return added(7, objectives=TWO, outcome_constraints=[f"{ODD} <= 1.1 * trial 7"])


STUDIES = {
    "two": lambda: asked(7, objectives=TWO),
    "both": lambda: asked(7, objectives=TWO, outcome_constraints=[f"{ODD} <= 1.9"]),
    "one": lambda: asked(
        7, objectives={"yield": "maximize"}, outcome_constraints=[f"{ODD} <= 1.7"]
    ),
    "three": lambda: asked(5, objectives={**TWO, ODD: "minimize"}),
    "hostile": lambda: added(
        9,
        f=lambda p: {HOSTILE: p["x"], "b": p["y"]},
        objectives={HOSTILE: "maximize"},
        outcome_constraints=["b <= 0.5"],
    ),
    "nothing": lambda: il.Optimizer(PLANE, objectives=TWO, seed=0),
    "only asked": lambda: asked(0, objectives=TWO, outcome_constraints=["ph <= 7"]),
    "one result": lambda: added(1, objectives=TWO),
    "none feasible": lambda: added(8, objectives=TWO, outcome_constraints=[f"{ODD} <= -1"]),
    "no best": lambda: added(
        8, objectives={"cost": "minimize"}, outcome_constraints=[f"{ODD} <= -1"]
    ),
    "in parts": in_parts,
    "relative": lambda: added(
        9, objectives={"cost": "minimize"}, outcome_constraints=[f"{ODD} <= 1.1 * trial 2"]
    ),
    "limit not known": relative_to_the_last,
    "equal": lambda: added(7, f=lambda _: {"yield": 1.0, "cost": 2.0}, objectives=TWO),
    "huge": lambda: added(9, f=huge, objectives=TWO, reference={"yield": 0.0, "cost": 0.0}),
    "one parameter": lambda: added(
        8,
        il.Space({"x": il.Real(0.0, 1.0), "y": 0.4}),
        objectives=TWO,
        outcome_constraints=[f"{ODD} <= 2.2"],
    ),
    "exhausted": exhausted,
}
WITH_FRONT = ("two", "both", "three")


@cache
def study(name):
    return STUDIES[name]()


@cache
def page_of(name):
    return html_of(study(name), title=HOSTILE if name == "hostile" else None)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Paths of reports by the name of the study, written once."""
    folder = tmp_path_factory.mktemp("reports")

    def path_of(name):
        path = folder / f"{name.replace(' ', '_')}.html"
        if not path.exists():
            path.write_text(page_of(name), encoding="utf-8")
        return path

    return path_of


def beats(goals, one, other):
    """Whether one trial is at least as good in all objectives, and better in some."""
    gaps = [
        (one.outcomes[n] - other.outcomes[n]) * (1 if way == "maximize" else -1)
        for n, way in goals.objectives.items()
    ]
    return min(gaps) >= 0 and max(gaps) > 0


# What the report says.


@pytest.mark.parametrize("name", ["two", "both", "one", "three"])
def test_trials_are_on_the_front_or_beaten_or_beyond_a_limit(name):
    optimizer, shown = study(name), data_of(page_of(name))
    limits = {"both": 1.9, "one": 1.7}
    complete = [t for t in optimizer.trials if t.state == "complete"]
    within = [t for t in complete if t.outcomes.get(ODD, 0.0) <= limits.get(name, math.inf)]
    front = [t for t in within if not any(beats(optimizer.goals, o, t) for o in within)]
    assert shown["front"] == [t.id for t in front] == [t.id for t in optimizer.front]
    told = [shown["within"][t.id] for t in complete]
    assert told == [t in within for t in complete]
    assert all(shown["within"][t.id] is None for t in optimizer.trials if t.state != "complete")
    for each in shown["outcomes"]:
        values = [(t.outcomes or {}).get(each["name"]) for t in optimizer.trials]
        assert each["value"] == values
    assert shown["best"] == (optimizer.best.id if name == "one" else None)


@pytest.mark.parametrize("name", WITH_FRONT)
def test_the_hypervolume_after_each_trial(name):
    """That of an optimizer that knows no later trial, above the same reference."""
    optimizer, shown = study(name), data_of(page_of(name))["growth"]
    grown = growth(optimizer.goals, optimizer.trials)
    reference = dict(zip(optimizer.goals.objectives, grown.reference.tolist(), strict=True))
    assert shown["volumes"][-1] == pytest.approx(optimizer.hypervolume(), rel=1e-9)
    assert shown["ids"] == [t.id for t in optimizer.trials if t.state == "complete"]
    for number, volume in zip(shown["ids"], shown["volumes"], strict=True):
        then = optimizer.with_trials(optimizer.trials[: number + 1])
        assert volume == pytest.approx(then.hypervolume(reference), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["two", "both", "one", "three", "in parts", "relative"])
def test_expectations_are_those_of_the_optimizer(name):
    optimizer, shown = study(name), data_of(page_of(name))
    subject = subject_of(optimizer, 4)
    assert len(shown["next"]) == len(subject.next_trials) == 4
    for row, trial in zip(shown["next"], subject.next_trials, strict=True):
        forecast = optimizer.predict(trial.params)
        assert row["within"] == pytest.approx(forecast.feasible, rel=1e-6, abs=1e-9)
        for each, outcome in zip(row["outcomes"], optimizer.goals.names, strict=True):
            expected = forecast.outcomes[outcome]
            assert each["mean"] == pytest.approx(expected.mean, rel=1e-6)
            assert each["low"] <= each["mean"] <= each["high"]
            if not subject.outcomes.models[outcome].outputs.bent:
                band = each["high"] - each["low"]
                assert band == pytest.approx(4.0 * expected.sd, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("name", ["both", "one"])
def test_slices_and_maps_are_those_of_the_optimizer(name):
    """Along a parameter and over two of them, the others as in the trial at the center."""
    optimizer, shown = study(name), data_of(page_of(name))
    center = optimizer.trials[shown["model"]["center"]]
    assert center in optimizer.front
    names = list(optimizer.space.varying)

    def value(k, place):
        return ["plain", "<i>odd</i>"][place] if names[k] == "kind" else place

    views = [*shown["model"]["views"], shown["model"]["within"]]
    for which, outcome in enumerate([*optimizer.goals.names, None]):
        for each in views[which]["slices"]:
            k = each["parameter"]
            for at in (0, -1):
                forecast = optimizer.predict({**center.params, names[k]: value(k, each["x"][at])})
                wanted = forecast.outcomes[outcome].mean if outcome else forecast.feasible
                assert each["mean"][at] == pytest.approx(wanted, rel=1e-3, abs=1e-4)
        first = next(
            m for m in views[which]["maps"] if {names[m["x"]], names[m["y"]]} == {"x", "y"}
        )
        cell = {names[first["x"]]: 3.5 / 40, names[first["y"]]: 7.5 / 40}
        forecast = optimizer.predict({**center.params, **cell})
        wanted = forecast.outcomes[outcome].mean if outcome else forecast.feasible
        assert first["mean"][7 * 40 + 3] == pytest.approx(wanted, rel=2e-3, abs=1e-4)


def test_the_optimizer_stays_as_it_is():
    optimizer = STUDIES["both"]()
    before = optimizer.trials
    shown = data_of(html_of(optimizer, next_points=3))["next"]
    assert optimizer.trials == before
    xs = [trial.params["x"] for trial in optimizer.ask(3)]
    assert [row["params"][0] for row in shown] == pytest.approx(xs)


def test_words():
    page = page_of("both")
    assert "Maximizing yield and minimizing cost, with a&lt;b&gt;&amp;c &lt;= 1.9, over 4" in page
    assert f'<p class="value">{len(study("both").front)} trials</p>' in page
    best = study("one").best
    assert f'<p class="value" title="{best.value!r}">' in page_of("one")
    assert f"trial {best.id}; the best within all limits, with a&lt;b&gt;&amp;c " in page_of("one")
    for name, label in (("none feasible", "Front"), ("no best", "Best cost")):
        assert f'<p class="label">{label}</p><p class="value">none yet</p>' in page_of(name)
        assert "No trial is within all limits yet" in page_of(name)
        assert 'id="hypervolume"' not in page_of(name)
    assert "not known yet" in page_of("limit not known")
    assert data_of(page_of("limit not known"))["model"]["within"] is None
    assert "chance to be within" not in page_of("limit not known").partition('id="data"')[0]
    limit = 1.1 * study("relative").trials[2].outcomes[ODD]
    assert data_of(page_of("relative"))["outcomes"][1]["limit"] == limit
    assert outlook(subject_of(study("nothing"), 4)) == ["Nothing has been tried yet."]
    assert "too early" in outlook(subject_of(study("one result"), 4))[0]
    assert "Every combination" in outlook(subject_of(study("exhausted"), 4))[0]


def test_long_studies_keep_the_front_and_the_trial_of_a_limit():
    optimizer = added(
        900, objectives=TWO, outcome_constraints=[f"{ODD} <= 1.2 * trial 500"], initial=4
    )
    copied = copy_of(optimizer)
    assert copied.used <= 601
    assert 500 in copied.kept
    assert {trial.id for trial in optimizer.front} <= set(copied.kept)
    own = [copied.kept[trial.id] for trial in copied.optimizer.front]
    assert own == [trial.id for trial in optimizer.front]
    (limit,) = (each.limit(copied.optimizer.trials) for each in copied.optimizer.goals.constraints)
    assert limit == 1.2 * optimizer.trials[500].outcomes[ODD]


def test_slices_go_through_the_trial_nearest_to_the_best_of_all():
    optimizer = il.Optimizer(PLANE, objectives=TWO, seed=0)
    pairs = [(0.0, 0.0), (70.0, 3.0), (100.0, 10.0), (40.0, 9.0)]  # the last one is beaten
    for k, (made, spent) in enumerate(pairs):
        optimizer.add({"x": 0.1 * k, "y": 0.5}, {"yield": made, "cost": spent})
    assert [trial.id for trial in optimizer.front] == [0, 1, 2]
    assert OutcomesModel.of(optimizer).first.best.id == 1


def test_nothing_in_a_study_is_markup():
    elements = Elements()
    elements.feed(page_of("hostile"))
    assert elements.tags["script"] == 3
    assert not {"img", "b", "i"} & set(elements.tags)
    assert data_of(page_of("hostile"))["outcomes"][0]["name"] == HOSTILE


# Opened in a browser.


def test_the_front_is_drawn(opened):
    optimizer, page = study("both"), opened("both")
    shown = data_of(page_of("both"))
    beyond = shown["within"].count(False)
    on, complete = len(optimizer.front), sum(t.state == "complete" for t in optimizer.trials)
    assert beyond > 0
    assert marks(page, "#front .area .on-front") == on
    assert marks(page, "#front .area .infeasible") == beyond
    assert marks(page, "#front .area .dot, #front .area .beyond") == complete - on - beyond
    assert marks(page, "#front .area .next:not(.halo)") == 4
    assert page.locator("#front tbody tr").count() == on
    ids = page.locator("#front tbody td:first-child").all_text_contents()
    assert [int(each) for each in ids] == [trial.id for trial in optimizer.front]
    legend = " ".join(page.locator("#front .legend li").all_text_contents())
    assert "on the front" in legend
    assert "not within all limits" in legend


def test_the_line_passes_every_trial_of_the_front(opened):
    """By corners that no trial of the front has, and below none that it does not beat."""
    page = opened("two")
    ends = page.eval_on_selector(
        "#front .best-line",
        """path => {
            const ends = []; let [x, y] = [0, 0];
            for (const [, kind, a, b] of path.getAttribute('d').matchAll(
                    /([MHV])([-0-9.]+) ?([-0-9.]+)?/g)) {
                if (kind === 'M') [x, y] = [Number(a), Number(b)];
                if (kind === 'H') x = Number(a);
                if (kind === 'V') y = Number(a);
                ends.push([x, y]);
            }
            return ends;
        }""",
    )
    squares = page.eval_on_selector(
        "#front .on-front",
        "p => [...p.getAttribute('d').matchAll(/M([-0-9.]+) ([-0-9.]+)/g)]"
        ".map(m => [Number(m[1]) + 4, Number(m[2]) + 4])",
    )
    for x, y in squares:
        assert min(math.hypot(x - u, y - v) for u, v in ends) < 0.3
    # Higher yield is right, lower cost is down: corners lie left of and above what they join.
    for (x, y), (u, v) in pairwise(ends):
        assert u >= x - 0.1
        assert v <= y + 0.1
    assert all(
        not (x > u + 0.5 and y > v + 0.5) for u, v in squares for x, y in ends
    )  # never on the better side of a trial of the front


def test_the_pointer_tells_of_every_outcome(opened):
    page = opened("both")
    page.locator("#front svg[role]").scroll_into_view_if_needed()
    triangle = page.eval_on_selector(
        "#front .area .infeasible",
        """path => {
            const box = path.ownerSVGElement.getBoundingClientRect();
            const [, x, y] = path.getAttribute('d').match(/M([-0-9.]+) ([-0-9.]+)/);
            return [box.left + Number(x), box.top + Number(y) + 4];
        }""",
    )
    page.mouse.move(*triangle)
    heading, *lines = page.locator("#tip div").all_text_contents()
    number = int(heading.split()[1].rstrip(":"))
    assert heading == f"Trial {number}: not within all limits"
    assert data_of(page_of("both"))["within"][number] is False
    for name in ("yield", "cost", ODD):
        value = study("both").trials[number].outcomes[name]
        line = next(each for each in lines if each.startswith(f"{name}: "))
        assert float(line.split(": ")[1]) == pytest.approx(value, rel=1e-4)


def test_axes_of_three_objectives_can_be_chosen(opened):
    page = opened("three")
    assert page.locator("#front .best-line").count() == 0
    before = page.locator("#front .title").all_text_contents()
    assert before == ["yield (higher is better)", "cost (lower is better)"]
    page.locator("#front select").nth(1).select_option(label=ODD)
    assert page.locator("#front .title").all_text_contents()[1] == f"{ODD} (lower is better)"
    page.locator("#front select").first.select_option(label=ODD)  # the same one: they swap
    titles = page.locator("#front .title").all_text_contents()
    assert titles == [f"{ODD} (lower is better)", "yield (higher is better)"]
    assert marks(page, "#front .area .on-front") == len(study("three").front)


def test_hypervolume_is_drawn_and_said(opened):
    page = opened("two")
    words = page.locator("#hypervolume p").first.inner_text()
    said = float(words.split("It is now ")[1].split(". A")[0])
    assert said == pytest.approx(study("two").hypervolume(), rel=1e-5)
    volumes = data_of(page_of("two"))["growth"]["volumes"]
    steps = sum(b > a for a, b in zip([0.0, *volumes], volumes, strict=False))
    assert marks(page, "#hypervolume .area .dot") == steps
    assert page.locator("#convergence").count() == 0


def test_progress_of_one_objective_is_that_within_limits(opened):
    page, optimizer = opened("one"), study("one")
    shown = data_of(page_of("one"))
    assert marks(page, "#convergence .area .infeasible") == shown["within"].count(False) > 0
    within = [t for t in optimizer.trials if shown["within"][t.id]]
    assert marks(page, "#convergence .area .dot, #convergence .area .beyond") == len(within)
    best, steps = -math.inf, 0
    for trial in within:
        if trial.value > best:
            best, steps = trial.value, steps + 1
    path = page.locator("#convergence .best-line").first.get_attribute("d")
    assert path.count("V") == steps - 1
    assert page.locator("#front, #hypervolume, #parallel").count() == 0


@pytest.mark.parametrize("name", ["both", "one"])
def test_outcomes_can_be_chosen(opened, name):
    page = opened(name)
    names = [*study(name).goals.names, "chance within limits"]
    choose = page.locator("#effects select")
    assert choose.locator("option").all_text_contents() == names
    for k, each in enumerate(names[:-1]):
        choose.select_option(index=k)
        page.wait_for_selector("#effects .card svg .mean-line")
        assert set(page.locator("#effects .card .title").all_text_contents()) == {each}
        assert page.locator("#effects .card").count() == 4
        assert page.locator("#effects .card .limit-line").count() == (4 if each == ODD else 0)
    choose.select_option(index=len(names) - 1)
    page.wait_for_selector("#effects .card svg .gain-line")
    assert set(page.locator("#effects .card .title").all_text_contents()) == {"chance (%)"}
    lists = page.locator("#map .card select")
    assert lists.count() == 2
    assert lists.first.locator("option").all_text_contents() == names
    picture = "document.querySelector('#map .card canvas').toDataURL()"
    seen = set()
    for k in range(len(names)):
        lists.first.select_option(index=k)
        assert colours(page, "#map .card:first-child canvas") > 5
        seen.add(page.evaluate(picture))
    assert len(seen) == len(names)
    bars = page.locator("#importance select")
    assert bars.locator("option").all_text_contents() == names[:-1]
    bars.select_option(index=1)
    assert page.locator("#importance li:not(.head)").count() == 4
    page.locator("#theme").click()  # everything that is drawn can be drawn again


def test_tables_have_a_column_for_each_outcome(opened):
    page, optimizer = opened("both"), study("both")
    headings = page.locator("#trials th").all_text_contents()
    rows = page.locator("#trials tbody tr").all()
    assert len(rows) == len(optimizer.trials)
    front = {trial.id for trial in optimizer.front}
    for row, trial in zip(rows, optimizer.trials, strict=True):
        cells = dict(zip(headings, row.locator("td").all_text_contents(), strict=True))
        for name in optimizer.goals.names:
            if trial.state == "complete":
                assert float(cells[name]) == pytest.approx(trial.outcomes[name], rel=1e-4)
            else:
                assert cells[name] == NONE
        assert (cells["state"] == "on the front") == (trial.id in front)
    headings = page.locator("#next th").all_text_contents()
    first = page.locator("#next tbody tr").first.locator("td").all_text_contents()
    cells = dict(zip(headings, first, strict=True))
    trial = subject_of(optimizer, 4).next_trials[0]
    forecast = optimizer.predict(trial.params)
    for name in optimizer.goals.names:
        shown = float(cells[f"{name}, expected"])
        assert shown == pytest.approx(forecast.outcomes[name].mean, rel=1e-3)
    chance = float(cells["within all limits"].removesuffix(" %"))
    assert chance == pytest.approx(100.0 * forecast.feasible, abs=0.51)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_drawn_and_fits_a_phone(opened, name):
    page = opened(name, width=375, scheme="dark")
    assert width_of(page) <= 375
    sections = page.locator("section").count()
    assert sections == page.locator("section:has(svg, table, li, dl, p.note)").count()
    bad = page.evaluate(
        """[...document.querySelectorAll('svg *')].filter(e =>
            [...e.attributes].some(a => /NaN|Infinity|undefined/.test(a.value))).length"""
    )
    assert bad == 0


def test_hostile_text_is_inert(opened):
    page = opened("hostile")
    assert page.locator("#effects option").first.text_content() == HOSTILE
    assert HOSTILE in page.locator("#trials th").all_text_contents()
    for place in ("#convergence svg[role]", "#map svg", "#effects svg[role]"):
        page.locator(place).first.hover()
    assert page.locator("img, i, iframe, object").count() == 0
    assert page.locator("b:not(.best-mark)").count() == 0
    assert page.locator("script").count() == 3


def test_a_report_of_several_outcomes_is_written(tmp_path):
    path = write_report(study("two"), tmp_path / "report.html", title="Two")
    shown = data_of(path.read_text(encoding="utf-8"))
    assert [STATES[k] for k in shown["trials"]["state"]] == [t.state for t in study("two").trials]
