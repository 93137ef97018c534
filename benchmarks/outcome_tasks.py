"""Tasks with several outcomes: several objectives, limits on other outcomes, or both.

Nothing here knows of any optimizer, and nothing but NumPy and SciPy is needed, so that every
environment runs the same formulas. All but `mixed` are test functions of BoTorch, with its bounds
and reference points; `outcome_check.py` compares them with BoTorch's own.

BoTorch's WeldedBeam gives the negative of what its name for it, slack, says: by it the beams that
break are the feasible ones. Here stresses keep below their limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import qmc

from task_parameters import Options, Point, Range, Whole, at_fractions

Outcomes = dict[str, float]
EVALUATIONS = 64
Q = 4


@dataclass(frozen=True)
class Task:
    """A function of named parameters, and what is wanted of its outcomes.

    objectives: "minimize" or "maximize" by outcome. limits: what outcomes may be at most.
    reference: the reference point of the hypervolume; with one objective, the value that counts
    while nothing feasible is known. best: the largest hypervolume or the best feasible value, as
    far as it is known.
    """

    name: str
    parameters: Mapping[str, Range | Whole | Options]
    function: Callable[[Point], Outcomes]
    objectives: Mapping[str, str]
    reference: Mapping[str, float]
    best: float | None
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def d(self) -> int:
        return len(self.parameters)

    @property
    def outcomes(self) -> list[str]:
        return [*self.objectives, *self.limits]

    def decode(self, u: np.ndarray) -> Point:
        """The point at fractions u (d,) of the parameters' ranges."""
        return at_fractions(u.tolist(), self.parameters)

    def initial_points(self, seed: int) -> list[Point]:
        """2 (d + 1) scrambled Sobol points."""
        count = 2 * (self.d + 1)
        sobol = qmc.Sobol(self.d, seed=np.random.default_rng([seed, 0]))
        return [self.decode(u) for u in sobol.random_base2(math.ceil(math.log2(count)))[:count]]


def _task(
    name: str,
    bounds: list[tuple[float, float]],
    function: Callable[[np.ndarray], tuple[list[float], list[float]]],
    reference: list[float],
    best: float | None,
    constraints: int = 0,
) -> Task:
    """A task over x1, x2, ... with objectives f1, f2, ... to minimize and g1, g2, ... <= 0.

    function: of an array (d,), the objectives and the constraints.
    """
    parameters = {f"x{i}": Range(*each) for i, each in enumerate(bounds, 1)}
    objectives = [f"f{i}" for i in range(1, len(reference) + 1)]
    limits = {f"g{i}": 0.0 for i in range(1, constraints + 1)}

    def outcomes(point: Point) -> Outcomes:
        f, g = function(np.array([point[key] for key in parameters]))
        return dict(zip([*objectives, *limits], map(float, [*f, *g]), strict=True))

    return Task(
        name,
        parameters,
        outcomes,
        dict.fromkeys(objectives, "minimize"),
        dict(zip(objectives, reference, strict=True)),
        best,
        limits,
    )


def branin_currin(x: np.ndarray) -> tuple[list[float], list[float]]:
    a, b = 15 * x[0] - 5, 15 * x[1]
    valley = b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6
    branin = valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10
    # The limit where x[1] is 0, at which Currin's formula divides by zero.
    factor = 1 - math.exp(-1 / (2 * x[1])) if x[1] > 0 else 1.0
    top = np.polyval([2300, 1900, 2092, 60], x[0])
    return [branin, factor * top / np.polyval([100, 500, 4, 20], x[0])], []


def zdt1(x: np.ndarray) -> tuple[list[float], list[float]]:
    g = 1 + 9 * x[1:].mean()
    return [x[0], g * (1 - math.sqrt(x[0] / g))], []


def dtlz2(x: np.ndarray, objectives: int) -> list[float]:
    """Products of cosines and a sine of the first coordinates, as far out as the others say."""
    radius = 1 + ((x[objectives - 1 :] - 0.5) ** 2).sum()
    angles = x[: objectives - 1] * math.pi / 2
    values = []
    for i in range(objectives - 1, -1, -1):
        sine = math.sin(angles[i]) if i < objectives - 1 else 1.0
        values.append(radius * np.cos(angles[:i]).prod() * sine)
    return values


def c2dtlz2(x: np.ndarray) -> tuple[list[float], list[float]]:
    f, r = dtlz2(x, 2), 0.2
    at_ends = min((f[0] - 1) ** 2 + f[1] ** 2, (f[1] - 1) ** 2 + f[0] ** 2) - r**2
    in_the_middle = sum((each - 1 / math.sqrt(2)) ** 2 - r**2 for each in f)
    return f, [min(at_ends, in_the_middle)]


def vehicle_safety(x: np.ndarray) -> tuple[list[float], list[float]]:
    a, b, c, d, e = x.tolist()
    mass = 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d
    mass += 4.4559504 * e
    acceleration = 6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d
    acceleration += -0.3695 * a * d + 0.0861 * a * e + 0.3628 * b * d
    acceleration += -0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2
    intrusion = -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c
    intrusion += -0.0118 * b * d - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2
    return [mass, acceleration, intrusion], []


def penicillin(point: Point) -> Outcomes:
    """A fermentation, hour by hour until the vessel is full, the glucose spent or nothing gained.

    V, X, S, P: volume of the culture; concentrations of biomass, glucose and penicillin.
    """
    V, X, S = point["volume"], point["biomass"], point["glucose"]
    T, F, feed = point["temperature"], point["feed_rate"], point["feed_glucose"]
    H = 10.0 ** -point["acidity"]
    P = carbon_dioxide = 0.0
    hours = 0
    growth = 0.092 / (1 + 1e-10 / H + H / 7e-5)
    growth *= 7e3 * math.exp(-5100 / (1.9872 * T)) - 1e33 * math.exp(-50000 / (1.9872 * T))
    evaporation = 2.5e-4 * math.expm1(5 * (T - 373) / (273 - 373))
    while hours < 2500:
        hours += 1
        dV = F - V * evaporation
        mu = growth * S / (0.15 * X + S)
        production = 0.005 * S / (0.0002 + S + S**2 / 0.1)
        dX = mu * X - X / V * dV
        dS = -(mu / 0.45 + production / 0.9 + 0.014) * X + F * feed / V - S / V * dV
        dP = production * X - 0.04 * P - P / V * dV
        carbon_dioxide += 0.143 * dX + 4e-7 * X + 1e-4
        P, V, X, S = P + dP, V + dV, X + dX, S + dS
        if V > 180 or S < 0 or dP < 10e-12:
            break
    return {"yield": P, "carbon_dioxide": carbon_dioxide, "hours": float(hours)}


def _shear(x: np.ndarray) -> float:
    """Shear stress in the weld of a beam that bears 6000 pounds at 14 inches."""
    a, b, c, _ = x.tolist()
    arm = math.sqrt(0.25 * (b**2 + (a + c) ** 2))
    inertia = 2 * math.sqrt(0.5) * a * b * (b**2 / 12 + 0.25 * (a + c) ** 2)
    direct = 6000 / (math.sqrt(2) * a * b)
    torsion = 6000 * (14 + b / 2) * arm / inertia
    return math.sqrt(direct**2 + direct * torsion * b / arm + torsion**2)


def welded_beam(x: np.ndarray) -> tuple[list[float], list[float]]:
    a, b, c, d = x.tolist()
    cost = 1.10471 * a**2 * b + 0.04811 * c * d * (14 + b)
    deflection = 2.1952 / (d * c**3)
    bending = 6 * 6000 * 14 / (d * c**2)
    buckling = 64746.022 * (1 - 0.0282346 * c) * c * d**3
    return [cost, deflection], [
        _shear(x) / 13600 - 1,
        bending / 30000 - 1,
        (a - d) / (5 - 0.125),
        1 - buckling / 6000,
    ]


def pressure_vessel(x: np.ndarray) -> tuple[list[float], list[float]]:
    shell, head = np.round(x[:2] / 0.0625) * 0.0625
    radius, length = x[2:]
    cost = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    cost += 3.1661 * shell**2 * length + 19.84 * shell**2 * radius
    volume = math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3
    return [cost], [
        0.0193 * radius - x[0],
        0.00954 * radius - x[1],
        1296000 - volume,
        length - 240,
    ]


def speed_reducer(x: np.ndarray) -> tuple[list[float], list[float]]:
    width, module, teeth, first, second, thin, thick = x.tolist()
    weight = 0.7854 * width * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
    weight += -1.508 * width * (thin**2 + thick**2) + 7.4777 * (thin**3 + thick**3)
    weight += 0.7854 * (first * thin**2 + second * thick**2)
    span = module * teeth
    return [weight], [
        27 / (width * module * span) - 1,
        397.5 / (width * span**2) - 1,
        1.93 * first**3 / (span * thin**4) - 1,
        1.93 * second**3 / (span * thick**4) - 1,
        math.sqrt((745 * first / span) ** 2 + 16.9e6) / (0.1 * thin**3) - 1100,
        math.sqrt((745 * second / span) ** 2 + 157.5e6) / (0.1 * thick**3) - 850,
        span - 40,
        5 - width / module,
        width / module - 12,
        (1.5 * thin + 1.9) / first - 1,
        (1.1 * thick + 1.9) / second - 1,
    ]


CATALYSTS = ("nickel", "palladium", "zeolite")
STAGES = (1, 6)
_ACTIVITY = {"nickel": 0.55, "palladium": 1.1, "zeolite": 0.35}
_PRICE = {"nickel": 5.0, "palladium": 14.0, "zeolite": 2.0}
_DIRT = {"nickel": 2.2, "palladium": 1.2, "zeolite": 1.9}
_SUITED_TIME = {"nickel": 0.55, "palladium": 0.3, "zeolite": 0.7}


def without_waste(catalyst: str, stages: float, heat: np.ndarray) -> np.ndarray:
    """Yield, cost and impurity (3, ...) at the time and the feed that suit the rest best."""
    yielded = 100 * (1 - np.exp(-_ACTIVITY[catalyst] * stages**0.7 * (0.3 + heat)))
    cost = _PRICE[catalyst] + 1.5 * stages + 6 * heat**2
    impurity = _DIRT[catalyst] * (0.6 + 1.4 * heat**2) / np.sqrt(0.5 + 0.5 * stages)
    return np.stack(np.broadcast_arrays(yielded, cost, impurity))


def reactor(point: Point) -> Outcomes:
    """A made-up reactor; a time and a feed that do not suit the rest spoil all three outcomes.

    So the best points waste nothing, and their front is that of `without_waste`.
    """
    catalyst, stages = point["catalyst"], point["stages"]
    heat = _REACTOR["temperature"].encode(point["temperature"])
    time = _REACTOR["time"].encode(point["time"])
    time -= _SUITED_TIME[catalyst] - 0.25 * (heat - 0.5) + 0.04 * (stages - 3)
    feed = _REACTOR["feed"].encode(point["feed"]) - 0.3 - 0.4 * heat
    waste = 3 * time**2 + 2 * feed**2 + 0.1 * math.sin(3 * math.pi * time) ** 2
    yielded, cost, impurity = without_waste(catalyst, stages, heat).tolist()
    return {
        "yield": yielded / (1 + waste),
        "cost": cost + 8 * waste,
        "impurity": impurity + 2 * waste,
    }


_PENICILLIN = {
    "volume": Range(60.0, 120.0),
    "biomass": Range(0.05, 18.0),
    "temperature": Range(293.0, 303.0),
    "glucose": Range(0.05, 18.0),
    "feed_rate": Range(0.01, 0.5),
    "feed_glucose": Range(500.0, 700.0),
    "acidity": Range(5.0, 6.5),
}
_REACTOR = {
    "temperature": Range(60.0, 140.0),
    "time": Range(1.0, 100.0, log=True),
    "feed": Range(0.5, 2.0),
    "stages": Whole(*STAGES),
    "catalyst": Options(CATALYSTS),
}
_UNIT = (0.0, 1.0)
_BEAM = [(0.125, 5.0), (0.1, 10.0), (0.1, 10.0), (0.125, 5.0)]
_VESSEL = [(0.0, 10.0), (0.0, 10.0), (10.0, 50.0), (150.0, 200.0)]
_GEARS = [(2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3), (7.8, 8.3), (2.9, 3.9), (5.0, 5.5)]
_SAFETY_REFERENCE = [1864.72022, 11.81993945, 0.2903999384]

# Best hypervolumes and values are BoTorch's; those of BraninCurrin, VehicleSafety, Penicillin and
# C2DTLZ2 come from long runs of others, and that of PressureVessel can be undercut: constraints
# concern thicknesses before they are rounded. That of mixed is found by `outcome_check.py`.
_ALL = [
    _task("branin-currin", [_UNIT] * 2, branin_currin, [18.0, 6.0], 59.36011874867746),
    _task("zdt1", [_UNIT] * 6, zdt1, [11.0, 11.0], 120 + 2 / 3),
    _task("dtlz2-2", [_UNIT] * 6, lambda x: (dtlz2(x, 2), []), [1.1] * 2, 1.21 - math.pi / 4),
    _task("dtlz2-3", [_UNIT] * 6, lambda x: (dtlz2(x, 3), []), [1.1] * 3, 1.331 - math.pi / 6),
    _task("vehicle-safety", [(1.0, 3.0)] * 5, vehicle_safety, _SAFETY_REFERENCE, 246.81607081187),
    Task(
        "penicillin",
        _PENICILLIN,
        penicillin,
        {"yield": "maximize", "carbon_dioxide": "minimize", "hours": "minimize"},
        {"yield": -25.935, "carbon_dioxide": 57.612, "hours": 935.5},
        2183455.909507436,
    ),
    _task("c2dtlz2", [_UNIT] * 4, c2dtlz2, [1.1, 1.1], 0.3996406303723544, constraints=1),
    _task("welded-beam", _BEAM, welded_beam, [40.0, 0.015], None, constraints=4),
    _task("pressure-vessel", _VESSEL, pressure_vessel, [240526.7248], 6059.946341, constraints=4),
    _task("speed-reducer", _GEARS, speed_reducer, [6117.342], 2996.3482, constraints=11),
    Task(
        "mixed",
        _REACTOR,
        reactor,
        {"yield": "maximize", "cost": "minimize"},
        {"yield": 20.0, "cost": 35.0},
        1845.22,
        {"impurity": 2.0},
    ),
]
TASKS = {task.name: task for task in _ALL}
