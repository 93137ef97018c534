"""A Dask client, and it as an executor.

Dask has an executor of its own, `client.get_executor()`. When a worker dies with results that
nobody had fetched, these are computed again, but its futures may take the state in between for an
error: a value is then lost that is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from innerloop.errors import InputError

#: How to say where a scheduler is.
FORMS = "dask://HOST:PORT, tcp://HOST:PORT or the path of a scheduler file"
_PATIENCE = 5.0
_DASK, _OTHERS = "dask://", ("tcp://", "tls://", "ucx://", "ws://", "wss://")


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


def is_address(text: str) -> bool:
    """Whether a text may say where a Dask scheduler is, in one of the `FORMS`."""
    return text.startswith((_DASK, *_OTHERS)) or text.endswith(".json") or Path(text).is_file()


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """A client of the Dask scheduler at an address, for a while.

    Args:
        address: dask://HOST:PORT, tcp://HOST:PORT, or the path of the scheduler's file.

    Returns:
        A context that gives a `distributed.Client`; an `InputError` is raised if no scheduler
        answers, or if it has no workers.
    """
    if not isinstance(address, str) or not is_address(address):
        raise InputError(f"the address of a Dask scheduler must be {FORMS}, got {address!r}")
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "a Dask cluster needs the package distributed: pip install dask[distributed]"
        ) from error
    plain = _plain(address)
    try:
        client = Client(plain, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}") from error
    with client:
        if not client.ncores():  # type: ignore[no-untyped-call]
            raise InputError(f"the Dask scheduler at {address} has no workers")
        yield client


def _plain(address: str) -> str:
    """An address as Dask knows it."""
    if address.startswith(_OTHERS):
        return address
    if address.startswith(_DASK):
        return f"tcp://{address.removeprefix(_DASK)}"
    try:
        return str(json.loads(Path(address).read_text())["address"])
    except OSError as error:
        raise InputError(f"cannot read {address}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{address} is not the file of a Dask scheduler") from error


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
