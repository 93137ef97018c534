"""A utility, a kernel and a maximizer that are defined here work wherever innerloop's own do."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import innerloop as il
from innerloop.maximizers import Maximizer, Solution


@dataclass(frozen=True)
class LogImprovement(il.Utility):
    """log(1 + improvement): large improvements count for less. Its gain has no closed form."""

    threshold: float = 0.0

    empty = 0.0

    def value(self, Y):
        return np.log1p(np.maximum(Y - self.threshold, 0.0))


class RationalQuadratic(il.Kernel):
    """k(s) = variance / (1 + s / 2), dk/ds = -variance / 2 / (1 + s / 2)^2, for alpha = 1."""

    stretch = 1.0
    spectral_freedom = None

    @staticmethod
    def profile(s, variance):
        share = 1.0 / (1.0 + 0.5 * s)

        def pullback(weights):
            weights *= -0.5 * variance * share**2
            return weights

        return variance * share, pullback


@dataclass(frozen=True)
class HillClimbing(Maximizer):
    """Random steps that are taken where they help, ever shorter."""

    steps: int = 40
    length: float = 0.3

    starts = (12, 12)
    draws = 128
    moves_discrete = False

    def __call__(self, allowance, starts, domain, generator):
        X = domain.project(starts[: max(1, allowance.affordable(len(starts)))])
        with allowance.spending(len(X)) as objective:
            value = objective.value(X)
        for step in range(self.steps):
            if allowance.affordable(len(X)) < len(X):
                break
            move = self.length / (1 + step) * generator.standard_normal(X.shape)
            new = domain.project(np.where(domain.continuous, X + move, X))
            with allowance.spending(len(X)) as objective:
                new_value = objective.value(new)
            better = new_value > value
            X, value = np.where(better[:, None, None], new, X), np.where(better, new_value, value)
        order = np.argsort(-value, kind="stable")
        return Solution(X[order], value[order])


UTILITY = LogImprovement(0.4)
OWN = {"acquisition": UTILITY, "maximizer": HillClimbing(steps=25), "kernel": RationalQuadratic}
SPACE = il.Space({"x": il.Real(-1.0, 1.0), "n": il.Integer(1, 5), "kind": il.Choice(["a", "b"])})


def loss(params):
    return (params["x"] - 0.3) ** 2 + 0.1 * abs(params["n"] - 4) + 0.2 * (params["kind"] == "b")


def posterior_of_own_kernel(d=2, n=12):
    rng = np.random.default_rng(3)
    X = rng.random((n, d))
    y = np.sin(5.0 * X).sum(axis=1)
    kernel = RationalQuadratic(np.full(d, 0.4), 1.3)
    return il.GaussianProcess(kernel, mean=0.2, noise=1e-4).condition(X, y)


def worth(posterior, X, draws):
    """The expected utility of batches (R, q, d), from plain draws of their outcomes."""
    belief = posterior.belief(X)
    values = []
    for mean, cov in zip(belief.mean, belief.cov, strict=True):
        jitter = 1e-9 * np.eye(len(mean))
        Y = mean + draws[:, : len(mean)] @ np.linalg.cholesky(cov + jitter).T
        values.append(np.log1p(np.maximum(Y - UTILITY.threshold, 0.0)).max(axis=1).mean())
    return np.array(values)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"way": "greedy"},
        {"maximizer": HillClimbing()},
        {"way": "joint", "maximizer": HillClimbing()},
        {"form": "joint", "maximizer": HillClimbing()},
        {"budget": il.Budget(evaluations=600)},
    ],
    ids=["default", "greedy", "own greedy", "own joint", "joint form", "budget"],
)
def test_suggest(options):
    posterior, q = posterior_of_own_kernel(), 3
    batch = il.suggest(posterior, q, UTILITY, seed=0, **options)
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((20_000, q))
    value = worth(posterior, batch.X[None], draws)[0]
    assert batch.value == pytest.approx(value, rel=0.03)
    others = worth(posterior, rng.random((200, q, 2)), draws)
    assert value > others.max()
    if batch.upper_bound is not None:
        assert batch.upper_bound >= value - 0.01


def test_suggest_from_candidates_and_a_mixed_domain():
    posterior = posterior_of_own_kernel()
    candidates = np.random.default_rng(1).random((60, 2))
    batch = il.suggest(posterior, 2, UTILITY, candidates=candidates, seed=0)
    first = UTILITY.marginal(*posterior.marginals(candidates))
    assert np.allclose(batch.X[0], candidates[np.argmax(first)])

    domain = il.make_domain(2, discrete=(il.Ordinal(1, 4),))
    batch = il.suggest(posterior, 2, UTILITY, maximizer=HillClimbing(), domain=domain, seed=0)
    assert np.allclose(batch.X[:, 1] * 3, np.round(batch.X[:, 1] * 3))
    # The levels were searched, too: no other level is better for the first query.
    x = np.repeat(batch.X[:1], 4, axis=0)
    x[:, 1] = np.arange(4) / 3
    assert batch.gains[0] >= UTILITY.marginal(*posterior.marginals(x)).max() - 1e-6


def test_the_kernel_is_differentiated():
    posterior = posterior_of_own_kernel()
    acquisition = il.Joint(UTILITY, posterior, il.sobol_normal(64, 2, 0))
    X = np.random.default_rng(2).random((1, 2, 2))
    _, grad = acquisition.value_and_grad(X)
    step = 1e-6 * np.eye(4).reshape(4, 2, 2)
    slopes = (acquisition.value(X + step) - acquisition.value(X - step)) / 2e-6
    np.testing.assert_allclose(grad.ravel(), slopes, rtol=1e-5, atol=1e-8)


def test_a_run():
    result = il.minimize(loss, SPACE, n_trials=24, batch_size=3, seed=1, **OWN)
    assert isinstance(result.optimizer.posterior.gp.kernel, RationalQuadratic)
    rng = np.random.default_rng(0)
    drawn = [
        loss({"x": rng.uniform(-1, 1), "n": rng.integers(1, 6), "kind": rng.choice(["a", "b"])})
        for _ in range(24)
    ]
    assert result.value < min(drawn)


def told(optimizer, rounds):
    for _ in range(rounds):
        for trial in optimizer.ask(2):
            optimizer.tell(trial, loss(trial.params))
    return [trial.params for trial in optimizer.trials]


def test_saved_and_resumed_here_and_in_another_process(tmp_path):
    straight = told(il.Optimizer(SPACE, seed=5, **OWN), 8)
    optimizer = il.Optimizer(SPACE, seed=5, **OWN)
    told(optimizer, 6)
    path = tmp_path / "study.json"
    optimizer.save(path)

    loaded = il.Optimizer.load(path)
    assert loaded.acquisition == UTILITY
    assert told(loaded, 2) == straight

    code = (
        "import sys, innerloop as il, test_extending as here; "
        f"optimizer = il.Optimizer.load({str(path)!r}); print(here.told(optimizer, 2))"
    )
    tests = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert run.stdout.strip() == str(straight)


def test_what_cannot_be_found_again_is_not_saved(tmp_path):
    class Local(RationalQuadratic):
        pass

    optimizer = il.Optimizer(SPACE, kernel=Local)
    with pytest.raises(il.InputError, match="cannot be saved: define it at the top level"):
        optimizer.save(tmp_path / "study.json")
    assert not (tmp_path / "study.json").exists()
