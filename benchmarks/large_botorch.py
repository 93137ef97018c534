"""BoTorch beside `large.py asks`: one cold ask for four points, by the same results.

    python benchmarks/suites/environments.py DIR botorch
    DIR/botorch/bin/python benchmarks/large_botorch.py -n 1000 2000 5000 10000

Up to 2,000 results its exact model (SingleTaskGP), beyond its variational one (with 256 inducing
points, fitted by Adam over minibatches of 256, ten times over the data); then sequential qLogEI,
with ten restarts. One thread, CPU seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import gpytorch
import torch
from botorch.acquisition import qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.approximate_gp import SingleTaskVariationalGP
from botorch.optim import optimize_acqf

from large_data import NOISE, D, Q, bumps, random_results

EXACT_UP_TO = 2000
INDUCING, MINIBATCH, PASSES, RATE = 256, 256, 10, 0.01


def data(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The results of large.py, standardized."""
    X, y = random_results(bumps, n, D, noise=NOISE, seed=0)
    return torch.tensor(X), torch.tensor((y - y.mean()) / y.std())[:, None]


def exact(X: torch.Tensor, Y: torch.Tensor) -> SingleTaskGP:
    model = SingleTaskGP(X, Y, outcome_transform=None)
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def variational(X: torch.Tensor, Y: torch.Tensor) -> SingleTaskVariationalGP:
    model = SingleTaskVariationalGP(X, Y, inducing_points=INDUCING)
    loss = gpytorch.mlls.VariationalELBO(model.likelihood, model.model, len(X))
    optimizer = torch.optim.Adam(loss.parameters(), lr=RATE)
    model.train()
    for _ in range(PASSES):
        for rows in torch.randperm(len(X)).split(MINIBATCH):
            optimizer.zero_grad()
            (-loss(model(X[rows]), Y[rows, 0])).backward()
            optimizer.step()
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, nargs="+", default=[1000, 2000, 5000, 10000])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    warnings.filterwarnings("ignore")
    bounds = torch.tensor([[0.0] * D, [1.0] * D])
    print("| n | model | fit, s | ask of 4, s |\n|---|---|---|---|")
    for n in [50, *arguments.n]:
        torch.manual_seed(0)
        X, Y = data(n)
        began = time.process_time()
        model = exact(X, Y) if n <= EXACT_UP_TO else variational(X, Y)
        fitted = time.process_time()
        utility = qLogExpectedImprovement(model, best_f=float(Y.max()))
        optimize_acqf(utility, bounds, q=Q, num_restarts=10, raw_samples=512, sequential=True)
        ended = time.process_time()
        if n > 50:  # first calls are not counted
            kind = "exact" if n <= EXACT_UP_TO else "variational"
            print(f"| {n} | {kind} | {fitted - began:.1f} | {ended - fitted:.1f} |", flush=True)


if __name__ == "__main__":
    main()
