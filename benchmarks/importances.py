"""Importances against brute force: Saltelli's estimators on 2^16 points of the same model.

    python benchmarks/importances.py

prints, for models of Ishigami's and Hartmann's functions, total and first-order shares as
`Optimizer.importances` gives them, those by brute force, and those of the function itself. With
`--trust` it prints for several designs how far totals are from those of the function where they are
given, and how often they are given for values that are noise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import innerloop as il
from innerloop.cli.hartmann import hartmann6

POINTS = 2**16
AT_A_TIME = 2**13
Function = Callable[[np.ndarray], np.ndarray]


def ishigami(X: np.ndarray) -> np.ndarray:
    """Ishigami's function with a = 7 and b = 0.1, of points of the unit cube."""
    a, b, c = np.pi * (2.0 * X.T - 1.0)
    return np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def hartmann(X: np.ndarray) -> np.ndarray:
    """Hartmann's function of six parameters."""
    names = [f"x{k}" for k in range(1, 7)]
    return np.array([hartmann6(dict(zip(names, x, strict=True))) for x in X.tolist()])


def by_force(f: Function, d: int) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total indices of f over the unit cube (Saltelli et al. 2010, Jansen 1999)."""
    generator = np.random.default_rng(0)
    A, B = generator.random((POINTS, d)), generator.random((POINTS, d))
    a, b = f(A), f(B)
    variance, first, total = np.concatenate([a, b]).var(), [], []
    for i in range(d):
        mixed = A.copy()
        mixed[:, i] = B[:, i]
        c = f(mixed)
        first.append(1.0 - np.mean((b - c) ** 2) / (2.0 * variance))
        total.append(np.mean((a - c) ** 2) / (2.0 * variance))
    return np.array(first), np.array(total)


def expectation(optimizer: il.Optimizer) -> Function:
    """What the model expects at points, in the units of the values."""
    outputs, posterior = optimizer.learned.outputs, optimizer.posterior

    def mean(X: np.ndarray) -> np.ndarray:
        blocks = np.array_split(X, len(X) // AT_A_TIME)
        return np.concatenate([outputs.moments(*posterior.marginals(each))[0] for each in blocks])

    return mean


def told(f: Function, d: int, n: int, seed: int = 0) -> il.Optimizer:
    """An optimizer that knows f at n points spread over the cube."""
    space = il.Space({f"x{i + 1}": il.Real(0.0, 1.0) for i in range(d)})
    optimizer = il.Optimizer(space, seed=0)
    X = space.spread(n, seed)
    for x, value in zip(X, f(X), strict=True):
        optimizer.add(space.decode(x), float(value))
    return optimizer


def trust() -> None:
    """Print how far given totals are from those of the function."""
    for name, f, d in (("Ishigami", ishigami, 3), ("Hartmann-6", hartmann, 6)):
        _, total = by_force(f, d)
        for n in (20, 40, 60, 100, 200):
            row = []
            for seed in range(4):
                try:
                    found = told(f, d, n, seed).importances()
                except il.InputError:
                    row.append("   not given")
                    continue
                worst = max(abs(found[f"x{i + 1}"] - total[i]) for i in range(d))
                row.append(f"{found.explained:5.0%}, {worst:4.2f}")
            print(
                f"{name:10}, {n:3} results: explained, largest error  {'  '.join(row)}", flush=True
            )
    for d in (2, 5):
        for n in (10, 15, 25, 50):
            given = sum(_is_given(noise(seed), d, n, seed) for seed in range(20))
            print(f"noise in {d} dimensions, {n} results: given in {given} of 20", flush=True)


def noise(seed: int) -> Function:
    """Values that have nothing to do with the points."""
    return lambda X: np.random.default_rng(seed).standard_normal(len(X))


def _is_given(f: Function, d: int, n: int, seed: int) -> bool:
    try:
        told(f, d, n, seed).importances()
    except il.InputError:
        return False
    return True


def compare(name: str, f: Function, d: int, n: int) -> None:
    """Print a row for each parameter of a model of n results."""
    optimizer = told(f, d, n)
    space = optimizer.space
    began = time.perf_counter()
    try:
        found = optimizer.importances()
    except il.InputError as error:
        print(f"\n{name}, {n} results: {error}")
        return
    seconds = time.perf_counter() - began
    first, total = by_force(expectation(optimizer), d)
    true_first, true_total = by_force(f, d)
    print(f"\n{name}, {n} results, {found.explained:.0%} explained, {seconds:.2f} s")
    print("      total   force  function    first   force  function")
    for i, each in enumerate(space.names):
        print(
            f"{each}  {found[each]:7.3f} {total[i]:7.3f} {true_total[i]:9.3f}"
            f"  {found.first[each]:7.3f} {first[i]:7.3f} {true_first[i]:9.3f}"
        )
    worst = max(abs(found[each] - total[i]) for i, each in enumerate(space.names))
    print(f"largest difference of totals from brute force {worst:.4f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trust", action="store_true", help="compare with the functions")
    if parser.parse_args().trust:
        trust()
        return
    for n in (40, 100, 200):
        compare("Ishigami", ishigami, 3, n)
    for n in (100, 200):
        compare("Hartmann-6", hartmann, 6, n)


if __name__ == "__main__":
    main()
