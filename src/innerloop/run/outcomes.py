"""What came of a call of f: what it returned, or why it did not."""

from __future__ import annotations

import pickle
import traceback
from concurrent.futures import BrokenExecutor, CancelledError, Future
from typing import Any, NamedTuple

from innerloop.checks import shown
from innerloop.errors import InputError
from innerloop.optimizer.goals import Goals
from innerloop.run.evaluate import evaluate


class Outcome(NamedTuple):
    """What f returned, or the exception there was instead."""

    returned: Any
    exception: BaseException | None

    @staticmethod
    def of(future: Future[Any]) -> Outcome:
        """The outcome of a future that is done."""
        try:
            exception = future.exception()
        except CancelledError:
            exception = CancelledError("the executor cancelled it")
        return Outcome(None if exception else future.result(), exception)

    @property
    def broken(self) -> bool:
        """Whether it was the executor that failed, and will not do anything any more."""
        return isinstance(self.exception, BrokenExecutor) and not self._raised_by_f

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was what ended the call: it reaches workers, too."""
        return isinstance(self.exception, KeyboardInterrupt)

    @property
    def cut_off(self) -> bool:
        """Whether f had no chance to finish, so that nothing is known of its params."""
        cancelled = isinstance(self.exception, CancelledError) and not self._raised_by_f
        return self.broken or self.interrupted or cancelled

    @property
    def _raised_by_f(self) -> bool:
        return self.exception is not None and f"in {evaluate.__name__}\n" in describe(
            self.exception
        )

    def check_travelling(self) -> None:
        """Raise a clear error if f could not be sent to a worker."""
        exception = self.exception
        if exception is None or self._raised_by_f:
            return
        about_pickling = "pickle" in str(exception) or "serialize" in str(exception)
        if isinstance(exception, pickle.PicklingError) or (
            about_pickling and isinstance(exception, AttributeError | TypeError)
        ):
            raise InputError(
                "f must be something that other processes can import: a function defined at the "
                f"top level of a module, not a lambda or a function inside another ({exception})"
            ) from exception


def split(returned: Any, goals: Goals) -> tuple[Any, Any]:
    """What f returned as optimizers are told it: outcomes, and the noise in a single one."""
    value = goals.unnamed(returned)
    if isinstance(value, tuple) and len(value) == 2 and value[1] is not None:
        return value
    return value, None


def refusal(returned: Any, goals: Goals) -> str:
    """What f should have returned, where that cannot be told."""
    names = ", ".join(map(repr, goals.names))
    number = "a number, or a tuple of a number and a noise_sd of 0 or above"
    named = f"a mapping from {names} to"
    expected = f"{number}, or {named} one of these" if goals.is_plain else f"{named} {number}"
    return f"f must return {expected}, got {shown(returned)}"


def describe(exception: BaseException) -> str:
    """The exception with its traceback, and with that of a worker where it came from one."""
    return "".join(traceback.format_exception(exception))
