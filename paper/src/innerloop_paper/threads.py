"""How many threads compute: jobs run side by side, and their matrices are too small to share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
