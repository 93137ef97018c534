"""Entropy search over a discretization, with the softmax relaxation (Table 1, eq. 12-13)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax, xlogy

from innerloop import checks, linalg
from innerloop.acquisition.draws import sobol_normal
from innerloop.acquisition.lookahead import LookaheadEstimator
from innerloop.acquisition.shards import Evaluation
from innerloop.checks import Array
from innerloop.errors import InputError
from innerloop.surrogate.gaussian_process import Posterior


@dataclass(frozen=True, eq=False)
class EntropySearch:
    """-E_a[H(E_b|a[softmax(f_b / temperature)])]: how surely the queries tell where the best is.

    points: (B, d), the discretization. z: base draws (m_b, B) of f over it, given the outcomes;
    by default 64 Sobol draws. temperature: in the units of f; as it falls, the relaxation of
    eq. 13 becomes the one-hot event of eq. 12. Never above 0. Use it through `Joint`.
    """

    points: Array
    temperature: float = 1e-2
    z: Array | None = None

    def __post_init__(self) -> None:
        points = checks.points("points", self.points)
        temperature = checks.positive_scalar("temperature", self.temperature)
        B = points.shape[0]
        z = sobol_normal(64, B, seed=0) if self.z is None else checks.base_draws("z", self.z)
        if z.shape[1] != B:
            raise InputError(f"z must have shape (m_b, {B}), a column per point, got {z.shape}")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "temperature", temperature)
        object.__setattr__(self, "z", z)

    def bind(self, posterior: Posterior, pending: Array | None) -> LookaheadEstimator:
        """The estimator of this utility under a posterior."""
        points = checks.points("points", self.points, posterior.d)
        assert self.z is not None  # narrows the type; set when made
        return _EntropySearchEstimator(points, posterior, pending, self.z, self.temperature)


class _EntropySearchEstimator(LookaheadEstimator):
    def __init__(
        self,
        points: Array,
        posterior: Posterior,
        pending: Array | None,
        z_b: Array,
        temperature: float,
    ) -> None:
        super().__init__(points, posterior, pending)
        self.z_b = z_b
        self.temperature = temperature

    def floats_per_set(self, m: int, q: int) -> int:
        return q * self.extended.n + 3 * m * len(self.z_b) * len(self.points)

    def grade(self, sway: Array, z: Array, gradient: bool) -> Evaluation:
        m, p = z.shape[0], self.pending
        means = self.outlook.pending_mean(z[:, :p]) + z[:, p:] @ sway  # (R, m, B)
        cov = self.outlook.cov - sway.swapaxes(-1, -2) @ sway
        L = linalg.cholesky(cov, self.outlook.scale)
        residual = self.z_b @ L.swapaxes(-1, -2)  # (R, m_b, B)
        paths = means[:, :, None, :] + residual[:, None, :, :]
        events = softmax(paths / self.temperature, axis=-1)  # eq. 13
        chance = events.mean(axis=2)  # (R, m, B): where the best is, given each outcome
        value = xlogy(chance, chance).sum(axis=-1).mean(axis=1)
        if not gradient:
            return value, None
        d_chance = (np.log(np.maximum(chance, np.finfo(float).tiny)) + 1.0)[:, :, None, :]
        d_paths = d_chance - (events * d_chance).sum(axis=-1, keepdims=True)
        d_paths *= events
        d_paths *= 1.0 / (self.temperature * m * len(self.z_b))
        d_sway = z[:, p:].T @ d_paths.sum(axis=2)
        d_L = d_paths.sum(axis=1).swapaxes(-1, -2) @ self.z_b
        d_sway -= 2.0 * sway @ linalg.cholesky_pullback(L, d_L)
        return value, d_sway
