"""Packages that are wanted for some things only."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from innerloop.errors import MissingPackageError


def needed(module: str, what: str, install: str) -> Any:
    """A module of a package that may not be installed.

    Args:
        module: its name.
        what: what needs it, as errors say it.
        install: what pip has to be told to install.

    Returns:
        The module; a `MissingPackageError` is raised if it is not there.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(
            f"{what} need the package {package}, which cannot be imported ({error}): "
            f"pip install {install!r}"
        ) from error
