"""Ask and tell: an experiment that is done by hand, saved to a file between sessions.

    python examples/by_hand.py

Every session opens the file, notes down what came of the last experiments, asks which ones to do
next, and saves. Results may come in any order, and an experiment may fail. Here a function plays
the hand and the tongue: it brews coffee and grades it from 0 to 10, not quite the same each time.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import innerloop as il

SPACE = il.Space(
    {
        "grams": il.Real(12.0, 24.0, step=0.5),
        "temperature": il.Integer(84, 98),
        "seconds": il.Integer(60, 300, step=15),
        "grind": il.Choice(["fine", "medium", "coarse"]),
    }
)
SESSIONS, CUPS = 8, 3
MISHAP = 7  # the trial in which the cup is knocked over


def brew_and_taste(params: dict[str, Any], generator: random.Random) -> float:
    """A grade: good coffee is neither weak nor bitter."""
    speed = {"fine": 1.6, "medium": 1.0, "coarse": 0.6}[params["grind"]]
    heat = 1.0 + 0.03 * (params["temperature"] - 92)
    extraction = params["seconds"] / 180.0 * speed * heat
    strength = params["grams"] / 17.0
    grade = 9.5 - 9.0 * (extraction - 1.0) ** 2 - 14.0 * (strength - 1.05) ** 2
    if params["grind"] == "fine":
        grade -= 0.7  # it clogs the filter
    return round(max(grade + generator.gauss(0.0, 0.15), 0.0), 1)


def first_session(path: Path) -> None:
    """Sets up the search and asks for the first cups."""
    optimizer = il.Optimizer(SPACE, direction="maximize", seed=0)
    optimizer.ask(CUPS)
    optimizer.save(path)


def session(number: int, path: Path) -> None:
    """Brews what was asked last time, tells the grades, and asks again."""
    optimizer = il.Optimizer.load(path)
    generator = random.Random(number)
    for trial in reversed(optimizer.pending):  # any order will do
        recipe = ", ".join(f"{value}" for value in trial.params.values())
        if trial.id == MISHAP:
            optimizer.tell(trial, state="failed", error="knocked the cup over")
            print(f"  cup {trial.id:>2}: {recipe:<28} knocked over")
            continue
        grade = brew_and_taste(trial.params, generator)
        optimizer.tell(trial, grade)
        expected = trial.prediction
        guess = f"expected {expected.mean:.1f} ± {expected.sd:.1f}" if expected else "a first look"
        print(f"  cup {trial.id:>2}: {recipe:<28} grade {grade:4.1f}   {guess}")
    if number < SESSIONS:
        optimizer.ask(CUPS)
    optimizer.save(path)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "coffee.json"  # yours would stay where it is
        first_session(path)
        for number in range(1, SESSIONS + 1):
            print(f"session {number}")
            session(number, path)
        optimizer = il.Optimizer.load(path)
    best = optimizer.best
    print(f"\nbest, with tasting errors taken into account: cup {best.id}, {best.params}")
    print(f"its grade was {best.value}; expected of it: {optimizer.predict(best.params).mean:.1f}")


if __name__ == "__main__":
    main()
