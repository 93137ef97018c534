"""Entropy search over a discretization, with the softmax relaxation (Table 1, eq. 12-13)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from innerloop import checks, linalg
from innerloop.acquisition.draws import sobol_normal
from innerloop.acquisition.lookahead import Graded, Lookahead, LookaheadEstimator
from innerloop.acquisition.softmax_of_sums import mean_softmax
from innerloop.errors import InputError
from innerloop.surrogate.model import Surrogate
from innerloop.types import Array

_DRAWS = 64


@dataclass(frozen=True, eq=False)
class EntropySearch(Lookahead):
    """How surely outcomes at the queries tell where the best point is (Hennig and Schuler 2012).

        -E_a[H(E_b|a[softmax(f_b / temperature)])]        (Table 1)

    where H is the entropy. As the temperature falls, the relaxation of eq. 13 becomes the one-hot
    event of eq. 12. Never above 0. Use it through `Joint`.

    Args:
        points: (B, d), the discretization.
        temperature: of the softmax, in the units of f.
        z: base draws (m_b, B) of f over the discretization, given the outcomes; by default 64 Sobol
            draws.
    """

    points: Array
    temperature: float = 1e-2
    z: Array | None = None

    def __post_init__(self) -> None:
        points = checks.points("points", self.points)
        temperature = checks.positive_scalar("temperature", self.temperature)
        if self.z is not None:
            z, B = checks.base_draws("z", self.z), points.shape[0]
            if z.shape[1] != B:
                raise InputError(f"z must have shape (m_b, {B}), a column per point, got {z.shape}")
            object.__setattr__(self, "z", z)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "temperature", temperature)

    def bind(self, posterior: Surrogate, pending: Array | None) -> LookaheadEstimator:
        """The estimator of this utility under a posterior."""
        points = checks.points("points", self.points, posterior.d)
        z = sobol_normal(_DRAWS, len(points), seed=0) if self.z is None else self.z
        return _EntropySearchEstimator(points, posterior, pending, z, self.temperature)


class _EntropySearchEstimator(LookaheadEstimator):
    """Estimates from z_a of the queries and z_b (m_b, B) of the discretization."""

    def __init__(
        self,
        points: Array,
        posterior: Surrogate,
        pending: Array | None,
        z_b: Array,
        temperature: float,
    ) -> None:
        super().__init__(points, posterior, pending)
        self.z_b = z_b
        self.temperature = temperature

    def floats_per_set(self, m: int, q: int) -> int:
        pairs, rows = m * len(self.z_b), m + len(self.z_b) + len(self.points)
        return q * self.extended.n + 2 * pairs + 4 * rows * len(self.points)

    def grade(self, loadings: Array, z: Array) -> Graded:
        """Negative entropy of where the best is (Table 1), averaged over outcomes."""
        m, p = z.shape[0], self.pending
        learnt = self.discretization.pending_shift(z[:, :p]) + z[:, p:] @ loadings  # (R, m, B)
        L = linalg.cholesky(
            self.discretization.cov - loadings.swapaxes(-1, -2) @ loadings,
            self.discretization.scale,
        )
        unknown = self.discretization.mean + self.z_b @ L.swapaxes(-1, -2)  # (R, m_b, B)
        cold = 1.0 / self.temperature
        # Where the best is, given each outcome (eq. 13): (R, m, B).
        chance, pullback = mean_softmax(cold * learnt, cold * unknown)
        log_chance = np.log(np.maximum(chance, np.finfo(float).tiny))
        value = np.vecdot(chance, log_chance).sum(axis=1) / m

        def gradient() -> Array:
            d_learnt, d_unknown = pullback(log_chance * (cold / m))
            d_L = d_unknown.swapaxes(-1, -2) @ self.z_b
            d_loadings = z[:, p:].T @ d_learnt
            d_loadings -= 2.0 * loadings @ linalg.cholesky_pullback(L, d_L)
            return d_loadings

        return value, gradient
