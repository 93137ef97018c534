"""Compares the tasks of `outcomes.py` with BoTorch's own, at random points and at corners.

    .venv-botorch/bin/python benchmarks/outcome_check.py

The best hypervolume of `mixed`, which is not BoTorch's, is found anew, by an area under steps.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from botorch.test_functions import multi_objective as multi
from botorch.test_functions import synthetic as single

from outcome_tasks import CATALYSTS, STAGES, TASKS, Task, without_waste

DOUBLE = {"dtype": torch.float64}
# WeldedBeam alone has the sign of its constraints turned round.
THEIRS = {
    "branin-currin": (multi.BraninCurrin(), -1),
    "zdt1": (multi.ZDT1(dim=6), -1),
    "dtlz2-2": (multi.DTLZ2(dim=6, num_objectives=2), -1),
    "dtlz2-3": (multi.DTLZ2(dim=6, num_objectives=3), -1),
    "vehicle-safety": (multi.VehicleSafety(), -1),
    "penicillin": (multi.Penicillin(), -1),
    "c2dtlz2": (multi.C2DTLZ2(dim=4, num_objectives=2), -1),
    "welded-beam": (multi.WeldedBeam(), 1),
    "pressure-vessel": (single.PressureVessel(), -1),
    "speed-reducer": (single.SpeedReducer(), -1),
}


def worst_difference(task: Task, problem, sign: int, n: int = 64) -> float:
    """The largest difference of any outcome, relative to its size or to 1."""
    bounds = np.array([(each.low, each.high) for each in task.parameters.values()])
    assert np.allclose(problem.bounds.numpy().T, bounds, rtol=0, atol=1e-12)
    U = np.random.default_rng(0).random((n, task.d))
    corners = np.array(list(itertools.product([0.001, 1.0], repeat=task.d)))[:n]
    points = [task.decode(u) for u in np.concatenate([U, corners])]
    X = torch.tensor([list(point.values()) for point in points], **DOUBLE)
    theirs = problem.evaluate_true(X).numpy().reshape(len(X), -1)
    theirs = theirs * [-1.0 if way == "maximize" else 1.0 for way in task.objectives.values()]
    if task.limits:
        theirs = np.hstack([theirs, sign * problem.evaluate_slack_true(X).numpy()])
    values = [task.function(point) for point in points]
    ours = np.array([[each[name] for name in task.outcomes] for each in values])
    return float((np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1.0)).max())


def references_agree(task: Task, problem) -> bool:
    """Whether the reference point, or the worst feasible value, is BoTorch's."""
    ours = [(-1 if w == "maximize" else 1) * task.reference[k] for k, w in task.objectives.items()]
    theirs = [problem.worst_feasible_value] if len(ours) == 1 else problem._ref_point
    return bool(np.allclose(ours, theirs, rtol=1e-12))


def best_of_mixed(steps: int = 200_001) -> float:
    """The area that the front of `mixed` dominates, over all catalysts, stages and heats."""
    task = TASKS["mixed"]
    heat = np.linspace(0.0, 1.0, steps)
    each = [
        without_waste(catalyst, stages, heat)
        for catalyst in CATALYSTS
        for stages in range(STAGES[0], STAGES[1] + 1)
    ]
    yielded, cost, impurity = np.concatenate(each, axis=1)
    feasible = impurity <= task.limits["impurity"]
    order = np.argsort(cost[feasible])
    cost, top = cost[feasible][order], np.maximum.accumulate(yielded[feasible][order])
    widths = np.diff(np.append(cost, task.reference["cost"]))
    return float((widths * np.maximum(top - task.reference["yield"], 0.0)).sum())


def main() -> None:
    for name, (problem, sign) in THEIRS.items():
        difference = worst_difference(TASKS[name], problem, sign)
        same = references_agree(TASKS[name], problem)
        print(f"{name}: {difference:.1e}, reference {'the same' if same else 'DIFFERS'}")
        if difference > 1e-8 or not same:
            raise SystemExit(f"{name} is not BoTorch's")
    best = best_of_mixed()
    print(f"mixed: best hypervolume {best:.4f}")
    if abs(best - TASKS["mixed"].best) > 0.01:
        raise SystemExit("mixed: another best hypervolume is written down")


if __name__ == "__main__":
    main()
