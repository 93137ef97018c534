"""What a run asks of whoever keeps its trials: an optimizer in memory, or a study in a database."""

from __future__ import annotations

from typing import Any, Protocol

from innerloop.optimizer.trials import Trial
from innerloop.space.space import Space


class AskTell(Protocol):
    """Gives trials to be evaluated, and is told what came of them.

    asks, ask_seconds: how often new trials were chosen so far, and how long that took. unreachable:
    exceptions that say that trials can neither be read nor written: a run ends at once by them.
    """

    asks: int
    ask_seconds: float
    unreachable: tuple[type[Exception], ...]

    @property
    def space(self) -> Space | None:
        """What trials are points of, where that is known."""

    def available(self, number: int) -> int:
        """How many trials may begin now, up to a number."""

    @property
    def none_left(self) -> str:
        """Why none is available: the reason why a run ends."""

    def resume(self, number: int) -> list[Trial]:
        """Trials that others have left, up to a number."""

    def ask(self, number: int) -> list[Trial]:
        """New trials, up to a number."""

    def tell(self, trial: Trial, returned: Any) -> Trial | None:
        """What was returned for a trial, as told; None if somebody else has told it before."""

    def fail(self, trial: Trial, error: BaseException | str, *, lost: bool) -> Trial | None:
        """That a trial has no value. lost: for reasons that say nothing of its params."""

    def expired(self, trials: tuple[Trial, ...]) -> list[Trial]:
        """Those of the trials under way that were given up, as they are now."""

    def with_values(self, error: Exception, values: dict[int, Any]) -> Exception:
        """An error of those that say `unreachable`, with the values that it keeps from being told.

        values: by the ids of their trials.
        """
