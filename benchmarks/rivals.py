"""BoTorch set up to do the same work as innerloop, on one thread."""

from __future__ import annotations

from collections.abc import Callable

import gpytorch
import numpy as np
import torch
from botorch.acquisition import qExpectedImprovement, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.priors import NormalPrior

import innerloop as il

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

ACQUISITIONS = {"qEI": qExpectedImprovement, "qLogEI": qLogExpectedImprovement}


def _model(X: np.ndarray, y: np.ndarray) -> SingleTaskGP:
    """A constant mean, an anisotropic Matern-5/2 kernel and noise of at least 1e-4; no priors."""
    return SingleTaskGP(
        torch.as_tensor(X),
        torch.as_tensor(y)[:, None],
        covar_module=ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=X.shape[1])),
        likelihood=GaussianLikelihood(noise_constraint=GreaterThan(1e-4)),
        outcome_transform=None,
    )


def fixed_model(X: np.ndarray, y: np.ndarray, gp: il.GaussianProcess) -> SingleTaskGP:
    """The posterior of `gp` as a BoTorch model."""
    model = _model(X, y)
    model.covar_module.base_kernel.lengthscale = torch.as_tensor(gp.kernel.lengthscales)
    model.covar_module.outputscale = gp.kernel.variance
    model.mean_module.constant = gp.mean
    model.likelihood.noise = gp.noise
    return model.eval()


def q_expected_improvement(
    model: SingleTaskGP,
    threshold: float,
    m: int,
    sets: np.ndarray,
    pending: np.ndarray | None = None,
) -> Callable[[], object]:
    """One forward and backward pass of MC qEI at query sets (R, q, d)."""
    acquisition = qExpectedImprovement(
        model,
        best_f=threshold,
        sampler=SobolQMCNormalSampler(torch.Size([m]), seed=0),
        X_pending=torch.as_tensor(pending) if pending is not None and len(pending) else None,
    )
    X = torch.as_tensor(sets).requires_grad_(True)

    def evaluate() -> object:
        return torch.autograd.grad(acquisition(X).sum(), X)

    return evaluate


def belief(model: SingleTaskGP, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (q,) and covariance (q, q) of the latent f at one query set (q, d)."""
    with torch.no_grad():
        posterior = model.posterior(torch.as_tensor(X))
        return posterior.mean[:, 0].numpy(), posterior.distribution.covariance_matrix.numpy()


def optimized_batch(
    model: SingleTaskGP, threshold: float, q: int, acquisition: str, sequential: bool, seed: int
) -> np.ndarray:
    """The batch (q, d) that `optimize_acqf` finds with 10 restarts, 512 raw samples and m = 256.

    timeout_sec, maxfun, gtol and topn stay unset: any of them would silently replace BoTorch's
    batched L-BFGS-B by a slower one.
    """
    torch.manual_seed(seed)
    d = model.train_inputs[0].shape[-1]
    sampler = SobolQMCNormalSampler(torch.Size([256]), seed=seed)
    X, _ = optimize_acqf(
        ACQUISITIONS[acquisition](model, best_f=threshold, sampler=sampler),
        bounds=torch.stack([torch.zeros(d), torch.ones(d)]),
        q=q,
        num_restarts=10,
        raw_samples=512,
        sequential=sequential,
    )
    return X.detach().numpy()


def _add_priors(model: SingleTaskGP, priors: il.Priors) -> None:
    """innerloop's priors: normal on the logarithms, and on the constant mean."""
    center, sd = priors.lengthscale
    center += 0.5 * np.log(model.train_inputs[0].shape[-1])
    kernel, likelihood = model.covar_module, model.likelihood
    for module, prior, log_parameter in (
        (kernel.base_kernel, NormalPrior(center, sd), lambda m: m.lengthscale.log()),
        (kernel, NormalPrior(*priors.variance), lambda m: m.outputscale.log()),
        (likelihood, NormalPrior(*priors.noise), lambda m: m.noise.log()),
        (model.mean_module, NormalPrior(0.0, priors.mean), lambda m: m.constant),
    ):
        module.register_prior("same_prior", prior, log_parameter)


def fit(X: np.ndarray, y: np.ndarray, priors: il.Priors | None) -> il.GaussianProcess:
    """BoTorch's default fit, as an innerloop surrogate."""
    model = _model(X, y)
    if priors is not None:
        _add_priors(model, priors)
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    kernel = model.covar_module
    return il.GaussianProcess(
        il.Matern52(kernel.base_kernel.lengthscale.detach().numpy()[0], kernel.outputscale.item()),
        mean=model.mean_module.constant.item(),
        noise=model.likelihood.noise.item(),
    )
