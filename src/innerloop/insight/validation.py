"""Results predicted from all others, and how often intervals of such predictions hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from innerloop.errors import InputError
from innerloop.insight.model import FittedModel
from innerloop.optimizer.outputs import LARGEST
from innerloop.surrogate.leave_one_out import left_out, skill
from innerloop.types import Array


class LeftOutResults(NamedTuple):
    """Each of n results, predicted by the model from the others; hyperparameters stay.

    observed: values (n,). mean: what is expected (n,). low, high: between what the value is
    expected with a probability of 95 %, noise included (n,). scores: how many standard deviations
    results are from what is expected, as the surrogate sees them (n,). explained: the share of what
    results differ by that these predictions explain.
    """

    observed: Array
    mean: Array
    low: Array
    high: Array
    scores: Array
    explained: float


def leave_one_out(model: FittedModel) -> LeftOutResults:
    """Results predicted one by one from all others, in the units of the values."""
    posterior, outputs = model.posterior, model.outputs
    if posterior.n < 2:
        raise InputError("predictions of left-out results need two results or more, got 1")
    mean, variance = left_out(posterior)
    sd, reach = np.sqrt(variance), float(ndtri(0.975))
    with np.errstate(over="ignore"):
        ends = np.sort([outputs.backward(mean + k * sd) for k in (-reach, reach)], axis=0)
    low, high = np.clip(ends, -LARGEST, LARGEST)
    expected = outputs.moments(mean, variance)[0]
    scores = (posterior.y - mean) / sd
    observed = outputs.backward(posterior.y)
    return LeftOutResults(observed, expected, low, high, scores, skill(posterior))


def coverage(scores: Array, nominal: Array) -> Array:
    """The share of scores (n,) within central intervals of nominal probabilities (k,): (k,)."""
    reach = ndtri(0.5 + 0.5 * nominal)
    held: Array = (np.abs(scores)[:, None] <= reach).mean(axis=0)
    return held
