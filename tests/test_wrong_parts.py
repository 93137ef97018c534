"""Parts of one's own that are wrong are told what was expected of them, and what was got."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import innerloop as il
from innerloop.maximizers import Maximizer, Solution

RNG = np.random.default_rng(0)
X = RNG.random((10, 2))
POSTERIOR = il.GaussianProcess(il.Matern52(0.3), noise=1e-3).condition(X, np.sin(5 * X).sum(axis=1))
SPACE = il.Space({"x": il.Real(0.0, 1.0)})


@dataclass(frozen=True)
class Wrong(Maximizer):
    """Returns what a function makes of starts and values."""

    returned: Any

    def __call__(self, allowance, starts, domain, generator):
        with allowance.spending(len(starts)) as objective:
            value = objective.value(starts)
        order = np.argsort(-value)
        return self.returned(starts[order], value[order])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda X, v: X,
            "what Wrong returns must be a Solution with X of shape (R, 1, 2) and value",
        ),
        (lambda X, v: X, "of shape (R,), R >= 1, got an array of shape (16, 1, 2)"),
        (lambda X, v: None, "R >= 1, got None"),
        (lambda X, v: Solution(X[:, 0], v), "got X of shape (16, 2) and value of shape (16,)"),
        (lambda X, v: Solution(X[:0], v[:0]), "got X of shape (0, 1, 2)"),
        (lambda X, v: Solution(X[::-1], v[::-1]), "must be best first, got values ["),
        (lambda X, v: Solution(X, v * np.nan), "must be best first, got values [nan nan nan], ..."),
        (lambda X, v: Solution(X + 2.0, v), "must be of the domain, got queries outside of it"),
    ],
)
def test_maximizers(returned, message):
    maximizer = Wrong(returned)
    with pytest.raises(il.InputError, match=re.escape(message)):
        il.suggest(POSTERIOR, 2, maximizer=maximizer, seed=0)
    joint = message.replace("(R, 1, 2)", "(R, 2, 2)").replace("(16, 1, 2)", "(64, 2, 2)")
    joint = joint.replace("(16, 2) and value of shape (16,)", "(64, 2) and value of shape (64,)")
    with pytest.raises(il.InputError, match=re.escape(joint.replace("(0, 1, 2)", "(0, 2, 2)"))):
        il.suggest(POSTERIOR, 2, maximizer=maximizer, way="joint", seed=0)


def utility_of(value, **methods):
    body = {"empty": 0.0, "value": lambda self, Y: value(Y), **methods}
    body["value"].__name__ = "value"
    return type("Odd", (il.Utility,), body)()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda Y: 1.0, "Odd.value(Y) must be an array of shape (10, 1, 97) for Y of"),
        (lambda Y: None, "for Y of shape (10, 1, 97), got None"),
        (lambda Y: Y.max(axis=-1), "of shape (10, 1, 97), got an array of shape (10, 1)"),
        (lambda Y: Y * np.nan, "Odd must have values that are numbers, got nan for query set 0 of"),
    ],
)
def test_utilities(value, message):
    utility, z = utility_of(value), il.sobol_normal(8, 2, 0)
    queries = RNG.random((10, 1, 2))
    for call in ("value", "value_and_grad"):
        with pytest.raises(il.InputError, match=re.escape(message)):
            getattr(il.Incremental(utility, POSTERIOR, z), call)(queries)
        with pytest.raises(il.InputError, match=re.escape(message.replace("97", "8"))):
            getattr(il.Joint(utility, POSTERIOR, z), call)(queries)
    with pytest.raises(il.InputError, match="got"):
        il.suggest(POSTERIOR, 2, utility, candidates=X + 0.01, seed=0)


def test_gains_of_utilities():
    def gain(self, mean, shift, sd, floor):
        return il.Gain(mean.sum(), mean, shift, sd)

    utility = utility_of(np.tanh, gain=gain)
    message = "Odd.gain must return a Gain with value of shape (10, 1), got"
    with pytest.raises(il.InputError, match=re.escape(message)):
        il.Incremental(utility, POSTERIOR, np.zeros((4, 1))).value(RNG.random((10, 1, 2)))


def test_utilities_may_be_of_whole_numbers():
    batch = il.suggest(POSTERIOR, 2, utility_of(lambda Y: Y > 0.5), seed=0)
    assert 0.5 < batch.value <= 1.0


def rational(s, variance):
    return variance / (1.0 + s)


def slope(s, variance):
    return -variance / (1.0 + s) ** 2


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            rational,
            "Odd.profile(s, variance) must return covariances of shape (2, 2) and a function",
        ),
        (lambda s, v: (np.ones(3), abs), "got covariances of shape (3,)"),
        (
            lambda s, v: (2.0 * rational(s, v), lambda w: 2.0 * w * slope(s, v)),
            "must be the variance, 2.0, at s = 0, got 4.0",
        ),
        (lambda s, v: (rational(s, v) / s, abs), "Odd.profile(s, variance)[0] must be finite"),
        (
            lambda s, v: (rational(s, v), lambda w: -w * slope(s, v)),
            "must multiply weights by dk/ds",
        ),
        (lambda s, v: (rational(s, v), lambda w: w[0]), "the pullback of Odd.profile(s, variance)"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_kernels(profile, message):
    body = {"stretch": 1.0, "spectral_freedom": None, "profile": staticmethod(profile)}
    kind = type("Odd", (il.Kernel,), body)
    for use in (kind, lambda _: il.fit(X, X[:, 0], kernel=kind)):
        with pytest.raises(il.InputError, match=re.escape(message)):
            use(0.3)
    with pytest.raises(il.InputError, match=re.escape(message)):
        il.Optimizer(SPACE, kernel=kind)


def test_kernels_without_a_stretch():
    kind = type("Odd", (il.Kernel,), {"profile": il.Matern52.profile})
    with pytest.raises(il.InputError, match=re.escape("Odd.stretch must be a number, got None")):
        kind(0.3)


def test_functions_that_cannot_be_called():
    with pytest.raises(il.InputError, match="f must take params, a dictionary, got one that takes"):
        il.minimize(lambda x, y: x, SPACE, n_trials=2)
    with pytest.raises(il.InputError, match="a callback must take optimizer and trial, got one"):
        il.minimize(lambda params: 0.0, SPACE, n_trials=2, callbacks=[lambda optimizer: None])


def test_results_say_what_the_last_trial_returned():
    result = il.minimize(lambda params: "high", SPACE, n_trials=2, seed=0)
    assert "trials failed, " in str(result)
    assert "f must return a number" in str(result)
    assert "got 'high'" in str(result)


def test_a_reason_to_stop_is_in_words():
    class Odd(il.Stop):
        def reached(self, optimizer):
            return 5

    with pytest.warns(RuntimeWarning, match="Odd.reached must be a reason or None, got 5"):
        il.minimize(lambda params: params["x"], SPACE, n_trials=3, stop=[Odd()], seed=0)
