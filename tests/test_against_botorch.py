"""With identical base draws, expected utilities equal BoTorch's, where botorch is installed."""

import os
import warnings

import numpy as np
import pytest

import innerloop as il

try:
    with warnings.catch_warnings():  # those of others are no errors
        warnings.simplefilter("ignore")
        import botorch  # noqa: F401
        import torch
except ImportError:
    if "NEEDS_BOTORCH" in os.environ:  # as under `make test-botorch`
        raise
    pytest.skip("BoTorch is not installed: make test-botorch", allow_module_level=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_equal_to_botorch_on_the_same_draws(q, seed):
    from botorch.acquisition import (
        qExpectedImprovement,
        qProbabilityOfImprovement,
        qSimpleRegret,
        qUpperConfidenceBound,
    )
    from botorch.posteriors import GPyTorchPosterior
    from botorch.sampling import IIDNormalSampler
    from botorch.utils.testing import MockModel
    from gpytorch.distributions import MultivariateNormal

    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(seed)
    m = 64
    mean, root = rng.standard_normal((3, q)), rng.standard_normal((3, q, q + 2))
    cov = root @ root.swapaxes(1, 2)
    # BoTorch's qUCB takes residuals around the mean of the draws: let that be the true mean.
    half = il.iid_normal(m // 2, q, seed)
    z = np.concatenate([half, -half])
    posterior = GPyTorchPosterior(MultivariateNormal(torch.as_tensor(mean), torch.as_tensor(cov)))
    model, X = MockModel(posterior), torch.zeros(3, q, 1)
    for utility, rival, options in (
        (il.ExpectedImprovement(0.4), qExpectedImprovement, {"best_f": 0.4}),
        (
            il.ProbabilityOfImprovement(0.4, temperature=0.1),
            qProbabilityOfImprovement,
            {"best_f": 0.4, "tau": 0.1},
        ),
        (il.SimpleRegret(), qSimpleRegret, {}),
        (il.UpperConfidenceBound(beta=1.3), qUpperConfidenceBound, {"beta": 1.3}),
    ):
        sampler = IIDNormalSampler(torch.Size([m]))
        sampler(posterior)  # makes base samples of the shape it wants, to be replaced by ours
        sampler.base_samples = torch.as_tensor(z).reshape(sampler.base_samples.shape)
        acquisition = rival(model, sampler=sampler, **options)
        theirs = acquisition(X).numpy()
        ours = il.expected_utility(utility, mean, cov, z)
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-10)


def sampled(posteriors, X, z):
    """Outcomes (m, R, q, K) at query sets X (R, q, d), by draws z (m, q, K)."""
    drawn = []
    for k, posterior in enumerate(posteriors):
        belief = posterior.belief(X)
        L = np.linalg.cholesky(belief.cov)
        drawn.append(belief.mean + np.einsum("rij,mj->mri", L, z[..., k]))
    return np.stack(drawn, axis=-1)


def several_posteriors(K, rng):
    X = rng.random((7, 2))
    return [
        il.GaussianProcess(il.Matern52(np.full(2, 0.3), 1.0), noise=1e-3).condition(
            X, rng.standard_normal(7) - 0.5 * k
        )
        for k in range(K)
    ]


def botorchs_hypervolumes(samples, X, front, reference, **options):
    """What BoTorch has on draws of outcomes at X (R, q, d): (R,), every draw a batch of its own."""
    from botorch.acquisition.multi_objective import qExpectedHypervolumeImprovement
    from botorch.sampling import IIDNormalSampler
    from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
    from botorch.utils.testing import MockModel, MockPosterior

    rival = qExpectedHypervolumeImprovement(
        MockModel(MockPosterior(samples=torch.as_tensor(samples))),
        ref_point=torch.as_tensor(reference),
        partitioning=FastNondominatedPartitioning(
            torch.as_tensor(reference), Y=torch.as_tensor(front)
        ),
        sampler=IIDNormalSampler(torch.Size([1])),
        **options,
    )
    return rival(torch.as_tensor(X)).numpy().mean(axis=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("M", [2, 3])
@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_hypervolumes_equal_botorchs_on_the_same_draws(M, q, seed):
    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(seed)
    posteriors, m, R = several_posteriors(M, rng), 64, 3
    X, z = rng.random((R, q, 2)), rng.standard_normal((m, q, M))
    front, reference = rng.standard_normal((6, M)), np.full(M, -2.0)
    theirs = botorchs_hypervolumes(sampled(posteriors, X, z), X, front, reference)
    ours = il.Joint(il.HypervolumeImprovement(front, reference), posteriors, z).value(X)
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("M", [2, 3])
@pytest.mark.parametrize(
    ("q", "temperature"), [(1, 0.3), (1, 1e-2), (1, 1e-9), (2, 1e-9), (4, 1e-9)]
)
@pytest.mark.parametrize("seed", range(3))
def test_constrained_hypervolumes_equal_botorchs_on_the_same_draws(M, q, temperature, seed):
    """Of several points only without relaxation.

    What two points have in common counts for BoTorch by the product of how feasible they are, so
    that equal points add to each other; here by the lesser of the two.
    """
    from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective

    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(10 + seed)
    posteriors, m, R = several_posteriors(M + 2, rng), 64, 3
    X, z = rng.random((R, q, 2)), rng.standard_normal((m, q, M + 2))
    front, reference = rng.standard_normal((6, M)) - 1.0, np.full(M, -3.0)
    theirs = botorchs_hypervolumes(
        sampled(posteriors, X, z),
        X,
        front,
        reference,
        objective=GenericMCMultiOutputObjective(lambda Y, X=None: Y[..., :M]),
        constraints=[lambda Y: Y[..., M], lambda Y: Y[..., M + 1]],
        eta=temperature,
    )
    utility = il.HypervolumeImprovement(front, reference, 2, temperature)
    ours = il.Joint(utility, posteriors, z).value(X)
    assert ours.max() > 1e-2
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("temperature", [1e-2, 0.3])
def test_gradients_equal_botorchs_on_the_same_draws(q, temperature):
    """In the outcomes: of volumes, and of improvement among feasible ones."""
    from botorch.acquisition import qExpectedImprovement
    from botorch.acquisition.multi_objective import qExpectedHypervolumeImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.sampling import IIDNormalSampler
    from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
    from botorch.utils.testing import MockModel, MockPosterior

    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(20 + q)
    Y, front, reference = rng.standard_normal((64, q, 2)), rng.random((6, 2)), np.full(2, -1.0)
    for utility, make in (
        (
            il.HypervolumeImprovement(front, reference),
            lambda model: qExpectedHypervolumeImprovement(
                model,
                ref_point=torch.as_tensor(reference),
                partitioning=FastNondominatedPartitioning(
                    torch.as_tensor(reference), Y=torch.as_tensor(front)
                ),
                sampler=IIDNormalSampler(torch.Size([1])),
            ),
        ),
        (
            il.FeasibleImprovement(0.1, 1, temperature),
            lambda model: qExpectedImprovement(
                model,
                best_f=0.1,
                sampler=IIDNormalSampler(torch.Size([1])),
                objective=GenericMCObjective(lambda Y, X=None: Y[..., 0]),
                constraints=[lambda Y: Y[..., 1]],
                eta=temperature,
            ),
        ),
    ):
        samples = torch.as_tensor(Y).requires_grad_(True)
        values = make(MockModel(MockPosterior(samples=samples)))(torch.zeros(64, q, 1))
        (theirs,) = torch.autograd.grad(values.sum(), samples)
        value, slopes = utility.together_and_slopes(Y.swapaxes(0, 1)[None])
        np.testing.assert_allclose(value[0], values.detach().numpy().ravel(), atol=1e-8)
        np.testing.assert_allclose(slopes[0].swapaxes(0, 1), theirs.numpy(), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("temperature", [1e-2, 0.3])
def test_feasible_improvement_equals_botorchs_on_the_same_draws(q, temperature):
    from botorch.acquisition import qExpectedImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.sampling import IIDNormalSampler
    from botorch.utils.testing import MockModel, MockPosterior

    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(q)
    posteriors, m, R = several_posteriors(3, rng), 64, 3
    X, z = rng.random((R, q, 2)), rng.standard_normal((m, q, 3))
    samples = torch.as_tensor(sampled(posteriors, X, z))
    rival = qExpectedImprovement(
        MockModel(MockPosterior(samples=samples)),
        best_f=0.1,
        sampler=IIDNormalSampler(torch.Size([1])),
        objective=GenericMCObjective(lambda Y, X=None: Y[..., 0]),
        constraints=[lambda Y: Y[..., 1], lambda Y: Y[..., 2]],
        eta=temperature,
    )
    theirs = rival(torch.as_tensor(X)).numpy().mean(axis=0)  # every draw is a batch of its own
    utility = il.FeasibleImprovement(0.1, 2, temperature)
    ours = il.Joint(utility, posteriors, z).value(X)
    assert ours.max() > 1e-3
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_expected_hypervolumes_equal_botorchs(seed):
    """Of single queries, in closed form."""
    from botorch.acquisition.multi_objective import ExpectedHypervolumeImprovement
    from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
    from botorch.utils.testing import MockModel, MockPosterior

    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(seed)
    front, reference = rng.standard_normal((6, 2)), np.full(2, -2.0)
    mean, var = rng.standard_normal((5, 2)), 0.05 + rng.random((5, 2))
    posterior = MockPosterior(
        mean=torch.as_tensor(mean[:, None]), variance=torch.as_tensor(var[:, None])
    )
    rival = ExpectedHypervolumeImprovement(
        MockModel(posterior),
        ref_point=reference.tolist(),
        partitioning=NondominatedPartitioning(torch.as_tensor(reference), Y=torch.as_tensor(front)),
    )
    theirs = rival(torch.zeros(5, 1, 1)).numpy()
    ours = il.HypervolumeImprovement(front, reference).marginal(mean, var)
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-8)
