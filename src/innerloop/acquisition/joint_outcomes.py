"""The joint form of utilities of several outcomes."""

from __future__ import annotations

import numpy as np

from innerloop.acquisition.sample_paths import pulled_back, rows_times
from innerloop.acquisition.utility import Beside, Utility
from innerloop.surrogate.model import Surrogate
from innerloop.types import Array


class OutcomesEstimator:
    """The utility of a batch on sample paths of K independent outcomes; z: (m, pending + q, K)."""

    def __init__(
        self, utility: Utility, posteriors: tuple[Surrogate, ...], pending: Array | None
    ) -> None:
        self.utility, self.posteriors, self.pending = utility, posteriors, 0
        self._beside: tuple[Array, Beside] | None = None
        if pending is not None:
            beliefs = [each.unchecked_belief(pending) for each in posteriors]
            self.pending_paths = [belief.paths for belief in beliefs]
            self.posteriors = tuple(
                each.fantasize(pending, belief=belief)
                for each, belief in zip(posteriors, beliefs, strict=True)
            )
            self.pending = pending.shape[0]

    def floats_per_set(self, m: int, q: int) -> int:
        """Floats of the features, of the sample paths and of their utility in one query set."""
        features = q * sum(each.n for each in self.posteriors)
        return features + m * self.utility.floats_together(q)

    def value_and_grad(self, X: Array, z: Array) -> tuple[Array, Array]:
        """Values (R,) and sample path gradients (R, q, d) at X (R, q, d)."""
        m, p = z.shape[0], self.pending
        beliefs = [each.unchecked_belief(X) for each in self.posteriors]
        paths = [belief.paths for belief in beliefs]
        Y = np.stack(
            [
                path.mean[..., None] + rows_times(path.factor, z[..., k].T)
                for k, path in enumerate(paths)
            ]
        )  # (K, R, q, m), so that every outcome is in one piece; eq. 3
        value, slopes = self.utility.together_and_slopes(np.moveaxis(Y, 0, -1), self._held(z))
        grads = [
            pulled_back(belief, path.factor, slopes[..., k], slopes[..., k], z[..., k], p)
            for k, (belief, path) in enumerate(zip(beliefs, paths, strict=True))
        ]
        return value.sum(axis=1) / m, np.sum(grads, axis=0)

    def prepare(self, X: Array) -> Array:
        """Mean and factor of the sample paths, side by side: (R, q, 1 + pending + q, K)."""
        paths = [each.unchecked_belief(X).paths for each in self.posteriors]
        return np.stack(
            [np.concatenate([mean[..., None], factor], axis=-1) for mean, factor in paths], axis=-1
        )

    def total(self, prepared: Array, z: Array) -> Array:
        """Sum of the utility over draws z, from what `prepare` gave: (R,)."""
        Y = np.stack(
            [
                prepared[..., :1, k] + rows_times(prepared[..., 1:, k], z[..., k].T)
                for k in range(z.shape[2])
            ]
        )
        total: Array = self.utility.together(np.moveaxis(Y, 0, -1), self._held(z)).sum(axis=1)
        return total

    def _held(self, z: Array) -> Beside | None:
        """What pending points hold in each draw; worked out once for the same draws."""
        if not self.pending:
            return None
        z = z[:, : self.pending]
        if self._beside is None or not np.array_equal(self._beside[0], z):
            Y = np.stack(
                [
                    mean[:, None] + factor @ z[..., k].T
                    for k, (mean, factor) in enumerate(self.pending_paths)
                ],
                axis=-1,
            )
            self._beside = z, self.utility.held_by(Y)
        return self._beside[1]
