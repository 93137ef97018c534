"""Random domains, thin, flat and empty ones among them, through `innerloop.suggest`.

    python benchmarks/polytopes.py --number 5000 --results polytopes.txt

Every query has to lie in the unit cube, meet the inequalities up to 1e-9 of the length of their
rows, and have the values that were fixed or are on a grid; or there has to be an error that says
that the domain is empty, where it was made so or a linear program finds no point either. Every
problem is one line of the results; problems that are there already are not run again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

import innerloop as il
from innerloop.domain.discrete import OneHot, Ordinal
from innerloop.domain.domain import make_domain
from innerloop.maximizers import MAXIMIZERS

KINDS = (
    "wide",
    "thin",
    "equation",
    "equations",
    "point",
    "segment",
    "parallel",
    "repeated",
    "sizes",
    "corner",
    "empty",
)


@dataclass(frozen=True)
class Problem:
    """Inequalities A x <= b over d coordinates, some of them fixed or discrete."""

    kind: str
    A: np.ndarray
    b: np.ndarray
    fixed: dict[int, float]
    discrete: tuple[Ordinal | OneHot, ...]

    def domain(self):
        return make_domain(
            self.A.shape[1],
            inequalities=(self.A, self.b),
            fixed=self.fixed,
            discrete=self.discrete,
        )


def problem(seed: int) -> Problem:
    """A random problem; all but the empty ones have a point, with fixed and discrete values."""
    rng = np.random.default_rng([7, seed])
    kind = KINDS[seed % len(KINDS)]
    d = int(rng.integers(1, 6))
    discrete: list[Ordinal | OneHot] = []
    inside = rng.random(d)
    if d >= 3 and rng.random() < 0.3:
        discrete.append(Ordinal(0, int(rng.integers(2, 12))))
        if rng.random() < 0.5:
            discrete.append(Ordinal(1, int(rng.integers(2, 6))))
        for block in discrete:
            inside[block.columns] = block.snap(inside[block.columns])
    A, b = rows(kind, inside, rng)
    if discrete and rng.random() < 0.3:  # and a choice of three, which is in no inequality
        discrete.append(OneHot(d, 3))
        A = np.hstack([A, np.zeros((len(A), 3))])
        inside = np.append(inside, [0.0, 1.0, 0.0])
    fixed = {}
    if rng.random() < 0.3:
        column = int(rng.integers(d))
        fixed[column] = float(inside[column])
    return Problem(kind, A, b, fixed, tuple(discrete))


def rows(kind: str, inside: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inequalities of some kind that a point (d,) meets, but for the empty kind."""
    d = len(inside)
    A = rng.standard_normal((int(rng.integers(1, 5)), d))
    room = rng.random(len(A)) * 0.3
    if kind == "corner":
        inside = np.round(inside)
        room = np.zeros(len(A))
    b = A @ inside + room * np.linalg.norm(A, axis=1)
    width = 10.0 ** rng.uniform(-14, -2) * (rng.random() < 0.8)
    if kind == "thin":
        A, b = opposite(A[:1], A[:1] @ inside, width)
    elif kind == "equation":
        E, e = opposite(A[:1], A[:1] @ inside, 0.0)
        A, b = np.vstack([E, A[1:]]), np.append(e, b[1:])
    elif kind in ("equations", "point", "segment"):
        number = {"point": d, "segment": max(d - 1, 1)}.get(kind, int(rng.integers(1, d + 1)))
        E = rng.standard_normal((number, d))
        A, b = opposite(E, E @ inside, width)
    elif kind == "parallel":
        tilt = 10.0 ** rng.uniform(-12, -3) * rng.standard_normal((2, d))
        A = np.vstack([A[:1], -A[:1] + tilt[:1], A[:1] + tilt[1:]])
        b = A @ inside + np.array([width, width, 0.0])
    elif kind == "repeated":
        A, b = np.vstack([A, A, 3.0 * A]), np.concatenate([b, b, 3.0 * b])
    elif kind == "sizes":
        scale = 10.0 ** rng.uniform(-200, 200, len(A))
        A, b = A * scale[:, None], b * scale
    elif kind == "empty":
        gap = 10.0 ** rng.uniform(-11, 0)
        A, b = opposite(A[:1], A[:1] @ inside, -gap)
    return A, b


def opposite(A: np.ndarray, value: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """value <= A x <= value + width."""
    return np.vstack([A, -A]), np.concatenate([value + width, -value])


def violation(problem: Problem, X: np.ndarray) -> float:
    """By how much points (N, d) are outside, in units of the length of rows; inf off the cube."""
    if not np.isfinite(X).all() or (X < 0.0).any() or (X > 1.0).any():
        return np.inf
    largest = np.abs(problem.A).max(axis=1, keepdims=True)
    A, b = problem.A / largest, problem.b / largest[:, 0]
    lengths = np.linalg.norm(A, axis=1)
    for column, value in problem.fixed.items():
        if (X[:, column] != value).any():
            return np.inf
    for block in problem.discrete:
        places = X[:, block.columns]
        if block.columns.start not in problem.fixed and (block.snap(places) != places).any():
            return np.inf
    return float(((X @ A.T - b) / lengths).max())


def is_empty(problem: Problem) -> bool:
    """Whether a linear program finds no point, discrete coordinates taken for continuous ones."""
    largest = np.abs(problem.A).max(axis=1, keepdims=True)
    bounds = [(0.0, 1.0)] * problem.A.shape[1]
    for column, value in problem.fixed.items():
        bounds[column] = (value, value)
    # An inequality may be missed by a little: what has no more room than rounding may be empty.
    result = linprog(
        np.zeros(len(bounds)),
        A_ub=problem.A / largest,
        b_ub=problem.b / largest[:, 0] - 1e-12,
        bounds=bounds,
        options={"primal_feasibility_tolerance": 1e-10},
    )
    return result.status == 2


def suggested(seed: int) -> str:
    """What came of a problem: "inside" or "empty", or what is wrong."""
    given = problem(seed)
    rng = np.random.default_rng([8, seed])
    d = given.A.shape[1]
    X = rng.random((8, d))
    posterior = il.GaussianProcess(il.Matern52(np.full(d, 0.5)), noise=1e-4).condition(
        X, np.sin(3.0 * X.sum(axis=1))
    )
    maximizer = sorted(MAXIMIZERS)[seed // len(KINDS) % len(MAXIMIZERS)]
    q = int(rng.integers(1, 5))
    try:
        batch = il.suggest(
            posterior,
            q,
            maximizer=maximizer,
            way=str(rng.choice(["greedy", "joint"])),
            budget=il.Budget(evaluations=int(rng.choice([100, 400]))),
            domain=given.domain(),
            seed=seed,
        )
    except il.InputError as error:
        if "no point of the unit cube meets" not in str(error):
            return f"wrong error: {error}"
        return "empty" if given.kind == "empty" or is_empty(given) else "refused: has points"
    worst = violation(given, batch.X)
    if len(batch.X) != q or worst > 1e-9:
        return f"outside by {worst:.3g}: {maximizer} {batch.X.tolist()}"
    return "inside"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=5000)
    parser.add_argument("--results", type=Path, default=Path("polytopes.txt"))
    options = parser.parse_args()
    done = options.results.read_text().splitlines() if options.results.exists() else []
    began = time.process_time()
    with options.results.open("a") as file:
        for seed in range(len(done), options.number):
            try:
                line = suggested(seed)
            except Exception as error:
                line = f"raised {type(error).__name__}: {error}"
            done.append(line)
            file.write(line.replace("\n", " ") + "\n")
            file.flush()
    print(f"{len(done)} problems, {time.process_time() - began:.0f} s of CPU for the new ones")
    for (kind, line), number in sorted(
        Counter((KINDS[i % len(KINDS)], line.split(":")[0]) for i, line in enumerate(done)).items()
    ):
        print(f"{kind:10} {line:40} {number}")


if __name__ == "__main__":
    main()
