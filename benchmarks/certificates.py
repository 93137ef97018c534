"""Certificates of random calls of `innerloop.suggest`, against a grid and nine stronger searches.

    python benchmarks/certificates.py --number 2000 --results certificates.txt

The calls are those of the tests, which use one of the searches each. Every call is one line of the
results: empty, or what is wrong; calls that are there already are not made again. --first: the
number of the first call, to try others than the tests do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from certificates import complaints, random_case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("certificates.txt"))
    options = parser.parse_args()
    done = options.results.read_text().splitlines() if options.results.exists() else []
    began = time.process_time()
    with options.results.open("a") as file:
        for k in range(len(done), options.number):
            case = random_case(options.first + k)
            said = complaints(case)
            done.append(f"{case}: {'; '.join(said)}" if said else "")
            file.write(done[-1] + "\n")
            file.flush()
    print(f"{len(done)} calls, {time.process_time() - began:.0f} s of CPU for the new ones")
    ways = Counter(random_case(options.first + k).way for k in range(len(done)))
    print(", ".join(f"{number} {way}" for way, number in ways.most_common()))
    wrong = [line for line in done if line]
    print(f"{len(wrong)} wrong", *wrong, sep="\n")


if __name__ == "__main__":
    main()
