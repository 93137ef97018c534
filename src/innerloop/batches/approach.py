"""Short searches, and starts for those among limits that are known so well that they are walls.

Where an outcome is all but sure, the logarithm of the chance to meet its limit is a wall that
ascent creeps along, and what lies around the next corner is missed. With beliefs that are less
sure the wall is a slope, which leads to about the right place; and from there, as the blur
shrinks, to the top.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from innerloop.batches.problem import Problem
from innerloop.batches.states import Incremental, States
from innerloop.maximizers.bfgs import BFGS
from innerloop.maximizers.budget import Allowance
from innerloop.maximizers.exchange import Exchange
from innerloop.types import Array

#: After discrete moves a few steps lead back to a top that is near.
AGAIN = BFGS(tolerance=1e-3, steps=4, patience=100)
#: A few steps each: enough to tell hills apart, not so many that their climbers meet.
SEARCH = Exchange(BFGS(tolerance=1e-3, steps=5, patience=100), again=AGAIN, rounds=1)
_ALONG_WALLS = BFGS(tolerance=1e-3, steps=12, patience=100)
#: The same along walls, which take more steps.
SEARCH_AMONG_LIMITS = Exchange(_ALONG_WALLS, again=AGAIN, rounds=1)
# Standard deviations that are added to those of all outcomes, whose own scale is 1, one after the
# other; the first step is as long as outcomes are blurred.
_BLURS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
# How many of the starts are led in this way: for one query they cost as much as all the others.
_LED = 8


def with_approaches(starts: Array, states: States, problem: Problem) -> Array:
    """Starts (R, 1, d), and where the first of them are led to as beliefs become sure: (R', 1, d).

    Just the starts, if there are no limits, or with a budget, which is for the search itself.
    """
    if not problem.has_limits or not problem.meter.is_unlimited:
        return starts
    led = starts[:_LED]
    # Where limits are less sure than that, a blur changes nothing.
    surest = float(states.beliefs(led[:, 0]).sd[:, problem.objectives :].min())
    for blur in (each for each in _BLURS if each > surest):
        ascent = replace(_ALONG_WALLS, first_step=blur)
        blurred = Incremental.of(replace(states, blur=blur), log=True, chance=problem.chance)
        search = problem.suited(replace(SEARCH_AMONG_LIMITS, maximizer=ascent))
        led = search(Allowance(blurred, problem.meter), led, problem.domain, problem.generator).X
    return np.concatenate([starts, led])
