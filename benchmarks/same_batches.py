"""Whether two versions of innerloop choose the same batches, on random problems.

    python benchmarks/same_batches.py --against ../before/src        # 48 problems

Every problem is drawn from its number: observations, kernel, utility, q, pending points, domain,
way to fill the batch, budget, and the chance that evaluations succeed, which is given: what a
version would learn of it is no part of the comparison. Both versions solve all of them in processes
of their own; the largest difference of each batch, and of its value, gains and bound, is printed.
Problems that differ by more than 1e-9 are listed, and make the script end with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import innerloop as il

TOLERANCE = 1e-9
UTILITIES = ("ei", "ei", "noisy ei", "pi", "sr", "ucb", "kg", "es")
WAYS = ("default", "default", "default", "greedy", "greedy joint form", "joint", "candidates")
MAXIMIZERS = ("adam", "cmaes", "random_search", "successive_halving")
DOMAINS = ("box", "box", "inequalities", "fixed", "mixed")


def problem(number: int) -> dict[str, Any]:
    """The settings of a problem by its number."""
    rng = np.random.default_rng([number, 12])
    utility, way = str(rng.choice(UTILITIES)), str(rng.choice(WAYS))
    return {
        "number": number,
        "n": int(rng.integers(5, 60)),
        "d": int(rng.integers(3, 7)),
        "q": int(rng.choice([1, 2, 3, 4, 6, 8])) if utility not in ("kg", "es") else 2,
        "utility": utility,
        "way": way,
        "maximizer": str(rng.choice(MAXIMIZERS)) if rng.random() < 0.5 else None,
        "domain": "box" if way == "candidates" else str(rng.choice(DOMAINS)),
        "pending": int(rng.choice([0, 0, 0, 1, 3])),
        "chance": bool(way == "default" and utility in ("ei", "pi") and rng.random() < 0.3),
        "evaluations": int(rng.choice([300, 2000])) if rng.random() < 0.25 else None,
        "certify": bool(rng.random() < 0.3),
    }


def solve(settings: dict[str, Any]) -> dict[str, Any]:
    """The batch of a problem, by the version of innerloop that is imported."""
    n, d, q = settings["n"], settings["d"], settings["q"]
    rng = np.random.default_rng([settings["number"], 13])
    X = rng.random((n, d))
    y = np.sin(3.0 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)
    kernel = il.Matern52(0.2 + 0.6 * rng.random(d) * np.sqrt(d))
    noise = 1e-2 if settings["utility"] == "noisy ei" else 1e-4
    posterior = il.GaussianProcess(kernel, mean=float(y.mean()), noise=noise).condition(X, y)
    best = float(posterior.fitted.max())
    utility = {
        "ei": il.ExpectedImprovement(best),
        "noisy ei": il.NoisyExpectedImprovement(),
        "pi": il.ProbabilityOfImprovement(best),
        "sr": il.SimpleRegret(),
        "ucb": il.UpperConfidenceBound(),
        "kg": il.KnowledgeGradient(X[:8]),
        "es": il.EntropySearch(X[:8]),
    }[settings["utility"]]
    options: dict[str, Any] = {"seed": settings["number"], **_domain(settings, rng)}
    if settings["pending"]:
        options["pending"] = rng.random((settings["pending"], d))
    if settings["way"] == "candidates":
        options["candidates"] = rng.random((300, d))
    if settings["chance"]:
        options["chance"] = _GivenChance(X, rng.random((4, d)))
    batch = il.suggest(posterior, q, utility, **options, **_way(settings))
    return {
        "X": batch.X.tolist(),
        "value": batch.value,
        "gains": batch.gains.tolist(),
        "bound": batch.upper_bound,
    }


def _way(settings: dict[str, Any]) -> dict[str, Any]:
    """How to fill the batch, in the words of either version."""
    new, way, maximizer = hasattr(il, "Budget"), settings["way"], settings["maximizer"]
    options: dict[str, Any] = {}
    if way in ("greedy", "greedy joint form", "joint"):
        options["maximizer"] = maximizer or ("bfgs" if new else "lbfgs")
    if way == "greedy joint form":
        options["form"] = "joint"
    if new:
        options["way"] = {"greedy joint form": "greedy", "candidates": None}.get(way, way)
        limits = {"evaluations": settings["evaluations"], "certify": settings["certify"]}
        return {**options, "budget": il.Budget(**limits)}
    if way == "greedy" and settings["utility"] not in ("es", "kg") and maximizer is None:
        options["refine"] = False
    if way == "joint":
        options["parallelism"] = "joint"
    return {**options, "evaluations": settings["evaluations"], "certify": settings["certify"]}


def _domain(settings: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Where queries may lie, in the words of either version."""
    d, kind = settings["d"], settings["domain"]
    if kind == "box":
        return {}
    given: dict[str, Any] = {}
    if kind == "inequalities":
        given["inequalities"] = (rng.standard_normal((2, d)), [0.9, 1.1])
    elif kind == "fixed":
        given["fixed"] = {1: 0.25}
    if hasattr(il, "make_domain"):
        make, levels, one_hot = il.make_domain, il.Ordinal, il.OneHot
    else:
        from innerloop.maximizers.discrete import OneHot as one_hot  # noqa: N813
        from innerloop.maximizers.discrete import Ordinal as levels  # noqa: N813
        from innerloop.maximizers.domain import make_domain as make
    if kind == "mixed":
        given["discrete"] = (levels(0, 5), one_hot(1, 2))
    return {"domain": make(d, **given)}


class _GivenChance:
    """A chance of success that is the same for both versions, whatever either would learn.

    log-odds(x) = log((s + 1) / (f + 1)) + 2 sum_i s_i exp(-|x - x_i|^2 / (2 0.15^2 d)).
    """

    def __init__(self, succeeded: np.ndarray, failed: np.ndarray) -> None:
        self.failed = failed
        self._points = np.concatenate([succeeded, failed])
        self._weights = np.repeat([2.0, -2.0], [len(succeeded), len(failed)])
        self._base = np.log((len(succeeded) + 1.0) / (len(failed) + 1.0))

    def log(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithm of the chance, and its gradient."""
        difference = (X[:, None] - self._points) / (0.15 * np.sqrt(X.shape[1]))
        weights = self._weights * np.exp(-0.5 * (difference**2).sum(axis=-1))
        odds = self._base + weights.sum(axis=1)
        slope = -(weights[..., None] * difference).sum(axis=1) / (0.15 * np.sqrt(X.shape[1]))
        return -np.logaddexp(0.0, -odds), slope / (1.0 + np.exp(odds))[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="folder that holds the other innerloop")
    parser.add_argument("--number", type=int, default=48)
    parser.add_argument("--solve", action="store_true", help="print batches as lines of JSON")
    arguments = parser.parse_args()
    if arguments.solve:
        for number in range(arguments.number):
            print(json.dumps(solve(problem(number))), flush=True)
        return
    here = Path(il.__file__).parents[1]
    ours, theirs = (_solved(path, arguments.number) for path in (here, arguments.against))
    differ = 0
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        gap = max(_difference(one[key], other[key]) for key in one)
        differ += gap > TOLERANCE
        words = [f"{key}={value}" for key, value in problem(number).items() if value]
        print(f"{'differs' if gap > TOLERANCE else 'same   '} {gap:.1e}  {' '.join(words)}")
    print(f"{differ} of {arguments.number} problems differ by more than {TOLERANCE}")
    sys.exit(bool(differ))


def _solved(source: Path, number: int) -> list[dict[str, Any]]:
    """All batches, by the innerloop in a folder."""
    command = [sys.executable, __file__, "--solve", "--number", str(number)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, "PYTHONPATH": str(source)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


def _difference(one: Any, other: Any) -> float:
    """The largest difference of two numbers or lists, in units of 1 or of the larger one."""
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    a, b = np.asarray(one), np.asarray(other)
    return float((np.abs(a - b) / np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))).max())


if __name__ == "__main__":
    main()
