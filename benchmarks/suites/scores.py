"""What runs come to: scores by task, method and seed, of which less is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catalogue import Suite
from results_file import Cells

# BBOB's most exact target; below it, regrets say more of rounding than of optimizers.
FLOOR = 1e-8
RANDOM = "random"
Seeds = dict[int, float]


class MissingError(Exception):
    """What has to be run before there are scores."""


@dataclass(frozen=True)
class Scores:
    """Scores of the runs of a suite.

    cells: every run that is known, those of no interest here included: bayesmark's scores are
    relative to the least loss that anyone found, and to random search.
    """

    suite: Suite
    cells: Cells

    def of(self, task: str, method: str, at: int, *, recommended: bool = False) -> Seeds:
        """By seed, the score of the best of the first evaluations, or of what is recommended."""
        found = {}
        for (name, label, seed), cell in self.cells.items():
            if name != task or label != method or not cell["scores"]:
                continue
            best = min(cell["scores"][:at])
            if recommended and cell["recommended"] is not None:
                best = cell["recommended"]
            found[seed] = self._scored(task, best)
        return found

    def _scored(self, task: str, best: float) -> float:
        if self.suite.score == "log regret":
            return float(np.log10(max(best, FLOOR)))
        if self.suite.score == "regret":
            return best
        lowest, usual = self._scale(task)
        return float(np.clip((best - lowest) / max(usual - lowest, 1e-12), 0.0, 1.0))

    def _scale(self, task: str) -> tuple[float, float]:
        """The least loss known, and the median of what random search finds at one evaluation."""
        runs = {key: cell for key, cell in self.cells.items() if key[0] == task}
        drawn = [cell["scores"][cell["starts"] :] for key, cell in runs.items() if key[1] == RANDOM]
        if not any(drawn):
            raise MissingError(f"scores of {task} need runs of random search: --methods random")
        lowest = min(min(cell["scores"]) for cell in runs.values() if cell["scores"])
        return lowest, float(np.median(np.concatenate(drawn)))

    def typical(self, scores: np.ndarray) -> float:
        """What stands for a task: the median of regrets over orders of magnitude, or the mean."""
        middle = np.median if self.suite.score == "log regret" else np.mean
        return float(middle(scores))

    @property
    def title(self) -> str:
        """What the scores are, as they are shown."""
        return {
            "log regret": "log10 regret",
            "regret": "normalized regret",
            "bayesmark": "score (100 is best)",
        }[self.suite.score]

    @property
    def unit(self) -> str:
        """What differences of scores are."""
        return "normalized loss" if self.suite.score == "bayesmark" else self.title

    def shown(self, score: float) -> str:
        if self.suite.score == "bayesmark":
            return f"{100.0 * (1.0 - score):.2f}"
        return f"{score:.3f}" if self.suite.score == "regret" else f"{score:.2f}"


def paired_differences(ours: Seeds, theirs: Seeds) -> np.ndarray:
    """Ours less theirs (seeds,), for the seeds that both have."""
    return np.array([ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())])
