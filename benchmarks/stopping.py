"""How often what `NearOptimal` claims holds, and how many evaluations it saves.

    python benchmarks/stopping.py                 # runs what is missing, two at a time
    python benchmarks/stopping.py --report

200 draws of Gaussian processes with variance 1, in one to four dimensions, with lengthscales of
their own; Branin's function and Hartmann's, as they are. Four points at a time; a run is asked
after every batch whether it would end, and goes on to a fixed number of evaluations in any case, so
that both can be compared. Results are kept in benchmarks/results/stopping.jsonl.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import innerloop as il
from innerloop_paper import functions
from results_file import Cells, append, load
from timing import timed

GAP, RISK, Q = 0.01, 0.05, 4
DRAWS = {f"draw, d = {d}": d for d in (1, 2, 3, 4)}
# How many runs there are of each task, and how long they are.
RUNS = {**dict.fromkeys(DRAWS, 50), "branin": 20, "hartmann-3": 20, "hartmann-6": 20}
LENGTHS = {**{task: 40 * d for task, d in DRAWS.items()}, "branin": 80, "hartmann-3": 100}
LENGTHS["hartmann-6"] = 160
RESULTS = Path(__file__).parent / "results" / "stopping.jsonl"
FIRST_SEED = 0


def drawn(d: int, seed: int):
    """A function of (n, d), and its maximum."""
    rng = np.random.default_rng([seed, d])
    lengthscales = 0.25 * np.sqrt(d) * np.exp(0.5 * rng.standard_normal(d))
    draw = il.prior_draws(
        il.GaussianProcess(il.Matern52(lengthscales)), d, features=2**12, seed=rng
    )
    X = rng.random((20_000, d))
    starts = X[np.argsort(-draw(X)[0])[:20]]

    def downward(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = draw.value_and_grad(x[None])
        return -float(value[0, 0]), -grad[0, 0]

    ends = [minimize(downward, x, jac=True, bounds=[(0.0, 1.0)] * d).fun for x in starts]
    return lambda X: draw(X)[0], -min(ends)


def problem(task: str, seed: int):
    """A function to be maximized, its dimension and its maximum."""
    if task in DRAWS:
        return *drawn(DRAWS[task], seed), DRAWS[task]
    if task == "branin":
        return functions.branin, functions.MAXIMA[task], 2
    return functions.hartmann, functions.MAXIMA[task], int(task[-1])


def run(task: str, seed: int) -> dict:
    """Regrets after every batch, and when the run would have ended."""
    with threadpool_limits(1):
        f, maximum, d = problem(task, seed)
        space = il.Space({f"x{i}": il.Real(0.0, 1.0) for i in range(d)})
        optimizer = il.Optimizer(space, direction="maximize", seed=seed)
        stop = il.NearOptimal(GAP, RISK)
        ended, seconds, regrets = None, [], []
        while len(optimizer.trials) < LENGTHS[task]:
            trials = optimizer.ask(Q)
            optimizer.tell(trials, f(space.encode_all([t.params for t in trials])).tolist())
            regrets.append(max(maximum - optimizer.best.value, 0.0))
            if ended is None:
                look = timed(lambda: stop.reached(optimizer))
                seconds.append(look.cpu_seconds)
                ended = len(optimizer.trials) if look.result else None
    looks = {"looks": len(seconds), "seconds": sum(seconds)}
    return {"task": task, "method": "innerloop", "seed": seed, "ended": ended, **looks} | {
        "regrets": [float(f"{regret:.4g}") for regret in regrets]
    }


def report(cells: Cells) -> None:
    """What was claimed, and what was true."""
    print(
        "| task | runs | ended | within the gap then | evaluations, median (10% to 90%) | "
        "a fixed number for 95% | CPU s a look |\n|---|---|---|---|---|---|---|"
    )
    ours: list[dict] = []
    for task in RUNS:
        runs = [cell for (name, _, _), cell in cells.items() if name == task]
        if runs:
            ours += runs
            print(row(task, runs))
    print(row("all", ours))


def row(task: str, runs: list[dict]) -> str:
    """A line of the table."""
    ended = [each for each in runs if each["ended"] is not None]
    right = sum(each["regrets"][each["ended"] // Q - 1] <= GAP for each in ended)
    if not ended:
        return f"| {task} | {len(runs)} | 0 | | | | |"
    low, middle, high = np.quantile([each["ended"] for each in ended], [0.1, 0.5, 0.9])
    fixed = ""
    if task != "all":
        shares = (np.array([each["regrets"] for each in runs]) <= GAP).mean(axis=0)
        enough = np.flatnonzero(shares >= 1.0 - RISK)
        fixed = f"{Q * (enough[0] + 1)}" if len(enough) else f"more than {LENGTHS[task]}"
    look = sum(each["seconds"] for each in runs) / sum(each["looks"] for each in runs)
    share = f"{right} ({100 * right / len(ended):.0f}%)"
    return (
        f"| {task} | {len(runs)} | {len(ended)} | {share} | "
        f"{middle:.0f} ({low:.0f} to {high:.0f}) | {fixed} | {look:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    cells = load(arguments.results)
    wanted = [
        (task, seed)
        for task, runs in RUNS.items()
        for seed in range(arguments.first, arguments.first + runs)
    ]
    missing = [(task, seed) for task, seed in wanted if (task, "innerloop", seed) not in cells]
    if not arguments.report:
        with ProcessPoolExecutor(2) as pool:
            for done in as_completed([pool.submit(run, *each) for each in missing]):
                append(arguments.results, done.result())
    report(load(arguments.results))


if __name__ == "__main__":
    main()
