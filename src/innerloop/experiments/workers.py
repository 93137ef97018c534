"""Workers for jobs: processes of this machine, or those of a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Any

from innerloop.run.dask_client import DaskExecutor, connected

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Processes:
    """Processes of this machine, one BLAS thread each."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._others = set(active_children())
        self._pool = self._new()

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
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
    """Workers of a Dask cluster, which starts lost jobs again by itself."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, DaskExecutor(client)

    @property
    def number(self) -> int:
        """Threads of all workers that there are now."""
        return max(1, sum(int(threads) for threads in self._client.ncores().values()))

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Have fn(*args) called by one of the workers."""
        return self._executor.submit(fn, *args)

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
    """The workers of the Dask scheduler at an address such as tcp://127.0.0.1:8786."""
    with connected(address) as client:
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
