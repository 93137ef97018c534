"""Maximizers of objectives over query sets; they know nothing of what they maximize.

Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from innerloop.errors import InputError

if TYPE_CHECKING:
    from innerloop.maximizers.adam import Adam
    from innerloop.maximizers.bfgs import BFGS
    from innerloop.maximizers.budget import Allowance
    from innerloop.maximizers.cma_es import CMAES
    from innerloop.maximizers.direct import Direct
    from innerloop.maximizers.maximizer import Maximizer
    from innerloop.maximizers.objective import Objective, Solution
    from innerloop.maximizers.random_search import RandomSearch
    from innerloop.maximizers.successive_halving import SuccessiveHalving

#: Classes by the names under which `suggest` and `Optimizer` know them.
MAXIMIZERS = {
    "adam": "Adam",
    "bfgs": "BFGS",
    "cmaes": "CMAES",
    "direct": "Direct",
    "random_search": "RandomSearch",
    "successive_halving": "SuccessiveHalving",
}
#: Other names for some of them: BFGS keeps whole matrices, but plays the part of L-BFGS.
ALIASES = {"lbfgs": "bfgs"}

__all__ = [
    "BFGS",
    "CMAES",
    "Adam",
    "Allowance",
    "Direct",
    "Maximizer",
    "Objective",
    "RandomSearch",
    "Solution",
    "SuccessiveHalving",
]

_HOME = {
    "Adam": "adam",
    "Allowance": "budget",
    "BFGS": "bfgs",
    "CMAES": "cma_es",
    "Direct": "direct",
    "Maximizer": "maximizer",
    "Objective": "objective",
    "RandomSearch": "random_search",
    "Solution": "objective",
    "SuccessiveHalving": "successive_halving",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'innerloop.maximizers' has no attribute {name!r}")
    value = getattr(import_module(f"innerloop.maximizers.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def named(maximizer: str | Maximizer) -> Maximizer:
    """The maximizer of a name with its default settings.

    Args:
        maximizer: a name, or an instance, which is returned as it is.

    Returns:
        A maximizer; an `InputError` is raised for any other name.
    """
    if isinstance(maximizer, str):
        name = ALIASES.get(maximizer, maximizer)
        if name not in MAXIMIZERS:
            raise InputError(f"maximizer must be one of {sorted(MAXIMIZERS)}, got {maximizer!r}")
        made: Maximizer = getattr(import_module(__name__), MAXIMIZERS[name])()
        return made
    from innerloop.maximizers.maximizer import Maximizer

    if not isinstance(maximizer, Maximizer):
        raise InputError(
            f"maximizer must be one of {sorted(MAXIMIZERS)} or an instance of a subclass of "
            f"innerloop.maximizers.Maximizer, got {maximizer!r}"
        )
    return maximizer
