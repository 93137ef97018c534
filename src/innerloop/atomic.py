"""Files that hold either all of their new content or what they held before."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` at once, as UTF-8; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path` at once: whoever reads, or dies, sees all of it or none.

    A link is replaced, not followed; a pipe or a device is written to.
    """
    target = Path(path)
    if _is_stream(target):
        target.write_bytes(content)
        return
    # A name that nobody can have guessed, and that must not be there.
    beside = target.with_name(f".{secrets.token_hex(12)}.part")
    handle = os.open(beside, _NEW, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            _keep_mode(target, file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _is_stream(target: Path) -> bool:
    """Whether there is something that cannot be replaced, such as /dev/stdout."""
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _keep_mode(target: Path, handle: int) -> None:
    """Give the new file the permissions of the old one, if that was a file of ours."""
    if os.name != "posix" or not os.path.lexists(target):
        return
    old = target.lstat()
    if stat.S_ISREG(old.st_mode) and old.st_uid == os.geteuid():
        os.fchmod(handle, old.st_mode & 0o777)


def _sync_directory(directory: Path) -> None:
    """Make the new name last, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
