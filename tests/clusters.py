"""A Dask cluster of processes on this machine."""

import logging
from contextlib import contextmanager

import pytest


@contextmanager
def local_cluster(n_workers, threads_per_worker=1):
    """A running cluster; its `scheduler_address` is for clients."""
    distributed = pytest.importorskip("distributed", reason="pip install distributed")
    with distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=threads_per_worker,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # any free port
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster
