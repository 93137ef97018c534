"""One JSON file for an optimizer: written atomically, versioned, and checked when read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from innerloop.atomic import write_text
from innerloop.errors import InputError

_FORMAT = "innerloop optimizer"
# What has a history has the second version, which an earlier innerloop refuses.
_PLAIN, _VERSION = 1, 2


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write content to a file, which holds either all of it or what it held before.

    Args:
        path: of the file.
        content: what JSON can hold.
    """
    text = _body(content)
    version = _VERSION if "history" in content else _PLAIN
    header = {"format": _FORMAT, "version": version, "checksum": _checksum(text)}
    # The last byte closes the outermost brace, so that no shorter file is valid.
    whole = json.dumps(header)[:-1] + ', "content": ' + text + "}"
    write_text(path, whole)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write` wrote, or an error that says what is wrong with the file.

    Args:
        path: of the file.

    Returns:
        The content.
    """
    raw = Path(path).read_bytes()
    try:
        whole = json.loads(raw.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not a complete JSON file: {error}") from None
    if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
        raise InputError(f"{path} is not a file that Optimizer.save wrote")
    if whole.get("version") not in (_PLAIN, _VERSION):
        raise InputError(
            f"{path} has version {whole.get('version')!r} of the format; this innerloop reads "
            f"version {_VERSION} at most: a newer innerloop may have written it"
        )
    content = whole.get("content")
    if not isinstance(content, dict) or not _is_intact(content, whole.get("checksum")):
        raise InputError(f"{path} is damaged: its checksum does not match its content")
    return content


def _is_intact(content: Mapping[str, Any], checksum: object) -> bool:
    """Whether content has the checksum that was written with it."""
    try:
        return _checksum(_body(content)) == checksum
    except ValueError:  # a number that was never written, such as 1e999
        return False


def _body(content: Mapping[str, Any]) -> str:
    """The text of the content."""
    return json.dumps(content, allow_nan=False)


def _checksum(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
