"""Notebooks as people run them: in kernels of their own, with what their cells show."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import innerloop as il
from innerloop.html_table import table

DOCS = Path(__file__).parents[1] / "docs" / "notebooks"


def run(notebook, folder):
    """The outputs of its code cells, by cell."""
    client = NotebookClient(notebook, timeout=300, startup_timeout=300, kernel_name="python3")
    client.execute(cwd=str(folder), env={**os.environ, "PYTHONPATH": os.pathsep.join(paths())})
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def paths():
    return [str(Path(il.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]


def shown(outputs):
    """All HTML that cells have shown."""
    return [each["data"]["text/html"] for each in outputs if "text/html" in each.get("data", {})]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["in_a_notebook", "a_model_of_your_own"])
def test_notebooks_of_the_documentation_run(name, tmp_path):
    notebook = nbformat.read(DOCS / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are made when built"
    cells = run(notebook, tmp_path)
    outputs = [output for cell in cells for output in cell]
    assert not [each for each in outputs if each.get("name") == "stderr"]
    if name == "a_model_of_your_own":
        assert "Posterior of Matern52: n = 20 observations, d = 2" in shown(cells[-1])[0]
        return
    space, ran, best, posterior, report, optimizer = cells
    assert "<td>temperature</td><td>Real</td><td>20.0 to 120.0</td>" in shown(space)[0]
    bar, result = shown(ran)
    assert '<progress value="32" max="32">' in bar
    assert "best 8" in bar
    assert "32 trials" in result
    assert result.count("<tr>") == 6
    assert "<td>catalyst</td><td>Ni</td>" in shown(best)[0]
    assert "lengthscales" in shown(posterior)[0]
    assert shown(report)[0].startswith('<iframe sandbox="allow-scripts"')
    assert "33 complete, 1 pending" in shown(optimizer)[0]


def hostile():
    space = il.Space({"<b>x</b>": il.Real(0.0, 1.0), "kind": il.Choice(["<script>", "b" * 500])})
    optimizer = il.Optimizer(space, seed=0, initial=40)
    for trial in optimizer.ask(40):
        optimizer.tell(trial, trial.params["<b>x</b>"])
    return optimizer


def test_tables_are_short_and_escaped():
    optimizer = hostile()
    for each in (optimizer, optimizer.space, optimizer.trials[0]):
        page = each._repr_html_()
        assert len(page) < 4000
        assert "<b>" not in page
        assert "<script" not in page
        assert not re.search(r"color|background|b{61}", page)
    # The best five, in order.
    values = sorted(trial.value for trial in optimizer.trials)[:5]
    rows = re.findall(r"<tr><td>\d+</td><td>complete</td><td>([^<]*)</td>", optimizer._repr_html_())
    assert rows == [f"{value:.6g}" for value in values]


def test_what_is_too_much_of_a_table_is_left_out():
    page = table("many", [range(100)] * 50, header=[f"c{i}" for i in range(100)])
    assert page.count("<tr>") == 21
    assert page.count("<td>") == 20 * 12
    assert "and 30 more" in page
    assert "and 88 more columns" in page


def test_of_several_outcomes_the_front_is_shown():
    optimizer = il.Optimizer(
        il.Space({"x": il.Real(0.0, 1.0)}),
        objectives={"gain": "maximize", "cost": "minimize"},
        seed=0,
        initial=4,
    )
    for trial in optimizer.ask(8):
        x = trial.params["x"]
        optimizer.tell(trial, {"gain": x, "cost": (x - 0.5) ** 2})
    page = optimizer._repr_html_()
    ids = [int(each) for each in re.findall(r"<tr><td>(\d+)</td>", page)]
    assert ids == [trial.id for trial in optimizer.front][:20]
    assert "<th>gain</th><th>cost</th><th>x</th>" in page


def test_a_trial_is_one_short_line():
    optimizer = hostile()
    first = optimizer.trials[0]
    assert eval(repr(first), {"Trial": il.Trial}) == il.Trial(  # all that it says, it says right
        id=0, params=first.params, state="complete", value=first.value
    )
    failed = optimizer.tell(optimizer.ask(1)[0], state="failed", error="a\n" * 99 + "of no use")
    failed = optimizer.trials[-1] if failed is None else failed
    assert repr(failed).endswith("state='failed', error='of no use')")
