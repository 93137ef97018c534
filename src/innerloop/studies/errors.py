"""What goes wrong with a study for reasons outside the program."""

from __future__ import annotations

from innerloop.errors import InnerLoopError


class StudyError(InnerLoopError):
    """A study, its database or its target cannot be used; the message is one line."""


class StorageError(StudyError):
    """The database did not do what it was asked to."""
