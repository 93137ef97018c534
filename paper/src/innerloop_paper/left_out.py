"""What of a full grid was not run, axis by axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from innerloop_paper.cells import Cell
from innerloop_paper.claims import ACQUISITIONS
from innerloop_paper.curves import CLOCKS, TASKS
from innerloop_paper.markdown import listed, power, table
from innerloop_paper.style import LABELS

# Each axis with what sorts its values and what they are called.
_AXES: dict[str, Callable[[Cell], tuple[tuple[int | str, ...], str]]] = {
    "task, d, q": lambda cell: (
        (list(TASKS).index(cell.task), cell.d, cell.q),
        f"{TASKS[cell.task]} ({cell.d}, {cell.q})",
    ),
    "acquisition function": lambda cell: ((cell.acquisition,), ACQUISITIONS[cell.acquisition]),
    "method": lambda cell: (
        (list(LABELS).index((cell.maximizer, cell.parallelism)), *_states(cell)),
        LABELS[cell.maximizer, cell.parallelism]
        + "".join(f", incremental, m = {m}" for m in _states(cell)),
    ),
    "inner budget N": lambda cell: ((cell.budget,), power(cell.budget)),
    "N is counted in": lambda cell: ((cell.clock,), CLOCKS[cell.clock]),
    "evaluations T": lambda cell: ((cell.evaluations,), str(cell.evaluations)),
}


def left_out(run: Sequence[Cell], grid: Sequence[Cell]) -> str:
    """A table of the values of each axis that are in the grid and were not run, and how many.

    The clock and the number of evaluations are shown, but a cell that differs from one of the
    grid in these alone counts as run.
    """
    rows = []
    for name, axis in _AXES.items():
        full, here = dict(map(axis, grid)), dict(map(axis, run))
        missing = [full[key] for key in sorted(full) if key not in here]
        other = [here[key] for key in sorted(here) if key not in full]
        rows.append([name, str(len(full)), listed(missing), listed(other)])
    trials = len({cell.trial for cell in grid}), len({cell.trial for cell in run})
    done = len(set(map(_place, grid)) & set(map(_place, run)))
    return "\n\n".join(
        [
            f"Of {len(set(map(_place, grid)))} cells of the full grid, {done} were run; "
            f"it has {trials[0]} trials, here there are up to {trials[1]}.",
            table(["axis", "values in full", "left out", "run instead or besides"], rows),
        ]
    )


def _states(cell: Cell) -> tuple[int, ...]:
    """Fantasy states, where their number is part of the method."""
    own = cell.form == "incremental" and cell.maximizer != "innerloop"
    return (cell.draws,) if own else ()


def _place(cell: Cell) -> tuple[object, ...]:
    """A cell but for its clock and length."""
    settings = cell.settings()
    return tuple(settings[name] for name in sorted(settings) if name not in _LENGTH)


_LENGTH = ("clock", "evaluations")
