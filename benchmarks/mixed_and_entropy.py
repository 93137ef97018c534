"""Asks over mixed spaces and asks by entropy search: two source trees take turns at both.

    python benchmarks/mixed_and_entropy.py --against ../before/src [--only mixed entropy]

Every tree has a process of its own, on one thread, and all get the same results to go by. Seconds
are CPU time. Batches of both are graded by this tree: over mixed spaces (3 reals, 3 integers, 2
choices of 5; n = 60) by their expected improvement, in closed form for one query and by 2^13 draws
for more; by entropy search over the points that were searched over, with 256 outcomes and 512
draws for each. Ratios are this tree to the other, with 95% intervals over the data sets: of times
and of improvements the geometric mean, of entropies the mean difference in nats.

"suggest" is the search alone, under known hyperparameters. "cold" asks learn hyperparameters from
nothing, "warm" ones from those of the ask before, as in a running study.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import innerloop as il
from timing import timed

DRAWS = 2**13
OUTCOMES, ENTROPY_DRAWS = 256, 512
POINTS = 32


@dataclass(frozen=True)
class Job:
    """One batch to choose: in which way, over which space, from which results."""

    way: str
    acquisition: str
    reals: int
    mixed: bool
    q: int
    seed: int
    X: list[list[float]]
    y: list[float]

    @property
    def space(self) -> il.Space:
        """So many reals, and three integers and two choices if it is a mixed one."""
        parameters: dict[str, Any] = {f"x{i}": il.Real(0.0, 1.0) for i in range(self.reals)}
        if self.mixed:
            parameters |= {"few": il.Integer(1, 8), "many": il.Integer(0, 100)}
            parameters["most"] = il.Integer(1, 1000, log=True)
            parameters |= {name: il.Choice(list("abcde")) for name in ("kind", "sort")}
        return il.Space(parameters)

    @property
    def posterior(self) -> il.Posterior:
        """The belief under the hyperparameters that the results were drawn with."""
        return prior(self.space.d).condition(self.X, self.y)

    @property
    def points(self) -> np.ndarray:
        """Where entropy search looks for the best: at eight results and at other places."""
        spread = np.random.default_rng(self.seed).random((POINTS - 8, self.space.d))
        return np.concatenate([np.array(self.X)[np.argsort(self.y)[-8:]], spread])


def prior(d: int) -> il.GaussianProcess:
    return il.GaussianProcess(il.Matern52(np.full(d, np.sqrt(d) / 4)), noise=1e-6)


def results(space: il.Space, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A prior draw, observed at random places and then ever nearer to its best, as in a study."""
    rng = np.random.default_rng(seed)
    f = il.prior_draws(prior(space.d), space.d, seed=seed)
    domain = space.domain()
    X = domain.sample(n // 2, rng)
    while len(X) < n:
        best = X[np.argsort(f(X)[0])[-4:]]
        kept = rng.random(best.shape) < 0.6
        new = domain.project(np.where(kept, best, domain.sample(len(best), rng)))
        X = np.concatenate([X, new])[:n]
    return X, f(X)[0]


def job(way: str, acquisition: str, reals: int, mixed: bool, n: int, q: int, seed: int) -> Job:
    """A job with its results."""
    blank = Job(way, acquisition, reals, mixed, q, seed, [], [])
    X, y = results(blank.space, n, seed)
    return Job(**asdict(blank) | {"X": X.tolist(), "y": y.tolist()})


# What a worker does.


def search(task: Job) -> Callable[[], np.ndarray]:
    """`suggest` alone."""
    posterior, domain = task.posterior, task.space.domain()
    utility = il.EntropySearch(task.points) if task.acquisition == "es" else None
    return lambda: il.suggest(posterior, task.q, utility, domain=domain, seed=task.seed).X


def ask(task: Job) -> Callable[[], np.ndarray]:
    """`Optimizer.ask`, from nothing or from what the ask before has learned."""
    space = task.space
    optimizer = il.Optimizer(
        space, direction="maximize", seed=task.seed, acquisition=task.acquisition
    )
    rows = list(zip(task.X, task.y, strict=True))
    last = task.q if task.way == "warm" else 0
    for x, y in rows[: len(rows) - last]:
        optimizer.add(space.decode(np.array(x)), y)
    if last:
        # What was asked is dropped, and other results take its place.
        optimizer.tell(optimizer.ask(1), state="failed")
        learned = optimizer._learned
        optimizer = optimizer.with_trials(optimizer.trials[:-1])
        optimizer._learned = learned
        for x, y in rows[len(rows) - last :]:
            optimizer.add(space.decode(np.array(x)), y)
    return lambda: np.array([space.encode(trial.params) for trial in optimizer.ask(task.q)])


def work() -> None:
    """Do one job for every line that comes in."""
    for line in sys.stdin:
        task = Job(**json.loads(line))
        run = timed(search(task) if task.way == "suggest" else ask(task))
        print(json.dumps([run.cpu_seconds, run.result.tolist()]), flush=True)


# What is made of it.


class Worker:
    """A process that does jobs with the source tree at `source`."""

    def __init__(self, source: Path) -> None:
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **threads, "PYTHONPATH": str(source.resolve())},
            text=True,
        )

    def __call__(self, task: Job) -> tuple[float, np.ndarray]:
        """CPU seconds, and the batch."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asdict(task)), file=self._process.stdin, flush=True)
        seconds, X = json.loads(self._process.stdout.readline())
        return seconds, np.array(X)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def grade(task: Job, X: np.ndarray) -> float:
    """Logarithm of expected improvement, or the entropy that is left, with its sign changed."""
    posterior, q = task.posterior, task.q
    if task.acquisition == "es":
        z_b = il.sobol_normal(ENTROPY_DRAWS, POINTS, seed=task.seed + 1)
        utility = il.EntropySearch(task.points, z=z_b)
        z = il.sobol_normal(OUTCOMES, q, seed=task.seed + 2)
        return float(il.Joint(utility, posterior, z).value(X[None])[0])
    improvement = il.ExpectedImprovement(float(posterior.fitted.max()))
    if q == 1:
        alone = il.Incremental(improvement, posterior, np.zeros((1, 1)), log=True)
        return float(alone.value(X[None])[0])
    z = il.sobol_normal(DRAWS, q, seed=task.seed + 1)
    return float(np.log(il.Joint(improvement, posterior, z).value(X[None])[0]))


def with_interval(differences: np.ndarray) -> tuple[float, float, float]:
    """Mean of (N,) differences, and the ends of its 95% interval."""
    half = 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))
    mean = float(differences.mean())
    return mean, mean - half, mean + half


def cells(only: list[str]) -> Iterator[tuple[str, str, int, bool, int, int]]:
    """Way, acquisition, number of reals, whether mixed, n and q."""
    if "mixed" in only:
        for way in ("suggest", "warm", "cold"):
            for q in (1, 4):
                yield way, "ei", 3, True, 60, q
    if "entropy" in only:
        for d, n in ((2, 20), (6, 40), (10, 60)):
            for way in ("suggest", "cold"):
                for q in (1, 4):
                    yield way, "es", d, False, n, q
        yield "suggest", "es", 3, True, 60, 1


def compare(cell: tuple[str, str, int, bool, int, int], seeds: int, workers: list[Worker]) -> str:
    """A row of the table."""
    way, acquisition, reals, mixed, n, q = cell
    seconds, grades = [], []
    for seed in range(seeds):
        task = job(way, acquisition, reals, mixed, n, q, seed)
        turns = workers if seed % 2 else workers[::-1]
        runs = {worker: worker(task) for worker in turns}
        seconds.append([runs[worker][0] for worker in workers])
        if way == "suggest":
            grades.append([grade(task, runs[worker][1]) for worker in workers])
    here, there = np.array(seconds).T
    times = np.exp(with_interval(np.log(there / here)))
    quality = ""
    if grades:
        ours, theirs = np.array(grades).T
        difference = np.array(with_interval(ours - theirs))
        shown = difference if acquisition == "es" else np.exp(difference)
        quality = "{:.4f} ({:.4f} to {:.4f})".format(*shown)
    space = f"{reals} reals" + (", mixed" if mixed else "")
    faster = "{:.2f} ({:.2f} to {:.2f})".format(*times)
    milliseconds = f"{1e3 * np.mean(there):.1f} | {1e3 * np.mean(here):.1f}"
    return (
        f"| {acquisition} | {way} | {space} | {n} | {q} | {milliseconds} | {faster} | {quality} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="the other source tree: where innerloop/ is")
    parser.add_argument("--only", nargs="+", choices=["mixed", "entropy"])
    parser.add_argument("--seeds", type=int, default=20, help="data sets for each row")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return
    if arguments.against is None:
        parser.error("--against is needed")
    workers = [Worker(source) for source in (Path(il.__file__).parents[1], arguments.against)]
    warm_up = job("cold", "es", 2, False, 20, 1, 0)
    for worker in workers:
        worker(warm_up)
    print("| | way | space | n | q | ms there | ms here | times faster | value, here to there |")
    print("|---|---|---|---|---|---|---|---|---|")
    for cell in cells(arguments.only or ["mixed", "entropy"]):
        print(compare(cell, arguments.seeds, workers), flush=True)
    for worker in workers:
        worker.close()


if __name__ == "__main__":
    main()
