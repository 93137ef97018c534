"""Evaluating on a Dask cluster, whose workers import innerloop and the target themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from innerloop.errors import StudyError
from innerloop.run.dask_client import DaskExecutor, dask_client
from innerloop.studies.command import Command
from innerloop.studies.targets import Evaluate, Function, Returned, load

if TYPE_CHECKING:
    from innerloop.run.workers import Submits


@dataclass(frozen=True)
class Remote:
    """A target that is imported where it is called.

    Workers that see the folder of the run look for files there, others in their own. They outlive
    runs, and a file may have been changed in between: each run has them import it anew.

    Args:
        target: what is evaluated.
        folder: that of the run.
        run: tells it from other runs.
    """

    target: Function | Command
    folder: str = field(default_factory=os.getcwd)
    run: str = field(default_factory=lambda: uuid4().hex)

    def __call__(self, params: dict[str, Any]) -> Returned:
        return _loaded(self)(params)

    def complaint(self) -> str:
        """What is wrong with the target on this worker; empty if nothing is."""
        try:
            _loaded(self)
        except StudyError as error:
            return str(error)
        return ""


@contextmanager
def cluster(address: str, target: Function | Command) -> Iterator[tuple[Evaluate, Submits]]:
    """Have a target evaluated by the workers of a cluster.

    Args:
        address: that of its scheduler, as `dask_client` takes it.
        target: what is evaluated; a StudyError if workers cannot import it.

    Yields:
        A function for the workers, and an executor of them.
    """
    remote = Remote(target)
    with dask_client(address) as client:
        answers = client.run(remote.complaint).values()
        complaints = [text for text in answers if text]
        if complaints:
            workers = f"{len(complaints)} of {len(answers)} workers"
            raise StudyError(f"{complaints[0]} (on {workers} of the Dask cluster)")
        yield remote, DaskExecutor(client)


@lru_cache(maxsize=8)
def _loaded(remote: Remote) -> Evaluate:
    folder = Path(remote.folder)
    return load(remote.target, folder if folder.is_dir() else Path())
