"""The page of results: what was run, every claim with its figure, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase

from innerloop_paper.cells import Cell
from innerloop_paper.claims import ACQUISITIONS, HIGH, Claim, judge
from innerloop_paper.curves import CLOCKS, FLOOR, TASKS, Runs, collect
from innerloop_paper.first_batches import first_batches
from innerloop_paper.illustrations.cost import Cost, growth
from innerloop_paper.left_out import left_out
from innerloop_paper.markdown import (
    NOTHING,
    difference,
    interval,
    listed,
    power,
    spread,
    table,
)
from innerloop_paper.paired_differences import LEVEL, NOT_REPRODUCED, REPRODUCED
from innerloop_paper.panel_tables import panel_tables
from innerloop_paper.places import FIGURES as REGRETS
from innerloop_paper.store import Result
from innerloop_paper.table import Table

_CAPTIONS = {
    "1bc": "A belief given four observations, and its expected improvement.",
    "1d": "CPU time of 2^14 values of q-EI as a run goes on; hollow points are last steps.",
    "2": "Two greedy rounds, and joint ascent of both queries.",
    "5": "Concrete approximations of PI and ES by temperature, and ascents at 0.01.",
    "3": "Synthetic tasks from a known prior, q-EI.",
    "4": "Black-box tasks, hyperparameters learned on the way, q-EI.",
    "6": "Synthetic tasks from a known prior, q-UCB.",
    "7": "Black-box tasks, hyperparameters learned on the way, q-UCB.",
    "8": "Joint (solid) against incremental form (dashed) of q-EI, maximized greedily.",
}
_CURVES = (
    " Mean and standard error of log10 regret over the trials that all methods of a panel have."
)
_SECONDS = ("seconds", "gradient_seconds")
# What the paper does not claim cannot be reproduced.
_OWN = {REPRODUCED: "better", NOT_REPRODUCED: "worse"}


def page(
    results: Iterable[Result],
    *,
    command: str,
    figures: Mapping[str, str],
    grid: Sequence[Cell] = (),
) -> str:
    """The page as Markdown, from results alone.

    command: what makes results, figures and page; figures: the path of each by its name, relative
    to the page; grid: all cells of the full grid, to say what of it was left out.
    """
    everything = list(results)
    found = [result for result in everything if isinstance(result.job, Cell)]
    cells = [result.job for result in found if isinstance(result.job, Cell)]
    runs = collect(found)
    claims = judge(runs)
    again = f"```sh\n{command}\n```"
    sections = [
        "# Results",
        "The experiments of the paper, run again with innerloop. This page and its figures are "
        "written from the results by the command at its end.",
        f"## What was run\n\n{_what_was_run(found, runs)}",
        f"## Claims\n\n{_summary(claims, figures)}\n\n{_HOW_TO_READ}",
        f"## Figures\n\n{_shown(figures)}" if figures else "",
        _worth(found),
        _costs([result.table for result in everything if isinstance(result.job, Cost)]),
        f"## Parts of the claims\n\n{_parts(claims)}",
        f"## Panel by panel\n\n{panel_tables(runs)}",
        f"## What was left out\n\n{left_out(cells, grid)}" if grid else "",
        f"## Make it again\n\n{again}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


_HOW_TO_READ = f"""\
A difference is that of log10 regret between two methods on the same trial, positive where the
favoured one is better: +0.30 is half the regret. It is the mean over the second half of a run,
counted in evaluations; "at the end" is that of the last evaluation alone. Regrets below {FLOOR:g}
count as {FLOOR:g}.

Intervals hold the true difference in {LEVEL:.0%} of cases. Methods are paired by trial, and the
trial is the unit: what it says in all panels is summed before its spread is taken, as panels share
functions and starting points. Panels count the same, and are taken as given: other tasks may
differ. Panels of one trial are left out if others have more. No correction is made for the number
of claims.

A claim is reproduced if its interval lies above 0, not reproduced if it lies below 0, and undecided
otherwise, or if there is one trial only. It is the mean of its parts, which count the same; if one
of these has the opposite verdict, the claim is undecided. Where gains are to grow with q x d, the
difference is the slope: what is gained by each doubling of q x d, within one acquisition function
and inner budget. From q x d of {HIGH} on, dimension counts as high."""


def _what_was_run(results: Sequence[Result], runs: Sequence[Runs]) -> str:
    """Tasks and settings, and how much work that was."""
    if not runs:
        return "Nothing yet."
    rows = []
    groups: dict[tuple[str, str, int, str, int], list[Runs]] = {}
    for one in runs:
        panel = one.panel
        length = (panel.budget, panel.clock, panel.evaluations)
        key = (panel.task, panel.acquisition, *length)
        groups.setdefault(key, []).append(one)
    for (task, acquisition, budget, clock, evaluations), members in groups.items():
        sizes = dict.fromkeys((one.panel.d, one.panel.q) for one in members)
        trials = [len(logs) for one in members for logs in one.logs.values()]
        rows.append(
            [
                *(TASKS[task], ACQUISITIONS[acquisition], listed(sizes), power(budget)),
                *(CLOCKS[clock], str(evaluations)),
                *(spread([len(one.logs) for one in members]), spread(trials)),
            ]
        )
    batches = sum(len(result.table["evaluations"]) - 1 for result in results)
    hours = sum(sum(result.table["suggest_seconds"]) for result in results) / 3600.0
    amount = (
        f"{len(results)} runs of Bayesian optimization with {batches} batches, whose inner loops "
        f"took {hours:.1f} hours of CPU time. N is the inner budget, T the number of evaluations "
        "of the task, the initial ones included; trials are those of each method."
    )
    head = ["task", "acquisition", "(d, q)", "N", "N counts", "T", "methods", "trials"]
    return f"{amount}\n\n{table(head, rows)}"


def _worth(results: Sequence[Result]) -> str:
    """What first batches are worth, if all methods were run."""
    shares = first_batches(results)
    if not shares:
        return ""
    return (
        "## First batches\n\nThe first batch of a run is chosen from the same three observations "
        "by all methods, so that its value says how well each maximizes q-EI: the mean share of "
        "the best value that any of them found on that trial, by inner budget N, over all tasks. "
        f"Values are those by the same 1024 draws.\n\n{shares}"
    )


def _costs(tables: Sequence[Table]) -> str:
    """What figure 1d says in numbers, if it was run for several q."""
    if len(tables) < 2:
        return ""
    rows = []
    both = [growth(tables, column) for column in _SECONDS]
    for one in sorted(tables, key=lambda one: int(one["q"][0])):
        q, last = int(one["q"][0]), int(one["step_q"][-1])
        cost = [f"{1e6 * one[name][-2] / one['values'][-2]:.0f}" for name in _SECONDS]
        exponents = [f"{each.in_n[q]:.2f}" for each in both]
        rows.append([str(q), *cost, *exponents, str(last), f"{both[0].last_step[q]:.2f}"])
    head = [
        "q",
        "a value",
        "with gradient",
        "exponent of n",
        "with gradient",
        "last q",
        "last step",
    ]
    n = max(int(one["n"][-2]) for one in tables)
    return (
        f"## What values cost\n\nMicroseconds of CPU time for one value of q-EI at the last full "
        f"step of figure 1d, with n up to {n}; the exponent of n from half of that on; and the "
        "cost of the last step, whose q is what is left of the evaluations, as a share of that of "
        f"the step before. The exponent of q is {both[0].in_q:.2f}, with gradients "
        f"{both[1].in_q:.2f}.\n\n{table(head, rows)}"
    )


def _summary(claims: Sequence[Claim], figures: Mapping[str, str]) -> str:
    """One row for every claim, those beyond the paper in a table of their own."""
    numbered = list(enumerate(claims, 1))
    head = ["", "claim", "figure", "difference", "interval", "at the end", "trials", "verdict"]
    paper = [_row(k, claim, figures) for k, claim in numbered if claim.paper]
    beyond = [_row(k, claim, figures) for k, claim in numbered if not claim.paper]
    return f"{table(head, paper)}\n\nBeyond the paper:\n\n{table(head, beyond)}"


def _row(k: int, claim: Claim, figures: Mapping[str, str]) -> list[str]:
    shown = [f"[{one}](#figure-{one})" if one in figures else one for one in claim.figures]
    unit = " a doubling" if claim.slope and claim.late is not None else ""
    trials = NOTHING if claim.late is None else str(claim.late.trials)
    verdict = claim.verdict if claim.paper else _OWN.get(claim.verdict, claim.verdict)
    return [
        *(str(k), claim.text, listed(shown), difference(claim.late) + unit),
        *(interval(claim.late), difference(claim.final), trials, verdict),
    ]


def _shown(figures: Mapping[str, str]) -> str:
    """All figures in the order of their numbers, as 1bc, 1d, 2."""
    shown = []
    for name in sorted(figures, key=lambda name: (len(name.rstrip(ascii_lowercase)), name)):
        caption = _CAPTIONS.get(name, "")
        text = caption + (_CURVES if name in REGRETS else "")
        shown.append(f"### Figure {name}\n\n![Figure {name}]({figures[name]})\n\n{text}".rstrip())
    return "\n\n".join(shown)


def _parts(claims: Sequence[Claim]) -> str:
    """Of every claim that something was run for."""
    tables = []
    head = ["part", "figure", "difference", "interval", "at the end", "trials", "pairs", "verdict"]
    for k, claim in enumerate(claims, 1):
        rows = [
            [
                *(part.name, listed(part.figures), difference(part.late), interval(part.late)),
                *(difference(part.final), str(part.late.trials), str(part.late.pairs)),
                part.verdict if claim.paper else _OWN.get(part.verdict, part.verdict),
            ]
            for part in claim.parts
            if part.late is not None
        ]
        skipped = [part.name for part in claim.parts if part.late is None]
        text = [f"{k}. {claim.text}." + (" Per doubling of q x d." if claim.slope else "")]
        text += [table(head, rows)] if rows else []
        text += [f"Not run: {'; '.join(skipped)}."] if rows and skipped else []
        text += [] if rows else ["Not run."]
        tables.append("\n\n".join(text))
    return "\n\n".join(tables)
