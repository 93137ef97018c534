"""Evaluating on a Dask cluster, whose workers import innerloop and the target themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from innerloop.run.dask_client import DaskExecutor
from innerloop.studies.command import Command
from innerloop.studies.errors import StudyError
from innerloop.studies.targets import Evaluate, Function, load

if TYPE_CHECKING:
    from innerloop.run.workers import Submits

_PATIENCE = 3.0


@dataclass(frozen=True)
class Remote:
    """A target that is imported where it is called."""

    target: Function | Command

    def __call__(self, params: dict[str, Any]) -> float:
        return _loaded(self.target)(params)

    def check(self) -> None:
        """Import the target."""
        _loaded(self.target)


@contextmanager
def cluster(
    address: str, target: Function | Command
) -> Iterator[tuple[Callable[[dict[str, Any]], float], Submits]]:
    """A function for the workers of a cluster, and an executor of them."""
    try:
        from distributed import Client
    except ImportError as error:
        raise StudyError(
            "dask:// needs the package distributed: pip install dask[distributed]"
        ) from error
    remote = Remote(target)
    try:
        client = Client(f"tcp://{address}", timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise StudyError(f"no Dask scheduler answers at {address}") from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise StudyError(f"the Dask scheduler at {address} has no workers")
        client.submit(remote.check, pure=False).result()
        yield remote, DaskExecutor(client)


@lru_cache(maxsize=8)
def _loaded(target: Function | Command) -> Evaluate:
    return load(target)
