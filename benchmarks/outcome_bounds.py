"""Upper bounds of batches of several outcomes, against the best batch of a grid by brute force.

    python benchmarks/outcome_bounds.py --seeds 100

Random problems in 1 and 2 dimensions, batches of 1 to 3. A bound is false if it is below the best
of the grid by more than Monte Carlo error explains, at a chance of one in a thousand for the whole
table; single queries have no such error. Ends with an error if there is a false bound. The table
has the smallest bound / best of grid, how many of these are below 1 and the largest Monte Carlo
error of one that is, as a share; and the largest difference between the value of a batch as
`suggest` gives it and by brute force, as a share.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from outcome_bounds import KINDS, Comparison, compared, random_problem

# The chance of a false alarm in all of the table, and how exact quadrature is.
FALSE_ALARM, ROUNDING = 1e-3, 1e-6
# Volumes of three objectives take longer.
SLOW = {"3 objectives": 10}


class Case(NamedTuple):
    seed: int
    found: Comparison


def cases(kind: str, d: int, q: int, seeds: range) -> Iterator[Case]:
    for seed in seeds:
        yield Case(seed, compared(random_problem(kind, d, seed), q, seed))


def row(kind: str, d: int, q: int, done: list[Case], allowed: float) -> tuple[str, list[str]]:
    """A line of the table, and what is wrong."""
    told = [each for each in done if each.found.is_resolved]
    shown = [each for each in told if each.found.bound is not None]
    wrong, ratios, errors, differences = [], [], [], []
    for seed, (bound, best, value, drawn, _) in shown:
        ratios.append(bound / best.value)
        errors.append(best.error / best.value)
        differences.append(abs(value - drawn.value) / best.value)
        if bound < best.value - allowed * best.error - ROUNDING * best.value:
            wrong.append(f"{kind}, d={d}, q={q}, seed {seed}: bound {bound:.6g} below {best}")
    below = [error for ratio, error in zip(ratios, errors, strict=True) if ratio < 1.0]
    line = (
        f"| {kind} | {d} | {q} | {len(done)} | {len(told)} | {len(shown)} | {min(ratios):.4f} "
        f"| {np.median(ratios):.3f} | {len(below)} | {max(below, default=0.0):.4f} "
        f"| {max(differences):.4f} | {len(wrong)} |"
    )
    return line, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    began, wrong = time.process_time(), []
    allowed = -float(ndtri(FALSE_ALARM / (6 * len(KINDS) * options.seeds)))
    print(f"allowed: {allowed:.2f} standard errors\n")
    print(
        "| kind | d | q | problems | resolved | bounds | smallest ratio | median | below 1 "
        "| their error | value off by | false |\n|" + "---|" * 12
    )
    for kind in KINDS:
        seeds = range(options.first, options.first + min(options.seeds, SLOW.get(kind, 10**9)))
        for d in (1, 2):
            for q in (1, 2, 3):
                line, said = row(kind, d, q, list(cases(kind, d, q, seeds)), allowed)
                wrong += said
                print(line, flush=True)
    print(f"\n{time.process_time() - began:.0f} s of CPU, {len(wrong)} wrong", *wrong, sep="\n")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
