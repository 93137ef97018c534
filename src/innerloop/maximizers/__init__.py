"""Maximizers of objectives over query sets; they know nothing of what they maximize."""

from __future__ import annotations

from importlib import import_module

from innerloop.errors import InputError
from innerloop.maximizers.objective import Maximizer

#: Name of each maximizer -> its module and class. Loaded when asked for.
MAXIMIZERS = {
    "adam": ("adam", "Adam"),
    "cmaes": ("cma_es", "CMAES"),
    "direct": ("direct", "Direct"),
    "lbfgs": ("lbfgs", "LBFGS"),
    "random_search": ("random_search", "RandomSearch"),
    "successive_halving": ("successive_halving", "SuccessiveHalving"),
}


def named(maximizer: str | Maximizer) -> Maximizer:
    """The maximizer of that name with its default settings; an instance is returned as it is."""
    if not isinstance(maximizer, str):
        if not callable(maximizer):
            raise InputError(f"maximizer must be a name or a maximizer, got {maximizer!r}")
        return maximizer
    if maximizer not in MAXIMIZERS:
        raise InputError(f"maximizer must be one of {sorted(MAXIMIZERS)}, got {maximizer!r}")
    module, name = MAXIMIZERS[maximizer]
    made: Maximizer = getattr(import_module(f"innerloop.maximizers.{module}"), name)()
    return made
