"""Every panel alone: what each method reached, and how pairs of methods differ."""

from __future__ import annotations

from collections.abc import Sequence

from innerloop_paper.claims import (
    ACQUISITIONS,
    DEFAULT,
    EVOLUTION,
    GRADIENTS,
    GREEDINESS,
    INCREMENTS,
)
from innerloop_paper.comparisons import Comparison, Contrast, compare
from innerloop_paper.curves import TASKS, Panel, Runs, curves
from innerloop_paper.markdown import NOTHING, brief, power, signed, spread, table
from innerloop_paper.places import arrange
from innerloop_paper.style import LABELS

_HEAD = ["task", "acquisition", "d", "q", "N"]


def panel_tables(runs: Sequence[Runs]) -> str:
    """Final regrets, and the differences behind each claim, with half widths of intervals."""
    sections = [
        ("Final log10 regret, mean ± standard error", _final(runs)),
        ("Gradients against gradient-free search", _differences(runs, GRADIENTS)),
        ("Greedy against joint, and innerloop's default", _differences(runs, GREEDINESS + DEFAULT)),
        ("Incremental against joint form", _differences(runs, INCREMENTS)),
        ("CMA-ES with the incremental form", _differences(runs, EVOLUTION)),
    ]
    shown = [f"### {title}\n\n{text}" for title, text in sections if text]
    if not shown:
        return "Nothing yet."
    lead = (
        "Differences are means over the second half of runs, with half the width of their "
        "intervals; in bold where the interval lies above 0, in italics where it lies below."
    )
    return "\n\n".join([lead, *shown])


def _final(runs: Sequence[Runs]) -> str:
    """A row for every panel of figures 3, 4, 6 and 7, and a column for every method."""
    places = [place for figure in ("3", "4", "6", "7") for place in arrange(runs, figure)]
    present = {(one.maximizer, one.parallelism) for place in places for one in place.entrants}
    methods = [key for key in LABELS if key in present]
    rows = []
    for place in sorted(places, key=lambda place: place.runs.panel.order()):
        found, trials = curves(place.runs, place.entrants)
        values = {
            (curve.entrant.maximizer, curve.entrant.parallelism): _ending(
                float(curve.mean[-1]), float(curve.error[-1])
            )
            for curve in found
        }
        cells = [values.get(key, NOTHING) for key in methods]
        rows.append([*_settings(place.runs.panel), *cells, str(trials)])
    head = [*_HEAD, *(LABELS[key] for key in methods), "trials"]
    return table(head, rows) if rows else ""


def _ending(mean: float, error: float) -> str:
    return signed(mean, 2) if error != error else f"{signed(mean, 2)} ± {error:.2f}"


def _differences(runs: Sequence[Runs], contrasts: Sequence[Contrast]) -> str:
    """A row for every panel, and for every number of states; a column for every contrast."""
    by_states = any(contrast.by_states for contrast in contrasts)
    rows = []
    for one in runs:
        found: dict[int, dict[str, Comparison]] = {}
        for contrast in contrasts:
            for comparison in compare(one, contrast):
                found.setdefault(comparison.states or 0, {})[contrast.name] = comparison
        for states, comparisons in sorted(found.items()):
            cells = [
                brief(comparisons[contrast.name].estimate)
                if contrast.name in comparisons
                else NOTHING
                for contrast in contrasts
            ]
            trials = spread([len(comparison.late) for comparison in comparisons.values()])
            lead = [*_settings(one.panel), *([str(states)] if by_states else [])]
            rows.append([*lead, *cells, trials])
    head = [*_HEAD, *(["m"] if by_states else []), *(one.name for one in contrasts), "trials"]
    return table(head, rows) if rows else ""


def _settings(panel: Panel) -> list[str]:
    return [
        *(TASKS[panel.task], ACQUISITIONS[panel.acquisition]),
        *(str(panel.d), str(panel.q), power(panel.budget)),
    ]
