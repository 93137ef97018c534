"""Models that know nothing of innerloop: what is derived from them, and what is refused."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import innerloop as il
from problems import numerical_gradient


@dataclass
class Said:
    """A belief, and nothing but that."""

    mean: object
    cov: object
    pullback: object


class Hidden:
    """One of our posteriors, of which only joint beliefs can be seen."""

    def __init__(self, posterior, **more):
        self._posterior, self.d = posterior, posterior.d
        self.__dict__.update(more)

    def belief(self, X):
        belief = self._posterior.belief(X)
        return Said(belief.mean, belief.cov, lambda d_mean, d_cov: belief.pullback(d_mean, d_cov))


class Quadratics:
    """Bayesian linear regression on 1, x_k and x_k^2, with noise and weights of known variance."""

    def __init__(self, X, y, noise=0.01):
        self.X, self.d = X, X.shape[1]
        F = self._features(X)
        self._S = np.linalg.inv(F.T @ F / noise + np.eye(F.shape[1]))
        self._w = self._S @ F.T @ y / noise

    @staticmethod
    def _features(X):
        return np.concatenate([np.ones((*X.shape[:-1], 1)), X, X**2], axis=-1)

    def belief(self, X):
        F = self._features(X)

        def pullback(d_mean, d_cov):
            d_F = d_mean[..., None] * self._w + 2.0 * d_cov @ F @ self._S
            return d_F[..., 1 : 1 + self.d] + 2.0 * X * d_F[..., 1 + self.d :]

        return Said(F @ self._w, F @ self._S @ F.swapaxes(1, 2), pullback)


def posterior_of(n=15, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(5.0 * X).sum(axis=1)
    gp = il.GaussianProcess(il.Matern52(np.full(d, 0.4), 1.3), mean=0.2, noise=1e-3)
    return gp.condition(X, y)


POSTERIOR = posterior_of()
UTILITIES = [
    il.ExpectedImprovement(1.5),
    il.UpperConfidenceBound(2.0),
    il.KnowledgeGradient(np.random.default_rng(1).random((9, 2))),
    il.EntropySearch(np.random.default_rng(1).random((9, 2))),
]


@pytest.mark.parametrize("pending", [None, np.random.default_rng(2).random((2, 2))])
@pytest.mark.parametrize("utility", UTILITIES, ids=lambda each: type(each).__name__)
def test_the_joint_form_of_what_can_be_seen_is_that_of_the_posterior(utility, pending):
    hidden = Hidden(POSTERIOR, noise=1e-3)
    X, z = np.random.default_rng(3).random((3, 2, 2)), il.sobol_normal(16, 4, 0)
    value, grad = il.Joint(utility, hidden, z, pending=pending).value_and_grad(X)
    expected, slopes = il.Joint(utility, POSTERIOR, z, pending=pending).value_and_grad(X)
    np.testing.assert_allclose(value, expected, atol=1e-9)
    np.testing.assert_allclose(grad, slopes, atol=1e-7)


def test_the_incremental_form_of_what_can_be_seen_is_that_of_the_posterior():
    rng, z = np.random.default_rng(3), il.sobol_normal(16, 3, 0)
    X, first, more = rng.random((4, 1, 2)), rng.random(2), rng.random((2, 2))
    results = []
    for model in (POSTERIOR, Hidden(POSTERIOR)):
        gains = il.Incremental(il.ExpectedImprovement(1.5), model, z, log=True)
        results.append(gains.extend(first).extend(more).value_and_grad(X))
    np.testing.assert_allclose(results[1][0], results[0][0], atol=1e-9)
    np.testing.assert_allclose(results[1][1], results[0][1], atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"way": "greedy"},
        {"way": "joint"},
        {"way": "greedy", "pending": np.full((1, 2), 0.4)},
        {"candidates": np.random.default_rng(4).random((40, 2))},
    ],
    ids=["greedy", "joint", "pending", "candidates"],
)
def test_batches_are_the_same_where_searches_begin_alike(options):
    hidden = Hidden(POSTERIOR, X=POSTERIOR.X, lengthscales=np.full(2, 0.4))
    batch = il.suggest(hidden, 3, seed=0, **options)
    expected = il.suggest(POSTERIOR, 3, seed=0, **options)
    np.testing.assert_allclose(batch.X, expected.X, atol=1e-4)
    assert batch.value == pytest.approx(expected.value, rel=1e-6)
    assert batch.upper_bound == pytest.approx(expected.upper_bound, rel=0.05)


def test_several_outcomes_of_different_models():
    limit = posterior_of(seed=5)
    utility = il.FeasibleImprovement(1.0, 1)
    batch = il.suggest([Hidden(POSTERIOR, X=POSTERIOR.X), limit], 2, utility, seed=0)
    expected = il.suggest([POSTERIOR, limit], 2, utility, seed=0)
    assert batch.value == pytest.approx(expected.value, rel=0.02)


def test_a_model_of_another_kind():
    rng = np.random.default_rng(0)
    X = rng.random((8, 2))
    model = Quadratics(X, -((X - 0.6) ** 2).sum(axis=1) + 0.1 * rng.standard_normal(8))
    assert isinstance(model, il.Model)
    joint = il.Joint(il.UpperConfidenceBound(2.0), model, il.sobol_normal(32, 3, 0), pending=X[:1])
    sets = rng.random((2, 2, 2))
    _, grad = joint.value_and_grad(sets)
    slopes, smooth = numerical_gradient(joint.value, sets)
    np.testing.assert_allclose(grad[smooth], slopes[smooth], atol=1e-6)

    batch = il.suggest(model, 3, seed=0)
    threshold = model.belief(X[None]).mean.max()
    z = rng.standard_normal((4000, 3))

    def worth(sets):
        belief = model.belief(sets)
        L = np.linalg.cholesky(belief.cov + 1e-12 * np.eye(3))
        Y = belief.mean[:, None] + z @ L.swapaxes(1, 2)
        return np.maximum(Y - threshold, 0.0).max(axis=2).mean(axis=1)

    value = worth(batch.X[None])[0]
    assert batch.value == pytest.approx(value, rel=0.05)
    assert value > worth(rng.random((300, 3, 2))).max()
    assert batch.upper_bound >= batch.value


SK_KERNELS = {
    "rbf": (2.0 * sk.RBF([0.3, 0.5]), True),
    "matern": (sk.WhiteKernel(0.01) + 1.5 * sk.Matern(0.4, nu=1.5), True),
    "sum": (sk.RBF(0.3) * 0.7 + sk.Matern([0.2, 0.4], nu=2.5) + sk.WhiteKernel(0.02), False),
    "power": ((sk.RBF(0.6) * sk.Matern(0.9, nu=2.5)) ** 2 + sk.ConstantKernel(0.3), False),
    "others": (sk.RationalQuadratic(0.4, 1.2) + 0.5 * sk.DotProduct(0.3), False),
}


def regressor_of(kernel, **options):
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    y = 40.0 + 5.0 * np.sin(5.0 * X).sum(axis=1)
    options = {"alpha": 1e-3, "optimizer": None, **options}
    return GaussianProcessRegressor(kernel, **options).fit(X, y)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("name", SK_KERNELS)
def test_gaussian_processes_of_scikit_learn(name, normalize_y):
    kernel, is_ours = SK_KERNELS[name]
    regressor = regressor_of(kernel, normalize_y=normalize_y)
    asked, ours = il.from_sklearn(regressor, convert=False), il.from_sklearn(regressor)
    assert isinstance(ours, il.Posterior) == is_ours
    sets = np.random.default_rng(1).random((3, 3, 2))
    white = sum(each.noise_level for each in walk(regressor.kernel_))
    unit = regressor._y_train_std if normalize_y else 1.0
    for model in (asked, ours):
        belief = model.belief(sets)
        for i in range(3):
            mean, cov = regressor.predict(sets[i], return_cov=True)
            np.testing.assert_allclose(belief.mean[i], mean, rtol=1e-8)
            latent = cov - white * unit**2 * np.eye(3)
            np.testing.assert_allclose(belief.cov[i], latent, atol=1e-7 * unit**2)
    joint = il.Joint(il.UpperConfidenceBound(2.0), asked, il.sobol_normal(16, 3, 0))
    _, grad = joint.value_and_grad(sets)
    slopes, smooth = numerical_gradient(joint.value, sets)
    assert smooth.mean() > 0.5
    scale = np.abs(slopes).max()
    np.testing.assert_allclose(grad[smooth], slopes[smooth], atol=1e-5 * scale)
    assert il.suggest(asked, 2, seed=0).value == pytest.approx(
        il.suggest(ours, 2, seed=0).value, rel=0.02
    )


def walk(kernel):
    """The white noise of a sum of kernels."""
    if isinstance(kernel, sk.WhiteKernel):
        return [kernel]
    return [*walk(kernel.k1), *walk(kernel.k2)] if isinstance(kernel, sk.Sum) else []


def test_regressors_that_cannot_be_taken():
    with pytest.raises(il.InputError, match="that was fitted, got GaussianProcessRegressor"):
        il.from_sklearn(GaussianProcessRegressor())
    X = np.random.default_rng(0).random((5, 2))
    with pytest.raises(il.InputError, match=r"single output, got y of shape \(5, 2\)"):
        il.from_sklearn(GaussianProcessRegressor().fit(X, X))


def broken(**changes):
    """A model whose beliefs are not what they should be."""
    model = Hidden(POSTERIOR)
    plain = model.belief
    model.belief = lambda X: Said(**{**vars(plain(X)), **changes})
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "posterior must be a Posterior, or a model with `d` and `belief`, got 3"),
        (broken(mean=np.zeros(4)), "belief(X).mean must have shape (64, 1) for X of shape"),
        (broken(cov=np.zeros((64, 1))), "belief(X).cov must have shape (64, 1, 1) for X of shape"),
        (broken(mean=np.full((64, 1), np.nan)), "belief(X).mean must be finite, got nan"),
        (broken(pullback=None), "belief(X) must be a belief with mean, cov and a method pullback"),
        (
            broken(pullback=lambda d_mean, d_cov: d_mean),
            "belief(X).pullback(d_mean, d_cov) must have shape (2, 2, 2) for X of",
        ),
        (Hidden(POSTERIOR, d=2.5), "Hidden.d must be an integer of 1 or more, got 2.5"),
        (Hidden(POSTERIOR, X=np.zeros((3, 5))), "Hidden.X must have shape (n, 2)"),
        (Hidden(POSTERIOR, lengthscales=[1.0]), "Hidden.lengthscales must have shape (2,)"),
        (Hidden(POSTERIOR, noise=-1.0), "Hidden.noise must be 0 or above"),
    ],
)
def test_models_that_are_wrong_are_told_how(model, message):
    X, z = np.random.default_rng(0).random((2, 2, 2)), np.zeros((1, 2))
    with pytest.raises(il.InputError, match=re.escape(message)):
        il.Joint(il.SimpleRegret(), model, z).value_and_grad(X)


def test_what_needs_observations_says_so():
    with pytest.raises(il.InputError, match="Hidden has no attribute X"):
        il.suggest(Hidden(POSTERIOR), 2)
    with pytest.raises(il.InputError, match="models need an attribute X"):
        il.suggest(Hidden(POSTERIOR), 2, il.NoisyExpectedImprovement())
    # All else goes without.
    batch = il.suggest(Hidden(POSTERIOR), 2, il.ExpectedImprovement(1.5), seed=0)
    expected = il.suggest(POSTERIOR, 2, il.ExpectedImprovement(1.5), seed=0)
    assert batch.value == pytest.approx(expected.value, rel=0.02)
