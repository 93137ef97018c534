"""Errors of the paper's experiments."""

from innerloop.errors import InputError


class NothingToDrawError(InputError):
    """There are no results of a figure, or too few to compare anything."""
