"""The same kind of run on a Dask cluster, here one of four processes on this machine.

    python examples/dask_cluster.py

Give `Client` the address of a scheduler, and it is a run on many machines. Workers may come, go
and die: Dask does again what they had not finished. Needs distributed.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from typing import Any

from distributed import Client, LocalCluster, get_worker

import innerloop as il

SPACE = il.Space({"x": il.Real(-5.0, 10.0), "y": il.Real(0.0, 15.0)})
SMALLEST = 0.397887
TRIALS, WORKERS = 48, 4


def branin(params: dict[str, Any]) -> float:
    """A well-known function with three valleys, equally deep."""
    x, y = params["x"], params["y"]
    time.sleep(0.01 + 0.01 * abs(x))  # some evaluations take longer than others
    worker = get_worker()
    worker.log_event("evaluated", {"by": worker.name})  # to see who did what
    bend = y - 5.1 * x**2 / (4.0 * math.pi**2) + 5.0 * x / math.pi - 6.0
    return bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0


def main() -> None:
    cluster = LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        # A worker whose heartbeat meets the scheduler's end would report it as an error.
        silence_logs=logging.CRITICAL,
    )
    with cluster, Client(cluster) as client:
        result = il.minimize(
            branin,
            SPACE,
            n_trials=TRIALS,
            batch_size=WORKERS,
            executor=client,
            seed=0,
        )
        events = client.get_events("evaluated")
    print(result)
    print(f"the smallest value there is: {SMALLEST}")
    shares = Counter(event["by"] for _, event in events)
    print(f"evaluations by worker: {dict(sorted(shares.items()))}")


if __name__ == "__main__":
    main()
