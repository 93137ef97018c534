"""The look of all figures: sizes, fonts and colours in one place, and files that repeat exactly.

Matplotlib reads its settings when an artist is made, so a function that draws is marked `styled`:

    @styled
    def draw(table: Table) -> Figure:
        figure = new_figure(WIDTH, 2.4)
        axes = figure.subplots(1, 3)
        ...

and `save` writes what it returns, the same bytes every time.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from innerloop_paper.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")

#: Width in inches of a figure as wide as the text of a page; `HALF` of one beside another.
WIDTH, HALF = 7.2, 3.5

#: Text and axes; less important text; lines to read values off.
INK, MUTED, GRID = "#22272e", "#69707a", "#e4e7eb"
#: The belief about f; what is chosen; the way of an ascent.
BELIEF, CHOICE, ASCENT = "#00588f", "#c8324b", "#e07b00"

#: Gradients orange, gradient-free blue, naive green as in the paper; darker for greedy.
COLORS: dict[tuple[str, str], str] = {
    ("adam", "greedy"): "#c04e00",
    ("adam", "joint"): "#f5a55e",
    ("cmaes", "greedy"): "#00588f",
    ("cmaes", "joint"): "#69b3e7",
    ("random_search", "greedy"): "#00735a",
    ("random_search", "joint"): "#74cba8",
    ("innerloop", "greedy"): "#2b1a40",
    ("innerloop", "joint"): "#c27ba0",
}
LABELS: dict[tuple[str, str], str] = {
    ("adam", "greedy"): "Adam, greedy",
    ("adam", "joint"): "Adam, joint",
    ("cmaes", "greedy"): "CMA-ES, greedy",
    ("cmaes", "joint"): "CMA-ES, joint",
    ("random_search", "greedy"): "random search, greedy",
    ("random_search", "joint"): "random search, joint",
    ("innerloop", "greedy"): "innerloop's default",
    ("innerloop", "joint"): "innerloop, joint",
}
#: For those who tell colours apart less well: a dash for each parallelism, a mark for each search.
DASHES: dict[str, Any] = {"greedy": "solid", "joint": (0, (3.2, 1.3))}
MARKS: dict[str, str] = {"adam": "o", "cmaes": "s", "random_search": "^", "innerloop": "D"}

#: From little to much, light to dark; each is even in lightness, so that it prints well in grey.
BLUES = ("#f7fafc", "#d3e3ef", "#93bcd9", "#4a8ab9", "#215a8c", "#0f2f52")
GREENS = ("#f6fbf9", "#d2ebe1", "#93cfb8", "#489f83", "#14705a", "#063c30")
PURPLES = ("#faf8fc", "#e4dcef", "#bfaedb", "#8f74b8", "#624390", "#331c55")

_SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so it is the same everywhere
    "mathtext.fontset": "dejavusans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.minor.size": 1.8,
    "ytick.minor.size": 1.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 6.0,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "innerloop",
    "pdf.fonttype": 42,
}
# What would differ from one time to the next, or between releases of Matplotlib.
_LEFT_OUT: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """A function that draws, with these settings in force while it does; none stay behind."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        from matplotlib import rc_context

        with rc_context(_SETTINGS):
            return draw(*args, **kwargs)

    return drawn


@styled
def new_figure(width: float = WIDTH, height: float = 2.4) -> Figure:
    """An empty figure of so many inches, apart from any window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@styled
def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as SVG, PDF or PNG by the ending of the path; same figure, same bytes."""
    target = Path(path)
    drawn = io.BytesIO()
    figure.savefig(
        drawn,
        format=target.suffix.removeprefix(".") or None,
        dpi=200,
        metadata=_LEFT_OUT.get(target.suffix),
    )
    write_bytes(target, drawn.getvalue())


def colormap(colors: tuple[str, ...]) -> Colormap:
    """A continuous scale through the given colours, such as BLUES."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("innerloop", list(colors))


def name_panel(axes: Axes, letter: str, title: str) -> None:
    """Set the title of a panel, with its letter in bold before it."""
    axes.set_title(rf"$\mathbf{{{letter}}}$  {title}")


def power(n: int) -> str:
    """A power of two as such, in the notation of Matplotlib's formulas."""
    exponent = n.bit_length() - 1
    return f"2^{{{exponent}}}" if n == 2**exponent else str(n)
