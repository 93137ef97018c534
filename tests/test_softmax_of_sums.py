"""The average of softmax over sums of rows, against all pairs gone through by SciPy."""

import numpy as np
import pytest
from scipy import special

from innerloop.acquisition import softmax_of_sums
from innerloop.acquisition.softmax_of_sums import mean_softmax


def rows_that_peak(apart, seed):
    """a (3, 4, 5) and b (3, 6, 5); in one set of three their peaks are so many units apart."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 6, 5))
    a[1, :, 0] += apart
    b[1, :, 3] += apart
    return a, b


def by_pairs(a, b):
    return special.softmax(a[:, :, None] + b[:, None], axis=-1).mean(axis=2)


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("apart", [0.0, 30.0, 650.0, 800.0, 1e5])
def test_every_pair_counts_also_where_products_underflow(apart, scale):
    a, b = rows_that_peak(apart, seed=0)
    a, b = scale * a, scale * b
    np.testing.assert_allclose(mean_softmax(a, b)[0], by_pairs(a, b), rtol=1e-9, atol=1e-200)


@pytest.mark.parametrize("apart", [0.0, 30.0, 800.0, 1e5])
def test_gradients_against_finite_differences(apart):
    a, b = rows_that_peak(apart, seed=1)
    d_chance = np.random.default_rng(2).standard_normal((3, 4, 5))
    gradients = mean_softmax(a, b)[1](d_chance)
    step = 1e-5
    for which, gradient in enumerate(gradients):
        difference = np.zeros_like(gradient)
        for index in np.ndindex(gradient.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = [a.copy(), b.copy()]
                moved[which][index] += sign * step
                ends.append((by_pairs(*moved) * d_chance).sum())
            difference[index] = (ends[0] - ends[1]) / (2 * step)
        # Entries of 1e5 leave differences of 1e-5 with few digits.
        np.testing.assert_allclose(gradient, difference, atol=1e-8 if apart < 1e5 else 1e-5)


def test_pairs_are_gone_through_a_few_sets_at_a_time(monkeypatch):
    """All sets at once or one by one: the same result."""
    a, b = (1e4 * each for each in rows_that_peak(50.0, seed=3))
    d_chance = np.random.default_rng(4).standard_normal(a.shape)
    at_once = mean_softmax(a, b)
    monkeypatch.setattr(softmax_of_sums, "_WORKSPACE", 1)
    one_by_one = mean_softmax(a, b)
    np.testing.assert_allclose(one_by_one[0], at_once[0], rtol=1e-12)
    for one, all_of_them in zip(one_by_one[1](d_chance), at_once[1](d_chance), strict=True):
        np.testing.assert_allclose(one, all_of_them, rtol=1e-12)
