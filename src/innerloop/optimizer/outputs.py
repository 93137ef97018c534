"""From the values that are told to what the surrogate sees, and back.

Values become gaps below the best one, in units of a typical gap, either as they are or bent by a
logarithm. Bending spares the surrogate the steep outskirts of a function, which would otherwise
set its scale; which of the two suits the values better is for the evidence to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from innerloop.optimizer.trials import Prediction
from innerloop.types import Array

LARGEST = float(np.finfo(float).max)
# Gaps beyond so many typical ones are all the same: just bad.
_LARGEST_GAP = 1e6
# The typical gap is at least this share of a large one.
_SMALLEST_SHARE = 1e-2
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Outputs:
    """A scaling of values, after which larger is better.

        t = (g(gap) - location) / scale,   gap = sign (best - value) / typical

    g(gap) = -gap, or with `bent` -log(1 + gap) for values that are not better than the best one.

    Args:
        sign: 1 if large values are good, -1 if small ones are.
        best: the best value.
        typical: a typical gap below it.
        bent: whether gaps are seen through a logarithm.
        location: mean of g over the values.
        scale: its standard deviation.
    """

    sign: float
    best: float
    typical: float
    bent: bool
    location: float = 0.0
    scale: float = 1.0

    @staticmethod
    def of(values: Array, *, sign: float, bent: bool) -> Outputs:
        """The scaling under which values (n,) have mean 0 and standard deviation 1."""
        best = float((sign * values).max() * sign)
        gaps = _difference(best, values) * sign
        raw = Outputs(sign, best, _typical(gaps[gaps > 0.0]), bent)
        t = raw.forward(values)
        scale = float(t.std())
        return replace(raw, location=float(t.mean()), scale=scale if scale > 0.0 else 1.0)

    def forward(self, values: Array) -> Array:
        """What the surrogate sees of values, any shape."""
        gap = self._gap(values)
        bent = -np.log1p(np.maximum(gap, 0.0)) if self.bent else -np.maximum(gap, 0.0)
        t: Array = (bent + np.maximum(-gap, 0.0) - self.location) / self.scale
        return t

    def log_slope(self, values: Array) -> Array:
        """log |dt / dvalue|, any shape."""
        stretch = np.log1p(np.maximum(self._gap(values), 0.0)) if self.bent else 0.0
        constant = np.log(self.typical) + np.log(self.scale)
        slope: Array = np.zeros(np.shape(values)) - stretch - constant
        return slope

    def backward(self, t: Array) -> Array:
        """The values that the surrogate would see as t, any shape."""
        value: Array = self.best - self.sign * self.typical * self._unbend(t)
        return value

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Means and standard deviations of values, if t are normal: (n,), (n,) -> (n,), (n,)."""
        gaps = self._unbend(mean[:, None] + np.sqrt(variance)[:, None] * _NODES)
        center = gaps @ _WEIGHTS
        sd = np.sqrt((gaps - center[:, None]) ** 2 @ _WEIGHTS)
        with np.errstate(over="ignore"):
            value = self.best - self.sign * self.typical * center
            return _finite(value), _finite(self.typical * sd)

    def predictions(self, mean: Array, variance: Array) -> list[Prediction]:
        """The same, one by one."""
        moments = (each.tolist() for each in self.moments(mean, variance))
        return list(map(Prediction, *moments))

    def _unbend(self, t: Array) -> Array:
        """The gaps that the surrogate would see as t, any shape."""
        g = t * self.scale + self.location
        gap = np.expm1(np.minimum(-g, np.log1p(_LARGEST_GAP))) if self.bent else -g
        return np.where(g < 0.0, gap, -g)

    def _gap(self, values: Array) -> Array:
        """Gaps of values below the best one, in units of a typical gap, any shape."""
        with np.errstate(over="ignore"):
            gap = self.sign * _difference(self.best, values) / self.typical
        return np.minimum(gap, _LARGEST_GAP)


def _typical(gaps: Array) -> float:
    """The median of gaps (k,) above 0; more if most values crowd around the best one."""
    if not gaps.size:
        return 1.0
    middle, large = np.quantile(gaps, [0.5, 0.9], method="lower")
    return float(_finite(max(middle, _SMALLEST_SHARE * large)))


def _finite(value: ArrayLike) -> Array:
    """The nearest floats that are not infinite, any shape."""
    return np.clip(value, -LARGEST, LARGEST)


def _difference(best: float, values: Array) -> Array:
    """best - values, infinite rather than an error where it overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(best - values)
