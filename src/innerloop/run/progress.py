"""A progress bar: on the terminal, drawn by rich where it is installed, and in notebooks."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from innerloop import checks
from innerloop.errors import InputError
from innerloop.optimizer.trials import Trial

# The speed is that of the whole run, not of its last seconds: trials may take hours.
_ALL_THE_TIME = 1e12
# Seconds between two drawings in a notebook, which keeps all it is sent.
_REDRAWN_AFTER = 0.2


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


class Counts:
    """Trials done, best value so far, failures, and time per ask.

    Args:
        direction: "minimize" or "maximize".
        trials: those from before the run.
    """

    def __init__(self, direction: str, trials: Iterable[Trial]) -> None:
        self._better = min if direction == "minimize" else max
        values = [trial.value for trial in trials if trial.value is not None]
        self._best = self._better(values, default=None)
        self._failed: dict[int, bool] = {}  # by trial, of those told during this run

    def update(self, told: Trial) -> None:
        """Count a trial, unless it was there before."""
        self._failed[told.id] = told.state in ("failed", "expired")
        if told.value is not None:
            self._best = self._better(v for v in (self._best, told.value) if v is not None)

    @property
    def done(self) -> int:
        """Trials that were told during this run."""
        return len(self._failed)

    def words(self, asking: Asking | None) -> dict[str, Any]:
        """What there is to say, in short."""
        failures = sum(self._failed.values())
        mean = None if asking is None or not asking.asks else asking.ask_seconds / asking.asks
        return {
            "best": "" if self._best is None else f"best {self._best:.6g}",
            "failures": f"{failures} failed" if failures else "",
            "ask": "" if mean is None else f"ask {1e3 * mean:.0f} ms",
        }


class NotebookBar(Display):
    """The same in the output of a notebook's cell, which is drawn again now and then."""

    def __init__(self, counts: Counts, total: int) -> None:
        self._counts, self._total = counts, total
        self._asking: Asking | None = None
        self._handle: Any = None
        self._began = self._drawn = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.update(self._shown())

    def start(self) -> None:
        """Draw it, if it is not there yet."""
        if self._handle is not None:
            return
        display: Any = import_module("IPython.display").display
        self._handle = display(self._shown(), display_id=True)

    def update(self, told: Trial, asking: Asking) -> None:
        """Move on by one trial; drawn a few times a second at most."""
        self._counts.update(told)
        self._asking, now = asking, time.monotonic()
        if self._handle is not None and now - self._drawn > _REDRAWN_AFTER:
            self._drawn = now
            self._handle.update(self._shown())

    def _shown(self) -> Any:
        done, seconds = self._counts.done, time.monotonic() - self._began
        words = [f"{done}/{self._total}", *self._counts.words(self._asking).values()]
        line = ", ".join([*filter(None, words), f"{seconds:.0f} s"])
        bar = f'<progress value="{done}" max="{self._total}"></progress>'
        markup: Any = import_module("IPython.display").HTML
        return markup(f"<div>{bar} {html.escape(line)}</div>")


class Bar(Display):
    """The same in a terminal, with times elapsed and remaining."""

    def __init__(self, counts: Counts, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._counts = counts
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
        self._task = self._bar.add_task("", total=total, **counts.words(None))

    def __exit__(self, *_: object) -> None:
        if self._bar.live.is_started:
            self._quietly(self._bar.stop)

    def start(self) -> None:
        """Draw it, and again from time to time."""
        self._quietly(self._bar.start)

    def update(self, told: Trial, asking: Asking) -> None:
        """Move on by one trial, unless it was there before."""
        self._counts.update(told)
        done, words = self._counts.done, self._counts.words(asking)
        self._quietly(lambda: self._bar.update(self._task, completed=done, **words))

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
        progress: whether to show it; None for wherever somebody may be looking: in a notebook, and
            on a terminal.
        direction: "minimize" or "maximize", for the best value so far.
        trials: those from before the run.
        total: how many trials the run has.
    """
    checks.instance("progress", progress, bool | None, "True, False or None")
    counts = Counts(direction, trials)
    if progress is not False and _is_notebook():
        return NotebookBar(counts, total)
    installed = find_spec("rich") is not None
    if progress and not installed:
        raise InputError("progress=True needs the package rich: pip install rich")
    if progress or (progress is None and installed and _is_terminal(sys.stderr)):
        return Bar(counts, total)
    return Display()


def _is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # there is no such stream, or it is closed
        return False
