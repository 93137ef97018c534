"""Reals, an integer and categories in one space: a heat sink that cools well and costs little.

    python examples/mixed_space.py

More fins have more surface, but leave less room for the air between them; slender ones are hard to
make; copper conducts better than aluminium, but is heavy and dear. The search moves between
materials and numbers of fins as they are; nothing is rounded afterwards. The result is set beside
the best of as many random heat sinks, and of a hundred times as many.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import innerloop as il

# Heat conductivity in W/(m K), density in kg/m^3, price in money per kg.
MATERIALS = {
    "copper": (390.0, 8960.0, 14.0),
    "aluminium": (205.0, 2700.0, 6.0),
    "brass": (115.0, 8500.0, 9.0),
    "steel": (50.0, 7850.0, 2.0),
}
# Speed of the air in m/s, price.
FANS = {"none": (0.3, 0.0), "quiet": (1.2, 2.5), "fast": (4.0, 6.0)}
SPACE = il.Space(
    {
        "material": il.Choice(list(MATERIALS)),
        "fan": il.Choice(list(FANS)),
        "fins": il.Integer(3, 40),
        "thickness": il.Real(0.3, 3.0, log=True),  # of a fin, in millimeters
        "height": il.Real(5.0, 50.0),
    }
)
SIDE, POWER = 0.06, 80.0  # meters, watts
TRIALS = 60


def badness(params: dict[str, Any]) -> float:
    """Degrees above the temperature of the room, and four more for every unit of money."""
    conductivity, density, price = MATERIALS[params["material"]]
    speed, fan = FANS[params["fan"]]
    fins, thickness, height = params["fins"], 1e-3 * params["thickness"], 1e-3 * params["height"]
    gap = max((SIDE - fins * thickness) / (fins - 1), 1e-4)
    transfer = 30.0 * math.sqrt(speed) * gap / (gap + 4e-3)  # air gets stuck in narrow gaps
    bend = height * math.sqrt(2.0 * transfer / (conductivity * thickness))
    surface = SIDE**2 + 2.0 * fins * SIDE * height * math.tanh(bend) / bend
    degrees = POWER / (transfer * surface)
    metal = density * SIDE * (fins * thickness * height + SIDE * 3e-3)
    slenderness = height / thickness
    money = fan + price * metal + 0.04 * fins * (1.0 + (slenderness / 30.0) ** 2)
    return degrees + 4.0 * money


def best_of_random(number: int) -> float:
    """The least bad of some random heat sinks."""
    points = SPACE.sample(number, np.random.default_rng(0))
    return min(badness(SPACE.decode(x)) for x in points)


def main() -> None:
    result = il.minimize(badness, SPACE, n_trials=TRIALS, batch_size=4, seed=0)
    for number in (TRIALS, 100 * TRIALS):
        print(f"best of {number:>4} random heat sinks     {best_of_random(number):6.2f}")
    print(f"best of {TRIALS:>4} suggested heat sinks  {result.value:6.2f}\n")
    for name, value in result.params.items():
        print(f"  {name:<10}{value:.2f}" if isinstance(value, float) else f"  {name:<10}{value}")

    print("\nthe best of each material")
    for material in MATERIALS:
        values = [t.value for t in result.trials if t.params["material"] == material and t.value]
        if values:
            print(f"  {material:<10}{min(values):6.2f} in {len(values)} trials")


if __name__ == "__main__":
    main()
