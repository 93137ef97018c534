"""Fits the data sets that come in on standard input, with whatever innerloop is on the path.

A process of its own for each of the source trees that `fits.py` compares; it uses nothing of the
package but `innerloop.fit`.
"""

from __future__ import annotations

import pickle
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

import innerloop as il

NOISE = 1e-8


def scale_of(y: np.ndarray) -> float:
    """The standard deviation of y (n,), or 1 for a constant: hyperparameters are in its units."""
    return float(y.std()) if np.ptp(y) > 0.0 else 1.0


def fitted(X: np.ndarray, y: np.ndarray, repetitions: int) -> tuple[np.ndarray, float]:
    """(log lengthscales, log variance, log noise) for standardized y, and CPU seconds."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        gp = il.fit(X, y, smallest_noise=NOISE)
        times.append(time.process_time() - start)
    unit = scale_of(y) ** 2
    tail = [gp.kernel.variance / unit, float(gp.noise) / unit]
    return np.log(np.concatenate([gp.kernel.lengthscales, tail])), min(times)


def main() -> None:
    with threadpool_limits(1):
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(fitted(*request), sys.stdout.buffer)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
