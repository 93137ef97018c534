"""Knowledge gradient over a discretization (Table 1)."""

from __future__ import annotations

from dataclasses import dataclass

from innerloop import checks
from innerloop.acquisition.lookahead import Graded, Lookahead, LookaheadEstimator
from innerloop.surrogate.model import Surrogate
from innerloop.types import Array


@dataclass(frozen=True, eq=False)
class KnowledgeGradient(Lookahead):
    """The best posterior mean over a discretization once the queries are in (Frazier et al. 2009).

        E_a[max_b mean_b|a] ~ 1/m sum_k max_b (mean_b + S z_a^k),   S = cov_ba L_a^-T    (Table 1)

    Use it through `Joint`.

    Args:
        points: (B, d), the discretization.
    """

    points: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", checks.points("points", self.points))

    def bind(self, posterior: Surrogate, pending: Array | None) -> LookaheadEstimator:
        """The estimator of this utility under a posterior."""
        points = checks.points("points", self.points, posterior.d)
        return _KnowledgeGradientEstimator(points, posterior, pending)


class _KnowledgeGradientEstimator(LookaheadEstimator):
    """Estimates from base draws z_a of the queries."""

    def floats_per_set(self, m: int, q: int) -> int:
        return q * self.extended.n + 2 * m * len(self.points)

    def grade(self, loadings: Array, z: Array) -> Graded:
        """Largest mean over the discretization (Table 1), averaged over outcomes."""
        m, p = z.shape[0], self.pending
        before = self.discretization.mean + self.discretization.pending_shift(z[:, :p])
        means = before + z[:, p:] @ loadings  # (R, m, B)
        best = means.max(axis=-1, keepdims=True)
        return best[..., 0].mean(axis=1), lambda: z[:, p:].T @ ((means == best) * (1.0 / m))
