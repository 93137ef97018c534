"""Values, spreads and noise of any size that a float can hold."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import innerloop as il

SPACE = il.Space({"a": il.Real(0, 1), "b": il.Real(0, 1)})
magnitudes = st.one_of(
    st.just(0.0), st.floats(1e-300, 1e300), st.floats(-300, 300).map(lambda e: 10.0**e)
)
signs = st.sampled_from([-1.0, 1.0])
values = st.builds(lambda size, sign: size * sign, magnitudes, signs)
outcomes = st.lists(st.tuples(values, st.one_of(st.none(), magnitudes)), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(told=outcomes)
@example(told=[(0.1 * i, 1e200) for i in range(6)])
@example(told=[(0.1 * i, 1e-300) for i in range(6)])
@example(told=[(0.1 * i, None if i else 1e200) for i in range(6)])
@example(told=[(1e-200 * i, 1e200) for i in range(6)])
def test_whatever_is_told_the_optimizer_goes_on(told):
    optimizer = il.Optimizer(SPACE, seed=0, initial=2)
    for value, noise_sd in told:
        optimizer.tell(optimizer.ask(), value, noise_sd=noise_sd)
    again = optimizer.ask()
    assert 0.0 <= again.params["a"] <= 1.0
    assert 0.0 <= again.params["b"] <= 1.0
    prediction = optimizer.predict({"a": 0.3, "b": 0.7})
    assert np.isfinite([prediction.mean, prediction.sd]).all()
    assert optimizer.best.state == "complete"
    kept = [(trial.value, trial.noise_sd) for trial in optimizer.trials[:-1]]
    assert kept == told


def test_a_value_that_says_nothing_is_as_good_as_none():
    rng = np.random.default_rng(0)
    with_it, without = (il.Optimizer(SPACE, seed=0) for _ in range(2))
    for a, b in rng.random((15, 2)):
        for optimizer in (with_it, without):
            optimizer.add({"a": a, "b": b}, np.sin(4 * a) + b, noise_sd=1e-3)
    with_it.add({"a": 0.5, "b": 0.5}, 1.5, noise_sd=1e200)
    for a, b in rng.random((5, 2)):
        one, other = (each.predict({"a": a, "b": b}) for each in (with_it, without))
        assert one.mean == pytest.approx(other.mean, abs=0.1)


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-162, 1e160, 1e300, 1.7e308])
def test_fit_refuses_a_spread_whose_square_is_not_a_number(size):
    X = np.random.default_rng(0).random((10, 2))
    y = np.linspace(-1.0, 1.0, 10) * size
    with pytest.raises(il.InputError, match="standard deviation"):
        il.fit(X, y)


@pytest.mark.parametrize("size", [1e-120, 1e-50, 1e50, 1e120])
def test_fit_means_the_same_for_very_small_and_very_large_values(size):
    X = np.random.default_rng(0).random((20, 2))
    y = np.sin(5.0 * X).sum(axis=1)
    one, other = il.fit(X, y), il.fit(X, size * y)
    np.testing.assert_allclose(other.kernel.lengthscales, one.kernel.lengthscales, rtol=1e-3)
    assert other.kernel.variance / size**2 == pytest.approx(one.kernel.variance, rel=1e-3)


def test_known_noise_of_any_size():
    X = np.random.default_rng(0).random((12, 2))
    y = np.sin(5.0 * X).sum(axis=1)
    noise = np.where(np.arange(12) == 3, 1e300, 1e-300)
    mean, variance = il.fit(X, y, noise=noise).condition(X, y).marginals(X)
    others = np.arange(12) != 3
    np.testing.assert_allclose(mean[others], y[others], atol=1e-2)
    assert np.isfinite(variance).all()
