"""Ctrl-C that comes only where it does no harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Presses of Ctrl-C that wait for the next good moment; one more does not wait.
_PATIENCE = 2


class Interrupts:
    """While entered, Ctrl-C raises KeyboardInterrupt where that is allowed, and else waits.

    Without it a KeyboardInterrupt could come between any two instructions, also halfway through
    taking down a result. Handlers that are not Python's own are left in place.
    """

    def __init__(self) -> None:
        self._presses = 0
        self._allowed = self._closed = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @property
    def pressed(self) -> bool:
        """Whether Ctrl-C has been pressed."""
        return self._presses > 0

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Where KeyboardInterrupt may be raised; raises it at once if one has been waiting."""
        try:
            self._allowed = True
            if self.pressed:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False

    def close(self) -> None:
        """From now on Ctrl-C raises nothing."""
        self._closed = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._presses += 1
        if self._closed or not (self._allowed or self._presses > _PATIENCE):
            return
        self._allowed = False
        raise KeyboardInterrupt
