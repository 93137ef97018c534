"""Trials as data frames: types as they are, what is missing missing, names that cannot clash."""

from __future__ import annotations

import datetime
import sys

import pandas as pd
import polars as pl
import pytest

import innerloop as il
from innerloop.frames import kind_of
from innerloop.studies.create import create_study
from innerloop.studies.study_file import study_file

SPACE = il.Space(
    {
        "rate": il.Real(1e-4, 1.0, log=True),
        "layers": il.Integer(1, 4),
        "id": il.Choice(["a", "b"]),
        "width": il.Choice([16, 32, 64]),
        "flag": il.Choice([True, False]),
        "limit": il.Choice(["auto", 0.5]),
        "epochs": 30,
    }
)
PARAMS = {
    "rate": 0.01,
    "layers": 2,
    "id": "a",
    "width": 32,
    "flag": True,
    "limit": "auto",
    "epochs": 30,
}
PLAIN = ["rate", "layers", "params.id", "width", "flag", "limit", "epochs"]
LAST = ["started", "finished", "error", "outside", "changed"]


def study() -> il.Optimizer:
    optimizer = il.Optimizer(SPACE, seed=0)
    optimizer.add(PARAMS, 1.5, noise_sd=0.1)
    optimizer.add({**PARAMS, "limit": 0.5, "id": "b"}, state="failed", error="no \ud800 reason")
    asked = optimizer.ask()
    optimizer.tell(asked, 2.5)
    optimizer.correct(asked, 3.5)
    optimizer.ask()
    return optimizer


def test_pandas_has_the_types_of_values():
    optimizer = study()
    table = optimizer.to_dataframe()
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == ["id", "state", "value", "noise_sd", *PLAIN, *LAST]
    kinds = {name: str(dtype) for name, dtype in table.dtypes.items()}
    assert kinds["id"] == kinds["layers"] == kinds["width"] == kinds["epochs"] == "int64"
    assert kinds["value"] == kinds["noise_sd"] == kinds["rate"] == "float64"
    assert kinds["flag"] == kinds["changed"] == "bool"
    assert kinds["state"] == kinds["params.id"] == kinds["error"] == "string"
    assert kinds["limit"] == "object"
    assert kinds["started"].endswith("UTC]")
    assert table["value"].tolist()[::2] == [1.5, 3.5]
    assert table["value"].isna().tolist() == [False, True, False, True]
    assert table["noise_sd"].isna().tolist() == [False, True, True, True]
    assert table["limit"].tolist()[:2] == ["auto", 0.5]
    assert table["changed"].tolist() == [False, False, True, False]
    assert table["error"].isna().tolist() == [True, False, True, True]
    assert table["finished"].isna().tolist() == [False, False, False, True]
    told = table["finished"][2].to_pydatetime().timestamp()
    assert told == pytest.approx(optimizer.trials[2].told, abs=1e-3)


def test_polars_says_the_same():
    optimizer = study()
    table = optimizer.to_dataframe(library="polars")
    assert isinstance(table, pl.DataFrame)
    assert table.schema["layers"] == pl.Int64
    assert table.schema["value"] == pl.Float64
    assert table.schema["flag"] == pl.Boolean
    assert table.schema["started"] == pl.Datetime("us", "UTC")
    assert table["limit"].to_list()[:2] == ["auto", "0.5"]  # of several kinds: texts
    other = optimizer.to_dataframe(library="pandas")
    assert table.columns == list(other.columns)
    for name in ("id", "state", "value", "rate", "layers", "params.id", "changed", "noise_sd"):
        plain = [None if pd.isna(each) else each for each in other[name].tolist()]
        assert table[name].to_list() == plain, name


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_without_trials_columns_and_types_are_the_same(library):
    empty = il.Optimizer(SPACE).to_dataframe(library)
    assert list(empty.columns) == ["id", "state", "value", *PLAIN, *LAST]
    full = study().to_dataframe(library)
    for name in ("id", "value", "rate", "layers", "flag", "params.id", "width"):
        assert str(empty[name].dtype) == str(full[name].dtype), name


def test_several_outcomes_have_a_column_each():
    space = il.Space({"x": il.Real(0.0, 1.0), "cost": il.Real(0.0, 1.0)})
    optimizer = il.Optimizer(
        space,
        objectives={"cost": "minimize", "yield": "maximize"},
        outcome_constraints=["heat <= 2"],
        seed=0,
    )
    optimizer.add({"x": 0.5, "cost": 0.1}, {"cost": 1.0, "yield": (2.0, 0.3), "heat": 3.0})
    optimizer.tell(optimizer.ask(), {"cost": 4.0})
    optimizer.add({"x": 2.0, "cost": 0.5}, {"cost": 1.0, "yield": 2.0, "heat": 1.0})
    table = optimizer.to_dataframe()
    outcomes = ["cost", "yield", "heat", "feasible", "noise_sd.yield"]
    assert list(table.columns) == ["id", "state", *outcomes, "x", "params.cost", *LAST]
    assert table["cost"].tolist() == [1.0, 4.0, 1.0]
    assert table["yield"].isna().tolist() == [False, True, False]
    assert str(table["feasible"].dtype) == "boolean"
    assert table["feasible"].tolist() == [False, pd.NA, True]
    assert "x must be" in table["outside"][2]
    assert table["params.cost"].tolist()[::2] == [0.1, 0.5]


def test_trials_are_shown_in_the_present_space():
    optimizer = il.Optimizer(il.Space({"x": il.Real(0.0, 1.0)}), seed=0)
    optimizer.add({"x": 0.5}, 1.0)
    larger = il.Space({"x": il.Real(0.0, 1.0), "m": il.Integer(1, 3)})
    optimizer.change_space(larger, defaults={"m": 1})
    optimizer.ask()
    table = optimizer.to_dataframe()
    assert list(table.columns) == ["id", "state", "value", "x", "m", *LAST]
    assert (table["m"].dtype, table["m"][0]) == ("int64", 1)
    assert table["changed"].tolist() == [False, False]


def test_a_result_is_as_its_optimizer():
    result = il.minimize(lambda p: p["x"] ** 2, il.Space({"x": il.Real(-1, 1)}), n_trials=3, seed=0)
    pd.testing.assert_frame_equal(result.to_dataframe(), result.optimizer.to_dataframe())


def test_a_study_has_the_columns_of_its_optimizer(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    made = create_study(url, "s", space=SPACE, direction="minimize", seed=0)
    made.tell(made.ask().id, 1.5)
    made.fail(made.ask().id, "it broke")
    for seen in (made, study_file(url, "s")):
        table = seen.to_dataframe()
        assert list(table.columns) == [
            "id",
            "state",
            "value",
            *PLAIN,
            "started",
            "finished",
            "error",
            "lost",
            "outside",
            "changed",
        ]
        assert table["state"].tolist() == ["complete", "failed"]
        assert table["value"].tolist()[0] == 1.5
        assert table["lost"].tolist() == [False, False]
        assert table["error"].tolist()[1] == "it broke"


def test_kinds_of_values():
    assert kind_of([1, 2.5, None]) == "number"
    assert kind_of([True, None]) == "boolean"
    assert kind_of([True, 1]) == kind_of([2**70]) == kind_of([]) == "mixed"
    assert kind_of([datetime.datetime.now(datetime.UTC)]) == "time"


def test_params_never_take_the_place_of_another_column():
    space = il.Space({"id": il.Real(0, 1), "params.id": il.Real(0, 1), "value": il.Real(0, 1)})
    optimizer = il.Optimizer(space, seed=0)
    optimizer.add({"id": 0.1, "params.id": 0.2, "value": 0.3}, 5.0)
    row = optimizer.to_dataframe().iloc[0]
    assert (row["id"], row["value"], row["params.value"]) == (0, 5.0, 0.3)
    assert (row["params.id"], row["params.params.id"]) == (0.1, 0.2)


def test_libraries_that_are_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(study().to_dataframe(), pl.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    for library, name in ((None, "pandas"), ("polars", "polars")):
        with pytest.raises(ImportError, match=f"need the package {name}.*pip install '{name}'"):
            study().to_dataframe(library)
    with pytest.raises(il.InputError, match="library must be one of"):
        study().to_dataframe("numpy")
