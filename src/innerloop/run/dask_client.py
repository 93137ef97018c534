"""A Dask client, and it as an executor.

Dask has an executor of its own, `client.get_executor()`. When a worker dies with results that
nobody had fetched, these are computed again, but its futures may take the state in between for an
error: a value is then lost that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from innerloop.errors import InputError

_PATIENCE = 5.0


class DaskExecutor:
    """Has calls made by the workers of a Dask client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Have fn(*args) called by one of the workers."""
        remote = self._client.submit(fn, *args, pure=False)
        local: Future[Any] = Future()
        remote.add_done_callback(lambda done: _settle(local, done))
        # This also keeps Dask's future: its call would be dropped without.
        local.add_done_callback(lambda each: _cancel(remote) if each.cancelled() else None)
        return local


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the Dask scheduler at an address, 127.0.0.1:8786 or tcp://127.0.0.1:8786."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "a Dask cluster needs the package distributed: pip install dask[distributed]"
        ) from error
    try:
        client = Client(address, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}") from error
    with client:
        if not client.ncores():  # type: ignore[no-untyped-call]
            raise InputError(f"the Dask scheduler at {address} has no workers")
        yield client


def is_dask_client(thing: object) -> bool:
    """Whether it is a client of Dask, which need not be installed to ask."""
    return type(thing).__module__.partition(".")[0] == "distributed" and hasattr(thing, "ncores")


def _cancel(remote: Any) -> None:
    """Drop a call, unless that has happened already, as when a client is closed."""
    if not remote.cancelled():
        remote.cancel()


def _settle(local: Future[Any], remote: Any) -> None:
    """Give the outcome of a call, fetched from wherever it is by now, to whoever waits for it."""
    if remote.cancelled():
        local.cancel()
    if not local.set_running_or_notify_cancel():
        return
    try:
        result = remote.result()
    except BaseException as error:
        local.set_exception(error)
    else:
        local.set_result(result)
