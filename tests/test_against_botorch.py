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
