"""Data sets of many kinds to fit hyperparameters to: what is benign, and what leads astray."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import innerloop as il

DIMENSIONS = (1, 2, 3, 4, 5, 6, 8, 10, 12)
FEWEST, MOST = 8, 200

Function = Callable[[np.ndarray, np.random.Generator], np.ndarray]


class DataSet(NamedTuple):
    """Observations y (n,) at X (n, d) in the unit cube."""

    kind: str
    X: np.ndarray
    y: np.ndarray


def waves(frequency: float, others: float = 0.01) -> Function:
    """A wave along one dimension and next to nothing along the others."""

    def function(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.sin(frequency * X[:, 0] + rng.random()) + others * X.sum(axis=1)

    return function


def two_waves(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.sin(15.0 * X[:, 0]) + 0.5 * np.sin(20.0 * X[:, -1] + rng.random())


def product_of_waves(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.sin(8.0 * X[:, 0]) * np.cos(8.0 * X[:, -1]) + 0.1 * X.mean(axis=1)


def additive(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.sin(5.0 * rng.random(X.shape[1]) * X).sum(axis=1)


def rough_additive(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.abs(np.sin((6.0 + 6.0 * rng.random(X.shape[1])) * X)).sum(axis=1)


def bowl(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return ((X - rng.random(X.shape[1])) ** 2 * 10.0 ** rng.uniform(-2, 1, X.shape[1])).sum(axis=1)


def warped_bowl(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    gaps = bowl(X, rng)
    gaps -= gaps.min()
    return -np.log1p(gaps / np.median(gaps))


def steep(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.exp(6.0 * X @ rng.random(X.shape[1]) / np.sqrt(X.shape[1]))


def banana(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    Z = 4.0 * X - 2.0
    if Z.shape[1] == 1:
        return (1.0 - Z[:, 0]) ** 2
    valleys = 100.0 * (Z[:, 1:] - Z[:, :-1] ** 2) ** 2 + (1.0 - Z[:, :-1]) ** 2
    return valleys.sum(axis=1)


def linear(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X @ rng.standard_normal(X.shape[1])


def linear_in_one(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 3.0 * X[:, -1]


def step(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(X[:, 0] > rng.uniform(0.3, 0.7), 1.0, 0.0) + 0.1 * X[:, -1]


def steps(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.floor(4.0 * X[:, 0]) + np.floor(3.0 * X[:, -1])


def plateau(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    distances = np.linalg.norm(X - rng.random(X.shape[1]), axis=1)
    return np.minimum(distances / np.quantile(distances, 0.3), 1.0)


def needle(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    distances = ((X - X[rng.integers(len(X))]) ** 2).sum(axis=1)
    return -np.exp(-50.0 * distances) + 0.02 * X[:, 0]


def constant(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full(len(X), 2.5)


def nothing_but_noise(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(len(X))


def outliers(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y = np.sin(3.0 * X).sum(axis=1)
    y[rng.random(len(X)) < 0.05] += 20.0
    return y


def draw(lengthscale: float, noise: float, kernel: type[il.Kernel] = il.Matern52) -> Function:
    """A draw from a prior with lengthscales around one, in units of sqrt(d)."""

    def function(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        d = X.shape[1]
        scales = lengthscale * np.sqrt(d) * np.exp(0.7 * rng.standard_normal(d))
        gp = il.GaussianProcess(kernel(scales), noise=noise)
        return il.prior_draws(gp, d, features=2**10, seed=int(rng.integers(2**31)))(X)[0]

    return function


def noisy(function: Function, sd: float) -> Function:
    """With noise of so many standard deviations of the values."""

    def with_noise(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        y = function(X, rng)
        return y + sd * (y.std() + 1e-9) * rng.standard_normal(len(y))

    return with_noise


def uniform(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random((n, d))


def clustered(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A third all over, the rest ever closer around two points, as an optimizer leaves them."""
    X = rng.random((n, d))
    centers = rng.random((2, d))
    late = np.arange(n) > n // 3
    radii = 10.0 ** rng.uniform(-3.0, -0.5, n)
    near = centers[rng.integers(2, size=n)] + radii[:, None] * rng.standard_normal((n, d))
    return np.clip(np.where(late[:, None], near, X), 0.0, 1.0)


def repeated(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Every point about three times."""
    return rng.random((max(n // 3, 2), d))[rng.integers(max(n // 3, 2), size=n)]


def grid(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Coordinates that take five values."""
    return np.asarray(rng.integers(5, size=(n, d)) / 4.0)


Design = Callable[[int, int, np.random.Generator], np.ndarray]
KINDS: dict[str, tuple[Function, Design]] = {
    "wave of 25": (waves(25.0), uniform),
    "wave of 10": (waves(10.0, 0.3), uniform),
    "wave of 50, noisy": (noisy(waves(50.0, 0.0), 0.1), uniform),
    "two waves": (two_waves, uniform),
    "product of waves": (product_of_waves, uniform),
    "additive": (additive, uniform),
    "rough additive": (rough_additive, uniform),
    "noisy additive": (noisy(additive, 0.3), uniform),
    "bowl": (bowl, uniform),
    "bowl, clustered": (bowl, clustered),
    "warped bowl, clustered": (warped_bowl, clustered),
    "steep": (steep, uniform),
    "banana": (banana, uniform),
    "banana, clustered": (banana, clustered),
    "linear": (linear, uniform),
    "linear in one, noisy": (noisy(linear_in_one, 0.5), uniform),
    "step": (step, uniform),
    "steps": (steps, uniform),
    "noisy step": (noisy(step, 0.2), clustered),
    "plateau": (plateau, clustered),
    "needle": (needle, clustered),
    "constant": (constant, uniform),
    "nothing but noise": (nothing_but_noise, uniform),
    "outliers": (outliers, uniform),
    "smooth draw": (draw(0.5, 0.0, il.SquaredExponential), uniform),
    "draw": (noisy(draw(0.25, 0.0), 0.03), uniform),
    "short draw": (draw(0.08, 0.0), uniform),
    "short draw, noisy": (noisy(draw(0.08, 0.0), 0.3), uniform),
    "very short draw": (draw(0.03, 0.0), uniform),
    "rough draw, clustered": (draw(0.2, 0.0, il.Matern32), clustered),
    "draw, repeated": (noisy(draw(0.2, 0.0), 0.1), repeated),
    "draw on a grid": (draw(0.3, 0.0), grid),
}


def data_sets(seed: int, number: int) -> Iterator[DataSet]:
    """So many data sets, kind after kind, with sizes that vary."""
    names = list(KINDS)
    for index in range(number):
        rng = np.random.default_rng([seed, index])
        function, design = KINDS[names[index % len(names)]]
        d = int(rng.choice(DIMENSIONS))
        n = round(float(np.exp(rng.uniform(np.log(FEWEST), np.log(MOST)))))
        X = design(n, d, rng)
        yield DataSet(names[index % len(names)], X, function(X, rng))
