"""Workers for jobs: processes of this machine, or those of a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import TYPE_CHECKING, Any

from innerloop import dask_client
from innerloop_paper.runner import Promise

if TYPE_CHECKING:
    from distributed import Client

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Processes:
    """Processes of this machine, one BLAS thread each."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._others = set(active_children())
        self._pool = self._new()

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Promise:
        """Have fn(*args) called in one of the processes."""
        return self._pool.submit(fn, *args)

    def revive(self) -> None:
        """Start new processes in place of all."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()

    def close(self) -> None:
        """End the processes, which have nothing left to do or are not to go on."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - self._others:
            process.terminate()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.number, get_context("spawn"), initializer=_begin)


class Cluster:
    """Workers of a Dask cluster, which starts lost jobs again by itself.

    Its futures are Dask's own, asked for their results here: an executor of Dask's, and whatever
    looks at a result as soon as it is there, may take one that a dying worker held for an error.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def number(self) -> int:
        """Threads of all workers that there are now."""
        threads = self._client.ncores()  # type: ignore[no-untyped-call]
        return max(1, sum(int(each) for each in threads.values()))

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Promise:
        """Have fn(*args) called by one of the workers."""
        promise: Promise = self._client.submit(fn, *args, pure=False)
        return promise

    def revive(self) -> None:
        """Nothing: the cluster sees to it."""


@contextmanager
def processes(number: int) -> Iterator[Processes]:
    """So many processes, for as long as they are needed."""
    # Libraries read these once, when a process imports them.
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    workers = Processes(number)
    try:
        yield workers
    finally:
        workers.close()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """The workers of the Dask scheduler at an address, as `dask_client` takes it."""
    with dask_client(address) as client:
        yield Cluster(client)


def _begin() -> None:
    """In each process: leave Ctrl-C to the one that started it, and do not outlive that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
