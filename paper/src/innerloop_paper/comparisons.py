"""Two methods compared, panel by panel, and what all panels of a figure say together.

What is compared is the log10 regret of two methods on the same trial: its mean over the second
half of a run, since a single value at the end is noisier and the methods may have met by then, and
also the final value. A difference is positive where the method that the claim favours is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from innerloop_paper.arrays import Array
from innerloop_paper.curves import Panel, Runs, Trials
from innerloop_paper.paired_differences import (
    NOT_RUN,
    Differences,
    Estimate,
    estimate,
    mean_weights,
    repeated,
    slope_weights,
)


@dataclass(frozen=True)
class Kind:
    """An entrant but for its number of draws."""

    maximizer: str
    parallelism: str = "greedy"
    form: str = "joint"


@dataclass(frozen=True)
class Contrast:
    """Two kinds of entrant; the claim is that the favoured one reaches lower regret."""

    name: str
    favoured: Kind
    rival: Kind

    @property
    def by_states(self) -> bool:
        """Whether to compare once for every number of states: not so for innerloop's default."""
        kinds = (self.favoured, self.rival)
        return any(kind.form == "incremental" for kind in kinds) and not any(
            kind.maximizer == "innerloop" for kind in kinds
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """One contrast in one panel. late, final: by trial, how much lower log10 regret was.

    states: of the incremental form, None where it is not what is compared.
    """

    panel: Panel
    late: Differences
    final: Differences
    states: int | None = None

    @property
    def estimate(self) -> Estimate:
        """What this panel says alone."""
        return estimate([self.late], mean_weights(1))


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a claim: comparisons, and the weight of each in the estimate.

    late and final are None if there is nothing to estimate from.
    """

    name: str
    figures: tuple[str, ...]
    comparisons: Sequence[Comparison]
    weights: Array
    late: Estimate | None
    final: Estimate | None

    @property
    def verdict(self) -> str:
        """What the second half of the runs says."""
        return NOT_RUN if self.late is None else self.late.verdict


def make_part(
    name: str, figures: tuple[str, ...], comparisons: Sequence[Comparison], slope: bool = False
) -> Part:
    """The mean of the comparisons, or their slope along log2(q d)."""
    keep = repeated([comparison.late for comparison in comparisons])
    used = [one for one, kept in zip(comparisons, keep, strict=True) if kept]
    weights = _slope(used) if slope else mean_weights(len(used)) if used else None
    if weights is None:
        return Part(name, figures, [], np.zeros(0), None, None)
    late = estimate([one.late for one in used], weights)
    final = estimate([one.final for one in used], weights)
    return Part(name, figures, used, weights, late, final)


def together(parts: Sequence[Part]) -> tuple[Estimate | None, Estimate | None]:
    """The mean of all parts that have an interval, or of all if none has: late and final."""
    run = [part for part in parts if part.late is not None]
    sure = [part for part in run if part.late is not None and part.late.interval is not None]
    used = sure or run
    if not used:
        return None, None
    weights = np.concatenate([part.weights for part in used]) / len(used)
    comparisons = [one for part in used for one in part.comparisons]
    late = estimate([one.late for one in comparisons], weights)
    return late, estimate([one.final for one in comparisons], weights)


def compare(runs: Runs, contrast: Contrast) -> list[Comparison]:
    """The contrast in a panel, once for every number of states if it is about these."""
    found = []
    for states in _states(runs) if contrast.by_states else [None]:
        favoured, rival = (
            _logs(runs, kind, states if kind.form == "incremental" else None)
            for kind in (contrast.favoured, contrast.rival)
        )
        comparison = difference(runs, favoured, rival, states)
        if comparison.late:
            found.append(comparison)
    return found


def difference(
    runs: Runs, favoured: Trials, rival: Trials, states: int | None = None
) -> Comparison:
    """How much lower the favoured entrant's log10 regret was, on the trials that both have."""
    second = runs.evaluations >= 0.5 * (runs.evaluations[0] + runs.evaluations[-1])
    late, final = {}, {}
    for trial in sorted(set(favoured) & set(rival)):
        gap = rival[trial] - favoured[trial]
        late[trial] = float(gap[second].mean())
        final[trial] = float(gap[-1])
    return Comparison(runs.panel, late, final, states)


def _states(runs: Runs) -> list[int]:
    """Numbers of states with which the paper's maximizers were run."""
    return sorted(
        {
            entrant.draws
            for entrant in runs.logs
            if entrant.form == "incremental" and entrant.maximizer != "innerloop"
        }
    )


def _logs(runs: Runs, kind: Kind, states: int | None) -> Trials:
    entrant = runs.entrant(kind.maximizer, kind.parallelism, kind.form, states)
    return {} if entrant is None else runs.logs[entrant]


def _slope(comparisons: Sequence[Comparison]) -> Array | None:
    """Along q d within one acquisition function, budget and number of states."""
    sizes = [float(np.log2(one.panel.size)) for one in comparisons]
    groups = [
        (one.panel.acquisition, one.panel.budget, one.panel.clock, one.states)
        for one in comparisons
    ]
    return slope_weights(sizes, groups)
