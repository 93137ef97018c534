"""What came of a run: the best that was found, all trials, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from innerloop.errors import InputError
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.reasons import why_none
from innerloop.optimizer.trials import Trial
from innerloop.optimizer.trials_table import trials_table
from innerloop.run.outcomes import describe


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What came of a run.

    Args:
        optimizer: with all its trials; it can be run further, asked or saved.
        stopped: why the run ended: "n_trials", "timeout", "interrupted" (Ctrl-C), "exhausted" (no
            new points), "callback" (StopIteration), "target: ...", "patience: ..." or "near
            optimal: ..." with what was reached, "failures: ..." with the last error, or "executor:
            ...", "ask: ...", "stop: ..." or "callback: ..." with what was raised there.
        seconds: how long the run took.
        ask_seconds: how long of that it spent choosing points.
        error: the exception that was raised by an ask or a callback, with its traceback.
    """

    optimizer: Optimizer
    stopped: str
    seconds: float
    ask_seconds: float
    error: Exception | None = None

    @property
    def best(self) -> Trial:
        """The best trial; raises InputError if no trial has a value.

        By its value alone if an error ended the run and the model is of no use since.
        """
        try:
            return self.optimizer.best
        except Exception:
            complete = [trial for trial in self.trials if trial.state == "complete"]
            if self.error is None or not complete:
                raise
            better = min if self.optimizer.direction == "minimize" else max
            return better(complete, key=lambda trial: cast(float, trial.value))

    @property
    def front(self) -> tuple[Trial, ...]:
        """Trials within all limits that no other one beats in all objectives."""
        return self.optimizer.front

    @property
    def params(self) -> dict[str, Any]:
        """The params of the best trial."""
        return self.best.params

    @property
    def value(self) -> float:
        """The value of the best trial."""
        return cast(float, self.best.value)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials of the optimizer, also those from before the run."""
        return self.optimizer.trials

    @property
    def failures(self) -> tuple[Trial, ...]:
        """Trials that failed or expired; those that were cancelled have not failed."""
        return tuple(trial for trial in self.trials if trial.state in ("failed", "expired"))

    def to_dataframe(self, library: str | None = None) -> Any:
        """All trials of the optimizer as a data frame; see `Optimizer.to_dataframe`.

        Args:
            library: "pandas" or "polars"; by default pandas, or polars if only that is installed.

        Returns:
            A `DataFrame` of that library.
        """
        return self.optimizer.to_dataframe(library)

    def _repr_html_(self) -> str:
        optimizer, notes = self.optimizer, str(self).splitlines()[1:3]
        return trials_table(self._found(), self.trials, optimizer.goals, optimizer.direction, notes)

    def __repr__(self) -> str:
        return f"Result({self._found()}, {self._counts()}, stopped={self.stopped!r})"

    def __str__(self) -> str:
        times = f"{self.seconds:.1f} s, of which {self.ask_seconds:.1f} s to choose points"
        text = f"{self._found()}\n{self._counts()} in {times}\nstopped: {self.stopped}"
        return text if self.error is None else f"{text}\n\n{describe(self.error)}".rstrip()

    def _found(self) -> str:
        several = len(self.optimizer.goals.objectives) > 1
        if several and self.front:
            volume = self.optimizer.hypervolume()
            return f"a front of {len(self.front)} trials, hypervolume {volume:.6g}"
        try:
            return f"best value {self.value:.6g} at {self.params}"
        except InputError:
            complete = any(trial.state == "complete" for trial in self.trials)
            if complete:
                return "no trial is within all limits"
            why = why_none([trial.error for trial in self.failures], len(self.trials))
            return f"no trial has a value: {why}" if why else "no trial has a value"

    def _counts(self) -> str:
        cut_off = sum(trial.state == "cancelled" for trial in self.trials)
        failed = f", {len(self.failures)} of them failed" if self.failures else ""
        cancelled = f", {cut_off} of them cancelled" if cut_off else ""
        return f"{len(self.trials)} trials{failed}{cancelled}"
