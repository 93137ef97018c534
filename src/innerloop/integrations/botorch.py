"""Models of BoTorch and GPyTorch, as `suggest` takes them.

Exact Gaussian processes with a constant mean and a Matern or squared exponential kernel become a
`Posterior`, with their transforms of inputs and outputs in it as far as these are affine. All
others are asked for `model.posterior(X)`, and gradients come from autograd.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from innerloop import checks
from innerloop.errors import InputError
from innerloop.integrations.exact import equal_posterior
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import Kernel, Matern32, Matern52, SquaredExponential
from innerloop.surrogate.model import Model
from innerloop.types import Array

# How far beliefs may differ in double precision, in single precision.
_TOLERANCE, _SINGLE_TOLERANCE = 1e-7, 1e-3
_MATERN: dict[float, type[Kernel]] = {1.5: Matern32, 2.5: Matern52}


def from_botorch(model: Any, X: ArrayLike | None = None, *, convert: bool = True) -> Model:
    """A fitted model of BoTorch or GPyTorch with a single output, as `suggest` takes it.

    Its inputs must lie in the unit cube, before any input transform of its own.

    Args:
        model: with a method `posterior`, or an exact Gaussian process of GPyTorch. Beliefs are
            about f: without noise, after outcome transforms.
        X: (n, d), where f was observed; by default the model's training inputs.
        convert: whether to make a `Posterior` of a model that is one.

    Returns:
        A `Posterior` that says the same as the model, if there is one; else what asks the model.
    """
    if not callable(model):
        raise InputError(f"model must be a model of BoTorch or GPyTorch, got {model!r}")
    outputs = getattr(model, "num_outputs", 1)
    if outputs != 1:
        raise InputError(f"the model must have a single output, got one with {outputs}")
    model.eval()
    points = _observed(model) if X is None else checks.points("X", X)
    theirs = TorchModel(model, points.shape[1], points)
    posterior = _converted(model, theirs) if convert else None
    return theirs if posterior is None else posterior


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A model of BoTorch or GPyTorch, asked anew for every belief.

    Args:
        model: what is asked.
        d: dimension of the queries.
        X: (n, d), where f was observed.
    """

    model: Any
    d: int
    X: Array

    @property
    def noise(self) -> float:
        """Variance of the noise of an observation, in the units of f."""
        import torch

        x = torch.tensor(self.X[:1])
        with torch.no_grad():
            if not hasattr(self.model, "posterior"):
                belief = self.model(x.to(_dtype(self.model)))
                added = self.model.likelihood(belief).variance - belief.variance
            else:
                x = x.to(_dtype(self.model))
                noisy = self.model.posterior(x, observation_noise=True).variance
                added = noisy - self.model.posterior(x).variance
        return max(float(added.mean()), 0.0)

    def belief(self, X: Array) -> TorchBelief:
        """The joint belief at query sets (R, q, d)."""
        import torch

        queries = torch.tensor(X, dtype=_dtype(self.model), requires_grad=True)
        with torch.enable_grad():
            posterior = getattr(self.model, "posterior", self.model)(queries)
            normal = getattr(posterior, "distribution", posterior)
            if not hasattr(normal, "covariance_matrix"):
                raise InputError(
                    f"the model's posterior must be normal, got {type(posterior).__name__}; "
                    "an outcome transform must be affine, as Standardize is"
                )
            return TorchBelief(queries, normal.mean, normal.covariance_matrix)


@dataclass(frozen=True, eq=False)
class TorchBelief:
    """A joint belief whose mean and covariance remember how they depend on the queries.

    queries: tensor (R, q, d); of_mean: tensor (R, q); of_cov: tensor (R, q, q).
    """

    queries: Any = field(repr=False)
    of_mean: Any = field(repr=False)
    of_cov: Any = field(repr=False)

    @property
    def mean(self) -> Array:
        """Means, (R, q)."""
        return _array(self.of_mean)

    @property
    def cov(self) -> Array:
        """Covariances, (R, q, q)."""
        return _array(self.of_cov)

    def pullback(self, d_mean: Array, d_cov: Array) -> Array:
        """Gradients in mean (R, q) and covariance (R, q, q) as one in the queries (R, q, d)."""
        import torch

        like = self.queries
        slopes = [like.new_tensor(d_mean), like.new_tensor(d_cov)]
        outputs = [self.of_mean, self.of_cov]
        return _array(torch.autograd.grad(outputs, like, slopes, retain_graph=True)[0])


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def _dtype(model: Any) -> Any:
    """The precision that a model computes with."""
    return next(iter(model.parameters())).dtype


def _observed(model: Any) -> Array:
    """The training inputs (n, d) of a model, before its input transform."""
    inputs = getattr(model, "train_inputs", None)
    if not inputs or inputs[0].ndim != 2:
        raise InputError(
            "the model must have training inputs of shape (n, d): give X, where f was observed"
        )
    transform = getattr(model, "input_transform", None)
    try:
        return _array(inputs[0] if transform is None else transform.untransform(inputs[0]))
    except NotImplementedError as error:
        raise InputError(
            "the input transform has no inverse: give X, where f was observed"
        ) from error


def _converted(model: Any, theirs: TorchModel) -> Posterior | None:
    """The posterior that says what a model says, if it is an exact Gaussian process of our kind."""
    import torch
    from gpytorch.means import ConstantMean, ZeroMean
    from gpytorch.models import ExactGP

    plain = isinstance(model, ExactGP) and type(model.mean_module) in (ConstantMean, ZeroMean)
    if not plain or model.train_targets.ndim != 1 or not hasattr(model.likelihood, "noise"):
        return None
    found = _kernel(model.covar_module)
    if found is None:
        return None
    kind, lengthscales, variance = found
    with torch.no_grad():
        # Transforms are taken to be affine: whether they are is seen in the comparison.
        first = torch.zeros(1, theirs.d, dtype=_dtype(model))
        corners = torch.cat([first, torch.eye(theirs.d, dtype=first.dtype)])
        if hasattr(model, "transform_inputs"):
            corners = model.transform_inputs(corners)
        outcomes = first.new_tensor([[0.0], [1.0]])
        if hasattr(model, "outcome_transform"):
            outcomes = model.outcome_transform.untransform(outcomes)[0]
        mean = float(model.mean_module(corners[:1])[0])
    rates = np.abs(np.diagonal(_array(corners[1:] - corners[0])))
    if corners.shape[1] != theirs.d or not (rates > 0.0).all():
        return None
    offset, unit = float(outcomes[0, 0]), float(outcomes[1, 0] - outcomes[0, 0])
    noise = _array(model.likelihood.noise).ravel() * unit**2
    gp = GaussianProcess(
        kind(lengthscales / rates, variance * unit**2),
        mean=offset + unit * mean,
        noise=noise if noise.size == len(theirs.X) else float(noise[0]),
    )
    single = _dtype(model) != torch.float64
    y = offset + unit * _array(model.train_targets)
    return equal_posterior(gp, theirs.X, y, theirs, _SINGLE_TOLERANCE if single else _TOLERANCE)


def _kernel(module: Any) -> tuple[type[Kernel], Array, float] | None:
    """Kind, lengthscales (1,) or (d,), and variance of a kernel of GPyTorch; None of others."""
    from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

    variance = 1.0
    if type(module) is ScaleKernel and module.active_dims is None:
        variance, module = float(module.outputscale), module.base_kernel
    kind = _MATERN.get(module.nu) if type(module) is MaternKernel else None
    if type(module) is RBFKernel:
        kind = SquaredExponential
    if kind is None or module.active_dims is not None or module.lengthscale.numel() < 1:
        return None
    return kind, _array(module.lengthscale).ravel(), variance
