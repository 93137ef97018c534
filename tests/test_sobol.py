"""Sobol points against SciPy's, and what a first ask imports."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from innerloop import sobol as module
from innerloop.sobol import sobol


@given(st.integers(1, 300), st.integers(1, 60), st.integers(0, 2**32))
def test_points_are_those_of_scipy(size, d, seed):
    mine, its = np.random.default_rng(seed), np.random.default_rng(seed)
    expected = qmc.Sobol(d, rng=its).random_base2((size - 1).bit_length())[:size]
    np.testing.assert_array_equal(sobol(size, d, mine), expected)
    assert mine.random() == its.random()


@pytest.mark.parametrize("d", [1111, 21201])
def test_many_dimensions(d):
    mine, its = np.random.default_rng(5), np.random.default_rng(5)
    np.testing.assert_array_equal(sobol(8, d, mine), qmc.Sobol(d, rng=its).random_base2(3))


def test_without_the_table_scipy_is_asked(monkeypatch):
    expected = sobol(20, 3, np.random.default_rng(1))
    monkeypatch.setattr(module, "_directions", lambda d: None)
    np.testing.assert_array_equal(sobol(20, 3, np.random.default_rng(1)), expected)


def test_the_table_of_scipy_is_found():
    assert module._table() is not None, "SciPy keeps direction numbers elsewhere: see sobol.py"


def test_no_dimension_and_no_point():
    assert sobol(4, 0, np.random.default_rng(0)).shape == (4, 0)
    assert sobol(0, 4, np.random.default_rng(0)).shape == (0, 4)


def test_a_first_ask_needs_no_slow_import():
    script = """
import sys
import innerloop as il
optimizer = il.Optimizer(il.Space({"x": il.Real(0, 1), "k": il.Integer(1, 90)}), seed=0)
for k in range(3):
    for trial in optimizer.ask(4):
        optimizer.tell(trial, trial.params["x"] * trial.params["k"])
slow = {"scipy.stats", "scipy.optimize", "optuna", "pandas"} & set(sys.modules)
assert not slow, slow
"""
    subprocess.run([sys.executable, "-c", script], check=True)
