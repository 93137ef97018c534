"""How far the best trial may be from the optimum, in the units of the values.

One mode of hyperparameters and one scaling of the values are too sure of themselves while results
are few. So functions are drawn from the models that explain the results, each as often as it is
probable: with values as they are or bent, with hyperparameters around each mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from innerloop.batches.regret import maxima
from innerloop.domain.domain import Domain
from innerloop.optimizer.learn import SMALLEST_NOISE, price_of_axes
from innerloop.optimizer.learned import Learned, conditioned, given_noise
from innerloop.optimizer.models import OneOutcome
from innerloop.optimizer.outputs import Outputs
from innerloop.optimizer.results import Results
from innerloop.surrogate.alternatives import alternatives, resampled
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.types import Array

# Hyperparameters that are drawn around each mode; by how many of these functions are drawn at most,
# and how many by each at least.
_DRAWN, _MODELS, _BY_EACH = 64, 12, 4
# With more results than this the mode is known well.
_MANY = 300


class _Weighted(NamedTuple):
    """A model of the values with the logarithm of its weight."""

    outputs: Outputs
    gp: GaussianProcess
    log_weight: float


def regrets(
    model: OneOutcome,
    point: Array,
    domain: Domain,
    *,
    draws: int,
    generator: np.random.Generator,
    everything: Array | None = None,
) -> Array:
    """Regrets of a point under functions drawn from models that explain the results.

        |value(max f_s) - value(f_s(point))|

    Args:
        model: results and what they teach.
        point: (d,).
        domain: where the optimum is sought.
        draws: S, how many functions.
        generator: what to draw with.
        everything: (N, d), all points of a finite domain; None if they are too many.

    Returns:
        Regrets of 0 and above, (S,).
    """
    models = list(_models(model.results, model.learned, generator))
    weights = np.array([each.log_weight for each in models])
    chosen = resampled(weights, min(_MODELS, -(-draws // _BY_EACH)), generator)
    with np.errstate(divide="ignore"):
        counts = resampled(np.log(chosen), draws, generator)
    found = []
    for each, count in zip(models, counts.tolist(), strict=True):
        if count:
            posterior = _posterior(model, each)
            drawn = maxima(
                posterior, point, domain, draws=count, generator=generator, everything=everything
            )
            with np.errstate(over="ignore"):
                apart = each.outputs.backward(drawn.largest) - each.outputs.backward(drawn.there)
            # Rounding aside, a maximum is never worse than a value.
            found.append(np.maximum(each.outputs.sign * apart, 0.0))
    return np.concatenate(found)


def _posterior(model: OneOutcome, chosen: _Weighted) -> Posterior:
    """The belief under a model; that of what was learned is at hand."""
    results, learned = model.results, model.learned
    if chosen.gp is learned.gp:
        return learned.posterior(results)
    return conditioned(results, chosen.outputs, chosen.gp)


def _models(
    results: Results, learned: Learned, generator: np.random.Generator
) -> Iterator[_Weighted]:
    """Models of the values, with weights."""
    n, d = results.X.shape
    if n > _MANY:
        yield _Weighted(learned.outputs, learned.gp, 0.0)
        return
    for kind, gp in {learned.kind: learned.gp, **learned.others}.items():
        outputs = learned.outputs
        if kind.bent != outputs.bent:
            outputs = Outputs.of(results.values, sign=outputs.sign, bent=kind.bent)
        noise = given_noise(results, outputs)
        found = alternatives(
            gp,
            results.X,
            outputs.forward(results.values),
            size=_DRAWN,
            generator=generator,
            noise=None if np.isnan(noise).any() else noise,
            groups=results.groups,
            reach=results.reach,
            smallest_noise=SMALLEST_NOISE,
        )
        # Densities of the values themselves, so that scalings can be compared.
        density = float(outputs.log_slope(results.values).sum())
        density -= price_of_axes(n, d) if kind.turned else 0.0
        for surrogate, weight in zip(found.surrogates, found.log_weights.tolist(), strict=True):
            yield _Weighted(outputs, surrogate, weight + density)
