"""The claims of section 4 and appendix B.3, each with what was measured of it.

What the paper says of two things at once is two claims here, so that neither carries the other. A
claim has parts: two methods in the panels of one figure, or in those of one task. A part is the
mean of its panels, or their slope along log2(q d); the claim is the mean of its parts, and has the
verdict of this mean, unless a part has the opposite one: then it is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from innerloop_paper.comparisons import (
    Comparison,
    Contrast,
    Kind,
    Part,
    compare,
    difference,
    make_part,
    together,
)
from innerloop_paper.curves import TASKS, Runs, collect
from innerloop_paper.paired_differences import (
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    Estimate,
)
from innerloop_paper.store import Result

MAXIMIZERS = {"adam": "Adam", "cmaes": "CMA-ES", "random_search": "random search"}
ACQUISITIONS = {"ei": "q-EI", "ucb": "q-UCB"}
#: From this q d on an acquisition function counts as one of high dimension.
HIGH = 32

GRADIENTS = tuple(
    Contrast(
        f"Adam against {MAXIMIZERS[rival]}, {parallelism}",
        Kind("adam", parallelism),
        Kind(rival, parallelism),
    )
    for parallelism in ("greedy", "joint")
    for rival in ("cmaes", "random_search")
)
GREEDINESS = tuple(
    Contrast(f"greedy against joint, {name}", Kind(one), Kind(one, "joint"))
    for one, name in MAXIMIZERS.items()
)
DEFAULT = (
    Contrast(
        "innerloop's default against Adam, greedy",
        Kind("innerloop", form="incremental"),
        Kind("adam"),
    ),
)
INCREMENTS = tuple(
    Contrast(f"incremental against joint form, {name}", Kind(one, form="incremental"), Kind(one))
    for one, name in MAXIMIZERS.items()
)
EVOLUTION = tuple(
    Contrast(
        f"CMA-ES, incremental, against Adam, {form} form",
        Kind("cmaes", form="incremental"),
        Kind("adam", form=form),
    )
    for form in ("incremental", "joint")
)


@dataclass(frozen=True)
class Setting:
    """Panels of a figure that belong together."""

    name: str
    figure: str
    tasks: tuple[str, ...]
    acquisition: str

    def holds(self, runs: Runs) -> bool:
        """Whether these runs are part of it."""
        return runs.panel.task in self.tasks and runs.panel.acquisition == self.acquisition


_BLACK_BOX = ("branin", "hartmann-3", "hartmann-6", "levy")
SYNTHETIC = (
    Setting("synthetic, q-EI", "3", ("synthetic",), "ei"),
    Setting("synthetic, q-UCB", "6", ("synthetic",), "ucb"),
)
BLACK_BOX = (
    Setting("black-box, q-EI", "4", _BLACK_BOX, "ei"),
    Setting("black-box, q-UCB", "7", _BLACK_BOX, "ucb"),
)
WITHHELD = (
    Setting("prior withheld, q-EI", "4", ("withheld",), "ei"),
    Setting("prior withheld, q-UCB", "7", ("withheld",), "ucb"),
)
FORMS = (Setting("synthetic, q-EI", "8", ("synthetic",), "ei"),)


@dataclass(frozen=True, eq=False)
class Claim:
    """What is claimed, and the mean of its parts; None if nothing was run for it.

    slope: differences are per doubling of q d. paper: whether it is the paper that says so.
    """

    text: str
    parts: Sequence[Part]
    late: Estimate | None
    final: Estimate | None
    slope: bool = False
    paper: bool = True

    @property
    def verdict(self) -> str:
        """That of the mean of the parts, unless one of them has the opposite verdict."""
        if self.late is None:
            return NOT_RUN
        verdict = self.late.verdict
        opposite = {REPRODUCED: NOT_REPRODUCED, NOT_REPRODUCED: REPRODUCED}.get(verdict)
        return UNDECIDED if any(part.verdict == opposite for part in self.parts) else verdict

    @property
    def figures(self) -> list[str]:
        """Where the parts that were run are shown; if none was, where they would be."""
        shown = [part for part in self.parts if part.late is not None] or self.parts
        return sorted({figure for part in shown for figure in part.figures})


def claims(results: Iterable[Result]) -> list[Claim]:
    """All claims, in the order of the paper."""
    return judge(collect(results))


def judge(runs: Sequence[Runs]) -> list[Claim]:
    """The claims from runs by panel."""
    known = SYNTHETIC + BLACK_BOX
    high = [one for one in runs if one.panel.size >= HIGH]
    others = [task for task in TASKS if task != "levy"]
    return [
        _claim("Gradients beat gradient-free search", _parts(runs, GRADIENTS, known)),
        _claim("Greedy beats joint maximization", _parts(runs, GREEDINESS, known)),
        _claim(
            "The gain of gradients grows with q x d",
            _parts(runs, GRADIENTS, SYNTHETIC, slope=True),
            slope=True,
        ),
        _claim(
            "The gain of greedy maximization grows with q x d",
            _parts(runs, GREEDINESS, SYNTHETIC, slope=True),
            slope=True,
        ),
        _claim("Gradients are better with the prior withheld", _parts(runs, GRADIENTS, WITHHELD)),
        _claim("Greedy is better with the prior withheld", _parts(runs, GREEDINESS, WITHHELD)),
        _claim("q-UCB beats q-EI, except on Levy", _by_task(runs, others, "ucb", "ei")),
        _claim("On Levy, q-EI beats q-UCB", _by_task(runs, ["levy"], "ei", "ucb")),
        _claim(
            "The incremental form's gain over the joint form grows with q x d",
            _parts(runs, INCREMENTS, FORMS, slope=True),
            slope=True,
        ),
        _claim(
            f"With the incremental form and q x d of {HIGH} or more, CMA-ES beats gradients",
            _parts(high, EVOLUTION, FORMS),
        ),
        _claim(
            "innerloop's default beats Adam, greedy",
            _parts(runs, DEFAULT, known + WITHHELD),
            paper=False,
        ),
    ]


def _claim(text: str, parts: Sequence[Part], *, slope: bool = False, paper: bool = True) -> Claim:
    late, final = together(parts)
    return Claim(text, parts, late, final, slope, paper)


def _parts(
    runs: Sequence[Runs],
    contrasts: Sequence[Contrast],
    settings: Sequence[Setting],
    slope: bool = False,
) -> list[Part]:
    """One part for every setting and contrast."""
    found = []
    for setting in settings:
        panels = [one for one in runs if setting.holds(one)]
        for contrast in contrasts:
            comparisons = [one for panel in panels for one in compare(panel, contrast)]
            name = f"{contrast.name}: {setting.name}"
            found.append(make_part(name, (setting.figure,), comparisons, slope))
    return found


def _by_task(runs: Sequence[Runs], tasks: Sequence[str], favoured: str, rival: str) -> list[Part]:
    """One acquisition function against another, task by task."""
    found = []
    for task in tasks:
        name = f"{ACQUISITIONS[favoured]} against {ACQUISITIONS[rival]}: {TASKS[task]}"
        figures = ("3", "6") if task == "synthetic" else ("4", "7")
        panels = {one.panel: one for one in runs if one.panel.task == task}
        comparisons = [
            one
            for panel, left in panels.items()
            if panel.acquisition == favoured
            and (right := panels.get(replace(panel, acquisition=rival))) is not None
            for one in _across(left, right)
        ]
        found.append(make_part(name, figures, comparisons))
    return found


def _across(favoured: Runs, rival: Runs) -> list[Comparison]:
    """Every one of the paper's methods in one panel against itself in another."""
    shared = [
        entrant
        for entrant in favoured.logs
        if entrant in rival.logs and entrant.maximizer in MAXIMIZERS and entrant.form == "joint"
    ]
    found = [difference(favoured, favoured.logs[one], rival.logs[one]) for one in shared]
    return [comparison for comparison in found if comparison.late]
