"""Models of BoTorch and GPyTorch have the same acquisition values here as there."""

import os
import warnings

import numpy as np
import pytest

import innerloop as il

try:
    with warnings.catch_warnings():  # those of others are no errors
        warnings.simplefilter("ignore")
        import botorch  # noqa: F401
        import gpytorch
        import torch
except ImportError:
    if "NEEDS_BOTORCH" in os.environ:  # as under `make test-botorch`
        raise
    pytest.skip("BoTorch is not installed: make test-botorch", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")
N, D, Q, M = 20, 3, 3, 32
# Kernel, options, and whether the model is one of our posteriors.
MODELS = {
    "default": ("rbf", {}, True),
    "inputs scaled": ("matern 5/2", {"normalize": True}, True),
    "noise known": ("matern 3/2", {"noisy": True, "outcome_transform": None}, True),
    "sum of kernels": ("sum", {"normalize": True}, False),
    "warped inputs": ("matern 5/2", {"warp": True}, False),
    "linear mean": ("matern 5/2", {"linear": True}, False),
}


def make_model(kernel, options, seed=0):
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Warp
    from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
    from gpytorch.means import LinearMean

    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    rng, options = np.random.default_rng(seed), dict(options)
    X = rng.random((N, D))
    y = 3.0 + 2.0 * np.sin(4.0 * X).sum(axis=1) + 0.1 * rng.standard_normal(N)
    module = {
        "rbf": None,
        "matern 5/2": ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=D)),
        "matern 3/2": ScaleKernel(MaternKernel(nu=1.5)),
        "sum": ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=D)) + ScaleKernel(RBFKernel()),
    }[kernel]
    if options.pop("normalize", False):
        options["input_transform"] = Normalize(D)
    if options.pop("warp", False):
        options["input_transform"] = Warp(D, indices=list(range(D)))
        options["input_transform"].concentration0.data[:] = 1.7
    if options.pop("linear", False):
        options["mean_module"] = LinearMean(D)
    if options.pop("noisy", False):
        options["train_Yvar"] = torch.as_tensor(rng.uniform(0.01, 0.1, (N, 1)))
    model = SingleTaskGP(
        torch.as_tensor(X), torch.as_tensor(y)[:, None], covar_module=module, **options
    )
    if kernel != "rbf" and kernel != "sum":
        model.covar_module.base_kernel.lengthscale = 0.4
        model.covar_module.outputscale = 1.3
    return model.eval()


def theirs(model, name, X, z):
    """BoTorch's acquisition values at X (R, q, d) by base draws z (m, q), with gradients."""
    from botorch.acquisition import monte_carlo
    from botorch.sampling import IIDNormalSampler

    rival, options = {
        "EI": (monte_carlo.qExpectedImprovement, {"best_f": 5.5}),
        "PI": (monte_carlo.qProbabilityOfImprovement, {"best_f": 5.5, "tau": 0.2}),
        "SR": (monte_carlo.qSimpleRegret, {}),
        "UCB": (monte_carlo.qUpperConfidenceBound, {"beta": 1.3}),
    }[name]
    queries = torch.tensor(X, requires_grad=True)
    sampler = IIDNormalSampler(torch.Size([len(z)]))
    sampler(model.posterior(queries))  # makes base samples, to be replaced by ours
    sampler.base_samples = torch.as_tensor(z).reshape(sampler.base_samples.shape)
    value = rival(model, sampler=sampler, **options)(queries)
    (grad,) = torch.autograd.grad(value.sum(), queries)
    return value.detach().numpy(), grad.numpy()


@pytest.mark.parametrize("convert", [True, False], ids=["converted", "asked"])
@pytest.mark.parametrize("case", MODELS)
def test_joint_values_and_gradients_equal_botorchs(case, convert):
    kernel, options, is_ours = MODELS[case]
    model = make_model(kernel, options)
    ours = il.from_botorch(model, convert=convert)
    assert isinstance(ours, il.Posterior) == (is_ours and convert)
    rng = np.random.default_rng(1)
    X, half = rng.random((4, Q, D)), rng.standard_normal((M // 2, Q))
    z = np.concatenate([half, -half])  # BoTorch's qUCB takes residuals around the mean of the draws
    for name, utility in (
        ("EI", il.ExpectedImprovement(5.5)),
        ("PI", il.ProbabilityOfImprovement(5.5, temperature=0.2)),
        ("SR", il.SimpleRegret()),
        ("UCB", il.UpperConfidenceBound(1.3)),
    ):
        value, grad = il.Joint(utility, ours, z).value_and_grad(X)
        their_value, their_grad = theirs(model, name, X, z)
        np.testing.assert_allclose(value, their_value, rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(grad, their_grad, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("case", MODELS)
def test_batches_are_worth_more_than_those_of_botorch(case):
    from botorch.acquisition import qLogExpectedImprovement
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler

    kernel, options, _ = MODELS[case]
    model = make_model(kernel, options)
    batch = il.suggest(il.from_botorch(model), Q, il.ExpectedImprovement(5.5), seed=0)
    torch.manual_seed(0)
    rival, _ = optimize_acqf(
        qLogExpectedImprovement(model, best_f=5.5, sampler=SobolQMCNormalSampler(torch.Size([64]))),
        bounds=torch.stack([torch.zeros(D), torch.ones(D)]),
        q=Q,
        num_restarts=4,
        raw_samples=64,
        sequential=True,
    )
    z = il.sobol_normal(2**13, Q, 0)
    ours, best = (theirs(model, "EI", X[None], z)[0][0] for X in (batch.X, rival.numpy()))
    assert ours >= 0.99 * best
    assert batch.value == pytest.approx(ours, rel=0.02)


def test_an_exact_model_of_gpytorch_without_botorch():
    class Plain(gpytorch.models.ExactGP):
        num_outputs = 1

        def __init__(self, X, y, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, X):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(X), self.covar_module(X)
            )

    rng = np.random.default_rng(0)
    X, y = rng.random((10, 2)), rng.standard_normal(10)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Plain(torch.as_tensor(X), torch.as_tensor(y), likelihood).double()
    ours, asked = il.from_botorch(model), il.from_botorch(model, convert=False)
    assert isinstance(ours, il.Posterior)
    assert asked.noise == pytest.approx(float(likelihood.noise))
    z, sets = il.sobol_normal(16, 2, 0), rng.random((3, 2, 2))
    for utility in (il.SimpleRegret(), il.KnowledgeGradient(rng.random((12, 2)))):
        one = il.Joint(utility, ours, z).value_and_grad(sets)
        other = il.Joint(utility, asked, z).value_and_grad(sets)
        np.testing.assert_allclose(one[0], other[0], atol=1e-8)
        np.testing.assert_allclose(one[1], other[1], atol=1e-6)


def test_single_precision_is_converted_too():
    model = make_model("matern 5/2", {}).float()
    assert isinstance(il.from_botorch(model), il.Posterior)
    batch = il.suggest(il.from_botorch(model, convert=False), 2, il.ExpectedImprovement(5.5))
    assert batch.X.shape == (2, D)


def test_what_cannot_be_taken_is_said():
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Log

    X, y = torch.rand(8, 2), torch.rand(8, 1) + 1.0
    with pytest.raises(il.InputError, match="single output, got one with 2"):
        il.from_botorch(SingleTaskGP(X, torch.cat([y, y], dim=1)))
    with pytest.raises(il.InputError, match="must be a model of BoTorch or GPyTorch, got 3"):
        il.from_botorch(3)
    with pytest.raises(il.InputError, match="must be normal, got TransformedPosterior"):
        il.from_botorch(SingleTaskGP(X, y, outcome_transform=Log()))
