"""Results of jobs, one CSV file each under the address of its settings; or a .tar.xz file of them.

A file begins with a line of its settings in JSON, after which comes the table. Files appear at
once or not at all, so that whatever is there is complete.
"""

from __future__ import annotations

import io
import lzma
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from innerloop import InputError
from innerloop_paper.files import write_bytes, write_text
from innerloop_paper.jobs import Job, described, key
from innerloop_paper.table import Table, from_csv, to_csv


@dataclass(frozen=True, eq=False)
class Result:
    """A job and the table that it gave."""

    job: Job
    table: Table


class Store:
    """Results in a folder, made when the first of them is written, or in a .tar.xz file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._packed = _unpacked(self._path) if self._path.suffix == ".xz" else None

    def has(self, job: Job) -> bool:
        """Whether there is a result of that job."""
        name = _name(job)
        return (self._path / name).exists() if self._packed is None else name in self._packed

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
        if self._packed is not None:
            raise InputError(f"{self._path} is only read: give a folder to write results to")
        target = self._path / _name(job)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_text(target, f"# {described(job)}\n{to_csv(table)}")
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot write results to {self._path}: {reason}") from error

    def pack(self, jobs: Iterable[Job], path: str | os.PathLike[str]) -> int:
        """Write the results that are there into one .tar.xz file; how many there are."""
        if Path(path).suffix != ".xz":
            raise InputError(f"results are packed into a .tar.xz file, got {path}")
        texts = {_name(job): self._text(job).encode() for job in jobs if self.has(job)}
        whole = io.BytesIO()
        with tarfile.open(fileobj=whole, mode="w:xz", preset=9) as packed:
            for name in sorted(texts):
                entry = tarfile.TarInfo(name)  # without a date or an owner: always the same bytes
                entry.size = len(texts[name])
                packed.addfile(entry, io.BytesIO(texts[name]))
        try:
            write_bytes(path, whole.getvalue())
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from error
        return len(texts)

    def _text(self, job: Job) -> str:
        name = _name(job)
        raw = (self._path / name).read_bytes() if self._packed is None else self._packed[name]
        return raw.decode()


def _unpacked(path: Path) -> dict[str, bytes]:
    """The files in a .tar.xz file, by name."""
    texts = {}
    try:
        with tarfile.open(path, "r:xz") as packed:
            for entry in packed:
                file = packed.extractfile(entry)
                if file is not None:
                    texts[entry.name] = file.read()
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
        raise InputError(f"cannot read the results in {path}: {error}") from None
    return texts


def _name(job: Job) -> str:
    return f"{job.kind}/{key(job)}.csv"
