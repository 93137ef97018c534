"""Results of jobs, one CSV file each under the address of its settings; or a zip file of them.

A file begins with a line of its settings in JSON, after which comes the table. Files appear at
once or not at all, so that whatever is there is complete.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from innerloop.atomic import write_text
from innerloop.errors import InputError
from innerloop.experiments.jobs import Job, described, key
from innerloop.experiments.table import Table, from_csv, to_csv

# Files in a zip file have a date; this one never changes.
_SOME_DAY = (2020, 1, 1, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class Result:
    """A job and the table that it gave."""

    job: Job
    table: Table


class Store:
    """Results in a folder, which is made when the first of them is written, or in a zip file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._packed = None
        if self._path.suffix == ".zip":
            try:
                self._packed = zipfile.ZipFile(self._path)
            except (OSError, zipfile.BadZipFile) as error:
                raise InputError(f"cannot read the results in {path}: {error}") from None
        self._names = frozenset(self._packed.namelist()) if self._packed else frozenset()

    def has(self, job: Job) -> bool:
        """Whether there is a result of that job."""
        name = _name(job)
        return name in self._names if self._packed else (self._path / name).exists()

    def read(self, job: Job) -> Table:
        """The result of a job."""
        head, _, body = self._text(job).partition("\n")
        if head != f"# {described(job)}":
            raise InputError(f"{self._path / _name(job)} is not the result of {described(job)}")
        return from_csv(body)

    def results(self, jobs: Iterable[Job]) -> list[Result]:
        """The results that are there, in the order of the jobs."""
        return [Result(job, self.read(job)) for job in dict.fromkeys(jobs) if self.has(job)]

    def write(self, job: Job, table: Table) -> None:
        """Keep a result."""
        if self._packed:
            raise InputError(f"{self._path} is only read: give a folder to write results to")
        target = self._path / _name(job)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_text(target, f"# {described(job)}\n{to_csv(table)}")
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot write results to {self._path}: {reason}") from error

    def pack(self, jobs: Iterable[Job], path: str | os.PathLike[str]) -> int:
        """Write the results that are there into one zip file; how many there are."""
        names = {_name(job): self._text(job) for job in jobs if self.has(job)}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for name in sorted(names):
                packed.writestr(zipfile.ZipInfo(name, _SOME_DAY), names[name], 8, 9)
        return len(names)

    def _text(self, job: Job) -> str:
        name = _name(job)
        raw = self._packed.read(name) if self._packed else (self._path / name).read_bytes()
        return raw.decode()


def _name(job: Job) -> str:
    return f"{job.kind}/{key(job)}.csv"
