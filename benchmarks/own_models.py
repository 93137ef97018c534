"""Models of others: what `suggest` takes and finds on a model of BoTorch, next to BoTorch itself.

    python benchmarks/own_models.py              # needs the `bench` extra
    python benchmarks/own_models.py --seeds 5

Every model is BoTorch's own `SingleTaskGP`, on n observations of a smooth function of six variables
(q = 4, one thread). BoTorch runs `optimize_acqf` sequentially with qLogEI, 10 restarts, 512 raw
samples and m = 256. innerloop is given the same model by `from_botorch`: converted where that is
possible, and asked for `model.posterior` with gradients by autograd (`convert=False`). Batches are
graded by the same 2^15 Sobol draws under the belief that the model itself gives. Times are by the
clock, without conversion, which is listed by itself; values are means over the seeds.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from threadpoolctl import threadpool_limits

import innerloop as il
import rivals
from timing import timed

D, Q, DRAWS = 6, 4, 2**15


def observations(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n noisy observations of a function with several hills: (n, d) and (n,)."""
    rng = np.random.default_rng(seed)
    X, shift = rng.random((n, D)), rng.random(D)
    y = np.sin(4.0 * (X + shift)).sum(axis=1) + X[:, 0] * X[:, 1]
    return X, y + 0.05 * rng.standard_normal(n)


def model_of(kind: str, X: np.ndarray, y: np.ndarray) -> SingleTaskGP:
    """A model of one of three kinds; only the last cannot be converted."""
    options = {}
    if kind != "default":
        options["covar_module"] = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=D))
        options["input_transform"] = Normalize(D)
    if kind == "sum of kernels":
        options["covar_module"] = options["covar_module"] + ScaleKernel(RBFKernel())
    model = SingleTaskGP(torch.as_tensor(X), torch.as_tensor(y)[:, None], **options)
    if kind == "Matern 5/2":
        model.covar_module.base_kernel.lengthscale = 0.6
    return model.eval()


def value_of(model: SingleTaskGP, batch: np.ndarray, threshold: float) -> float:
    """Expected improvement of a batch (q, d), by the belief of the model itself."""
    with torch.no_grad():
        posterior = model.posterior(torch.as_tensor(batch))
        mean = posterior.mean[:, 0].numpy()
        cov = posterior.distribution.covariance_matrix.numpy()
    z = il.sobol_normal(DRAWS, len(batch), seed=1)
    return float(il.expected_utility(il.ExpectedImprovement(threshold), mean, cov, z))


def row(kind: str, n: int, seed: int) -> np.ndarray:
    """Seconds of BoTorch, converted, asked, conversion; then the values of these batches: (7,)."""
    X, y = observations(n, seed)
    model, threshold = model_of(kind, X, y), float(y.max())
    utility = il.ExpectedImprovement(threshold)
    conversion = timed(lambda: il.from_botorch(model))
    converted, asked = conversion.result, il.from_botorch(model, convert=False)
    jobs = [
        lambda: rivals.optimized_batch(model, threshold, Q, "qLogEI", True, seed),
        lambda: il.suggest(converted, Q, utility, seed=seed).X,
        lambda: il.suggest(asked, Q, utility, seed=seed).X,
    ]
    runs = [timed(job) for job in jobs]
    seconds = [each.seconds for each in runs]
    values = [value_of(model, each.result, threshold) for each in runs]
    return np.array([*seconds, conversion.seconds, *values])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    print("| model | n | BoTorch, s | converted | asked | conversion, ms | values in turn |")
    print("|---|---|---|---|---|---|---|")
    with threadpool_limits(1):
        row("default", 20, 0)  # imports and caches
        for kind in ("default", "Matern 5/2", "sum of kernels"):
            for n in (50, 100):
                rows = np.array([row(kind, n, seed) for seed in seeds])
                median, mean = np.median(rows, axis=0), rows.mean(axis=0)
                times = [f"{s:.3f} ({median[0] / s:.0f}x)" for s in median[1:3]]
                values = " / ".join(f"{value:.4f}" for value in mean[4:])
                print(
                    f"| {kind} | {n} | {median[0]:.2f} | {times[0]} | {times[1]} "
                    f"| {1e3 * median[3]:.0f} | {values} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
