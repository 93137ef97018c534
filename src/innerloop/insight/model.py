"""What the model of a study says, in the units of the values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from innerloop.acquisition.draws import sobol_normal
from innerloop.acquisition.utilities import ExpectedImprovement
from innerloop.batches.chance import Chance
from innerloop.batches.states import Incremental
from innerloop.domain.domain import Domain
from innerloop.errors import InputError
from innerloop.optimizer.importances import importances
from innerloop.optimizer.optimizer import Optimizer
from innerloop.optimizer.outputs import LARGEST, Outputs
from innerloop.optimizer.trials import Trial
from innerloop.space.parameters import Parameter
from innerloop.space.space import Space
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.types import Array

# Beyond so many pending points the picture of expected improvement takes the latest ones.
_STATES, _MOST_PENDING = 64, 16


class Expected(NamedTuple):
    """What is expected at n points: mean (n,), and between what the truth is likely to lie (n,)."""

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The posterior given results at points X, and the best of them.

    pending: the points (p, d) of trials that are still running, the latest of them. success: the
    chance that trials succeed, if any has failed.
    """

    space: Space
    domain: Domain
    outputs: Outputs
    posterior: Posterior
    best: Trial
    pending: Array
    success: Chance | None

    @staticmethod
    def of(optimizer: Optimizer) -> FittedModel:
        """What has been learned by an optimizer that has been told a value."""
        learned, posterior, space = optimizer.learned, optimizer.posterior, optimizer.space
        return FittedModel(
            space=space,
            domain=space.domain(),
            outputs=learned.outputs,
            posterior=posterior,
            best=optimizer.best,
            pending=space.encode_all([t.params for t in optimizer.pending[-_MOST_PENDING:]]),
            success=optimizer.chance,
        )

    @cached_property
    def center(self) -> Array:
        """The best point (d,), through which slices and maps go."""
        return self.space.encode(self.best.params)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Parameters that vary, by name."""
        return self.space.varying

    @property
    def threshold(self) -> float:
        """What has to be improved on, in units of the surrogate."""
        return float(self.posterior.fitted.max())

    @cached_property
    def unit(self) -> float:
        """|dvalue / dt| at the threshold: what a unit of the surrogate is worth there."""
        outputs = self.outputs
        bent = min(self.threshold * outputs.scale + outputs.location, 0.0) if outputs.bent else 0.0
        return min(outputs.typical * outputs.scale * float(np.exp(-bent)), LARGEST)

    def expected(self, X: Array) -> Expected:
        """Mean at points (n, d), as `Optimizer.predict` gives it, and a band of 2 sd around.

        The band is that of the surrogate, carried over to values, so that it stays on the side of
        possible values where the surrogate sees a logarithm of them.
        """
        t, variance = self.posterior.marginals(X)
        sd = np.sqrt(variance)
        with np.errstate(over="ignore"):
            ends = np.sort([self.outputs.backward(t + k * sd) for k in (-2.0, 2.0)], axis=0)
        low, high = np.clip(ends, -LARGEST, LARGEST)
        return Expected(self.outputs.moments(t, variance)[0], low, high)

    def improvement(self, X: Array) -> Array:
        """Expected improvement at points (n, d), given that pending ones will be known: (n,).

        Trials that fail improve nothing: what others gain counts as often as trials succeed there.
        """
        z = sobol_normal(_STATES, max(len(self.pending), 1), seed=0)
        acquisition = Incremental(ExpectedImprovement(self.threshold), self.posterior, z)
        if len(self.pending):
            acquisition = acquisition.extend(self.pending)
        with np.errstate(over="ignore"):
            gain = acquisition.value(X[:, None, :]) * self.unit * self.succeeding(X)
            return np.minimum(gain, LARGEST)

    def succeeding(self, X: Array) -> Array:
        """The chance that trials at points (n, d) do not fail: (n,)."""
        return np.ones(len(X)) if self.success is None else np.exp(self.success.log(X)[0])

    def chance(self, X: Array) -> Array:
        """The chance that trials at points (n, d) succeed and are better than the best: (n,)."""
        mean, variance = self.posterior.marginals(X)
        sd = np.sqrt(np.maximum(variance, self.posterior.gp.kernel.smallest_variance))
        return np.asarray(ndtr((mean - self.threshold) / sd) * self.succeeding(X))

    def feasible(self, X: Array) -> NDArray[np.bool_]:
        """Which points (n, d) meet the constraints: (n,)."""
        return self.domain.contains(X)

    @cached_property
    def importance(self) -> dict[str, float]:
        """Shares of parameters, the largest first; none if the model has learned too little."""
        try:
            return dict(importances(self.space, self.outputs, self.posterior))
        except InputError:
            return {}

    @property
    def ordered(self) -> list[str]:
        """Names of parameters that vary, the most important first as far as that is known."""
        names = list(self.parameters)
        if len(names) == 1:
            return names
        return list(self.importance) or names

    def offsets(self, X: Array) -> dict[str, Array]:
        """By parameter, squared distances of points (n, d) from the best in lengthscales: (n,)."""
        inverse = self.posterior.gp.kernel.rates(self.space.d)
        squares = ((X - self.center) * inverse) ** 2
        return {n: squares[:, self.space.columns[n]].sum(axis=1) for n in self.parameters}

    def moved(self, values: dict[str, list[Any]]) -> Array:
        """The best point with some parameters at other values, as many as are given: (n, d).

        In the plane of an equation the others follow, each as little as possible. What begins to
        apply is in the middle of its range.
        """
        count = len(next(iter(values.values())))
        X = np.tile(self.center, (count, 1))
        for name, entries in values.items():
            kind = self.parameters[name]
            X[:, self.space.columns[name]] = [kind.encode(entry) for entry in entries]
        X = self.domain.held(X)
        if not self.domain.is_flat:
            return X
        return self.domain.followed(X, [self.space.columns[name] for name in values])

    def applying(self, names: Iterable[str]) -> list[str]:
        """Those of some parameters that apply at the best point."""
        return [name for name in names if name in self.best.params]

    def applies(self, names: Iterable[str], X: Array) -> NDArray[np.bool_]:
        """Where all of some parameters apply, of points (n, d): (n,)."""
        branches, applies = self.space.branches, np.ones(len(X), dtype=bool)
        for name in names:
            if name in branches.needs:
                applies &= branches.condition(name, self.space.columns).applies(X)
        return applies
