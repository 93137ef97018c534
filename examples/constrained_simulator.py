"""A simulator whose parameters share a budget: two stirred tanks, and floor space for both.

    python examples/constrained_simulator.py

In both tanks a raw material turns into a product and the product, if it stays too long or gets
too hot, into waste. Volumes, temperatures and the flow are to be chosen. The volumes together are
limited by the floor space: a linear constraint, which every suggested point meets.
"""

from __future__ import annotations

import math
from typing import Any

import innerloop as il

FLOOR_SPACE = 6.0  # cubic meters of tank that fit in the hall
SPACE = il.Space(
    {
        "volume_1": il.Real(0.2, 5.0),  # cubic meters
        "volume_2": il.Real(0.2, 5.0),
        "temperature_1": il.Real(310.0, 370.0),  # kelvin
        "temperature_2": il.Real(310.0, 370.0),
        "flow": il.Real(0.5, 8.0, log=True),  # cubic meters an hour
    },
    constraints=[f"volume_1 + volume_2 <= {FLOOR_SPACE}"],
)


def rate(at_350: float, energy: float, temperature: float) -> float:
    """A reaction's rate per hour by the law of Arrhenius, from its rate at 350 K."""
    return at_350 * math.exp(energy / 8.314 * (1.0 / 350.0 - 1.0 / temperature))


def tank(
    raw: float, product: float, volume: float, temperature: float, flow: float
) -> tuple[float, float]:
    """What flows out of a tank in its steady state, given what flows in."""
    residence = volume / flow
    making = rate(1.0, 45e3, temperature) * residence
    spoiling = rate(0.15, 75e3, temperature) * residence
    left = raw / (1.0 + making)
    return left, (product + making * left) / (1.0 + spoiling)


def profit(params: dict[str, Any]) -> float:
    """Money an hour: the product sells, raw material and heat have a price."""
    raw, product = 1.0, 0.0
    heat, before, flow = 0.0, 300.0, params["flow"]
    for number in (1, 2):
        temperature = params[f"temperature_{number}"]
        raw, product = tank(raw, product, params[f"volume_{number}"], temperature, flow)
        heat += flow * max(temperature - before, 0.0)
        before = temperature
    return flow * (100.0 * product - 40.0) - 0.15 * heat


def main() -> None:
    even = {
        "volume_1": 3.0,
        "volume_2": 3.0,
        "temperature_1": 350.0,
        "temperature_2": 350.0,
        "flow": 1.5,
    }
    print(f"a first guess   profit {profit(even):7.2f} an hour")
    result = il.maximize(profit, SPACE, n_trials=64, batch_size=4, seed=0)
    print(f"{len(result.trials)} simulations  profit {result.value:7.2f} an hour\n")
    for name, value in result.params.items():
        print(f"  {name:<15}{value:8.3f}")
    volumes = [trial.params["volume_1"] + trial.params["volume_2"] for trial in result.trials]
    used = result.params["volume_1"] + result.params["volume_2"]
    print(f"\nfloor space used: {used:.3f} of {FLOOR_SPACE}; most in any trial: {max(volumes):.3f}")


if __name__ == "__main__":
    main()
