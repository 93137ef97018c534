"""What runs in workers; imports nothing, so that a worker starts soon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class EndedError(Exception):
    """What f raised to end the program or thread it runs in, such as SystemExit."""


def evaluate(f: Callable[[dict[str, Any]], Any], params: dict[str, Any], mark: object) -> Any:
    """f(params); the mark makes calls differ, for executors that know calls by their arguments."""
    try:
        return f(params)
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        # Some workers would end by it, and others pass it on: f has failed, wherever it runs.
        raise EndedError(f"{type(error).__name__}: {error}") from error
