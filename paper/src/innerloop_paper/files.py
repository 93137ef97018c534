"""Files that hold either all of their new content or what they held before."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` at once, as UTF-8; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path` at once: whoever reads, or dies, sees all of it or none.

    A link is replaced, not followed.
    """
    target = Path(path)
    # A name that nobody can have guessed, and that must not be there.
    beside = target.with_name(f".{secrets.token_hex(12)}.part")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
