"""Time of a value and gradient of incremental EHVI, against its array operations and BoTorch.

    python benchmarks/incremental_hypervolume.py      # needs the `bench` extra: torch and botorch

Two objectives, 20 points on the front, 16 queries, before anything is fixed (one state) and after
one query whose outcomes 64 states fantasize. "operations" are the same array operations written
out, on arrays prepared beforehand: distances, kernel, whitening, beliefs, h and its derivatives
for every box, products, sums, and the way back. BoTorch's analytic EHVI knows no fantasies, so its
comparable work is one state; beside a fixed query it has qEHVI with 64 samples and that query
pending. One thread, time on the processor. All take turns of some calls each, as searches call them
one after the other, and ratios are of turns that follow one another. With --calls 1 every call
finds the caches full of what the others have left there.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from botorch.acquisition.multi_objective import (
    ExpectedHypervolumeImprovement,
    qExpectedHypervolumeImprovement,
)
from botorch.models import ModelListGP, SingleTaskGP
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.means import ConstantMean
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

import innerloop as il
from innerloop.batches.states import Incremental, States

D, N, R, STATES, FRONT = 6, 40, 16, 64, 20
Job = Callable[[], object]


def problem() -> tuple[np.ndarray, np.ndarray, list[il.Posterior], np.ndarray]:
    """Inputs, outcomes (N, 2), their posteriors, and a front of 20 points."""
    rng = np.random.default_rng(0)
    X = rng.random((N, D))
    outcomes = np.stack([np.cos(3.0 * X[:, 0]) + X[:, 1], np.sin(2.0 * X[:, 0]) - X[:, 2]], axis=1)
    posteriors = [
        il.GaussianProcess(il.Matern52(np.full(D, 0.7), 1.0), noise=1e-4).condition(X, y)
        for y in outcomes.T
    ]
    along = np.linspace(0.05, 0.95, FRONT)
    return X, outcomes, posteriors, np.stack([np.cos(1.5 * along), np.sin(1.5 * along)], axis=1)


def operations(states: States, queries: np.ndarray) -> Job:
    """The array operations of one value and gradient, on arrays of the same shapes."""
    m, n = states.m, states.given[0].n
    j, rng = len(states.points), np.random.default_rng(0)
    boxes = states.utility.nothing_held() if states.floor is None else states.floor
    B = boxes.shape[1]
    ends = [np.ascontiguousarray(boxes[:, :, 0, k].T)[:, None] for k in (0, 1)]
    points, whitener = rng.random((n, D)), np.tril(rng.random((n, n))) / n
    weights, z = rng.random(n), np.ascontiguousarray(states.z[:m, :j])
    kept = np.empty((B, R, m))

    def run() -> None:
        means, sds, loads, back = [], [], [], []
        for _ in range(2):
            s = np.maximum(
                (queries**2).sum(1)[:, None] + (points**2).sum(1) - 2.0 * queries @ points.T, 0.0
            )
            r = np.sqrt(5.0 * s)
            decay = np.exp(-r)
            covariance = (1.0 + r + (5.0 / 3.0) * s) * decay
            features = covariance @ whitener.T
            means.append(features @ weights)
            sds.append(np.sqrt(np.maximum(1.0 - (features**2).sum(1), 1e-10))[:, None])
            loads.append(features[:, n - j :])
            back.append((r, decay, features))
        parts = []
        for k in (0, 1):
            center = means[k][:, None] + (loads[k] @ z[..., k].T if j else np.zeros((R, 1)))
            u = (center - ends[k]) / sds[k]
            below, density = ndtr(u), np.exp(-0.5 * u * u) * 0.3989422804014327
            h = u * below + density
            if k == 0:
                for each in (h, below, density):
                    each[:-1] -= each[1:]
            parts.append((h, below, density))
        value = np.multiply(parts[0][0], parts[1][0], out=kept).sum(axis=0)
        share = np.exp(np.log(value) - np.log(value).max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        total = np.zeros((R, D))
        for k in (0, 1):
            other = parts[1 - k][0]
            d_shift = share * (parts[k][1] * other).sum(axis=0) / (value * sds[k])
            d_sd = share * (parts[k][2] * other).sum(axis=0) / (value * sds[k])
            r, decay, features = back[k]
            pulled = np.outer(d_shift.sum(1), weights)
            pulled -= (d_sd.sum(1)[:, None] / sds[k]) * features
            if j:
                pulled[:, n - j :] += d_shift @ z[..., k]
            slopes = (pulled @ whitener) * ((1.0 + r) * decay)
            total += slopes.sum(1)[:, None] * queries - slopes @ points

    return run


def botorch_model(X: np.ndarray, outcomes: np.ndarray) -> ModelListGP:
    """The same two models, hyperparameters fixed."""
    models = []
    for y in outcomes.T:
        kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=D))
        inputs, values = torch.as_tensor(X), torch.as_tensor(y[:, None])
        model = SingleTaskGP(
            inputs,
            values,
            torch.full_like(values, 1e-4),
            mean_module=ConstantMean(),
            covar_module=kernel,
            outcome_transform=None,
        )
        model.mean_module.constant = 0.0
        kernel.base_kernel.lengthscale = torch.full((1, D), 0.7)
        kernel.outputscale = 1.0
        models.append(model)
    whole = ModelListGP(*models)
    whole.eval()
    for parameter in whole.parameters():
        parameter.requires_grad_(False)
    return whole


def forward_and_backward(acquisition: Callable[..., torch.Tensor], X: np.ndarray) -> Job:
    queries = torch.as_tensor(X[:, None])

    def run() -> tuple[np.ndarray, np.ndarray]:
        x = queries.clone().requires_grad_(True)
        value = acquisition(x)
        (grad,) = torch.autograd.grad(value.sum(), x)
        return value.detach().numpy(), grad.numpy()

    return run


def turns(jobs: dict[str, Job], seconds: float, calls: int) -> dict[str, np.ndarray]:
    """Times of a call of each job on the processor, by turn."""
    for job in jobs.values():
        job()
    spent: dict[str, list[float]] = {name: [] for name in jobs}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, job in jobs.items():
            start = time.process_time()
            for _ in range(calls):
                job()
            spent[name].append((time.process_time() - start) / calls)
    return {name: np.array(each) for name, each in spent.items()}


def report(title: str, spent: dict[str, np.ndarray]) -> None:
    print(f"\n{title}, {len(spent['innerloop'])} turns\n")
    print("| | median ms | to innerloop: median | 10% | 90% |\n|---|---|---|---|---|")
    for name, times in spent.items():
        low, median, high = np.quantile(times / spent["innerloop"], [0.1, 0.5, 0.9])
        print(f"| {name} | {1e3 * np.median(times):.3f} | {median:.2f} | {low:.2f} | {high:.2f} |")
    inverse = np.quantile(spent["innerloop"] / spent["operations"], [0.1, 0.5, 0.9])
    print("innerloop / operations: {1:.2f} ({0:.2f} to {2:.2f})".format(*inverse))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each of the two tables")
    parser.add_argument("--calls", type=int, default=10, help="in one turn")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    X, outcomes, posteriors, front = problem()
    rng, reference = np.random.default_rng(1), np.full(2, -0.5)
    queries, fixed = rng.random((R, D)), X[np.argmax(outcomes.sum(axis=1))][None] + 0.03
    utility = il.HypervolumeImprovement(front, reference)
    z = rng.standard_normal((STATES, 1, 2))
    before = States.start(utility, tuple(posteriors), z)
    after = before.extend(fixed)
    cut = np.unique(after.floor, axis=0)
    print(f"{len(utility.boxes)} boxes; {after.floor.shape[1]} with one query fixed, in {len(cut)}")
    model, corner = botorch_model(X, outcomes), torch.as_tensor(reference)
    boxes = FastNondominatedPartitioning(corner, Y=torch.as_tensor(front))
    analytic = ExpectedHypervolumeImprovement(model, corner, boxes)
    drawn = qExpectedHypervolumeImprovement(
        model,
        corner,
        boxes,
        sampler=SobolQMCNormalSampler(torch.Size([STATES]), seed=0),
        X_pending=torch.as_tensor(fixed),
    )
    with threadpool_limits(1):
        alone = forward_and_backward(analytic, queries)
        ours = Incremental.of(before, log=False).value_and_grad(queries[:, None])
        worst = max(np.abs(a - b).max() for a, b in zip(ours, alone(), strict=True))
        print(f"largest difference of values and gradients to analytic EHVI: {worst:.1e}")
        for title, states, rivals in (
            ("Nothing fixed, one state", before, {"BoTorch EHVI": alone}),
            (
                f"One query fixed, {STATES} states",
                after,
                {
                    "BoTorch EHVI, one state": alone,
                    "BoTorch qEHVI, one pending": forward_and_backward(drawn, queries),
                },
            ),
        ):
            gains = Incremental.of(states, log=True)
            jobs: dict[str, Job] = {
                "innerloop": lambda gains=gains: gains.value_and_grad(queries[:, None]),
                "operations": operations(states, queries),
                **rivals,
            }
            report(title, turns(jobs, options.seconds, options.calls))


if __name__ == "__main__":
    main()
