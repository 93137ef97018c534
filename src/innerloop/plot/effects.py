"""The model along one parameter, and over two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from innerloop import checks
from innerloop.errors import InputError
from innerloop.insight.model import Expected, FittedModel
from innerloop.insight.progress import told_of
from innerloop.insight.slices import cells_of, line_along, plane_over
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.trials import Trial
from innerloop.plot.canvas import (
    along,
    axes,
    ink,
    legend,
    mark_failed,
    matplotlib,
    new_axes,
    places,
    ring,
    text,
)
from innerloop.plot.subject import Source, model_of, optimizer_in, outcome_in
from innerloop.space.parameters import Choice, Parameter, Real
from innerloop.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# So many parameters are drawn if none are named.
_MOST = 6
_LEVELS = 12
# The farthest trials are this faint.
_FAINTEST = 0.12


@overload
def slices(  # type: ignore[overload-overlap]  # one name is no sequence of names
    source: Source, parameters: str, *, outcome: str | None = None, ax: Axes | None = None
) -> Axes: ...
@overload
def slices(
    source: Source,
    parameters: Sequence[str] | None = None,
    *,
    outcome: str | None = None,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]: ...
def slices(
    source: Source,
    parameters: str | Sequence[str] | None = None,
    *,
    outcome: str | None = None,
    ax: Any = None,
) -> Axes | list[Axes]:
    """Draw what the model expects along parameters, the others as in the best trial.

    The band is where the true value is expected with a probability of 95 %, noise aside. Dots are
    trials, the fainter the more they differ in the other parameters; the ring is the best one, or
    of several objectives the one nearest to the best of all; crosses are failed trials.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        parameters: a name, or several; by default the six that matter most.
        outcome: which outcome; by default the first objective.
        ax: the axes to draw on, as many as there are names; by default those of a new figure.

    Returns:
        The axes: one if a name was given, else a list.
    """
    optimizer = optimizer_in(source)
    name = outcome_in(optimizer, outcome)
    model = model_of(optimizer, name)
    names = _names(model, parameters)
    given = [ax] if isinstance(parameters, str) and ax is not None else ax
    if given is not None and len(list(given)) != len(names):
        raise InputError(f"{len(names)} parameters need as many axes, got {len(list(given))}")
    drawn = new_axes(len(names)) if given is None else [axes(each) for each in given]
    best = told_of(model.best, name)
    assert best is not None
    lines = [_Line.of(model, own) for own in names]
    span = _span(lines, best)
    for each, line in zip(drawn, lines, strict=True):
        _slice(each, optimizer, model, line, name)
        ring(each, places(model.parameters[line.name], [model.best.params[line.name]]), [best])
        each.set_ylim(*span)
    legend(drawn[0])
    return drawn[0] if isinstance(parameters, str) else drawn


def contour(
    source: Source,
    x: str | None = None,
    y: str | None = None,
    *,
    outcome: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what the model expects over two parameters, the others as in the best trial.

    Nothing is drawn where constraints do not allow a trial. Dots are trials, the ring is the best
    one, crosses are failed trials.

    Args:
        source: an `Optimizer`, a `Result` or a study.
        x: the parameter across; by default that which matters most.
        y: the parameter upwards; by default that which matters most of the others.
        outcome: which outcome; by default the first objective.
        ax: the axes to draw on; by default those of a new figure.

    Returns:
        The axes; the colour bar has its own.
    """
    optimizer = optimizer_in(source)
    name = outcome_in(optimizer, outcome)
    model = model_of(optimizer, name)
    if len(model.parameters) < 2:
        raise InputError("a contour needs two parameters that vary, and there is one: see `slices`")
    across, up = _pair(model, x, y)
    ax = axes(ax)
    _plane(ax, model, across, up, name)
    trials, kinds = _inside(optimizer), [model.parameters[each] for each in (across, up)]
    for state, marker, colour in (("complete", "o", ink(ax)), ("failed", "x", "C3")):
        some = [trial.params for trial in trials if trial.state == state]
        spots = [
            places(kind, [params.get(each) for params in some])
            for kind, each in zip(kinds, (across, up), strict=True)
        ]
        halo: dict[str, Any] = {"mec": ax.get_facecolor(), "mew": 0.6} if marker == "o" else {}
        ax.plot(*spots, marker, ms=4.5, color=colour, **halo)
    best = (places(k, [model.best.params[n]]) for k, n in zip(kinds, (across, up), strict=True))
    ring(ax, *best)
    for which, kind, each in zip("xy", kinds, (across, up), strict=True):
        along(ax, which, kind, each)
    return ax


def _names(model: FittedModel, given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return model.ordered[:_MOST]
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        checks.one_of("the parameter", name, tuple(model.parameters))
    return names


def _pair(model: FittedModel, x: str | None, y: str | None) -> tuple[str, str]:
    """Two different parameters, those given among them."""
    given = [each for each in (x, y) if each is not None]
    _names(model, given)
    if x is not None and x == y:
        raise InputError(f"a contour needs two different parameters, got {x!r} twice")
    others = iter(name for name in model.ordered if name not in given)
    return (next(others) if x is None else x), (next(others) if y is None else y)


def _inside(optimizer: Optimizer) -> list[Trial]:
    """Trials that have a place on axes of the space."""
    return [trial for trial in optimizer.trials if trial.outside is None]


class _Line(NamedTuple):
    """Along one parameter: where its values lie, and what is expected there (n,)."""

    name: str
    x: Array
    expected: Expected

    @staticmethod
    def of(model: FittedModel, name: str) -> _Line:
        """That of a model through its best point."""
        line = line_along(model, name)
        return _Line(name, places(model.parameters[name], line.values), model.expected(line.X))


def _slice(ax: Axes, optimizer: Optimizer, model: FittedModel, line: _Line, outcome: str) -> None:
    name, x, (mean, low, high) = line
    kind, trials = model.parameters[name], _inside(optimizer)
    told = [trial for trial in trials if told_of(trial, outcome) is not None]
    _dots(ax, model, told, name, outcome)
    if isinstance(kind, Choice):
        ax.bar(x, high - low, 0.6, low, color="C1", alpha=0.25, lw=0, label="95 %")
        ax.hlines(mean, x - 0.3, x + 0.3, color="C1", label="expected")
    else:
        ax.fill_between(x, low, high, color="C1", alpha=0.25, lw=0, label="95 %")
        ax.plot(x, mean, color="C1", label="expected")
    along(ax, "x", kind, name)
    ax.set_ylabel(text(outcome))
    failed = [trial.params.get(name) for trial in trials if trial.state == "failed"]
    mark_failed(ax, places(kind, failed))


def _dots(ax: Axes, model: FittedModel, told: list[Trial], name: str, outcome: str) -> None:
    """Trials along a parameter, the fainter the farther they are in the others."""
    offsets = model.offsets(model.space.encode_all([trial.params for trial in told]))
    far = sum((each for own, each in offsets.items() if own != name), np.zeros(len(told)))
    colours = np.tile(matplotlib("colors").to_rgba("C0"), (len(told), 1))
    colours[:, 3] = _FAINTEST + (0.9 - _FAINTEST) * np.exp(-0.5 * far)
    x = places(model.parameters[name], [trial.params.get(name) for trial in told])
    values = np.array([told_of(each, outcome) for each in told], dtype=np.float64)
    ax.scatter(x, values, s=16, c=colours, lw=0, label="trials")


def _span(lines: Sequence[_Line], best: float) -> tuple[float, float]:
    """The values to show: all that is expected and the best one, and of bands as much again."""
    means = np.concatenate([[best], *(line.expected.mean for line in lines)])
    lowest = min(float(line.expected.low.min()) for line in lines)
    highest = max(float(line.expected.high.max()) for line in lines)
    bottom, top = float(means.min()), float(means.max())
    room = top - bottom or highest - lowest or abs(top) or 1.0
    bottom = min(bottom, max(lowest, bottom - room))
    top = max(top, min(highest, top + room))
    edge = 0.08 * (top - bottom or room)
    return bottom - edge, top + edge


def _plane(ax: Axes, model: FittedModel, x: str, y: str, outcome: str) -> None:
    """The expected value over two parameters, with a colour bar."""
    plane = plane_over(model, x, y)
    mean = model.expected(plane.X).mean
    inside = model.feasible(plane.X).reshape(plane.shape)
    Z = np.where(inside, mean.reshape(plane.shape), np.nan)
    own = [places(model.parameters[n], cells_of(model.parameters[n])) for n in (x, y)]
    # Some cells of integers and steps have the same value.
    columns, rows = (np.unique(each, return_index=True)[1] for each in own)
    across, up, Z = own[0][columns], own[1][rows], Z[np.ix_(rows, columns)]
    smooth = all(isinstance(k := model.parameters[n], Real) and k.count is None for n in (x, y))
    if smooth and np.isfinite(Z).sum() > 3 and np.nanmax(Z) > np.nanmin(Z):
        drawn: Any = ax.contourf(across, up, Z, levels=_LEVELS)
    else:
        edges = [_edges(model.parameters[n], v) for n, v in ((x, across), (y, up))]
        drawn = ax.pcolormesh(*edges, Z)
    ax.figure.colorbar(drawn, ax=ax, label=text(outcome))


def _edges(kind: Parameter, values: Array) -> Array:
    """Where the cells of values (n,) begin and end: (n + 1,)."""
    is_log = getattr(kind, "log", False)
    along_scale = np.log(values) if is_log else values
    middles = 0.5 * (along_scale[1:] + along_scale[:-1])
    step = np.diff(along_scale)
    first, last = (step[0], step[-1]) if len(step) else (1.0, 1.0)
    ends = along_scale[0] - 0.5 * first, along_scale[-1] + 0.5 * last
    edges = np.concatenate([[ends[0]], middles, [ends[1]]])
    return np.exp(edges) if is_log else edges
