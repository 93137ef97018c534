"""Axes to draw on: those given or new ones, parameters along them, and colours that suit them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from innerloop import checks
from innerloop.optional import needed
from innerloop.space.parameters import Choice, Integer, Parameter, Real
from innerloop.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Names are shortened to so many characters, those of categories to fewer.
_LONGEST, _LONGEST_TICK = 32, 16
# Labels side by side that have more characters than this stand aslant.
_SIDE_BY_SIDE = 24
# Of more categories than this only some have a label.
_MOST_TICKS = 12


def axes(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is None:
        return new_axes(1)[0]
    checks.instance("ax", ax, matplotlib("axes").Axes, "matplotlib axes")
    return ax


def new_axes(number: int) -> list[Axes]:
    """Axes of a new figure, three in a row at most."""
    across = min(number, 3)
    down = -(-number // across)
    size = None if number == 1 else (3.6 * across, 3.0 * down)
    figure, made = matplotlib("pyplot").subplots(
        down, across, squeeze=False, figsize=size, layout="constrained"
    )
    for unused in made.flat[number:]:
        figure.delaxes(unused)
    return list(made.flat[:number])


def matplotlib(part: str) -> Any:
    """A module of matplotlib."""
    return needed(f"matplotlib.{part}", "pictures", "innerloop[plot]")


def ink(ax: Axes) -> Any:
    """The colour of the writing on axes, which can be seen on their background."""
    return ax.xaxis.label.get_color()


def text(value: Any, longest: int = _LONGEST) -> str:
    """A name as a label: in one line, not too long, and with nothing in it that is markup."""
    whole = " ".join(str(value).encode("utf-8", "replace").decode("utf-8").split())
    if len(whole) > longest:
        whole = f"{whole[: longest - longest // 3 - 1]}…{whole[-(longest // 3) :]}"
    return whole.replace("$", r"\$")


def number(value: float) -> str:
    """A number in few characters."""
    return f"{value:.3g}"


def places(parameter: Parameter, values: Sequence[Any]) -> Array:
    """Where values lie along an axis (n,): numbers as they are, categories one after the other.

    What is missing, or none of the values, is NaN.
    """
    if isinstance(parameter, Choice):
        numbers = {value: float(k) for k, value in enumerate(parameter.values)}
        return np.array([numbers.get(value, np.nan) for value in values], dtype=np.float64)
    known = [value if isinstance(value, int | float) else np.nan for value in values]
    return np.array(known, dtype=np.float64)


def along(ax: Axes, which: str, parameter: Parameter, name: str) -> None:
    """Have one axis, "x" or "y", show the values of a parameter and its name."""
    axis: Axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_label_text(text(name))
    limits = ax.set_xlim if which == "x" else ax.set_ylim
    if isinstance(parameter, Choice):
        count = len(parameter.values)
        limits(-0.5, count - 0.5)
        shown = range(0, count, -(-count // _MOST_TICKS))
        labels = [text(parameter.values[k], _LONGEST_TICK) for k in shown]
        axis.set_ticks(list(shown), labels)
        if which == "x" and sum(map(len, labels)) > _SIDE_BY_SIDE:
            slant(ax)
        return
    assert isinstance(parameter, Real | Integer)
    low, high = float(parameter.low), float(parameter.high)
    if parameter.log:
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
        room = (high / low) ** 0.02
        limits(low / room, high * room)
        return
    room = 0.5 * parameter.step if isinstance(parameter, Integer) else 0.02 * (high - low)
    limits(low - room, high + room)
    if isinstance(parameter, Integer):
        axis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True, min_n_ticks=1))


def slant(ax: Axes) -> None:
    """Have the labels along x stand aslant."""
    ax.tick_params(axis="x", labelrotation=30)
    for label in ax.get_xticklabels():
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")


def ring(ax: Axes, x: Any, y: Any) -> None:
    """A ring around what is best, which can be seen on any colour."""
    stroke = matplotlib("patheffects").withStroke(linewidth=3.5, foreground=ax.get_facecolor())
    (drawn,) = ax.plot(x, y, "o", ms=10, mfc="none", mec=ink(ax), mew=1.5)
    drawn.set_path_effects([stroke])


def is_light(ax: Axes) -> bool:
    """Whether the background of axes is nearer to white than to black."""
    red, green, blue = matplotlib("colors").to_rgb(ax.get_facecolor())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)


def mark_failed(ax: Axes, x: Array) -> None:
    """Marks at the lower end of axes where trials failed, at x (n,)."""
    known = x[np.isfinite(x)]
    if known.size:
        ax.plot(
            known,
            np.full(len(known), 0.025),
            linestyle="none",
            marker="x",
            markersize=4.5,
            color="C3",
            transform=ax.get_xaxis_transform(),
            label="failed",
        )


def legend(ax: Axes, **options: Any) -> None:
    """A legend of what has a label, if there are two things or more."""
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(fontsize="small", **options)
