"""Names between backticks in constraints: any name can be used, and texts stay as they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import innerloop as il
from innerloop.optimizer.goals import OutcomeConstraint
from innerloop.space.quotes import unquoted

REAL = il.Real(0.0, 3.0)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


@given(NAMES, st.sampled_from(["+", "*"]))
def test_any_name_can_be_constrained(name, operator):
    """Linear or not: suggestions meet what the text says of the values by their names."""
    other = "x" if name != "x" else "y"
    text = f"{quoted(name)} {operator} {other} <= 2 ^ 1"
    space = il.Space({name: REAL, other: REAL}, constraints=[text])
    for x in space.spread(4, 0):
        a, b = space.decode(x).values()
        assert (a + b if operator == "+" else a * b) <= 2.0 + 1e-8
    with pytest.raises(il.InputError) as refused:
        space.check({name: 3.0, other: 3.0})
    assert repr(text) in str(refused.value)
    assert il.Space.from_dict(space.to_dict()).texts == (text,)


def test_quoted_names_in_equations_and_files(tmp_path):
    texts = ["`feed rate` + `lambda` + `a``b` == 1", "exp(`feed rate`) * `2nd` <= 2"]
    names = ["feed rate", "lambda", "a`b", "2nd"]
    space = il.Space(dict.fromkeys(names, il.Real(0.0, 1.0)), constraints=texts)
    path = tmp_path / "space.toml"
    path.write_text(space.to_toml())
    again = il.Space.from_toml(path)
    assert again.texts == tuple(texts)
    for x in again.sample(5, np.random.default_rng(0)):
        params = again.decode(x)
        assert sum(params[name] for name in names[:3]) == pytest.approx(1.0, abs=1e-9)
        assert np.exp(params["feed rate"]) * params["2nd"] <= 2.0 + 1e-8


@given(NAMES)
def test_outcomes_of_any_name_have_limits(name):
    for text in (f"{quoted(name)} <= 2.5", f"2.5 >= {quoted(name)}"):
        read = OutcomeConstraint.read(text)
        assert (read.name, read.sign, read.bound, read.text) == (name, 1.0, 2.5, text)
    assert unquoted(quoted(name)) == name


def test_a_quoted_outcome_from_the_space_to_the_best():
    space = il.Space({"feed rate": REAL, "x": REAL}, constraints=["`feed rate` + x <= 3"])
    goals = {"objectives": {"cost": "minimize"}, "outcome_constraints": ["`heat <= 1` >= 1"]}
    result = il.optimize(
        lambda p: {"cost": sum(p.values()), "heat <= 1": p["x"]},
        space,
        **goals,
        n_trials=12,
        seed=0,
    )
    assert result.best.outcomes["heat <= 1"] >= 1.0
    assert all(sum(trial.params.values()) <= 3.0 + 1e-8 for trial in result.trials)


@pytest.mark.parametrize(
    "text",
    [
        "feed rate + x <= 3",
        "`feed rate + x <= 3",
        "`` <= 3",
        "2`x` <= 3",
        "`exp`(x) <= 3",
        "x`x` <= 3",
    ],
)
def test_what_cannot_be_read_says_how_names_are_quoted(text):
    with pytest.raises(il.InputError, match="put in backticks, as `feed rate`"):
        il.Space({"feed rate": REAL, "x": REAL}, constraints=[text])
