"""Thousands of results: what an ask costs, how good the belief is, and whether searches suffer.

    python benchmarks/large.py asks               # time and memory of asks, n = 2,000 to 100,000
    python benchmarks/large.py density            # points kept aside, against a full fit
    python benchmarks/large.py loop --seeds 4     # 2,000 to 3,000 evaluations, against all results
    python benchmarks/large.py files              # 100,000 trials: tell, save, load, report

One thread; times are CPU seconds. Each size of `asks` has a process of its own, so that memory is
that of one optimizer, imports included. A cold ask knows results and nothing else; a warm one comes
after four more results.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import innerloop as il
from innerloop.optimizer import learned
from innerloop.report.report import write_report
from innerloop.surrogate import fit as fitting
from innerloop.surrogate import part
from innerloop_paper import functions
from large_data import NOISE, D, Q, bumps, random_results
from timing import timed
from told import optimizer_with

SIZES = (2_000, 5_000, 10_000, 30_000, 100_000)
KEPT_ASIDE = 500
Function = Callable[[np.ndarray], np.ndarray]


def rosenbrock(X: np.ndarray) -> np.ndarray:
    Z = 15.0 * X - 5.0
    return -np.log1p((100 * (Z[:, 1:] - Z[:, :-1] ** 2) ** 2 + (1 - Z[:, :-1]) ** 2).sum(axis=1))


def gp_draw(d: int, seed: int) -> Function:
    """A function drawn from a Gaussian process with lengthscales of its own."""
    scales = 0.25 * np.sqrt(d) * np.exp(0.5 * np.random.default_rng(seed).standard_normal(d))
    draw = il.prior_draws(il.GaussianProcess(il.Matern52(scales)), d, draws=1, seed=seed)
    return lambda X: draw(X)[0]


def told(f: Function, n: int, d: int, *, noise: float, seed: int) -> il.Optimizer:
    """An optimizer that knows values at random points."""
    return optimizer_with(*random_results(f, n, d, noise=noise, seed=seed), seed)


def tell(optimizer: il.Optimizer, trials: list[il.Trial], f: Function) -> None:
    X = optimizer.space.encode_all([trial.params for trial in trials])
    for trial, value in zip(trials, f(X), strict=True):
        optimizer.tell(trial, float(value))


def asked(n: int) -> dict[str, float]:
    """What asks cost with n results."""
    # The first calls of a process are not what is asked about.
    small = told(bumps, 40, D, noise=NOISE, seed=1)
    tell(small, small.ask(Q), bumps)
    small.ask(Q)
    optimizer = told(bumps, n, D, noise=NOISE, seed=0)
    asks = [timed(lambda: optimizer.ask(Q))]
    for _ in range(5):
        tell(optimizer, asks[-1].result, bumps)
        asks.append(timed(lambda: optimizer.ask(Q)))
    cold, *warm = (each.cpu_seconds for each in asks)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cold": cold, "warm": float(np.median(warm)), "megabytes": peak}


def asks(arguments: argparse.Namespace) -> None:
    print(f"| n (d = {D}) | cold ask of {Q}, s | warm, s | MB |\n|---|---|---|---|")
    found = {}
    for n in arguments.n or SIZES:
        command = [sys.executable, __file__, "one", "-n", str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[n] = json.loads(done.stdout)
        cells = [found[n]["cold"], found[n]["warm"]]
        print(
            f"| {n} | {cells[0]:.2f} | {cells[1]:.2f} | {found[n]['megabytes']:.0f} |", flush=True
        )
    if len(found) > 1:
        logs = np.log([[n, each["cold"], each["warm"]] for n, each in found.items()]).T
        slopes = [np.polyfit(logs[0], row, 1)[0] for row in logs[1:]]
        print(f"\nexponents in n: cold {slopes[0]:.2f}, warm {slopes[1]:.2f}")


def one(arguments: argparse.Namespace) -> None:
    print(json.dumps(asked(arguments.n[0])))


@contextmanager
def without_limits() -> Iterator[None]:
    """Fits and posteriors of all results, whatever they cost."""
    many, at_once = fitting._MANY, learned.MOST_AT_ONCE
    most = fitting._MOST
    fitting._MANY = fitting._MOST = learned.MOST_AT_ONCE = sys.maxsize
    try:
        yield
    finally:
        fitting._MANY, fitting._MOST, learned.MOST_AT_ONCE = many, most, at_once


def loss(moments: tuple[np.ndarray, np.ndarray], y: np.ndarray, noise: float) -> float:
    """Mean negative log density of what was kept aside, in nats."""
    mean, variance = moments
    total = np.maximum(variance, 0.0) + noise
    return float((0.5 * np.log(2 * np.pi * total) + 0.5 * (y - mean) ** 2 / total).mean())


def density(arguments: argparse.Namespace) -> None:
    n = (arguments.n or [2000])[0]
    tasks = {"Hartmann-6": (functions.hartmann, 6, 0.0), "Rosenbrock-10": (rosenbrock, 10, 0.0)}
    print("Nats a point that was kept aside; differences to a full fit given all results.")
    print("Of a part: a bounded fit, given a part and the nearest of the others.\n")
    print(
        "| function | seed | full fit | bounded fit | and nearest results | CPU s, full | bounded |"
    )
    print("|---|---|---|---|---|---|---|")
    for seed in range(arguments.seeds):
        tasks["draw of a GP, d = 6"] = gp_draw(6, seed), 6, 0.03
        for name, (f, d, noise) in tasks.items():
            X, y = random_results(f, n + KEPT_ASIDE, d, noise=noise, seed=seed)
            y = (y - y[:n].mean()) / y[:n].std()

            def fitted(X: np.ndarray = X, y: np.ndarray = y) -> il.GaussianProcess:
                return il.fit(X[:n], y[:n], smallest_noise=1e-10)

            bounded = timed(fitted)
            with without_limits():
                full = timed(fitted)
            gp, full_gp = bounded.result, full.result
            exact = loss(full_gp.condition(X[:n], y[:n]).marginals(X[n:]), y[n:], full_gp.noise)
            ours = loss(gp.condition(X[:n], y[:n]).marginals(X[n:]), y[n:], gp.noise)
            rows = part.promising(y[:n], learned._PART)
            some = gp.condition(X[rows], y[rows])
            noises = np.full(n, gp.noise)
            near = part.marginals_nearby(some, rows, X[:n], y[:n], noises, X[n:])
            print(
                f"| {name} | {seed} | {exact:.3f} | {ours - exact:+.3f} | "
                f"{loss(near, y[n:], gp.noise) - exact:+.3f} | "
                f"{full.cpu_seconds:.1f} | {bounded.cpu_seconds:.1f} |",
                flush=True,
            )


def ended(f: Function, d: int, seed: int, first: int, last: int, q: int) -> float:
    """The best value, without noise, after a search that goes on from random points."""
    optimizer = told(f, first, d, noise=0.0, seed=seed)
    while len(optimizer.trials) < last:
        tell(optimizer, optimizer.ask(q), f)
    return float(max(trial.value for trial in optimizer.trials))


def loop(arguments: argparse.Namespace) -> None:
    first, last = arguments.n or (2000, 3000)
    print("| function | seed | best, as it is | best, given all results |\n|---|---|---|---|")
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        tasks = {"Hartmann-6": (functions.hartmann, 6), "Rosenbrock-10": (rosenbrock, 10)}
        tasks["draw of a GP, d = 10"] = gp_draw(10, seed), 10
        for name, (f, d) in tasks.items():
            if arguments.task not in name:
                continue
            ours = ended(f, d, seed, first, last, arguments.q)
            with without_limits():
                exact = ended(f, d, seed, first, last, arguments.q)
            print(f"| {name} | {seed} | {ours:.6g} | {exact:.6g} |", flush=True)


def files(arguments: argparse.Namespace) -> None:
    n = (arguments.n or [100_000])[0]
    telling = timed(lambda: told(bumps, n, D, noise=NOISE, seed=0))
    optimizer = telling.result
    print(f"{n} trials, {D} parameters")
    print(f"tell: {1e3 * telling.cpu_seconds / n:.3f} ms each")
    with tempfile.TemporaryDirectory() as folder:
        study, page = Path(folder) / "study.json", Path(folder) / "report.html"
        print(f"save: {timed(lambda: optimizer.save(study)).cpu_seconds:.1f} s", flush=True)
        print(f"load: {timed(lambda: il.Optimizer.load(study)).cpu_seconds:.1f} s", flush=True)
        report = timed(lambda: write_report(optimizer, page)).cpu_seconds
        print(f"report: {report:.1f} s, {page.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    jobs = {"asks": asks, "density": density, "loop": loop, "files": files, "one": one}
    parser.add_argument("job", choices=jobs)
    parser.add_argument("-n", type=int, nargs="+", help="sizes; of loop the first and the last")
    parser.add_argument("-q", type=int, default=20, help="points at a time of loop")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="the first seed of loop")
    parser.add_argument("--task", default="", help="of loop, those with this in their names")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        jobs[arguments.job](arguments)


if __name__ == "__main__":
    main()
