"""A job: a piece of work whose settings say all that its result depends on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, runtime_checkable

from innerloop_paper.table import Table

#: Raised when the same settings come to mean something else: old results no longer count then.
VERSION = 1


@runtime_checkable
class Job(Protocol):
    """kind: the name of this kind of job; the rest is in the fields of a frozen dataclass."""

    kind: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """All fields, as plain values."""

    def compute(self) -> Table:
        """Do the work."""


class Settings:
    """For jobs that are frozen dataclasses: their fields are their settings."""

    def settings(self) -> dict[str, Any]:
        """All fields, as plain values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


def described(job: Job) -> str:
    """The settings as one line of JSON, always in the same order."""
    return json.dumps({"kind": job.kind, "version": VERSION, **job.settings()}, sort_keys=True)


def key(job: Job) -> str:
    """The address of the result of a job."""
    return hashlib.sha256(described(job).encode()).hexdigest()[:20]
