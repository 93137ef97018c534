"""TuRBO-1: Thompson sampling in one trust region, as its authors describe it, on BoTorch's models.

Eriksson, Pearce, Gardner, Turner and Poloczek, "Scalable Global Optimization via Local Bayesian
Optimization", NeurIPS 2019: section 2, and the settings of its appendix.
"""

from __future__ import annotations

import math

import numpy as np

from closed_loop_rivals import Remembering
from problem import Problem
from task_parameters import Point, decoded, encoded

LENGTH, SHORTEST, LONGEST = 0.8, 0.5**7, 1.6
SUCCESSES = 3
# By how much, of the best value, a batch has to improve on it to be a success.
IMPROVEMENT = 1e-3
MOST_CANDIDATES = 5000


class Turbo(Remembering):
    """A trust region around the best point, which doubles with luck and halves without.

    Once it is too small, all begins anew from random points, and what was seen is forgotten.
    Integers are rounded.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        import torch

        super().__init__(problem)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.seed, self.restarts = seed, 0
        self.first = 0  # of the points that belong to the present region
        self.queue: list[Point] = []
        self._begin()

    def _begin(self) -> None:
        self.length, self.successes, self.failures = LENGTH, 0, 0

    def ask(self, q: int) -> list[Point]:
        self.begins = bool(self.queue)
        if self.begins:
            asked, self.queue = self.queue[:q], self.queue[q:]
            return asked
        return self._sampled(q)

    def tell(self, points: list[Point], values: list[float]) -> None:
        best = min(self.values[self.first :], default=math.inf)
        self.add(points, values)
        if self.begins:
            return
        if min(values) < best - IMPROVEMENT * abs(best):
            self.successes, self.failures = self.successes + 1, 0
        else:
            self.successes, self.failures = 0, self.failures + 1
        if self.successes == SUCCESSES:
            self.length, self.successes = min(2 * self.length, LONGEST), 0
        elif self.failures == math.ceil(self.task.d / len(points)):
            self.length, self.failures = self.length / 2, 0
        if self.length < SHORTEST:
            self._begin()
            self.first, self.restarts = len(self.values), self.restarts + 1
            # Whole batches.
            rounds = math.ceil(2 * (self.task.d + 1) / len(points))
            self.queue = self._drawn(rounds * len(points))

    def _drawn(self, count: int) -> list[Point]:
        """Points of a scrambled Sobol sequence over all of the space."""
        from torch.quasirandom import SobolEngine

        seed = 1000 * self.seed + self.restarts
        U = SobolEngine(self.task.d, scramble=True, seed=seed).draw(count)
        return [self.task.decode(u) for u in U.double().numpy()]

    def _sampled(self, q: int) -> list[Point]:
        """Where q draws from the posterior are smallest, among candidates in the region."""
        import torch
        from botorch.generation import MaxPosteriorSampling

        points, values = self.points[self.first :], np.array(self.values[self.first :])
        X = torch.tensor([encoded(point, self.task.parameters) for point in points]).double()
        spread = values.std() or 1.0
        # BoTorch maximizes.
        Y = -torch.tensor((values - values.mean()) / spread)[:, None]
        model = self._fitted(X, Y)
        candidates = self._candidates(X[Y.argmax()], model)
        with torch.no_grad():
            chosen = MaxPosteriorSampling(model, replacement=False)(candidates, num_samples=q)
        return [decoded(x.tolist(), self.task.parameters) for x in chosen]

    def _fitted(self, X, Y):
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.constraints import Interval
        from gpytorch.kernels import MaternKernel, ScaleKernel
        from gpytorch.likelihoods import GaussianLikelihood
        from gpytorch.mlls import ExactMarginalLogLikelihood

        kernel = MaternKernel(
            nu=2.5, ard_num_dims=self.task.d, lengthscale_constraint=Interval(0.005, 2.0)
        )
        model = SingleTaskGP(
            X,
            Y,
            covar_module=ScaleKernel(kernel, outputscale_constraint=Interval(0.05, 20.0)),
            likelihood=GaussianLikelihood(noise_constraint=Interval(5e-4, 0.1)),
            outcome_transform=None,
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _candidates(self, centre, model):
        """Sobol points in the region, most of them like its centre in all but 20 coordinates."""
        import torch
        from torch.quasirandom import SobolEngine

        d = self.task.d
        scales = model.covar_module.base_kernel.lengthscale.detach().reshape(-1)
        sides = self.length * scales / scales.log().mean().exp()
        low, high = (centre - sides / 2).clamp(0, 1), (centre + sides / 2).clamp(0, 1)
        count = min(100 * d, MOST_CANDIDATES)
        seed = int(torch.randint(10**6, (1,)))
        U = SobolEngine(d, scramble=True, seed=seed).draw(count).double()
        moved = torch.rand(count, d) < min(1.0, 20.0 / d)
        # One coordinate at least.
        moved[torch.arange(count), torch.randint(d, (count,))] = True
        return torch.where(moved, low + U * (high - low), centre)
