"""What runs come to: scores by task, method and seed, of which less is better."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
        for seed, cell in self._runs.get(task, {}).get(method, {}).items():
            best = min(cell["scores"][:at])
            if recommended and cell["recommended"] is not None:
                best = cell["recommended"]
            found[seed] = self._scored(task, best)
        return found

    @cached_property
    def _runs(self) -> dict[str, dict[str, dict[int, dict]]]:
        """Runs that have evaluated something, by task, method and seed."""
        found: dict[str, dict[str, dict[int, dict]]] = {}
        for (task, method, seed), cell in self.cells.items():
            if cell["scores"]:
                found.setdefault(task, {}).setdefault(method, {})[seed] = cell
        return found

    def _scored(self, task: str, best: float) -> float:
        if self.suite.score == "log regret":
            return float(np.log10(max(best, FLOOR)))
        if self.suite.score == "regret":
            return best
        if task not in self._scales:
            raise MissingError(f"scores of {task} need runs of random search: --methods random")
        lowest, usual = self._scales[task]
        return float(np.clip((best - lowest) / max(usual - lowest, 1e-12), 0.0, 1.0))

    @cached_property
    def _scales(self) -> dict[str, tuple[float, float]]:
        """The least loss known, and the median of what random search finds with one evaluation."""
        found = {}
        for task, methods in self._runs.items():
            drawn = [cell["scores"][cell["starts"] :] for cell in methods.get(RANDOM, {}).values()]
            if any(drawn):
                runs = [cell for seeds in methods.values() for cell in seeds.values()]
                lowest = min(min(cell["scores"]) for cell in runs)
                found[task] = lowest, float(np.median(np.concatenate(drawn)))
        return found

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
