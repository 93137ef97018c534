"""One thread at a time: a lock around methods that read or change what an object holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """The method of an object with a `_lock`, waiting while other threads are in such methods.

    Args:
        method: of that object.

    Returns:
        The method that waits.
    """

    @wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(Method, alone)
