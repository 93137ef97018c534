"""A progress bar on the terminal, drawn by rich where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any, Protocol

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.trials import Trial

# The speed is that of the whole run, not of its last seconds: trials may take hours.
_ALL_THE_TIME = 1e12


class Asking(Protocol):
    """Who asks: how often so far, and for how long."""

    asks: int
    ask_seconds: float


class Display:
    """Shows nothing."""

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def start(self) -> None:
        """Begin to show."""

    def update(self, told: Trial, asking: Asking) -> None:
        """Show what has changed now that a trial was told."""


class Bar(Display):
    """Trials done, best value so far, failures, time per ask, time elapsed and remaining."""

    def __init__(self, direction: str, trials: Iterable[Trial], total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._better = min if direction == "minimize" else max
        values = [trial.value for trial in trials if trial.value is not None]
        self._best = self._better(values, default=None)
        self._failed: dict[int, bool] = {}  # by trial, of those told during this run
        self._bar = Progress(
            MofNCompleteColumn(),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[best]}", style="bold"),
            TextColumn("[red]{task.fields[failures]}"),
            TextColumn("[cyan]{task.fields[ask]}"),
            TimeElapsedColumn(),
            TextColumn("<", style="dim"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            expand=True,
            speed_estimate_period=_ALL_THE_TIME,
            # What is printed keeps going where it should, unless it would tear the bar apart.
            redirect_stdout=_is_terminal(sys.stdout),
        )
        self._task = self._bar.add_task("", total=total, **self._fields(None))

    def __exit__(self, *_: object) -> None:
        if self._bar.live.is_started:
            self._quietly(self._bar.stop)

    def start(self) -> None:
        """Draw it, and again from time to time."""
        self._quietly(self._bar.start)

    def update(self, told: Trial, asking: Asking) -> None:
        """Move on by one trial, unless it was there before."""
        self._failed[told.id] = told.state in ("failed", "expired")
        if told.value is not None:
            self._best = self._better(v for v in (self._best, told.value) if v is not None)
        done, fields = len(self._failed), self._fields(asking)
        self._quietly(lambda: self._bar.update(self._task, completed=done, **fields))

    def _fields(self, asking: Asking | None) -> dict[str, Any]:
        failures = sum(self._failed.values())
        mean = None if asking is None or not asking.asks else asking.ask_seconds / asking.asks
        return {
            "best": "" if self._best is None else f"best {self._best:.6g}",
            "failures": f"{failures} failed" if failures else "",
            "ask": "" if mean is None else f"ask {1e3 * mean:.0f} ms",
        }

    @staticmethod
    def _quietly(draw: Callable[[], Any]) -> None:
        """Draw; a terminal that has gone away is no reason to end a run."""
        try:
            draw()
        except Exception:
            return


def display(progress: bool | None, direction: str, trials: Iterable[Trial], total: int) -> Display:
    """What shows the progress of a run: a bar, or nothing.

    Args:
        progress: whether to show it; None for wherever that is possible.
        direction: "minimize" or "maximize", for the best value so far.
        trials: those from before the run.
        total: how many trials the run has.
    """
    checks.instance("progress", progress, bool | None, "True, False or None")
    installed = find_spec("rich") is not None
    if progress and not installed:
        raise InputError("progress=True needs the package rich: pip install rich")
    if progress or (progress is None and installed and _is_terminal(sys.stderr)):
        return Bar(direction, trials, total)
    return Display()


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # there is no such stream, or it is closed
        return False
