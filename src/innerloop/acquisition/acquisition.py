"""What every form of an acquisition function offers: values, and gradients where asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod

from numpy.typing import ArrayLike

from innerloop.acquisition.shards import Evaluation
from innerloop.checks import Array


class Acquisition(ABC):
    """A function of R query sets at once, X (R, q, d), to be maximized."""

    def value(self, X: ArrayLike) -> Array:
        """Acquisition values of R query sets: (R, q, d) -> (R,)."""
        return self._evaluate(X, gradient=False)[0]

    def value_and_grad(self, X: ArrayLike) -> tuple[Array, Array]:
        """Acquisition values and their gradients: (R, q, d) -> (R,), (R, q, d)."""
        value, grad = self._evaluate(X, gradient=True)
        assert grad is not None  # narrows the type; asked for above
        return value, grad

    @abstractmethod
    def _evaluate(self, X: ArrayLike, gradient: bool) -> Evaluation:
        """Values, and gradients if asked for."""
