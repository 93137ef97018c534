"""Errors of the paper's experiments."""

from innerloop import InputError


class NothingToDrawError(InputError):
    """There are no results of a figure, or too few to compare anything."""
