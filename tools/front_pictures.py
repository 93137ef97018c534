"""Make the pictures of docs/introduction.md and of the README.

    python tools/front_pictures.py

writes small PNG files into docs/images. The picture of the report is taken by a browser: it needs
playwright and a Chromium on the path.
"""

from __future__ import annotations

import io
import math
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
from pictures import SPACE, loss
from PIL import Image

import innerloop as il
from innerloop.report.report import write_report

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[1] / "docs" / "images"
LINE = il.Space({"temperature": il.Real(20.0, 80.0, digits=2)})
STAGES = (3, 5, 9)  # so many experiments in the panels
WIDTH, HEIGHT = 1000, 1180  # pixels of the report


def output(temperature: float) -> float:
    """The yield of a made-up reaction, with two hills."""
    t = (temperature - 20.0) / 60.0
    high, low = math.exp(-(((t - 0.65) / 0.2) ** 2)), math.exp(-(((t - 0.2) / 0.12) ** 2))
    return 40.0 + 20.0 * high + 12.0 * low


def main() -> None:
    """Write all pictures."""
    result = il.minimize(loss, SPACE, n_trials=40, batch_size=4, seed=0)
    _write("introduction", learning())
    _write("search", search(result))
    _keep("report", report(result.optimizer))


def learning() -> Figure:
    """What is believed of the yield after more and more experiments."""
    figure, panels = plt.subplots(1, 3, figsize=(10.0, 3.3), layout="constrained", sharey=True)
    optimizer = il.Optimizer(LINE, direction="maximize", seed=2, initial=STAGES[0])
    for ax, experiments in zip(panels, STAGES, strict=True):
        while len(optimizer.trials) < experiments:
            trial = optimizer.ask()
            optimizer.tell(trial, output(trial.params["temperature"]))
        asked = optimizer.with_trials(optimizer.trials).ask()  # leaves no trace
        _panel(ax, optimizer, asked.params["temperature"])
        ax.set_title(f"after {experiments} experiments")
    return figure


def _panel(ax: Axes, optimizer: il.Optimizer, following: float) -> None:
    """The belief, the truth, and where the next experiment will be."""
    il.plot.slices(optimizer, "temperature", ax=ax)
    ax.get_legend().remove()  # the page says what is what
    grid = np.linspace(20.0, 80.0, 200)
    ax.plot(grid, [output(each) for each in grid], color="0.5", linestyle=":")
    ax.axvline(following, color="tab:red", linewidth=1.0)
    ax.set(ylim=(20.0, 80.0), xlabel="temperature", ylabel="yield")


def search(result: il.Result) -> Figure:
    """The best so far, what matters, and the model along the parameter that matters most."""
    figure, panels = plt.subplots(1, 3, figsize=(10.0, 3.2), layout="constrained")
    il.plot.convergence(result, ax=panels[0])
    il.plot.slices(result, "rate", ax=panels[1])
    il.plot.importances(result, ax=panels[2])
    return figure


def report(optimizer: il.Optimizer) -> Image.Image:
    """The upper part of a report, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        write_report(optimizer, path, title="A network")
        browser = playwright.chromium.launch(executable_path=chromium)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(path.as_uri())
        taken = page.screenshot()
        browser.close()
    return Image.open(io.BytesIO(taken))


def _write(name: str, figure: Figure) -> None:
    """A figure as a picture."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100)
    plt.close(figure)
    _keep(name, Image.open(buffer))


def _keep(name: str, picture: Image.Image) -> None:
    """A picture in a file, with colours enough and no more."""
    path = FOLDER / f"{name}.png"
    picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}, {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
